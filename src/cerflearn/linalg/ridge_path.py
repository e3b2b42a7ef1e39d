r"""Ridge regression for many penalties at once, each judged by leaving rows out one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import Float64Array, FloatArray

RIDGE_ALPHAS = tuple(10.0**power for power in np.arange(-5.0, 2.5, 0.5))
"""Values of ``alpha`` tried: penalties in units of the mean variance of a feature."""


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
    :math:`F^\top F = V S V^\top` serves all penalties: predictions are
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
