"""The feature map inside another estimator: made, fitted, run in blocks of rows.

Inner maps are given plain arrays, whatever container the outer estimator was given.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array

from cerflearn._typing import Float64Array, FloatArray
from cerflearn._validation import Whole, invalid
from cerflearn.engine.blocks import BLOCK_ROWS, ComputedSource
from cerflearn.engine.engines import Engine, make_engine, one_thread_blas
from cerflearn.estimators.dask_rows import ClusterRows
from cerflearn.estimators.input import refuse_streamed, to_dense
from cerflearn.estimators.maps.masked import MaskedFourierFeatures
from cerflearn.estimators.maps.random_feature_map import RandomFeatureMap
from cerflearn.estimators.teachers import seeded
from cerflearn.linalg.moments import CrossMoments, cross_moments_block

DEFAULT_CODES = 15
"""Default number of codes, as in the paper."""

MACS_CONSTRAINT = Whole(
    "a positive integer of at most 1,000,000,000,000, or None", at_most=10**12, also=(None,)
)
"""What ``macs`` of an application must be."""

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


def has_inverse(estimator: Any) -> bool:
    """Whether codes can be turned back; ``AttributeError`` says what to set if not."""
    if not estimator.fit_inverse_transform:
        raise AttributeError(
            "inverse_transform needs fit_inverse_transform=True: set it and fit again."
        )
    return True


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
    if not isinstance(feature_map, RandomFeatureMap):
        remedy = "pass one of cerflearn, such as MaskedFourierFeatures()"
        refuse_streamed(X, f"Fitting feature_map={feature_map!r}", remedy)
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


def n_codes_of(fitted: Any, X: Any, n_components: int | None) -> int:
    """Count the codes: as many as are asked for, or 15, or all that the map and rows can have."""
    n_samples, n_outputs = int(X.shape[0]), n_inner_outputs(fitted, X)
    most = min(n_outputs, n_samples)
    if n_components is not None and n_components > most:
        raise invalid(
            "n_components",
            n_components,
            f"at most {most}, the smaller of n_samples={n_samples} and the {n_outputs} "
            "outputs of feature_map",
        )
    return min(int(n_components or DEFAULT_CODES), most)


def feature_moments(fitted: Any, X: Any, n_threads: int, *, with_inputs: bool) -> CrossMoments:
    """Moments of features and inputs of X, in one pass over blocks of rows."""
    engine = feature_engine(fitted, X, n_threads, with_inputs=with_inputs)
    moments = engine.map_reduce(cross_moments_block, False)
    check_moments(moments)
    return moments


def total_scatter(moments: CrossMoments) -> float:
    """Sum of squares of all centred features; refused if there is none."""
    total = float(np.trace(moments.left_scatter))
    if not total > 0.0:
        raise ValueError(
            "The features of X are constant: there is nothing to reduce. Scale X or choose "
            "another feature_map or gamma."
        )
    return total


class RowFeatures:
    """Features and inputs of some rows, computed where they are.

    Parameters
    ----------
    fitted : transformer
        The map.
    with_inputs : bool
        Whether inputs are wanted; otherwise they have no columns.
    """

    def __init__(self, fitted: Any, with_inputs: bool) -> None:
        self.fitted, self.with_inputs = fitted, with_inputs

    def __call__(self, rows: Any, _: Any) -> tuple[Float64Array, Float64Array]:
        """Return both."""
        inputs = to_dense(rows) if self.with_inputs else np.empty((rows.shape[0], 0))
        return inner_features(self.fitted, rows), inputs


def feature_engine(fitted: Any, X: Any, n_threads: int, *, with_inputs: bool) -> Engine:
    """Engine over blocks of features (b, n_outputs) and inputs (b, n_features or 0)."""
    features = RowFeatures(fitted, with_inputs)
    if isinstance(X, ClusterRows):
        return make_engine(X.block_source(features, None))

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        return features(X[start:stop], None)

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


def decode(X: Any, weights: Float64Array, mean: Float64Array) -> FloatArray:
    """Compute inputs (n_samples, n_features) of codes X by regressors (n_codes, n_features)."""
    codes: Any = check_array(X, dtype=[np.float64, np.float32], input_name="codes")
    if codes.shape[1] != len(weights):
        raise ValueError(
            f"X has {codes.shape[1]} columns, but codes have {len(weights)}: pass what transform "
            "returns."
        )
    with one_thread_blas():
        inputs: FloatArray = codes @ weights + mean
    return inputs.astype(codes.dtype, copy=False)
