"""``export_onnx``: a fitted estimator or Pipeline as an ONNX file that was checked."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cerflearn._atomic import write_atomically
from cerflearn._typing import MatrixLike
from cerflearn.export.frames import chooses_by_name
from cerflearn.export.onnx.onnx_graph import make_graph
from cerflearn.export.onnx.onnx_nodes import PHASE_FORMS, PhaseForm
from cerflearn.export.onnx.onnx_rows import InputRows, drawn_rows, given_rows
from cerflearn.export.onnx.onnx_verify import Agreement, compare, run_graph
from cerflearn.export.program import program_of

_OUTPUT_NAMES = ("label", "probabilities", "scores", "variable")

DEFAULT_OPSET = 17
"""Opset of exported files: ONNX Runtime reads it since 1.12, of May 2022."""

LEAST_OPSET = 15
"""Oldest opset that is tested."""

_FLOATS_OF_GRAPH = ("float32", "float64")
_REMEDY = "pip install 'cerflearn[onnx]'"


@dataclass(frozen=True)
class OnnxReport:
    """What was exported, and how it was checked.

    Attributes
    ----------
    path : Path
        File.
    n_bytes : int
        Its size.
    dtype : str
        Of numbers in the graph.
    opset : int
        Version of the operators.
    inputs, outputs : tuple of str
        Names.
    agreement : Agreement or None
        With the estimator; None if it was not checked.
    drawn : bool
        Whether the rows it was checked on were drawn, as none were given.
    """

    path: Path
    n_bytes: int
    dtype: str
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    agreement: Agreement | None
    drawn: bool = False

    @property
    def verified(self) -> bool:
        """Whether the file was run in ONNX Runtime and agreed."""
        return self.agreement is not None

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {self.n_bytes:,} bytes, {self.dtype}, opset {self.opset}",
            f"inputs: {_listed(self.inputs)}; outputs: {_listed(self.outputs)}",
        ]
        if self.agreement is None:
            return "\n".join([*lines, "not verified"])
        found = self.agreement
        rows = f"{found.n_rows:,} {'drawn' if self.drawn else 'given'} rows"
        lines.append(
            f"verified in ONNX Runtime on {rows}: largest difference "
            f"{found.largest_difference:.2g}, {found.largest_ratio:.2g} of what rounding explains"
        )
        if found.label_agreement is not None:
            ties = f", {found.n_near_ties:,} near-ties" if found.n_near_ties else ""
            lines.append(f"equal labels: {100 * found.label_agreement:.6g} %{ties}")
        return "\n".join(lines)


def export_onnx(
    estimator: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    X: MatrixLike | None = None,
    dtype: Literal["float32", "float64"] = "float32",
    verify: bool = True,
    zipmap: bool = False,
    target_opset: int | None = None,
    input_name: str = "X",
    by_column: bool | None = None,
    form: PhaseForm = "auto",
) -> OnnxReport:
    """Write a fitted estimator or Pipeline as an ONNX file, and check it in ONNX Runtime.

    Parameters
    ----------
    estimator : estimator
        An estimator of ours, RBFSampler, Nystroem, or a Pipeline of what skl2onnx converts.
    path : str or path
        File to write; what is there is replaced, once the new file has been checked.
    X : {array-like, sparse matrix, DataFrame}, default=None
        Rows to check the file with, 10,000 of them at most, which also give names and types of
        columns. None: rows are drawn from what the model knows of its inputs, where its steps are
        of numbers only.
    dtype : {"float32", "float64"}, default="float32"
        Of inputs and of all numbers.
    verify : bool, default=True
        Compare the file with the estimator, in float64, and refuse it where they differ by more
        than rounding explains.
    zipmap : bool, default=False
        Probabilities as a list of dictionaries, as skl2onnx has them by default, not as an array;
        float32 only.
    target_opset : int, default=None
        Version of the operators, from 15; None: 17.
    input_name : str, default="X"
        Name of the input, a matrix.
    by_column : bool, default=None
        One input for each column, of shape (n_samples, 1), with its name. None: where columns are
        no numbers, or are chosen by name.
    form : {"auto", "dense", "shared"}, default="auto"
        How phases of masked maps are computed: one product with all frequencies, or the columns of
        each mask times its frequencies. ``"auto"``: what was quicker when it was measured.

    Returns
    -------
    OnnxReport
        Names, size, and how the file agrees with the estimator.

    See Also
    --------
    save : Files for Python.
    cost : What a prediction costs.

    Notes
    -----
    Multiply-accumulates that a masked map saves are not saved in ONNX Runtime: in the dense form it
    multiplies zeros.

    The same model gives the same bytes, with the same versions of onnx and skl2onnx.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from cerflearn import MaskedFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> model = MaskedFourierFeatures(n_components=8, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export_onnx(model, f"{folder}/features.onnx", X=X)
    >>> report.inputs, report.outputs, report.verified
    (('X',), ('variable',), True)
    """
    estimator = getattr(estimator, "best_estimator_", estimator)  # of a search
    target = _checked(estimator, path, dtype, zipmap, target_opset, form)
    _check_input_name(input_name)
    rows = _rows(estimator, X, dtype, input_name, by_column)
    opset = DEFAULT_OPSET if target_opset is None else int(target_opset)
    model = make_graph(estimator, rows, opset, zipmap=zipmap, form=form)
    content: bytes = model.SerializeToString(deterministic=True)
    agreement = _agreement(estimator, rows, content) if verify else None
    write_atomically({target: [content]})
    return OnnxReport(
        target,
        len(content),
        dtype,
        opset,
        tuple(value.name for value in model.graph.input),
        tuple(value.name for value in model.graph.output),
        agreement,
        rows.drawn,
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names if len(names) <= 8 else (*names[:7], f"... ({len(names)} in all)"))


def _check_input_name(name: str) -> None:
    if not isinstance(name, str) or not name or name in _OUTPUT_NAMES:
        raise ValueError(
            f"input_name={name!r} is not valid: it must be text, and no name of an output "
            f"({', '.join(_OUTPUT_NAMES)})."
        )


def _checked(
    estimator: Any, path: Any, dtype: str, zipmap: bool, target_opset: Any, form: str
) -> Path:
    """Refuse what cannot be exported before anything is done; return the path."""
    missing = [name for name in ("onnx", "skl2onnx") if not _installed(name)]
    if missing:
        raise ImportError(f"export_onnx needs {' and '.join(missing)}: {_REMEDY}.")
    if dtype not in _FLOATS_OF_GRAPH:
        raise ValueError(f"dtype={dtype!r} is not valid: it must be 'float32' or 'float64'.")
    if form not in PHASE_FORMS:
        raise ValueError(f"form={form!r} is not valid: it must be one of {PHASE_FORMS}.")
    if zipmap and dtype == "float64":
        raise ValueError("zipmap=True needs dtype='float32': ONNX has no ZipMap of float64.")
    from skl2onnx.proto import get_latest_tested_opset_version

    latest = get_latest_tested_opset_version()
    whole = isinstance(target_opset, Integral) and not isinstance(target_opset, bool)
    if target_opset is not None and not (whole and LEAST_OPSET <= target_opset <= latest):
        raise ValueError(
            f"target_opset={target_opset!r} is not valid: it must be a whole number from "
            f"{LEAST_OPSET} to {latest}, or None."
        )
    check_is_fitted(estimator)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent}: make it first.")
    return target


def _rows(estimator: Any, X: Any, dtype: str, input_name: str, by_column: bool | None) -> InputRows:
    if X is not None:
        return given_rows(estimator, X, dtype, input_name, by_column)
    try:
        program = program_of(estimator)
    except ValueError as error:
        raise ValueError(
            "X is needed: types of the inputs, or rows to check the file with, cannot be told from "
            f"this model. Pass X, some rows as predict takes them. ({error})"
        ) from error
    if by_column is None and program.input_names is not None:
        by_column = chooses_by_name(estimator)
    return drawn_rows(program, dtype, input_name, by_column)


def _installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def _agreement(estimator: Any, rows: InputRows, content: bytes) -> Agreement | None:
    """Agreement of a file; None with a warning if it cannot be run."""
    if not _installed("onnxruntime"):
        warnings.warn(
            "onnxruntime is not installed: the file is written, but was not checked. "
            f"Install it with {_REMEDY}, or pass verify=False.",
            UserWarning,
            stacklevel=3,
        )
        return None
    agreement = _compared(estimator, rows, content, "")
    # Bounds, such as those of a scaler that clips, are seen outside the range of the rows only.
    if not rows.drawn and _is_known(estimator):
        _compared(estimator, rows.stretched(), content, " outside the range of X")
    return agreement


def _is_known(estimator: Any) -> bool:
    """Whether all of an estimator is known as steps, whose rounding is bounded, not measured."""
    try:
        program_of(estimator)
    except (ValueError, TypeError, AttributeError):
        return False
    return True


def _compared(estimator: Any, rows: InputRows, content: bytes, where: str) -> Agreement:
    """Agreement of a file on rows, or an error that says where it does not agree."""
    try:
        outputs = run_graph(content, rows)
    except Exception as error:  # classes of ONNX Runtime, which differ between its versions
        raise RuntimeError(
            f"ONNX Runtime cannot run the graph{where}, and no file was written: {error}"
        ) from error
    agreement = compare(estimator, rows, outputs)
    if not agreement.holds:
        raise RuntimeError(
            f"The exported graph does not agree with the estimator{where}, and no file was "
            f"written: of {agreement.n_rows:,} rows {agreement.n_wrong:,} have another label, and "
            f"the largest difference is {agreement.largest_difference:.3g}, "
            f"{agreement.largest_ratio:.3g} times what rounding explains."
            + (" Try dtype='float64'." if rows.dtype == "float32" else "")
        )
    return agreement
