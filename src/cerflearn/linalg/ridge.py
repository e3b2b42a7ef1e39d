"""Ridge regression: from second moments, and from rows with a given penalty."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from cerflearn._typing import Float64Array, FloatArray

_SINGULAR = 1e-12  # eigenvalues below this share of the largest are rounding


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
    kept = total > _SINGULAR * total[-1]
    return total[kept], vectors[:, kept]
