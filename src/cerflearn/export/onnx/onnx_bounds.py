"""How far rounding may move the outputs of a model that runs in float32 or float64.

Bounds hold for the worst case of every rounding: those of a product of m terms are
``u (m + 2) (sum |terms|)``, with u half a unit in the last place, whatever the order of the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array
from cerflearn.export.steps import (
    Clip,
    Features,
    Fill,
    Linear,
    OneHot,
    Parallel,
    Scale,
    Scores,
    Step,
    TableScores,
)
from cerflearn.features.base import FeatureMap

UNIT_ROUNDOFF = {"float32": 2.0**-24, "float64": 2.0**-53}
"""u of each dtype."""

TRIG_ERROR = {"float32": 3e-7, "float64": 2e-15}
"""Error of a cosine or sine of a phase that is exact."""

_MEASURED_FACTOR = 8.0  # of what one rounding of each input changes, for the steps after it
_MEASURED_ROUNDINGS = 16.0  # of the outputs themselves


@dataclass(frozen=True, eq=False)
class Bounded:
    """Numbers, and how far from them those of a model in another precision may be.

    Attributes
    ----------
    values, errors : ndarray of shape (n_samples, n_columns)
        Numbers and bounds of their errors.
    """

    values: Float64Array
    errors: Float64Array


def bounded_steps(steps: tuple[Step, ...], start: Bounded, dtype: str) -> Bounded:
    """Run steps, and bound the errors of their outputs.

    Parameters
    ----------
    steps : tuple of Step
        Applied one after the other.
    start : Bounded
        Inputs; their errors are zero if they are given in ``dtype``.
    dtype : {"float32", "float64"}
        What the steps are computed in.
    """
    for step in steps:
        start = Bounded(step.run(start.values), _step_errors(step, start, dtype))
    return start


def measured_errors(
    function: Callable[[Any], Any], X: Any, perturb: Callable[[Any, int], Any], dtype: str
) -> Bounded:
    """Run a function that is not known as steps, and measure what rounding changes about it.

    It is measured: rows with one rounding of each input in either direction, times 8, and 16
    roundings of the outputs.

    Parameters
    ----------
    function : callable
        From rows to numbers.
    X : array_like
        Rows.
    perturb : callable
        ``perturb(X, seed)`` gives the rows with inputs rounded otherwise.
    dtype : {"float32", "float64"}
        Precision of the rounding.
    """
    values = two_columns(function(X))
    moved = [np.abs(two_columns(function(perturb(X, seed))) - values) for seed in range(3)]
    size = np.maximum(1.0, np.abs(values))
    largest = np.max(moved, axis=(0, 2), initial=0.0)[:, None]
    rounding = _MEASURED_ROUNDINGS * UNIT_ROUNDOFF[dtype] * size
    return Bounded(values, _MEASURED_FACTOR * largest + rounding)


def two_columns(values: Any) -> Float64Array:
    """Float64 matrix of numbers that may be sparse or one for each row."""
    dense = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    return np.asarray(dense, dtype=np.float64).reshape(len(dense), -1)


def _step_errors(step: Step, start: Bounded, dtype: str) -> Float64Array:
    unit, X, errors = UNIT_ROUNDOFF[dtype], start.values, start.errors
    if isinstance(step, Fill):
        made = step.run(X)
        return np.where(made == X, errors, unit * np.abs(made))
    if isinstance(step, Scale):
        return _scale_errors(step, start, unit)
    if isinstance(step, OneHot):
        return np.zeros((len(X), step.n_outputs))
    if isinstance(step, Parallel):
        parts = (Bounded(X[:, b.columns], errors[:, b.columns]) for b in step.branches)
        branches = zip(step.branches, parts, strict=True)
        return np.hstack([bounded_steps(b.steps, part, dtype).errors for b, part in branches])
    if isinstance(step, Features):
        return _feature_errors(step.feature_map, start, dtype)
    if isinstance(step, Linear):
        return _product_errors(step.coef.T, step.intercept, start, unit)
    if isinstance(step, Scores):
        features = Features(step.feature_map)
        inner = Bounded(features.run(X), _feature_errors(step.feature_map, start, dtype))
        found = _product_errors(step.coef.T, step.intercept, inner, unit)
        return found if step.linear is None else found + _linear_errors(step, start, unit)
    if isinstance(step, TableScores):
        return _table_errors(step, start, unit)
    if isinstance(step, Clip):
        return errors + unit * np.abs(step.run(X))
    raise ValueError(f"The rounding of {type(step).__name__} is not known.")


def _product_errors(
    weights: Float64Array, biases: Float64Array, start: Bounded, unit: float
) -> Float64Array:
    """Errors of ``X @ weights + biases``; zero weights are no terms."""
    sizes = np.abs(weights)
    n_terms = (weights != 0.0).sum(axis=0)
    total = np.abs(start.values) @ sizes + np.abs(biases)
    errors: Float64Array = start.errors @ sizes + unit * (n_terms + 2) * total
    return errors


def _linear_errors(step: Scores, start: Bounded, unit: float) -> Float64Array:
    assert step.linear is not None
    part = _product_errors(step.linear.coef, np.zeros(step.n_outputs), start, unit)
    return part + unit * np.abs(step.run(start.values))


def _scale_errors(step: Scale, start: Bounded, unit: float) -> Float64Array:
    distance = np.abs(start.values - step.centre)
    moved = start.errors + unit * (np.abs(step.centre) + 3.0 * distance)
    scaled = (start.values - step.centre) * step.factor
    rounded = unit * (2.0 * np.abs(step.shift) + np.abs(scaled))
    errors: Float64Array = np.abs(step.factor) * moved + rounded
    return errors


def _feature_errors(feature_map: FeatureMap, start: Bounded, dtype: str) -> Float64Array:
    unit = UNIT_ROUNDOFF[dtype]
    offsets = np.abs(feature_map.offsets) + 0.5 * np.pi  # float64 adds a quarter of a turn
    phases = _product_errors(feature_map.frequencies, offsets, start, unit)
    amplitudes = np.abs(feature_map.amplitudes)
    if feature_map.relu:
        return amplitudes * (1.0 + 2.0 * unit) * phases
    errors = amplitudes * (np.minimum(phases, 2.0) + TRIG_ERROR[dtype] + 2.0 * unit)
    if feature_map.paired:
        errors = np.repeat(errors, 2, axis=1)[:, : feature_map.n_outputs]
    return errors


def _table_errors(step: TableScores, start: Bounded, unit: float) -> Float64Array:
    """Bound the rounding of sums, and the step to the next bin of phases that close to an edge.

    Where more than two bins are within reach, the range of the whole table.
    """
    tables = step.table_map
    last, index = tables.n_bins - 1, np.arange(tables.n_tables)
    phases = start.values @ tables.frequencies + tables.offsets
    reach = _product_errors(tables.frequencies, tables.offsets, start, unit)

    def values_at(bins: Float64Array) -> Float64Array:
        found: Float64Array = tables.tables[index, np.clip(bins, 0, last).astype(np.int64)]
        return found

    here = values_at(np.floor(phases))
    low, high = np.floor(phases - reach), np.floor(phases + reach)
    steps = np.maximum(np.abs(values_at(low) - here), np.abs(values_at(high) - here))
    spread = np.ptp(tables.tables, axis=1) if tables.n_tables else steps[:0].sum(axis=0)
    steps = np.where((high - low > 1.0)[:, :, None], spread, steps)
    total = np.abs(here).sum(axis=1) + np.abs(step.run(start.values))
    part = _product_errors(tables.linear, tables.intercept, start, unit)
    errors: Float64Array = steps.sum(axis=1) + unit * (tables.n_tables + 2) * total + part
    return errors
