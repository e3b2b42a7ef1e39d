"""Canonical correlations from second moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import svd

from cerflearn._typing import Float64Array
from cerflearn.linalg.moments import CrossMoments
from cerflearn.linalg.ridge import regularised_eigen
from cerflearn.linalg.signs import fixed_signs


@dataclass(frozen=True, eq=False)
class CanonicalAxes:
    """Directions of two views that correlate most.

    Attributes
    ----------
    left, right : ndarray of shape (n_components, n_left) and (n_components, n_right)
        Weights of the two views.
    correlations : ndarray of shape (n_components,)
        Regularised canonical correlations, descending, in [0, 1].
    """

    left: Float64Array
    right: Float64Array
    correlations: Float64Array


def canonical_axes(moments: CrossMoments, n_components: int, alpha: float) -> CanonicalAxes:
    r"""Maximise :math:`a^\top C_{xy} b` with :math:`a^\top R_x a = b^\top R_y b = 1`.

    :math:`R = C + \alpha \frac{\operatorname{tr} C}{K} I` is the covariance of a view with a ridge.
    Whitened by :math:`R_x^{-1/2}` and :math:`R_y^{-1/2}`, the axes are singular vectors of the
    cross-covariance, and the correlations its singular values.

    Parameters
    ----------
    moments : CrossMoments
        With the scatter of the right view.
    n_components : int
        At most the rank of either view; fewer are returned where a view has fewer directions.
    alpha : float
        Ridge in units of the mean variance of each view.
    """
    assert moments.right_scatter is not None
    left_root = _whitener(moments.left_scatter / moments.n_samples, alpha)
    right_root = _whitener(moments.right_scatter / moments.n_samples, alpha)
    whitened = left_root.T @ (moments.cross_scatter / moments.n_samples) @ right_root
    left, correlations, right = svd(whitened, full_matrices=False)
    left_axes = (left_root @ left[:, :n_components]).T
    right_axes = (right_root @ right[:n_components].T).T
    # The signs of a pair are free together: the largest weight of the left view is positive.
    signs = fixed_signs(left_axes)
    return CanonicalAxes(
        left=np.ascontiguousarray(signs * left_axes),
        right=np.ascontiguousarray(signs * right_axes),
        correlations=np.minimum(correlations[:n_components], 1.0),
    )


def _whitener(covariance: Float64Array, alpha: float) -> Float64Array:
    """Matrix (n_columns, r) that turns the regularised covariance into the identity."""
    roots, vectors = regularised_eigen(covariance, alpha)
    whitener: Float64Array = vectors / np.sqrt(roots)
    return whitener
