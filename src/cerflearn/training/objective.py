r"""What training minimises: the loss of a network's scores, with its gradient.

A loss takes scores and targets (n_samples, n_scores) and the weights of the rows (n_samples,),
which sum to one over all rows of a problem, and returns the weighted sum of the losses of the rows
and its gradient with respect to the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from cerflearn._typing import FloatArray, IntArray
from cerflearn.training.network import (
    Activation,
    Float32Array,
    NetworkArrays,
    apply_activation,
    phases_to_derivatives,
)

TargetKind: TypeAlias = Literal["binary", "multiclass", "multilabel", "regression"]
"""What targets are: one column of 0 and 1, one-hot classes, several columns of 0 and 1, numbers."""

GRADIENT_BLOCK_ROWS = 1024
"""Rows of a block. Sums over rows are sums over blocks, in the same order for any threads."""

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


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows in single precision, their targets, and the loss.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
        Scaled data.
    targets : ndarray of shape (n_samples, n_scores), float32
        Of the scores.
    weights : ndarray of shape (n_samples,), float32
        Of the rows; they sum to one.
    loss : callable
        See :data:`Loss`.
    """

    X: Float32Array
    targets: Float32Array
    weights: Float32Array
    loss: Loss

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    def rows(self, index: Any) -> Problem:
        """Problem of some rows, whose weights again sum to one."""
        weights = self.weights[index]
        return Problem(self.X[index], self.targets[index], weights / weights.sum(), self.loss)

    def inputs(self, used: Any) -> Problem:
        """Problem with some of the inputs."""
        X = np.ascontiguousarray(self.X[:, used])
        return Problem(X, self.targets, self.weights, self.loss)


@dataclass(frozen=True, eq=False)
class Gradient:
    """Loss, and its derivatives with respect to the arrays of a network."""

    value: float
    frequencies: Float32Array
    offsets: Float32Array
    head: Float32Array
    bias: Float32Array


class Workers:
    """Evaluates a function of blocks in one thread or several, with results in order.

    Parameters
    ----------
    n_threads : int
        Threads; one needs no pool.
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """Results of the function, in the order of the items."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def loss_and_gradient(
    problem: Problem,
    arrays: NetworkArrays,
    workers: Workers,
    rows: IntArray | None = None,
    *,
    activation: Activation = "cosine",
) -> Gradient:
    r"""Loss of a network without penalties, and its gradient.

    With phases :math:`P = X \Omega + b`, features :math:`f(P)` and gradient G with respect to the
    scores: :math:`f(P)^\top G` for the head, :math:`Q = (G A^\top) \odot f'(P)` for the phases,
    :math:`X^\top Q` for the frequencies.

    Parameters
    ----------
    problem : Problem
        Rows and targets.
    arrays : tuple of ndarray, float32
        Frequencies (n_features, n_components), offsets, head (n_components, n_scores), bias.
    workers : Workers
        Threads; the bits of the result do not depend on their number.
    rows : ndarray of int, optional
        Rows to use; all by default.
    activation : {"cosine", "relu"}, default="cosine"
        f.

    Returns
    -------
    Gradient
        Value and derivatives.
    """
    frequencies, offsets, head, bias = arrays

    def block(start: int) -> Gradient:
        part: Any = slice(start, start + GRADIENT_BLOCK_ROWS)
        if rows is not None:
            part = rows[part]
        X = problem.X[part]
        phases = X @ frequencies
        phases += offsets
        features = apply_activation(phases, activation)
        scores = features @ head
        scores += bias
        value, by_scores = problem.loss(scores, problem.targets[part], problem.weights[part])
        by_phases = by_scores @ head.T
        phases_to_derivatives(phases, activation)
        by_phases *= phases
        return Gradient(
            value, X.T @ by_phases, by_phases.sum(axis=0), features.T @ by_scores,
            by_scores.sum(axis=0),
        )  # fmt: skip

    n_rows = problem.n_samples if rows is None else len(rows)
    parts: list[Gradient] = list(workers.map(block, range(0, n_rows, GRADIENT_BLOCK_ROWS)))
    if len(parts) == 1:
        return parts[0]
    names = ("frequencies", "offsets", "head", "bias")
    sums = [np.add.reduce([getattr(part, name) for part in parts]) for name in names]
    return Gradient(sum(part.value for part in parts), *sums)
