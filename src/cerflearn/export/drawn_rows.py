"""Rows to check an export with where none are given."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.steps import (
    Features,
    Fill,
    OneHot,
    Parallel,
    Program,
    Scale,
    Scores,
    Step,
    TableScores,
)

DRAWN_ROWS = 1_000
"""Rows that are drawn."""

_MISSING_SHARE = 0.1  # of the values that a first imputer gets


def framed_rows(program: Program, dtype: str = "float32") -> Any:
    """Draw rows that spread over what a model tells apart.

    Scalers give location and scale of the inputs, encoders the categories, features and tables
    the distance over which they vary.

    Parameters
    ----------
    program : Program
        The model.
    dtype : {"float32", "float64"}, default="float32"
        What numbers are rounded to.

    Returns
    -------
    ndarray or DataFrame of shape (1000, n_inputs)
        In float64, codes and markers of missing values as the model has them; with the names of
        the inputs, if there are any and pandas is installed.
    """
    drawn = _rows_for(program.steps, program.n_inputs, np.random.default_rng(0))
    rows = drawn.astype(dtype).astype(np.float64)
    for column, values in _known_numbers(program.steps, np.arange(program.n_inputs)):
        exact = np.isin(drawn[:, column], values)
        rows[exact, column] = drawn[exact, column]
    if program.input_names is None or find_spec("pandas") is None:
        return rows
    import pandas

    return pandas.DataFrame(rows, columns=list(program.input_names))


def _rows_for(steps: tuple[Step, ...], n_inputs: int, rng: np.random.Generator) -> Float64Array:
    """Rows (n, n_inputs) for steps, of which the first that is known decides."""
    shape = (DRAWN_ROWS, n_inputs)
    first = steps[0] if steps else None
    if isinstance(first, Scale):
        factor = np.where(first.factor == 0.0, 1.0, first.factor)
        made = _rows_for(steps[1:], n_inputs, rng)
        return (made - first.shift) / factor + first.centre
    if isinstance(first, Fill):
        made = _rows_for(steps[1:], n_inputs, rng)
        return np.where(rng.random(shape) < _MISSING_SHARE, first.missing, made)
    if isinstance(first, OneHot):
        # Only categories that have an output: others may be refused.
        known = [codes if len(codes) else np.zeros(1) for codes in first.categories]
        chosen = [rng.choice(codes, DRAWN_ROWS) for codes in known]
        return np.column_stack(chosen)
    if isinstance(first, Parallel):
        rows = rng.normal(size=shape)
        for branch in first.branches:
            rows[:, branch.columns] = _rows_for(branch.steps, len(branch.columns), rng)
        return rows
    rows = rng.normal(size=shape)
    if isinstance(first, TableScores):
        found = first.table_map
        middle = 0.5 * found.n_bins
        equations = [(found.frequencies, middle - found.offsets), (found.linear, -found.intercept)]
        return _centre(equations) + rows * middle / _length(found.frequencies)
    if isinstance(first, Features | Scores):
        feature_map = first.feature_map
        # Cosines vary everywhere, positive parts and scores around the inputs where they are 0.
        equations = [(feature_map.frequencies, -feature_map.offsets)] if feature_map.relu else []
        if isinstance(first, Scores) and first.linear is not None:
            equations.append((first.linear.coef, -first.intercept))
        return _centre(equations) + rows * np.pi / _length(feature_map.frequencies)
    return rows


def _centre(equations: list[tuple[Float64Array, Float64Array]]) -> Float64Array | float:
    """Return inputs (n_inputs,) whose projections by some weights are nearest to given values."""
    weights = np.hstack([weights for weights, _ in equations]) if equations else np.empty((0, 0))
    lengths = np.sqrt(np.square(weights).sum(axis=0))
    kept = lengths > 0.0
    if not kept.any():
        return 0.0
    values = np.concatenate([values for _, values in equations])[kept] / lengths[kept]
    centre: Float64Array = lstsq((weights[:, kept] / lengths[kept]).T, values)[0]
    return centre


def _known_numbers(
    steps: tuple[Step, ...], columns: IntArray
) -> Iterator[tuple[int, Float64Array]]:
    """Columns with the codes and markers that steps compare them with."""
    for step in steps:
        if isinstance(step, Parallel):
            for branch in step.branches:
                yield from _known_numbers(branch.steps, columns[branch.columns])
        elif isinstance(step, OneHot):
            yield from zip(columns.tolist(), step.categories, strict=True)
        elif isinstance(step, Fill):
            yield from ((int(column), np.array([step.missing])) for column in columns)
            continue  # other numbers are as they were
        return


def _length(weights: Float64Array) -> float:
    """Root of the mean squared length of projections; 1 if all are zero, or there are none."""
    return float(np.sqrt(np.square(weights).sum() / max(1, weights.shape[1]))) or 1.0
