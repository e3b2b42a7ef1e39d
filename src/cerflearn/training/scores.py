r"""Scores of a network: their loss with its gradient, and their probabilities.

A loss takes scores and targets (n_samples, n_scores) and the weights of the rows (n_samples,),
which sum to one over all rows of a problem, and returns the weighted sum of the losses of the rows
and its gradient with respect to the scores. Probabilities are the softmax or the sigmoid of scores
times an inverse temperature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.training import policy

TargetKind: TypeAlias = Literal["binary", "multiclass", "multilabel", "regression"]
"""What targets are: one column of 0 and 1, one-hot classes, several columns of 0 and 1, numbers."""

Loss = Callable[[FloatArray, FloatArray, FloatArray], tuple[float, FloatArray]]
"""``loss(scores, targets, weights)`` gives the value and its gradient in the scores."""


def cross_entropy(
    scores: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    r""":math:`-\sum_n w_n \sum_c t_{nc} \ln \mathrm{softmax}(s_n)_c`, probabilities as targets."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    gradient = np.exp(shifted)
    total = gradient.sum(axis=1, keepdims=True)
    log_proba = shifted - np.log(total)
    value = -float(np.einsum("nc,nc,n->", log_proba, targets, weights))
    gradient /= total
    gradient -= targets
    gradient *= weights[:, None]
    return value, gradient


def logistic(
    scores: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    r""":math:`\sum_n w_n (\ln(1 + e^{s_n}) - t_n s_n)`, summed over the scores, log-odds."""
    small = np.exp(-np.abs(scores))  # without overflow
    softplus = np.maximum(scores, 0.0) + np.log1p(small)
    value = float(weights @ (softplus - targets * scores).sum(axis=1))
    gradient = np.where(scores >= 0.0, np.float32(1.0), small) / (1.0 + small)  # the sigmoid
    gradient -= targets
    gradient *= weights[:, None]
    return value, gradient


def squared_error(
    scores: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[float, FloatArray]:
    r""":math:`\tfrac12 \sum_n w_n |s_n - t_n|^2`."""
    residual = scores - targets
    weighted = residual * weights[:, None]
    return 0.5 * float(np.vdot(residual, weighted)), weighted


LOSSES: dict[TargetKind, Loss] = {
    "binary": logistic,
    "multiclass": cross_entropy,
    "multilabel": logistic,
    "regression": squared_error,
}
"""Loss of each kind of targets."""


def score_bounds(targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return bounds (n_scores,) of predicted numbers: the range of the targets, a tenth wider.

    Rows far from all training rows may get any score from a linear part, while few targets lie
    outside the range of the others. Constant targets bound nothing.
    """
    low, high = targets.min(axis=0), targets.max(axis=0)
    with np.errstate(over="ignore"):
        margin = np.where(high > low, policy.PREDICTION_MARGIN * (high - low), np.inf)
    return low - margin, high + margin


def score_targets(targets: Float64Array, kind: TargetKind) -> Float64Array:
    """Scores that a regression of the targets aims at: -1 and 1 for log-odds, else the targets."""
    return 2.0 * targets - 1.0 if kind in ("binary", "multilabel") else targets


def smoothed_targets(targets: Float64Array, kind: TargetKind) -> Float64Array:
    r"""Targets by the rule of succession: :math:`(n t + 1) / (n + C)` of n rows and C classes.

    Where no held-out row is wrong, the least log-loss is at infinite scores; with these targets n
    rows make no probability surer than n rows can (Platt, 1999).

    Examples
    --------
    >>> smoothed_targets(np.array([[1.0], [0.0]]), "binary").ravel()
    array([0.75, 0.25])
    """
    n_rows, n_columns = targets.shape
    n_classes = n_columns if kind == "multiclass" else 2
    smoothed: Float64Array = (n_rows * targets + 1.0) / (n_rows + n_classes)
    return smoothed


def fit_inverse_temperature(
    scores: Float64Array,
    targets: Float64Array,
    weights: Float64Array,
    kind: TargetKind,
    grid: tuple[float, ...] | None = None,
) -> float:
    """Temperature scaling: positive factor of the scores with the least log-loss.

    Parameters
    ----------
    scores, targets : ndarray of shape (n_samples, n_scores)
        Of rows that the scores were not fitted to; targets are 0 or 1, or between them.
    weights : ndarray of shape (n_samples,)
        Of the rows.
    kind : {"binary", "multiclass", "multilabel"}
        Of the targets.
    grid : tuple of float, optional
        Factors to compare; None: any between exp(-3) and exp(5).

    Returns
    -------
    float
        The factor.
    """
    loss = LOSSES[kind]

    def log_loss(factor: float) -> float:
        return loss(factor * scores, targets, weights)[0]

    if grid is not None:
        return min(grid, key=log_loss)
    found = minimize_scalar(
        lambda x: log_loss(np.exp(x)), bounds=policy.LOG_TEMPERATURE_BOUNDS, method="bounded"
    )
    return float(np.exp(found.x))


def probabilities(scores: FloatArray, inverse_temperature: float, kind: TargetKind) -> Float64Array:
    """Probabilities (n_samples, n_scores): softmax of classes, or a sigmoid of each score."""
    proba: Float64Array
    if kind == "multiclass":
        powers = np.exp(inverse_temperature * (scores - scores.max(axis=1, keepdims=True)))
        proba = powers / powers.sum(axis=1, keepdims=True)
        return proba
    log_odds = np.clip(
        inverse_temperature * scores, -policy.LARGEST_LOG_ODDS, policy.LARGEST_LOG_ODDS
    )
    proba = 1.0 / (1.0 + np.exp(-log_odds))
    return proba


def log_probabilities(
    scores: FloatArray, inverse_temperature: float, kind: TargetKind
) -> Float64Array:
    """Logarithms of :func:`probabilities`, finite for all finite scores."""
    scaled = inverse_temperature * scores
    if kind == "multiclass":
        return np.asarray(log_softmax(scaled, axis=1), dtype=np.float64)
    return np.asarray(-np.logaddexp(0.0, -scaled), dtype=np.float64)


def losses_of_rows(scores: Float64Array, targets: Float64Array, kind: TargetKind) -> Float64Array:
    """Loss (n_samples,) of each row's scores, see :data:`LOSSES`."""
    if kind == "multiclass":
        found: Float64Array = -np.sum(targets * log_softmax(scores, axis=1), axis=1)
        return found
    if kind == "regression":
        return np.asarray(0.5 * np.square(scores - targets).sum(axis=1), dtype=np.float64)
    losses: Float64Array = (np.logaddexp(0.0, scores) - targets * scores).sum(axis=1)
    return losses
