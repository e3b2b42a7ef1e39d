"""The feature map inside another estimator: made, fitted, run in blocks of rows.

Inner maps are given plain arrays, whatever container the outer estimator was given.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import get_tags

from cerflearn._typing import Float64Array, FloatArray
from cerflearn._validation import invalid
from cerflearn.engine.blas import one_thread_blas
from cerflearn.engine.blocks import BLOCK_ROWS, ComputedSource
from cerflearn.engine.engines import Engine, make_engine
from cerflearn.estimators.input import to_dense
from cerflearn.estimators.maps.masked import MaskedFourierFeatures
from cerflearn.estimators.maps.random_feature_map import RandomFeatureMap
from cerflearn.estimators.teachers import seeded
from cerflearn.linalg.moments import CrossMoments

INNER_OUTPUTS = 512
"""Outputs of the map that is used if none is given."""


class Transformer(Protocol):
    """What ``feature_map`` may be: an estimator of features, ours or scikit-learn's."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn from rows of X."""

    def transform(self, X: Any) -> Any:
        """Return one row of features for each row of X."""


def check_inner_map(name: str, feature_map: Any) -> None:
    """Refuse what is neither None nor a transformer."""
    if feature_map is None:
        return
    is_object = not isinstance(feature_map, str | type)
    if not (is_object and hasattr(feature_map, "fit") and hasattr(feature_map, "transform")):
        must_be = "None or a transformer (not a class), such as MaskedFourierFeatures(macs=10_000)"
        raise invalid(name, feature_map, must_be)


def needs_target(feature_map: Any) -> bool:
    """Whether ``fit`` of a map, or of None, needs y."""
    if not hasattr(feature_map, "__sklearn_tags__") or isinstance(feature_map, type):
        return False
    return bool(get_tags(feature_map).target_tags.required)


def check_moments(moments: CrossMoments) -> None:
    """Refuse features that overflow when they are squared and summed."""
    for scatter in (moments.left_scatter, moments.cross_scatter, moments.right_scatter):
        if scatter is not None and not np.isfinite(scatter).all():
            raise ValueError(
                "The features of feature_map are too large for their variance to be a number: "
                "choose another map, or scale its output, for example with StandardScaler."
            )


def fit_inner_map(feature_map: Any, X: Any, y: Any, rng: np.random.Generator) -> Any:
    """Fit a clone of ``feature_map`` whose missing random states are drawn from ``rng``.

    None is a :class:`MaskedFourierFeatures` of 512 outputs.
    """
    if feature_map is None:
        feature_map = MaskedFourierFeatures(n_components=INNER_OUTPUTS)
    return seeded(clone(feature_map), rng).fit(X, y)


def inner_features(fitted: Any, rows: Any) -> Float64Array:
    """Features (b, n_outputs) in float64; ``ValueError`` if they are not a finite table."""
    if isinstance(fitted, RandomFeatureMap) and issparse(rows):
        sparse: Any = fitted.feature_map_.transform_sparse(rows.astype(np.float64))
        return np.asarray(sparse, dtype=np.float64)
    if isinstance(fitted, RandomFeatureMap):
        return fitted.feature_map_.transform_batch(to_dense(rows))
    output = fitted.transform(rows)
    output = output.toarray() if issparse(output) else output
    features = np.ascontiguousarray(output, dtype=np.float64)
    if features.ndim != 2 or len(features) != rows.shape[0] or features.shape[1] == 0:
        raise ValueError(
            f"feature_map={fitted!r} gives an output of shape {features.shape} for "
            f"{rows.shape[0]} rows of X: its transform must give one row for each, and at least "
            "one column."
        )
    if not np.isfinite(features).all():
        raise ValueError(f"feature_map={fitted!r} gives NaN or infinity: it must be finite.")
    return features


def n_inner_outputs(fitted: Any, X: Any) -> int:
    """Columns of a fitted map."""
    if isinstance(fitted, RandomFeatureMap):
        return int(fitted.feature_map_.n_outputs)
    return int(inner_features(fitted, X[:1]).shape[1])


def feature_engine(fitted: Any, X: Any, n_threads: int, *, with_inputs: bool) -> Engine:
    """Engine over blocks of features (b, n_outputs) and inputs (b, n_features or 0)."""

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        rows = X[start:stop]
        inputs = to_dense(rows) if with_inputs else np.empty((stop - start, 0))
        return inner_features(fitted, rows), inputs

    return make_engine(ComputedSource(compute, int(X.shape[0])), n_threads)


def project(
    fitted: Any, X: Any, components: Float64Array, intercept: Float64Array, n_threads: int
) -> FloatArray:
    """``features @ components.T + intercept`` in the dtype of X, without storing the features.

    Parameters
    ----------
    fitted : transformer
        The map.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Checked, float32 or float64.
    components : ndarray of shape (n_components, n_outputs)
        Directions.
    intercept : ndarray of shape (n_components,)
        Added.
    n_threads : int
        Most threads; the bits do not depend on it.
    """
    if isinstance(fitted, RandomFeatureMap) and not issparse(X):
        return fitted.feature_map_.scores(X, components, intercept, n_threads=n_threads)
    codes = np.empty((X.shape[0], len(components)), X.dtype)
    with one_thread_blas():
        for start in range(0, len(codes), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            codes[block] = inner_features(fitted, X[block]) @ components.T + intercept
    return codes
