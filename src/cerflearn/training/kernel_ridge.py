r"""Weighted kernel ridge regression with a Gaussian kernel: a model too costly to deploy.

It is the teacher of networks trained with ``teacher="kernel"``, and its leave-one-out error
compares kernels and scalings of the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.spatial.distance import pdist

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn.linalg.distances import squared_distances
from cerflearn.training import policy


@dataclass(frozen=True, eq=False)
class KernelRidgeModel:
    r"""Scores :math:`k(x, X) c + \bar t` with :math:`k = \exp(-\gamma d^2)`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows.
    gamma : float
        Coefficient of the kernel.
    dual_coef : ndarray of shape (n_samples, n_scores)
        :math:`c = (K + \lambda W^{-1})^{-1} (T - \bar t)`.
    mean : ndarray of shape (n_scores,)
        :math:`\bar t`.
    tuning_rows : ndarray of shape (n_tuned,), int64
        Rows that gamma and the ridge were chosen on.
    left_out : ndarray of shape (n_tuned, n_scores)
        Scores of these rows, each by a fit to the others.
    """

    X: FloatArray
    gamma: float
    dual_coef: Float64Array
    mean: Float64Array
    tuning_rows: IntArray
    left_out: Float64Array

    def scores(self, X: Any) -> Float64Array:
        """Scores (n_samples, n_scores) of any rows, in blocks."""
        n_blocks = max(1, len(X) // policy.KERNEL_BLOCK_ROWS)
        bounds = np.array_split(np.arange(len(X)), n_blocks)
        blocks = (np.asarray(X[rows[0] : rows[-1] + 1], dtype=np.float64) for rows in bounds)
        kernels = (np.exp(-self.gamma * squared_distances(x, self.X)) for x in blocks)
        return np.vstack([kernel @ self.dual_coef for kernel in kernels]) + self.mean


def fit_kernel_ridge(
    X: FloatArray, targets: Float64Array, weights: Float64Array, rng: np.random.Generator
) -> KernelRidgeModel:
    r"""Minimise :math:`\sum_n w_n |t_n - f(x_n)|^2 + \lambda |f|^2`.

    Gamma and the ridge have the least leave-one-out error on 600 rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows, of which a square matrix is stored.
    targets : ndarray of shape (n_samples, n_scores)
        One-hot classes, or standardised targets.
    weights : ndarray of shape (n_samples,)
        Of the rows, positive.
    rng : numpy.random.Generator
        Picks the 600 rows.

    Returns
    -------
    KernelRidgeModel
        The fit.
    """
    mean = weights @ targets / weights.sum()
    inverse_weights = weights.mean() / weights
    rows = rng.permutation(len(X))[: policy.TUNING_ROWS]
    tuned = tune_kernel(X[rows], targets[rows] - mean, weights[rows])
    kernel = np.exp(-tuned.gamma * squared_distances(X, X))
    kernel.flat[:: len(X) + 1] += tuned.ridge * inverse_weights
    factor = cholesky(kernel, lower=True, overwrite_a=True)
    dual_coef = cho_solve((factor, True), targets - mean)
    return KernelRidgeModel(X, tuned.gamma, dual_coef, mean, rows, tuned.left_out + mean)


@dataclass(frozen=True, eq=False)
class TunedKernel:
    """Kernel ridge regression with the least leave-one-out error.

    Attributes
    ----------
    gamma, ridge : float
        Coefficient of the kernel, and penalty.
    error : float
        Weighted mean squared leave-one-out error.
    left_out : ndarray of shape (n_samples, n_scores)
        Scores of the rows, each by a fit to the others.
    """

    gamma: float
    ridge: float
    error: float
    left_out: Float64Array


def tune_kernel(
    X: FloatArray,
    targets: Float64Array,
    weights: Float64Array,
    widths: tuple[float, ...] = policy.KERNEL_WIDTHS,
) -> TunedKernel:
    """Compare kernel widths and ridges by the leave-one-out error.

    With weights the kernel matrix is that of the rows times the roots of their weights.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    targets : ndarray of shape (n_samples, n_scores)
        Centred.
    weights : ndarray of shape (n_samples,)
        Of the rows, positive.
    widths : tuple of float
        Values of gamma, times the median squared distance.

    Returns
    -------
    TunedKernel
        The best.
    """
    median = float(np.median(pdist(X, "sqeuclidean"))) if len(X) > 1 else 1.0
    root = np.sqrt(weights / weights.mean())[:, None]
    distances, scaled_targets = squared_distances(X, X), root * targets
    best: TunedKernel | None = None
    for width in widths:
        gamma = width / (median or 1.0)
        values, vectors = np.linalg.eigh(root * np.exp(-gamma * distances) * root.T)
        rotated = vectors.T @ scaled_targets
        for ridge in policy.KERNEL_RIDGES:
            scaled = vectors / (np.maximum(values, 0.0) + ridge)
            diagonal = np.einsum("ij,ij->i", scaled, vectors)
            residual = (scaled @ rotated) / diagonal[:, None]
            error = float(np.square(residual).mean())
            if best is None or error < best.error:
                best = TunedKernel(gamma, ridge, error, targets - residual / root)
    assert best is not None
    return best
