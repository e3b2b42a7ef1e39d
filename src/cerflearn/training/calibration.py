"""From targets to scores and from scores to probabilities."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from cerflearn._typing import Float64Array
from cerflearn.training.losses import cross_entropy, logistic

_LOG_FACTORS = (-3.0, 5.0)


def score_targets(targets: Float64Array) -> Float64Array:
    """Scores that a regression aims at: -1 and 1 for the single score of two classes."""
    return 2.0 * targets - 1.0 if targets.shape[1] == 1 else targets


def best_sharpness(scores: Float64Array, targets: Float64Array, weights: Float64Array) -> float:
    """Positive factor of the scores for which probabilities have the least log-loss.

    Parameters
    ----------
    scores, targets : ndarray of shape (n_samples, n_scores)
        Of rows that the scores were not fitted to; targets are 0 or 1.
    weights : ndarray of shape (n_samples,)
        Of the rows.
    """
    loss = logistic if targets.shape[1] == 1 else cross_entropy

    def log_loss(log_factor: float) -> float:
        return loss(np.exp(log_factor) * scores, targets, weights)[0]

    found = minimize_scalar(log_loss, bounds=_LOG_FACTORS, method="bounded")
    return float(np.exp(found.x))


def log_likelihood(
    scores: Float64Array, targets: Float64Array, weights: Float64Array
) -> Float64Array:
    r"""Return :math:`\ln p` of each row's class, (n_samples,), at the best sharpness of the scores.

    It tells two models apart by fewer rows than their errors do. Scores that are too sharp or too
    soft as a whole lose nothing by it.

    Parameters
    ----------
    scores, targets, weights : ndarray
        As in :func:`best_sharpness`.
    """
    sharp = best_sharpness(scores, targets, weights) * scores
    if targets.shape[1] == 1:
        signed = np.where(targets > 0.5, sharp, -sharp)
        return np.ravel(-np.logaddexp(0.0, -signed))
    found: Float64Array = np.sum(targets * log_softmax(sharp, axis=1), axis=1)
    return found
