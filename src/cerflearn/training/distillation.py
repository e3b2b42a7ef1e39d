r"""A costly teacher, kernel ridge regression, whose scores the network learns.

The teacher scores the training rows and points on lines between them, of which it knows what the
labels do not say: how sure it is, and what lies between. The network is trained on the softmax of
its scores at a temperature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.spatial.distance import pdist

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn.linalg.distances import squared_distances

MOST_ROWS = 6000
"""Rows of which the teacher keeps a matrix of products; more are taught by their labels alone."""

SOFTENING = 0.5
"""Share of the temperature that fits held-out labels best: softer targets say more."""

_CHOICE_ROWS = 1000
_WIDTHS = (0.5, 1.0, 2.0, 4.0)  # times one over the median squared distance
_RIDGES = (1e-3, 1e-2, 1e-1, 0.5, 2.0)
_SHARPNESS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0)
_FEW_POINTS = 3000  # between rows, unless four times the rows are less or the rows are more


@dataclass(frozen=True, eq=False)
class KernelTeacher:
    r"""Scores :math:`k(x, X) \alpha + \bar t` with :math:`k = \exp(-\gamma d^2)`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training rows.
    gamma : float
        Coefficient of the kernel.
    coef : ndarray of shape (n_samples, n_scores)
        :math:`\alpha = (K + \lambda I)^{-1} (T - \bar t)`.
    mean : ndarray of shape (n_scores,)
        :math:`\bar t`.
    sharpness : float
        Factor for which the softmax of scores has the least log-loss on rows left out, if targets
        are classes.
    """

    X: FloatArray
    gamma: float
    coef: Float64Array
    mean: Float64Array
    sharpness: float

    def scores(self, X: FloatArray) -> Float64Array:
        """Scores (n_samples, n_scores) of any rows, in blocks."""
        blocks = np.array_split(X, max(1, len(X) // 1000))
        kernels = (np.exp(-self.gamma * squared_distances(x, self.X)) for x in blocks)
        return np.vstack([kernel @ self.coef for kernel in kernels]) + self.mean


def fit_teacher(
    X: FloatArray, targets: Float64Array, weights: Float64Array, rng: np.random.Generator
) -> KernelTeacher:
    r"""Weighted kernel ridge regression, :math:`\min \sum_n w_n |t_n - f(x_n)|^2 + \lambda |f|^2`.

    Width and ridge have the least leave-one-out error on 1,000 rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        At most :data:`MOST_ROWS` rows.
    targets : ndarray of shape (n_samples, n_scores)
        One-hot classes, or standardised targets.
    weights : ndarray of shape (n_samples,)
        Of the rows, positive.
    rng : numpy.random.Generator
        Picks the 1,000 rows.
    """
    mean = weights @ targets / weights.sum()
    inverse_weights = weights.mean() / weights
    rows = rng.permutation(len(X))[:_CHOICE_ROWS]
    choice = choose_kernel(X[rows], targets[rows] - mean, weights[rows])
    gamma, ridge = choice.gamma, choice.ridge
    kernel = np.exp(-gamma * squared_distances(X, X))
    kernel.flat[:: len(X) + 1] += ridge * inverse_weights
    factor = cholesky(kernel, lower=True, overwrite_a=True)
    coef = cho_solve((factor, True), targets - mean)
    return KernelTeacher(X, gamma, coef, mean, sharpness(choice.left_out + mean, targets[rows]))


@dataclass(frozen=True, eq=False)
class KernelChoice:
    """Kernel ridge regression with the least leave-one-out error.

    Attributes
    ----------
    gamma, ridge : float
        Coefficient of the kernel, and penalty.
    error : float
        Weighted mean squared error of rows left out.
    left_out : ndarray of shape (n_samples, n_scores)
        Scores of the rows, each by a fit without it.
    """

    gamma: float
    ridge: float
    error: float
    left_out: Float64Array


def choose_kernel(
    X: FloatArray,
    targets: Float64Array,
    weights: Float64Array,
    widths: tuple[float, ...] = _WIDTHS,
) -> KernelChoice:
    """Compare widths and ridges on centred targets.

    With weights the kernel matrix is that of the rows times the roots of their weights.
    """
    median = float(np.median(pdist(X, "sqeuclidean"))) if len(X) > 1 else 1.0
    root = np.sqrt(weights / weights.mean())[:, None]
    distances, scaled_targets = squared_distances(X, X), root * targets
    best: KernelChoice | None = None
    for width in widths:
        gamma = width / (median or 1.0)
        values, vectors = np.linalg.eigh(root * np.exp(-gamma * distances) * root.T)
        rotated = vectors.T @ scaled_targets
        for ridge in _RIDGES:
            scaled = vectors / (np.maximum(values, 0.0) + ridge)
            diagonal = np.einsum("ij,ij->i", scaled, vectors)
            residual = (scaled @ rotated) / diagonal[:, None]
            error = float(np.square(residual).mean())
            if best is None or error < best.error:
                best = KernelChoice(gamma, ridge, error, targets - residual / root)
    assert best is not None
    return best


def sharpness(scores: Float64Array, targets: Float64Array) -> float:
    """Factor of held-out scores for which their softmax has the least log-loss."""
    return min(_SHARPNESS, key=lambda factor: _log_loss(softened(scores, factor), targets))


def softened(scores: Float64Array, factor: float) -> Float64Array:
    """Softmax of the scores times a factor; of a single score, the sigmoid around one half."""
    proba: Float64Array
    if scores.shape[1] == 1:
        proba = 1.0 / (1.0 + np.exp(-factor * (2.0 * scores - 1.0)))
        return proba
    powers = np.exp(factor * (scores - scores.max(axis=1, keepdims=True)))
    proba = powers / powers.sum(axis=1, keepdims=True)
    return proba


def _log_loss(proba: Float64Array, targets: Float64Array) -> float:
    if proba.shape[1] == 1:
        proba, targets = np.hstack([1.0 - proba, proba]), np.hstack([1.0 - targets, targets])
    return -float((targets * np.log(np.maximum(proba, 1e-12))).sum(axis=1).mean())


def points_between(
    X: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, IntArray, IntArray, Float64Array]:
    """Points on lines between random pairs of rows, and the pairs with their shares.

    As many as rows, or up to four times as many where rows are few.

    Returns
    -------
    points : ndarray of shape (n_points, n_features)
        Between the rows.
    first, second : ndarray of shape (n_points,), int64
        The rows.
    share : ndarray of shape (n_points,)
        Of the first.
    """
    n = len(X)
    n_points = min(4 * n, max(_FEW_POINTS, n))
    first, second = rng.integers(n, size=n_points), rng.integers(n, size=n_points)
    share = rng.uniform(size=n_points)
    points = share[:, None] * X[first] + (1.0 - share[:, None]) * X[second]
    return points, first, second, share
