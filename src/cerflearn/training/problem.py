r"""What a network is trained on, and the loss with its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn._typing import IntArray
from cerflearn.training.losses import Loss
from cerflearn.training.network import Float32Array, features_of, phases_to_slopes

BLOCK_ROWS = 1024
"""Rows of a block; sums over rows are sums over blocks in order, whoever computes them."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows with targets, and the loss.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
        Scaled data.
    targets : ndarray of shape (n_samples, n_scores), float32
        What the scores are compared with.
    weights : ndarray of shape (n_samples,), float32
        Of the rows; they sum to one.
    loss : callable
        See :mod:`cerflearn.training.losses`.
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
    """Loss, and its derivatives by the parameters of a network."""

    value: float
    frequencies: Float32Array
    offsets: Float32Array
    head: Float32Array
    bias: Float32Array


class Workers:
    """Maps a function over blocks, in one thread or several, with results in order.

    Parameters
    ----------
    n_threads : int
        Threads; one computes without a pool.
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
    parameters: tuple[Float32Array, Float32Array, Float32Array, Float32Array],
    workers: Workers,
    rows: IntArray | None = None,
    *,
    rectified: bool = False,
) -> Gradient:
    r"""Loss of a network without penalties, and its gradient.

    With phases :math:`P = X \Omega + b`, features :math:`f(P)`, gradient G by the scores: by the
    head :math:`f(P)^\top G`, by the phases :math:`Q = (G A^\top) \odot f'(P)`, by the frequencies
    :math:`X^\top Q`.

    Parameters
    ----------
    problem : Problem
        Rows and targets.
    parameters : tuple of ndarray, float32
        Frequencies (n_features, n_projections), offsets, head (n_projections, n_scores), bias.
    workers : Workers
        The bits of the result do not depend on them.
    rows : ndarray of int, optional
        Rows to use; all by default.
    rectified : bool, default=False
        Whether f is the positive part rather than the cosine.
    """
    frequencies, offsets, head, bias = parameters

    def block(start: int) -> Gradient:
        part: Any = slice(start, start + BLOCK_ROWS)
        if rows is not None:
            part = rows[part]
        X = problem.X[part]
        phases = X @ frequencies
        phases += offsets
        features = features_of(phases, rectified)
        scores = features @ head
        scores += bias
        value, by_scores = problem.loss(scores, problem.targets[part], problem.weights[part])
        by_phases = by_scores @ head.T
        phases_to_slopes(phases, rectified)
        by_phases *= phases
        return Gradient(
            value, X.T @ by_phases, by_phases.sum(axis=0), features.T @ by_scores,
            by_scores.sum(axis=0),
        )  # fmt: skip

    n_rows = problem.n_samples if rows is None else len(rows)
    parts: list[Gradient] = list(workers.map(block, range(0, n_rows, BLOCK_ROWS)))
    if len(parts) == 1:
        return parts[0]
    names = ("frequencies", "offsets", "head", "bias")
    sums = [np.add.reduce([getattr(part, name) for part in parts]) for name in names]
    return Gradient(sum(part.value for part in parts), *sums)
