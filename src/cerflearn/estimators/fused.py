"""A map with a linear head, and a linear part beside: scores and cost, for every predictor."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.features.base import FeatureMap
from cerflearn.features.cost import Cost, Storage, StoredArray, stored_bytes, stored_cost
from cerflearn.features.linear import LinearPart
from cerflearn.features.masked import MaskedMap

_SPARSE_ROWS = 4096  # whose features are stored at once


def scores_of(
    feature_map: FeatureMap,
    coef: Float64Array,
    intercept: Float64Array,
    X: Any,
    n_threads: int = 1,
    linear: LinearPart | None = None,
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
    linear : LinearPart, optional
        Adds ``X @ linear``.
    """
    if not issparse(X):
        return feature_map.scores(X, coef, intercept, n_threads=n_threads, linear=linear)
    scores = np.empty((X.shape[0], len(coef)), dtype=X.dtype)
    for start in range(0, X.shape[0], _SPARSE_ROWS):
        rows = slice(start, start + _SPARSE_ROWS)
        features = feature_map.transform_sparse(X[rows], n_threads=n_threads)
        part = features @ coef.T + intercept
        scores[rows] = part if linear is None else part + X[rows] @ linear.coef
    return scores


def cost_of(
    feature_map: FeatureMap,
    coef: Float64Array,
    intercept: Float64Array,
    linear: LinearPart | None = None,
) -> Cost:
    """Cost of one row: the map, outputs times scores, and the terms of the linear part."""
    head = stored_cost(macs=coef.size, n_parameters=coef.size + intercept.size)
    counted = feature_map.cost() + head
    return counted if linear is None else counted + linear.cost()


def bytes_of(
    feature_map: MaskedMap,
    coef: Float64Array,
    intercept: Float64Array,
    linear: LinearPart | None = None,
    *,
    storage: Storage = "float32",
) -> int:
    """Bytes of constant data of the deployed predictor; amplitudes are part of the head.

    Parameters
    ----------
    feature_map, coef, intercept, linear
        As in :func:`scores_of`.
    storage : {"float32", "int16", "int8"}, default="float32"
        How weights are stored; see :func:`~cerflearn.features.cost.stored_bytes`.
    """
    arrays = [feature_map.stored_array(), StoredArray(coef.size)]
    if linear is not None:
        arrays.append(linear.stored_array())
    n_offsets = feature_map.n_projections if feature_map.offsets.any() else 0
    return stored_bytes(
        storage,
        n_features=feature_map.n_features,
        arrays=arrays,
        n_biases=n_offsets + intercept.size,
    )
