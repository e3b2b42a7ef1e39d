"""C99 of a fitted estimator: one header that compiles alone, checked against Python."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from cerflearn._atomic import check_target, write_atomically
from cerflearn._typing import Float64Array, MatrixLike
from cerflearn.export.c99.c_bounds import float_tolerance
from cerflearn.export.c99.c_calibrate import IntegerModel, calibrated, quantized, spread_of
from cerflearn.export.c99.c_comment import comment_lines, macs_of
from cerflearn.export.c99.c_fold import staged
from cerflearn.export.c99.c_header import ModelCode, float_code, header_text
from cerflearn.export.c99.c_integer_header import integer_code
from cerflearn.export.c99.c_layout import ExportDtype, Sizes
from cerflearn.export.c99.c_lower import StagedModel
from cerflearn.export.c99.c_output import CLASSIFIES, example_main, gaps_of, labels_of
from cerflearn.export.c99.c_rounding import check_codes, check_rows
from cerflearn.export.c99.c_scales import QuantizeOptions
from cerflearn.export.c99.c_text import identifier
from cerflearn.export.c99.c_verify import (
    CExportError,
    RunResult,
    compile_and_run,
    find_compiler,
    python_numbers,
    warn_of_differences,
)
from cerflearn.export.drawn_rows import framed_rows
from cerflearn.export.frames import fitted_columns
from cerflearn.export.program import program_of
from cerflearn.export.steps import Program

EXPORT_DTYPES: tuple[ExportDtype, ...] = ("float32", "int16", "int8")
"""Arithmetic of exported C."""

_COUNTED_ROWS = 64  # to count bytes by, which are the same for any rows


@dataclass(frozen=True)
class CExportReport:
    """What was written, and how well it agrees with Python.

    Attributes
    ----------
    path, example_path : Path
        Header, and a program that uses it.
    name : str
        What names in C begin with.
    dtype : str
        Arithmetic.
    macs : int
        Multiply-accumulates and additions of table rows, as they are written.
    flash_bytes : int
        Constant data, without code, labels and the conversion of floats to integers.
    ram_bytes : int
        Working arrays, without the input row.
    verified : bool
        Whether the header was compiled and run.
    n_rows : int
        Rows it was compared on.
    label_agreement : float or None
        Share of rows (of labels, if a row has several) with the label of Python; None if there
        are no labels, or nothing was run.
    largest_error : float or None
        Largest difference of a score, feature or value.
    relative_error : float or None
        Root mean squared difference over the deviation of the scores or values, or of all
        features of a map together.
    near_ties : int
        Rows whose label is within the rounding of float32 of another one.
    compiler : str or None
        What compiled it.
    drawn : bool
        Whether those rows were drawn, as none were given.
    """

    path: Path
    example_path: Path
    name: str
    dtype: str
    macs: int
    flash_bytes: int
    ram_bytes: int
    verified: bool
    n_rows: int = 0
    label_agreement: float | None = None
    largest_error: float | None = None
    relative_error: float | None = None
    near_ties: int = 0
    compiler: str | None = None
    drawn: bool = False

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {self.dtype}, {self.macs:,} MACs, {self.flash_bytes:,} bytes of "
            f"constants, {self.ram_bytes:,} bytes of working memory"
        ]
        if not self.verified:
            return f"{lines[0]}\nnot verified"
        drawn = "drawn " if self.drawn else ""
        lines.append(f"verified on {self.n_rows:,} {drawn}rows by {self.compiler}")
        if self.label_agreement is not None:
            ties = f", {self.near_ties:,} near ties" if self.near_ties else ""
            lines.append(f"labels equal: {100.0 * self.label_agreement:.2f} %{ties}")
        if self.largest_error is not None:
            lines.append(
                f"largest error {self.largest_error:.3g}, typical {self.relative_error:.2g} of a "
                "deviation"
            )
        return "\n".join(lines)


def export_c(
    estimator: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    X: MatrixLike | None = None,
    dtype: ExportDtype = "float32",
    name: str | None = None,
    verify: bool = True,
) -> CExportReport:
    """Write a fitted estimator as a C99 header without dependencies.

    Parameters
    ----------
    estimator : estimator
        Fitted: a predictor, map or encoder of cerflearn, or a Pipeline of SimpleImputer, scalers,
        OneHotEncoder of numbers, ColumnTransformer or FeatureUnion of these, a map or encoder, and
        a predictor or a linear model of scikit-learn.
    path : path
        Of the header, which ends in ``.h``. ``example_main.c`` is written beside it.
    X : array_like of shape (n_samples, n_inputs), optional
        Rows like those of the task: integers are scaled by them, for which they are needed, and the
        C is compared with Python on them. None, with floats: on 1,000 rows that are drawn from what
        the model knows of its inputs.
    dtype : {"float32", "int16", "int8"}, default="float32"
        Arithmetic and stored weights. Integers need no floating-point unit; sums have 32 bits,
        inputs 16.
    name : str, optional
        What names in C begin with; by default the name of the file.
    verify : bool, default=True
        Compile the header with the system's compiler (CC, cc, gcc or clang), run it on X and
        compare. Without a compiler the file is written and marked as not verified.

    Returns
    -------
    CExportReport
        Sizes and agreement.

    Raises
    ------
    ValueError
        If a part of the estimator has no C; it is named. If X is missing or does not fit.
    CExportError
        If the C does not do what Python does; no file is written.
    OSError
        If the file cannot be written; nothing is left of it.

    See Also
    --------
    export_sizes : Memory before anything is written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from cerflearn import CERFClassifier
    >>> from cerflearn.export.c99.c_export import export_c
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> model = CERFClassifier(macs=40, effort=0.05, random_state=0).fit(X, X[:, 0] > 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = export_c(model, f"{folder}/sign.h", X=X, dtype="int8")
    >>> report.label_agreement > 0.97
    True
    """
    estimator = getattr(estimator, "best_estimator_", estimator)  # of a search
    target = Path(path)
    _check_request(target, dtype, name, X)
    X = fitted_columns(estimator, X)
    drawn = X is None and verify
    X = framed_rows(program_of(estimator)) if drawn else X
    own = identifier(target.stem if name is None else name)
    model, code, whole = make_code(estimator, own, dtype, X)
    rows = None if X is None else check_rows(model, X)
    result: dict[str, Any] = {"verified": False}
    compiler = find_compiler() if verify else None
    if compiler is not None and rows is not None:
        result = _verified(estimator, X, own, model, code, whole, rows, compiler)
    report = CExportReport(
        path=target,
        example_path=target.with_name("example_main.c"),
        name=own,
        dtype=dtype,
        macs=macs_of(model),
        flash_bytes=code.sizes.flash_bytes,
        ram_bytes=code.sizes.ram_bytes,
        drawn=drawn and bool(result["verified"]),
        **result,
    )
    wanted = verify and compiler is None
    comment = comment_lines(estimator, model, code, whole, report, no_compiler=wanted)
    text = header_text(own, model, code, comment)
    example = example_main(own, target.name, model)
    written = {target: text, report.example_path: example}
    write_atomically({path: [content.encode("utf-8")] for path, content in written.items()})
    if dtype != "float32":
        warn_of_differences(dtype, report.label_agreement, report.relative_error)
    return report


def make_code(
    estimator: BaseEstimator, name: str, dtype: ExportDtype, X: MatrixLike | None
) -> tuple[StagedModel, ModelCode, IntegerModel | None]:
    """Make stages, C and, for integers, their scales of an estimator; see :func:`export_c`."""
    program = program_of(estimator)
    model = staged(program, one_stage=dtype != "float32")
    check_codes(model)
    if dtype == "float32":
        if X is not None:
            model = staged(program, rows=check_rows(model, X))
        return model, float_code(name, model), None
    whole = calibrated(model, dtype, check_rows(model, X))
    return model, integer_code(name, model, whole), whole


def run_code(
    name: str,
    model: StagedModel,
    code: ModelCode,
    whole: IntegerModel | None,
    rows: Float64Array,
    compiler: list[str],
) -> RunResult:
    """Compile C of :func:`make_code`, and run it on rows."""
    dtype = "float32" if whole is None else whole.dtype
    header = header_text(name, model, code, [name])
    return compile_and_run(name, header, model, dtype, rows, compiler)


def _check_request(target: Path, dtype: str, name: Any, X: Any) -> None:
    if name is not None and not isinstance(name, str):
        raise ValueError(f"name={name!r} is not valid: it must be text.")
    if dtype not in EXPORT_DTYPES:
        known = ", ".join(repr(known) for known in EXPORT_DTYPES)
        raise ValueError(f"dtype={dtype!r} is not valid: pass one of {known}.")
    if target.suffix != ".h":
        raise ValueError(f"path={str(target)!r} must end in '.h'.")
    if any(c in '"\\' or not c.isprintable() for c in target.name):
        raise ValueError(
            f"path={str(target)!r}: quotes, backslashes and control characters cannot stand in the "
            "name of a header, which other files include."
        )
    check_target(target)
    if X is None and dtype != "float32":
        raise ValueError(f"dtype={dtype!r} needs rows X, by which integers are scaled.")


def _verified(
    estimator: Any,
    X: Any,
    name: str,
    model: StagedModel,
    code: ModelCode,
    whole: IntegerModel | None,
    rows: Float64Array,
    compiler: list[str],
) -> dict[str, Any]:
    """Run the C on rows, and compare it; fields of the report."""
    _check_steps(estimator, X, model, rows)
    found = run_code(name, model, code, whole, rows, compiler)
    single = rows.astype(np.float32).astype(np.float64)
    truth = model.single.run(single)
    tolerance = float_tolerance(model.single, single, exact_inputs=True)
    near = gaps_of(model.output, truth) <= 2.0 * float_tolerance(model, rows).max(axis=1)
    if whole is None:
        scores = found.scores.astype(np.float64)
        if not (np.abs(scores - truth) <= tolerance).all():
            worst = np.abs(scores - truth).max()
            raise CExportError(
                f"The exported C is off by up to {worst:.3g}, more than rounding explains: please "
                "report this as a bug. No file was written."
            )
    else:
        expected = whole.run(whole.scaling.quantize(rows))
        if not np.array_equal(found.scores, expected):
            raise CExportError(
                "The exported C does not compute the integers it was calibrated with: please "
                "report this as a bug. No file was written."
            )
        scores = found.scores * whole.scales
    error = np.abs(scores - truth)
    result: dict[str, Any] = {
        "verified": True,
        "n_rows": len(rows),
        "largest_error": float(error.max()),
        "relative_error": float(np.sqrt(np.mean(np.square(error / spread_of(model, truth))))),
        "near_ties": int(near.sum()),
        "compiler": found.compiler,
    }
    if model.output.kind in (*CLASSIFIES, "multilabel"):
        labels = found.labels
        if labels is None:
            labels = labels_of(model.output, found.scores)
        equal = _class_numbers(model, estimator.predict(X)) == labels
        result["label_agreement"] = float(np.mean(equal))
        wrong = ~equal.reshape(len(rows), -1).all(axis=1) & ~near
        if whole is None and wrong.any():
            raise CExportError(
                f"The exported C gives other labels than Python in {int(wrong.sum())} of "
                f"{len(rows)} rows that are not near ties: please report this as a bug. No file "
                "was written."
            )
    return result


def _check_steps(estimator: Any, X: Any, model: StagedModel, rows: Float64Array) -> None:
    """Refuse steps that do not compute what the estimator does, such as those of a subclass."""
    numbers = python_numbers(estimator, X, model.output.kind)
    if numbers is None:
        return
    error = np.abs(numbers - model.run(rows))
    if not (error <= float_tolerance(model, rows)).all():
        raise CExportError(
            f"What would be exported is not what the estimator itself gives: it is off by up to "
            f"{error.max():.3g}. A part of it may be a subclass with code of its own. No file was "
            "written."
        )


def _class_numbers(model: StagedModel, labels: Any) -> Any:
    if model.output.kind == "multilabel":
        return np.asarray(labels).astype(np.int64)
    number = {label: i for i, label in enumerate(np.asarray(model.output.classes).tolist())}
    return np.array([number[label] for label in np.asarray(labels).tolist()], dtype=np.int64)


def deployed_bytes(program: Program, dtype: ExportDtype) -> Sizes:
    """Count flash and RAM of exported C, by laying out its arrays.

    Parameters
    ----------
    program : Program
        Steps of an estimator.
    dtype : {"float32", "int16", "int8"}
        Arithmetic.

    Returns
    -------
    Sizes
        Bytes of constant data and of working arrays. They do not depend on the rows that integers
        are scaled by.
    """
    model = staged(program, one_stage=dtype != "float32")
    check_codes(model)
    if dtype == "float32":
        return float_code("m", model).sizes
    rows = np.asarray(framed_rows(program), dtype=np.float64)[:_COUNTED_ROWS]
    return integer_code("m", model, quantized(model, dtype, rows, QuantizeOptions())).sizes


def export_sizes(estimator: BaseEstimator) -> dict[str, Sizes]:
    """Count flash and RAM that a fitted estimator would need as C, for each arithmetic.

    Parameters
    ----------
    estimator : estimator
        As in :func:`export_c`.

    Returns
    -------
    dict of str to Sizes
        By ``"float32"``, ``"int16"`` and ``"int8"``; without integers where they have no C.
    """
    program = program_of(estimator)
    sizes: dict[str, Sizes] = {"float32": deployed_bytes(program, "float32")}
    for dtype in EXPORT_DTYPES[1:]:
        try:
            sizes[dtype] = deployed_bytes(program, dtype)
        except ValueError:  # more than one stage
            continue
    return sizes
