r"""Training by mini-batches (Adam), with pruning on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import BoolArray, IntArray
from cerflearn.training.network import (
    FeatureNetwork,
    Float32Array,
    Gradient,
    NetworkArrays,
    Problem,
    Workers,
    loss_and_gradient,
)
from cerflearn.training.pruning import Budget, entries_at, final_mask, largest_blocks

DECAY_PER_ALPHA = 100.0
"""Decoupled weight decay for one unit of alpha: 1e-3 to 1e-2 become .1 to 1."""

_FIRST_DECAY, _SECOND_DECAY, _EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
_PRUNED_STEPS = (0.05, 0.6)  # shares of the steps between which frequencies are pruned
_MAX_PRUNINGS = 100
_MAX_VALIDATIONS = 20  # evaluations of the held-out loss after pruning


@dataclass(frozen=True)
class MiniBatches:
    """Number and size of the steps.

    Attributes
    ----------
    n_steps : int
        Steps in all.
    batch_size : int, default=256
        Rows of a step.
    learning_rate : float, default=3e-3
        At the start; it falls along half a cosine.
    alpha : float, default=1e-3
        Penalty of frequencies and head, see :data:`DECAY_PER_ALPHA`.
    last_alpha_share : float, default=1
        Share of alpha that is left after the last pruning.
    """

    n_steps: int
    batch_size: int = 256
    learning_rate: float = 3e-3
    alpha: float = 1e-3
    last_alpha_share: float = 1.0


class _MaskedAdam:
    """Moments of the gradient, and the step that they give."""

    def __init__(self, arrays: NetworkArrays, options: MiniBatches) -> None:
        self._first = [np.zeros_like(values) for values in arrays]
        self._second = [np.zeros_like(values) for values in arrays]
        self._options = options
        self._count = 0

    def step(self, arrays: NetworkArrays, gradient: Gradient, kept: Float32Array) -> None:
        """Change the arrays in place; ``kept`` is 1 where the mask is, 0 elsewhere."""
        self._count += 1
        options = self._options
        phase = np.pi * self._count / options.n_steps
        rate = options.learning_rate * 0.5 * (1.0 + np.cos(phase))
        # Not below zero: with a large alpha the arrays would change sign, and grow.
        shrink = np.float32(max(0.0, 1.0 - rate * DECAY_PER_ALPHA * self._alpha()))
        correction = np.sqrt(1.0 - float(_SECOND_DECAY) ** self._count)
        factor = np.float32(rate * correction / (1.0 - float(_FIRST_DECAY) ** self._count))
        tiny = np.float32(_EPSILON * correction)
        by = (gradient.frequencies, gradient.offsets, gradient.head, gradient.bias)
        np.multiply(by[0], kept, out=by[0])
        moments = zip(arrays, by, self._first, self._second, strict=True)
        for index, (values, slope, first, second) in enumerate(moments):
            first *= _FIRST_DECAY
            first += (1 - _FIRST_DECAY) * slope
            second *= _SECOND_DECAY
            slope *= slope
            second += (1 - _SECOND_DECAY) * slope
            np.sqrt(second, out=slope)
            slope += tiny
            np.divide(first, slope, out=slope)
            slope *= factor
            values -= slope
            if index in (0, 2):  # offsets and biases are free
                values *= shrink
        np.multiply(arrays[0], kept, out=arrays[0])

    def _alpha(self) -> float:
        pruned = self._count > _PRUNED_STEPS[1] * self._options.n_steps
        return self._options.alpha * (self._options.last_alpha_share if pruned else 1.0)


def train_mini_batches(
    problem: Problem,
    network: FeatureNetwork,
    options: MiniBatches,
    rng: np.random.Generator,
    workers: Workers,
    *,
    budget: Budget | None = None,
    held_out: Problem | None = None,
    on_progress: Callable[[float, float], None] | None = None,
) -> FeatureNetwork:
    """Train a network; with a budget, prune its mask to it on the way.

    Parameters
    ----------
    problem : Problem
        Training rows.
    network : FeatureNetwork
        To start with.
    options : MiniBatches
        Steps.
    rng : numpy.random.Generator
        Order of the rows.
    workers : Workers
        Threads; the bits of the result do not depend on their number.
    budget : Budget, optional
        Of the result. None keeps the mask.
    held_out : Problem, optional
        Rows for early stopping: the network with the least loss on them, of those seen after
        pruning, is returned. None: the last one.
    on_progress : callable, optional
        Called with the share of the steps done and the loss of the batch.

    Returns
    -------
    FeatureNetwork
        In single precision.
    """
    arrays = _single_precision(network)
    mask, scale = network.mask.copy(), problem.X.std(axis=0)
    adam, batches = _MaskedAdam(arrays, options), _batches(problem.n_samples, options, rng)
    first, last = (int(share * options.n_steps) for share in _PRUNED_STEPS)
    pruning_interval = max(1, options.n_steps // _MAX_PRUNINGS)
    report_interval = max(1, options.n_steps // _MAX_VALIDATIONS)
    n_dense = int(mask.sum())
    best, least = None, np.inf
    kept = mask.astype(np.float32)
    for step, rows in enumerate(batches, start=1):
        gradient = loss_and_gradient(problem, arrays, workers, rows, activation=network.activation)
        adam.step(arrays, _per_row(gradient, problem, rows), kept)
        if budget is not None and first <= step < last and step % pruning_interval == 0:
            n_end = budget.entries_for(mask.shape[1])
            n_entries = entries_at((step - first) / (last - first), n_dense, n_end)
            mask = largest_blocks(arrays[0], scale, mask, n_entries, budget)
            kept = mask.astype(np.float32)
        elif budget is not None and step == max(last, 1):
            mask = final_mask(arrays[0], scale, mask, budget)
            kept = mask.astype(np.float32)
            arrays[0][~mask] = 0.0
        if step % report_interval == 0 or step == options.n_steps:
            if on_progress is not None:
                on_progress(step / options.n_steps, gradient.value * problem.n_samples / len(rows))
            if held_out is not None and step >= last:
                loss = _loss_of(_with(network, arrays, mask), held_out)
                if loss < least:
                    least, best = loss, _with(network, arrays, mask).astype(np.float32)
    return _with(network, arrays, mask) if best is None else best


def _single_precision(network: FeatureNetwork) -> NetworkArrays:
    """Copy the arrays that are trained."""
    return (
        np.array(network.frequencies, dtype=np.float32),
        np.array(network.offsets, dtype=np.float32),
        np.array(network.head, dtype=np.float32),
        np.array(network.bias, dtype=np.float32),
    )


def _loss_of(network: FeatureNetwork, problem: Problem) -> float:
    scores = network.scores(problem.X)
    return problem.loss(scores, problem.targets, problem.weights)[0]


def _with(network: FeatureNetwork, arrays: NetworkArrays, mask: BoolArray) -> FeatureNetwork:
    """Network with other arrays, which are not copied."""
    frequencies, offsets, head, bias = arrays
    return replace(
        network, frequencies=frequencies, offsets=offsets, head=head, bias=bias, mask=mask
    )


def _batches(n_samples: int, options: MiniBatches, rng: np.random.Generator) -> list[IntArray]:
    """Rows of each step: all rows in random order, again and again."""
    size = min(options.batch_size, n_samples)
    per_round = n_samples // size
    rounds = -(-options.n_steps // per_round)
    batches: list[IntArray] = []
    for _ in range(rounds):
        order = rng.permutation(n_samples)[: per_round * size]
        batches.extend(order.reshape(per_round, size))
    return batches[: options.n_steps]


def _per_row(gradient: Gradient, problem: Problem, rows: IntArray) -> Gradient:
    """Gradient of the mean over a batch: the weights of its rows do not sum to one."""
    factor = np.float32(problem.n_samples / len(rows))
    for values in (gradient.frequencies, gradient.offsets, gradient.head, gradient.bias):
        values *= factor
    return gradient
