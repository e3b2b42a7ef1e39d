"""An ONNX graph against the estimator it was made of, row by row."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline

from cerflearn._typing import BoolArray, Float64Array
from cerflearn.export.onnx.onnx_bounds import (
    UNIT_ROUNDOFF,
    Bounded,
    bounded_steps,
    measured_errors,
    two_columns,
)
from cerflearn.export.onnx.onnx_heads import label_values
from cerflearn.export.onnx.onnx_kernels import nystroem_kernel
from cerflearn.export.onnx.onnx_rows import InputRows
from cerflearn.export.program import program_of
from cerflearn.export.steps import Linear, Program

RUN_ROWS = 1024
"""Rows that ONNX Runtime is given at once."""

_BOTH = 2.0  # the estimator rounds as the graph does


@dataclass(frozen=True)
class Agreement:
    """How a graph and its estimator agree.

    Attributes
    ----------
    n_rows : int
        Rows compared.
    largest_difference : float
        Of numbers: features, predictions, probabilities or scores.
    largest_ratio : float
        Largest difference in units of what rounding explains; at most 1 in a good file.
    label_agreement : float or None
        Share of rows with equal labels, near-ties included; None without labels.
    n_near_ties : int
        Rows with other labels whose best scores are closer than rounding.
    n_wrong : int
        Rows with other labels whose scores are not.
    """

    n_rows: int
    largest_difference: float
    largest_ratio: float
    label_agreement: float | None = None
    n_near_ties: int = 0
    n_wrong: int = 0

    @property
    def holds(self) -> bool:
        """Whether rounding explains every difference."""
        return self.largest_ratio <= 1.0 and self.n_wrong == 0


def run_graph(model_bytes: bytes, rows: InputRows) -> list[Any]:
    """Run a graph in ONNX Runtime, on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model_bytes, options, providers=["CPUExecutionProvider"])
    parts = [
        session.run(None, rows.feed(slice(start, start + RUN_ROWS)))
        for start in range(0, rows.n_rows, RUN_ROWS)
    ]
    return [_joined(outputs) for outputs in zip(*parts, strict=True)]


def _joined(parts: tuple[Any, ...]) -> Any:
    """Join outputs of all blocks; maps of ZipMap become columns, in the order of their keys."""
    if isinstance(parts[0], list):
        return np.array([list(row.values()) for part in parts for row in part])
    return np.concatenate(parts)


def compare(estimator: Any, rows: InputRows, outputs: list[Any]) -> Agreement:
    """Compare outputs of a graph with those of the estimator in float64.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    rows : InputRows
        What the graph was given.
    outputs : list of ndarray
        What it gave.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="Degrees of freedom <= 0")  # all missing
        if is_classifier(estimator):
            return _compare_labels(estimator, rows, outputs)
        run = estimator.predict if is_regressor(estimator) else estimator.transform
        bounded, _ = _bounded(estimator, rows, run)
        expected = two_columns(run(rows.data))
        return Agreement(rows.n_rows, *_differences(outputs[0], expected, _BOTH * bounded.errors))


def _differences(
    found: Any, expected: Float64Array, allowed: Float64Array | float
) -> tuple[float, float]:
    """Largest difference, absolute and in units of what is allowed; NaN where it must not be."""
    if found.shape != expected.shape:
        raise ValueError(f"The graph gives {found.shape} numbers, not {expected.shape}.")
    with np.errstate(invalid="ignore"):
        apart = np.where(found == expected, 0.0, np.abs(found - expected))
    ratio = apart / np.maximum(allowed, np.finfo(np.float64).tiny)
    return float(apart.max()), float(ratio.max()) if not np.isnan(ratio).any() else np.inf


def _bounded(estimator: Any, rows: InputRows, run: Any) -> tuple[Bounded, Program | None]:
    """Last numbers of the model with their errors, and the program of its end, if that is known."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]
    for first in range(len(steps)):
        end = estimator[first:] if isinstance(estimator, Pipeline) else estimator
        try:
            program = program_of(end)
        except (ValueError, TypeError, AttributeError):
            continue
        if first == 0:
            data = rows.numbers()
            start = Bounded(data, np.zeros_like(data))
        else:
            start = _unknown(estimator[:first], estimator[:first].transform, rows)
        return bounded_steps(program.steps, start, rows.dtype), program
    return _unknown(estimator, run, rows), None


