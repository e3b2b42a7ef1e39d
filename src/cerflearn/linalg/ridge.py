"""Ridge regression: from second moments, from rows with a given penalty, and for many penalties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from cerflearn._typing import Float64Array, FloatArray

RIDGE_ALPHAS = tuple(10.0**power for power in np.arange(-5.0, 2.5, 0.5))
"""Values of ``alpha`` tried: penalties in units of the mean variance of a feature."""

SINGULAR = 1e-12
"""Eigenvalues below this share of the largest are rounding."""


def relative_ridge(covariance: Float64Array, alpha: float) -> float:
    """``alpha`` times the mean variance, so that the scale of the columns does not matter."""
    return alpha * float(np.trace(covariance)) / len(covariance)


def ridge_weights(covariance: Float64Array, cross: Float64Array, alpha: float) -> Float64Array:
    r"""Solve :math:`(C + \alpha \frac{\operatorname{tr} C}{J} I) B = C_{zx}` for B.

    B minimises the mean of :math:`|x - \bar x - B^\top (z - \bar z)|^2` plus the penalty on
    :math:`|B|^2`: one solve for all targets. Directions without variance get the weight 0.

    Parameters
    ----------
    covariance : ndarray of shape (n_columns, n_columns)
        C, of the regressors z. Scatter matrices do as well, if ``cross`` is one too.
    cross : ndarray of shape (n_columns, n_targets)
        :math:`C_{zx}`, of regressors and targets.
    alpha : float
        Penalty in units of the mean variance of the regressors, not negative.

    Examples
    --------
    >>> ridge_weights(np.diag([3.0, 1.0]), np.array([[6.0], [4.0]]), 0.0)
    array([[2.],
           [4.]])
    >>> ridge_weights(np.diag([3.0, 1.0]), np.array([[6.0], [4.0]]), 0.5)
    array([[1.5],
           [2. ]])
    """
    roots, vectors = regularised_eigen(covariance, alpha)
    weights: Float64Array = vectors @ ((vectors.T @ cross) / roots[:, None])
    return weights


def ridge_head(
    features: FloatArray, targets: FloatArray, penalty: float
) -> tuple[Float64Array, Float64Array]:
    r"""Minimise :math:`|T - F A - 1 a^\top|^2 + \lambda |A|^2` over A and a.

    By one LU solve, which is faster than the eigenvectors of :func:`ridge_weights`: for a start
    that is trained on, where the penalty keeps the matrix regular and need not be chosen.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_columns)
        F.
    targets : ndarray of shape (n_samples, n_targets)
        T.
    penalty : float
        :math:`\lambda`, positive: of the squared error summed over rows.

    Returns
    -------
    head : ndarray of shape (n_columns, n_targets)
        A.
    bias : ndarray of shape (n_targets,)
        a.
    """
    mean, target_mean = features.mean(axis=0), targets.mean(axis=0)
    centred = features - mean
    gram = centred.T @ centred
    gram.flat[:: len(gram) + 1] += penalty
    head = np.linalg.solve(gram, centred.T @ (targets - target_mean))
    return head, target_mean - mean @ head


def regularised_eigen(covariance: Float64Array, alpha: float) -> tuple[Float64Array, Float64Array]:
    """Eigenvalues with the penalty added, (r,), and their vectors, (n_columns, r).

    What is rounding beside the largest eigenvalue is left out; all of it, if nothing varies.
    """
    values, vectors = eigh(covariance)
    total = np.maximum(values, 0.0) + relative_ridge(covariance, alpha)
    kept = total > SINGULAR * total[-1]
    return total[kept], vectors[:, kept]


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """Best ridge regression of a path.

    Attributes
    ----------
    head : ndarray of shape (n_outputs, n_scores)
        Coefficients.
    bias : ndarray of shape (n_scores,)
        Intercepts.
    left_out : ndarray of shape (n_samples, n_scores)
        Predictions of the rows, each by a fit without it.
    error : float
        Their weighted mean squared error.
    penalty : float
        Penalty of the squared coefficients, beside the mean squared error.
    alpha : float
        The same in units of the mean variance of a feature: ``(alpha,)`` as the only value to try
        gives the same fit.
    """

    head: Float64Array
    bias: Float64Array
    left_out: Float64Array
    error: float
    penalty: float
    alpha: float


def fit_ridge_path(
    features: FloatArray,
    targets: FloatArray,
    weights: Float64Array,
    alphas: tuple[float, ...] = RIDGE_ALPHAS,
) -> RidgeFit:
    r"""Ridge regression with the penalty of the least leave-one-out error.

    With centred features :math:`F = U \sqrt{S} V^\top`, one eigendecomposition
    :math:`F^\top F = V S V^\top` is used for all penalties: predictions are
    :math:`F V (S + \lambda)^{-1} V^\top F^\top T`, and leaving row n out divides its residual by
    :math:`1 - h_n`, h the diagonal of the hat matrix with the intercept.

    :func:`cerflearn.linalg.ridge.ridge_weights` starts from moments, without rows: it cannot leave
    any out, and drops directions that are rounding, which a positive penalty makes harmless here.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_outputs)
        Of the rows.
    targets : ndarray of shape (n_samples, n_scores)
        To regress on them.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    alphas : tuple of float
        Penalties to try, positive, in units of the mean variance of a feature.
    """
    mean, target_mean = weights @ features, weights @ targets
    root = np.sqrt(weights)[:, None]
    centred, residual = (features - mean) * root, (targets - target_mean) * root
    values, vectors = np.linalg.eigh(centred.T @ centred)
    values = np.maximum(values, 0.0)
    rotated = centred @ vectors
    projected = rotated.T @ residual
    unit = values.sum() / len(values) or 1.0
    best: tuple[float, float, Float64Array] | None = None
    for alpha in alphas:
        inverse = 1.0 / (values + alpha * unit)
        hat = np.einsum("nk,k,nk->n", rotated, inverse, rotated) + weights
        errors = residual - rotated @ (inverse[:, None] * projected)
        errors /= np.maximum(1.0 - hat, 1e-6)[:, None]
        error = float(np.square(errors).sum())
        if best is None or error < best[0]:
            best = (error, alpha, errors)
    assert best is not None
    error, alpha, errors = best
    penalty = alpha * unit
    head = vectors @ (projected / (values + penalty)[:, None])
    left_out = targets - errors / np.maximum(root, 1e-150)
    return RidgeFit(head, target_mean - mean @ head, left_out, error, penalty, alpha)
