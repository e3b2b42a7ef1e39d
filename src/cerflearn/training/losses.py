r"""Losses of scores, with their gradients.

Each function takes scores and targets (n_samples, n_scores) and the weights of the rows
(n_samples,), which sum to one over all rows of a problem, and returns the weighted sum of the
losses of the rows and its gradient by the scores.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cerflearn._typing import FloatArray

Loss = Callable[[FloatArray, FloatArray, FloatArray], tuple[float, FloatArray]]
"""``loss(scores, targets, weights)`` gives the value and the gradient by the scores."""


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
    r""":math:`\sum_n w_n (\ln(1 + e^{s_n}) - t_n s_n)`: one score, the log-odds of a class."""
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
