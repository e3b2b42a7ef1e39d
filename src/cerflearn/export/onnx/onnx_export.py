"""``export_onnx``: a fitted estimator or Pipeline as an ONNX file that was checked."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from cerflearn._atomic import write_atomically
from cerflearn._typing import MatrixLike
from cerflearn.estimators.cost import counted_cost
from cerflearn.export.onnx.onnx_nodes import PHASE_FORMS, PhaseForm
from cerflearn.export.onnx.onnx_rows import InputRows, chooses_by_name, drawn_rows, given_rows
from cerflearn.export.onnx.onnx_verify import Agreement, compare, run_graph
from cerflearn.export.program import program_of

_OUTPUT_NAMES = ("label", "probabilities", "scores", "variable")

DEFAULT_OPSET = 17
"""Opset of exported files: ONNX Runtime reads it since 1.12, of May 2022."""

LEAST_OPSET = 15
"""Oldest opset that is tested."""

_ML_OPSET = 3  # of ai.onnx.ml: scalers, encoders and trees of skl2onnx; as old as opset 15
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
    model = _convert(estimator, rows, opset, zipmap, form)
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
    whole = isinstance(target_opset, int) and not isinstance(target_opset, bool)
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


def _convert(estimator: Any, rows: InputRows, opset: int, zipmap: bool, form: PhaseForm) -> Any:
    """ModelProto of an estimator."""
    from onnx import helper
    from skl2onnx import convert_sklearn
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator

    from cerflearn.export.onnx.onnx_converters import register_converters, score_conversions
    from cerflearn.export.onnx.onnx_preparation import as_skl2onnx_reads, preparation_conversions

    register_converters()
    whole, estimator = estimator, as_skl2onnx_reads(estimator)
    parts = _parts(estimator)
    ours = [score_conversions(parts), preparation_conversions(parts)]
    try:
        model = convert_sklearn(
            estimator,
            name=type(estimator).__name__,
            initial_types=rows.initial_types(),
            target_opset={"": opset, "ai.onnx.ml": _ML_OPSET},
            options=_options(estimator, zipmap, form),
            **_merged(ours),
        )
    except (MissingConverter, MissingShapeCalculator) as error:
        unknown = ", ".join(type(part).__name__ for part in parts if not _alias(part))
        raise ValueError(
            f"{unknown or 'A part'} cannot be exported: neither cerflearn nor skl2onnx has a "
            "converter of it. skl2onnx.update_registered_converter takes one."
        ) from error
    except (AssertionError, IndexError, NotImplementedError, RuntimeError, TypeError) as error:
        raise RuntimeError(
            f"skl2onnx cannot convert this model: {error} (A ColumnTransformer must be the first "
            "step of a Pipeline; imputers and scalers may stand inside it.)"
        ) from error
    _keep_names(model.graph, [name for name, _ in rows.initial_types()])
    versions = {found.domain: found.version for found in model.opset_import} | {"": opset}
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(*pair) for pair in sorted(versions.items()))
    model.ir_version = helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    helper.set_model_props(model, _metadata(whole))
    return model


def _merged(conversions: list[dict[str, dict[type, Any]]]) -> dict[str, dict[type, Any]]:
    """Conversions of several kinds of estimators as one, by what skl2onnx calls them."""
    names = {name for found in conversions for name in found}
    return {
        name: {kind: f for found in conversions for kind, f in found.get(name, {}).items()}
        for name in names
    }


def _keep_names(graph: Any, names: list[str]) -> None:
    """Give inputs their names, in which skl2onnx replaces what no identifier may hold.

    All other names are identifiers that skl2onnx made unique: none can be the same.
    """
    made = {value.name: name for value, name in zip(graph.input, names, strict=True)}
    for value in graph.input:
        value.name = made[value.name]
    for node in graph.node:
        node.input[:] = [made.get(name, name) for name in node.input]


def _options(estimator: Any, zipmap: bool, form: PhaseForm) -> dict[Any, Any]:
    """Options of skl2onnx for each part of an estimator that has them."""
    from skl2onnx.common import _registration

    options: dict[Any, Any] = {}
    for part in _parts(estimator):
        alias = _alias(part)
        allowed = (
            {} if alias is None else _registration.get_converter(alias).get_allowed_options() or {}
        )
        asked: dict[str, Any] = {"form": form}
        if is_classifier(part):
            asked["zipmap"] = zipmap
        chosen = {name: value for name, value in asked.items() if name in allowed}
        if chosen:
            options[id(part)] = chosen
    return options


def _alias(part: Any) -> str | None:
    """Name under which skl2onnx knows a kind of estimator."""
    from skl2onnx._supported_operators import sklearn_operator_name_map

    alias: str | None = sklearn_operator_name_map.get(type(part))
    return alias


def _parts(estimator: Any) -> list[Any]:
    """Estimators inside an estimator, itself included."""
    parts = [estimator]
    for name in ("steps", "transformers_", "transformer_list"):
        for entry in getattr(estimator, name, ()):
            if hasattr(entry[1], "get_params"):
                parts += _parts(entry[1])
    for name in ("best_estimator_", "estimator_", "feature_map_"):
        inner = getattr(estimator, name, None)
        if hasattr(inner, "get_params"):
            parts += _parts(inner)
    return parts


def _metadata(estimator: Any) -> dict[str, str]:
    """Make notes for the file: versions, names of the columns, cost of a row."""
    notes = {"cerflearn_version": _package_version(), "estimator": type(estimator).__name__}
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        notes["columns"] = json.dumps([str(name) for name in names])
    try:
        found = counted_cost(estimator)
    except (TypeError, ValueError, AttributeError):  # parts whose operations are not counted
        return notes
    return notes | {"macs": str(found.macs)}


def _installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def _package_version() -> str:
    try:
        return version("cerflearn")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "unknown"


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
    try:
        outputs = run_graph(content, rows)
    except Exception as error:  # classes of ONNX Runtime, which differ between its versions
        raise RuntimeError(
            f"ONNX Runtime cannot run the graph, and no file was written: {error}"
        ) from error
    agreement = compare(estimator, rows, outputs)
    if not agreement.holds:
        raise RuntimeError(
            "The exported graph does not agree with the estimator, and no file was written: of "
            f"{agreement.n_rows:,} rows {agreement.n_wrong:,} have another label, and the largest "
            f"difference is {agreement.largest_difference:.3g}, {agreement.largest_ratio:.3g} "
            "times what rounding explains."
            + (" Try dtype='float64'." if rows.dtype == "float32" else "")
        )
    return agreement
