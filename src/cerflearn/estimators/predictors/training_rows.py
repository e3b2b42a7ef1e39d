"""Training rows in one order, each once: what a fit of a predictor starts from.

Rows with weight zero are dropped, equal rows with equal targets become one row with the sum of
their weights, and rows are sorted, within blocks of 65,536 rows. So up to that many rows a weight
of 2 means exactly the same as a row given twice, and the order of the rows has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn.training.task import GRID_ROWS

_KEY_BLOCK_ROWS = 4096
_LEAST_WEIGHT = float(np.finfo(np.float32).tiny)  # of a sum of one: networks are in float32


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Distinct rows in canonical order.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Dense data.
    targets : ndarray of shape (n_samples, n_scores)
        Of the rows.
    weights : ndarray of shape (n_samples,)
        Positive; they sum to one.
    strata : ndarray of shape (n_samples,), int64
        Rows with equal numbers are spread evenly over folds.
    """

    X: FloatArray
    targets: Float64Array
    weights: Float64Array
    strata: IntArray


def distinct_rows(
    X: Any, targets: Float64Array, weights: Float64Array, strata: IntArray
) -> TrainingRows:
    """Merge equal rows, drop those without weight, and sort the others.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Checked data.
    targets : ndarray of shape (n_samples, n_scores)
        Of the rows.
    weights : ndarray of shape (n_samples,)
        Not negative.
    strata : ndarray of shape (n_samples,), int64
        See :class:`TrainingRows`.

    Returns
    -------
    TrainingRows
        At least two rows.
    """
    X = X.toarray() if issparse(X) else X
    # Within blocks of the grid: data larger than memory are read block by block.
    found = [
        merge_rows(X[block], targets[block], weights[block])
        for start in range(0, len(X), GRID_ROWS)
        for block in (slice(start, start + GRID_ROWS),)
    ]
    rows = np.concatenate([first + i * GRID_ROWS for i, (first, _) in enumerate(found)])
    sums = np.concatenate([each for _, each in found])
    if len(rows) < 2:
        raise ValueError("Found 1 sample with a weight above 0 (n_samples = 1): at least 2 needed.")
    with np.errstate(over="ignore", under="ignore"):
        total = float(sums.sum())
        shares = sums / total
    if not (np.isfinite(total) and shares.min() >= _LEAST_WEIGHT):
        raise ValueError(
            f"Weights of rows range from {sums.min():.3g} to {sums.max():.3g}, too far for single "
            "precision, in which networks are trained: bring sample_weight and class_weight "
            "closer together, or give the smallest weights the value 0."
        )
    return TrainingRows(X[rows], targets[rows], shares, strata[rows])


def merge_rows(
    X: FloatArray, targets: Float64Array, weights: Float64Array
) -> tuple[IntArray, Float64Array]:
    """Find the distinct rows, in a canonical order, and add up their weights.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Data.
    targets : ndarray of shape (n_samples, n_targets)
        Numbers that rows must share too.
    weights : ndarray of shape (n_samples,)
        Not negative.

    Returns
    -------
    rows : ndarray of shape (n_distinct,), int64
        Indices of the first of equal rows.
    sums : ndarray of shape (n_distinct,)
        Their weights.
    """
    kept = np.flatnonzero(weights > 0.0)
    keys = _keys(X, kept)
    order = np.lexsort([keys, *targets[kept].T[::-1]])
    kept, keys = kept[order], keys[order]
    first = np.ones(len(kept), dtype=np.bool_)
    # Rows with equal keys are compared in full.
    for position in np.flatnonzero(keys[1:] == keys[:-1]) + 1:
        one, other = kept[position - 1], kept[position]
        same = np.array_equal(X[one], X[other]) and np.array_equal(targets[one], targets[other])
        first[position] = not same
    group = np.cumsum(first) - 1
    with np.errstate(over="ignore"):
        sums: Float64Array = np.bincount(group, weights=weights[kept]).astype(np.float64)
    return kept[first], sums


def _keys(X: FloatArray, rows: IntArray) -> Float64Array:
    """One number for each row that equal rows share: not a matrix product, whose bits may vary."""
    factors = np.random.default_rng(0).normal(size=X.shape[1])
    starts = range(0, len(rows), _KEY_BLOCK_ROWS)
    parts = [(X[rows[s : s + _KEY_BLOCK_ROWS]] * factors).sum(axis=1) for s in starts]
    return np.concatenate(parts) if parts else np.empty(0)
