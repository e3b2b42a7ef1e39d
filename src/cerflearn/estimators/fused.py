"""A map with a linear head on it: scores and cost, for every predictor."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.features.base import FeatureMap
from cerflearn.features.cost import Cost, stored_cost

_SPARSE_ROWS = 4096  # whose features are stored at once


def scores_of(
    feature_map: FeatureMap,
    coef: Float64Array,
    intercept: Float64Array,
    X: Any,
    n_threads: int = 1,
) -> FloatArray:
    """Scores (n_samples, n_scores) of checked X in its dtype, without storing all features.

    Parameters
    ----------
    feature_map : FeatureMap
        The features.
    coef : ndarray of shape (n_scores, n_outputs)
        Head.
    intercept : ndarray of shape (n_scores,)
        Its biases.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Data.
    n_threads : int, default=1
        Threads.
    """
    if not issparse(X):
        return feature_map.scores(X, coef, intercept, n_threads=n_threads)
    scores = np.empty((X.shape[0], len(coef)), dtype=X.dtype)
    for start in range(0, X.shape[0], _SPARSE_ROWS):
        rows = slice(start, start + _SPARSE_ROWS)
        features = feature_map.transform_sparse(X[rows], n_threads=n_threads)
        scores[rows] = features @ coef.T + intercept
    return scores


def cost_of(feature_map: FeatureMap, coef: Float64Array, intercept: Float64Array) -> Cost:
    """Cost of one row: the map, and outputs times scores."""
    head = stored_cost(macs=coef.size, n_parameters=coef.size + intercept.size)
    return feature_map.cost() + head
