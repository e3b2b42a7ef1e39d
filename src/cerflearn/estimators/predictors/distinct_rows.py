"""Training rows in one order, each once: what a fit of a predictor starts from.

Rows with weight zero are dropped, equal rows with equal targets become one row with the sum of
their weights, and rows are sorted. So a weight of 2 means exactly the same as a row given twice,
and the order of the rows has no effect.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn._validation import check_number, invalid

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


def weigh_classes(
    class_weight: Any, y: Any, classes: IntArray, weights: Float64Array
) -> Float64Array:
    """Weights of the rows times those of their classes.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        As in scikit-learn; but ``"balanced"`` counts a row with weight 2 as two rows.
    y : ndarray of shape (n_samples,)
        Labels.
    classes : ndarray of shape (n_samples,), int
        Their numbers.
    weights : ndarray of shape (n_samples,)
        Of the rows, not negative.
    """
    if class_weight is None:
        return weights
    factors: Float64Array
    if isinstance(class_weight, str) and class_weight == "balanced":
        sums = np.bincount(classes, weights=weights)
        present = np.where(sums > 0.0, sums, 1.0)
        factors = (weights.sum() / (np.count_nonzero(sums) * present))[classes]
    elif isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            name = f"class_weight[{label!r}]"
            check_number(name, weight, "a number that is not negative", at_least=0.0)
        factors = np.asarray(compute_sample_weight(class_weight, y), dtype=np.float64)
    else:
        raise invalid("class_weight", class_weight, "a dict, 'balanced' or None")
    weighted: Float64Array = weights * factors
    return weighted