def _unknown(part: Any, run: Any, rows: InputRows) -> Bounded:
    """Numbers of a part that is not known as steps, of which the error is measured.

    The normalisation of Nystroem, a product in float64, may make errors of the kernel much larger.
    """
    steps = part.steps if isinstance(part, Pipeline) else [("", part)]
    last = steps[-1][1]
    if not isinstance(last, Nystroem):
        return measured_errors(run, rows.data, rows.perturbed, rows.dtype)

    def kernel(X: Any) -> Any:
        return nystroem_kernel(last, part[:-1].transform(X) if len(steps) > 1 else X)

    found = measured_errors(kernel, rows.data, rows.perturbed, rows.dtype)
    weights = np.asarray(last.normalization_, dtype=np.float64)
    product = bounded_steps((Linear(weights, np.zeros(len(weights))),), found, "float64")
    rounding = UNIT_ROUNDOFF[rows.dtype] * np.abs(product.values)
    return Bounded(product.values, product.errors + rounding)


def _compare_labels(estimator: Any, rows: InputRows, outputs: list[Any]) -> Agreement:
    has_proba = hasattr(estimator, "predict_proba")
    run = estimator.predict_proba if has_proba else estimator.decision_function
    expected = two_columns(run(rows.data))
    bounded, program = _bounded(estimator, rows, run)
    errors = bounded.errors.max(axis=1, keepdims=True)
    if program is not None and program.output.kind == "pairs":
        n_pairs = bounded.errors.shape[1]  # a class has fewer, whose sums are divided by 3 or more
        errors = errors * n_pairs
    factor = _slope(estimator) if has_proba and program is not None else 1.0
    rounding = 16.0 * UNIT_ROUNDOFF[rows.dtype] * np.maximum(1.0, np.abs(expected))
    allowed = _BOTH * factor * errors + rounding
    labels = np.asarray(estimator.predict(rows.data))
    equal = (outputs[0] == label_values(labels.ravel()).reshape(labels.shape)).reshape(
        rows.n_rows, -1
    )
    close = _near_ties(bounded, program, expected, labels.ndim)
    same = equal.all(axis=1)
    wrong = (~equal & ~close).any(axis=1)
    found = two_columns(outputs[1])
    if expected.shape[1] == 1 and found.shape[1] == 2:
        # skl2onnx: the score and its negative, of support vectors first, of linear models second.
        apart = np.abs(found - expected).sum(axis=0)
        found = found[:, [int(apart.argmin())]]
    if program is not None and program.output.kind == "pairs":
        # Where a pair's score is near zero its vote, and so the numbers, may be others.
        found = np.where(close, expected, found)
    apart = _differences(found, expected, allowed)
    ties = int((~same & ~wrong).sum())
    return Agreement(rows.n_rows, *apart, float(same.mean()), ties, int(wrong.sum()))


def _slope(estimator: Any) -> float:
    """Factor of the scores in the probabilities."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return max(1.0, float(getattr(last, "inverse_temperature_", 1.0)))


def _near_ties(
    bounded: Bounded, program: Program | None, expected: Float64Array, n_dims: int
) -> BoolArray:
    """Rows, or labels of rows, whose scores rounding may turn."""
    scores, reach = bounded.values, _BOTH * bounded.errors
    kind = program.output.kind if program is not None else "multiclass"
    if n_dims == 2 or kind == "binary" or scores.shape[1] == 1:
        return np.asarray(np.abs(scores) <= reach)
    undecided: BoolArray = np.zeros((len(scores), 1), dtype=np.bool_)
    if kind == "pairs":
        undecided = np.asarray((np.abs(scores) <= reach).any(axis=1, keepdims=True))
        scores, reach = expected, reach.sum(axis=1, keepdims=True)
    order = np.sort(scores, axis=1)
    gap = (order[:, -1] - order[:, -2])[:, None]
    return np.asarray(undecided | (gap <= 2.0 * reach.max(axis=1, keepdims=True)))
