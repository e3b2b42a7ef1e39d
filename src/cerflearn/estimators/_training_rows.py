"""Training rows in one order, each once: what a fit of a predictor starts from.

Rows with weight zero are dropped, equal rows with equal targets become one row with the sum of
their weights, and rows are sorted. So a weight of 2 means exactly the same as a row given twice,
and the order of the rows has no effect.
"""

from __future__ import annotations

import numpy as np

from cerflearn._typing import Float64Array, FloatArray, IntArray

_BLOCK_ROWS = 4096


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
    """
    kept = np.flatnonzero(weights > 0.0)
    keys = _keys(X, kept)
    order = np.lexsort([keys, *targets[kept].T[::-1]])
    kept, keys = kept[order], keys[order]
    first = np.ones(len(kept), dtype=np.bool_)
    # Rows with one key are compared in full; those without, never.
    for position in np.flatnonzero(keys[1:] == keys[:-1]) + 1:
        one, other = kept[position - 1], kept[position]
        same = np.array_equal(X[one], X[other]) and np.array_equal(targets[one], targets[other])
        first[position] = not same
    group = np.cumsum(first) - 1
    sums: Float64Array = np.bincount(group, weights=weights[kept]).astype(np.float64)
    return kept[first], sums


def _keys(X: FloatArray, rows: IntArray) -> Float64Array:
    """One number for each row that equal rows share: not a matrix product, whose bits may vary."""
    factors = np.random.default_rng(0).normal(size=X.shape[1])
    starts = range(0, len(rows), _BLOCK_ROWS)
    parts = [(X[rows[s : s + _BLOCK_ROWS]] * factors).sum(axis=1) for s in starts]
    return np.concatenate(parts) if parts else np.empty(0)
