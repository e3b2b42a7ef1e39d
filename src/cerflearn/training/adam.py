r"""Training by mini-batches (Adam), with pruning on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import BoolArray, IntArray
from cerflearn.training.network import FeatureNetwork, Float32Array
from cerflearn.training.problem import Gradient, Problem, Workers, loss_and_gradient
from cerflearn.training.pruning import Budget, entries_at, final_mask, largest_blocks

DECAY_PER_PENALTY = 100.0
"""Decoupled weight decay for one unit of penalty: 1e-3 to 1e-2 become .1 to 1."""

_FIRST_MOMENT, _SECOND_MOMENT, _TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
_PRUNING = (0.05, 0.6)  # between these shares of the steps
_PRUNINGS = 100  # how often, at most
_VALIDATIONS = 20  # how often the held-out rows are looked at after pruning, at most

Parameters = tuple[Float32Array, Float32Array, Float32Array, Float32Array]


@dataclass(frozen=True)
class MiniBatches:
    """How long and in which steps to train.

    Attributes
    ----------
    n_steps : int
        Steps in all.
    batch_size : int, default=256
        Rows of a step.
    learning_rate : float, default=3e-3
        At the start; it falls along half a cosine.
    penalty : float, default=1e-3
        Of frequencies and head, see :data:`DECAY_PER_PENALTY`.
    finish : float, default=1
        Share of the penalty that is left after the last pruning.
    """

    n_steps: int
    batch_size: int = 256
    learning_rate: float = 3e-3
    penalty: float = 1e-3
    finish: float = 1.0


class _Adam:
    """Moments of the gradient, and the step they give."""

    def __init__(self, parameters: Parameters, options: MiniBatches) -> None:
        self._first = [np.zeros_like(values) for values in parameters]
        self._second = [np.zeros_like(values) for values in parameters]
        self._options = options
        self._count = 0

    def step(self, parameters: Parameters, gradient: Gradient, kept: Float32Array) -> None:
        """Change the parameters in place; ``kept`` is 1 where the mask is, 0 elsewhere."""
        self._count += 1
        options = self._options
        phase = np.pi * self._count / options.n_steps
        rate = options.learning_rate * 0.5 * (1.0 + np.cos(phase))
        # Not below zero: with a large penalty parameters would change sign, and grow.
        shrink = np.float32(max(0.0, 1.0 - rate * DECAY_PER_PENALTY * self._penalty()))
        correction = np.sqrt(1.0 - float(_SECOND_MOMENT) ** self._count)
        factor = np.float32(rate * correction / (1.0 - float(_FIRST_MOMENT) ** self._count))
        tiny = np.float32(_TINY * correction)
        by = (gradient.frequencies, gradient.offsets, gradient.head, gradient.bias)
        np.multiply(by[0], kept, out=by[0])
        moments = zip(parameters, by, self._first, self._second, strict=True)
        for index, (values, slope, first, second) in enumerate(moments):
            first *= _FIRST_MOMENT
            first += (1 - _FIRST_MOMENT) * slope
            second *= _SECOND_MOMENT
            slope *= slope
            second += (1 - _SECOND_MOMENT) * slope
            np.sqrt(second, out=slope)
            slope += tiny
            np.divide(first, slope, out=slope)
            slope *= factor
            values -= slope
            if index in (0, 2):  # offsets and biases are free
                values *= shrink
        np.multiply(parameters[0], kept, out=parameters[0])

    def _penalty(self) -> float:
        pruned = self._count > _PRUNING[1] * self._options.n_steps
        return self._options.penalty * (self._options.finish if pruned else 1.0)


def train_mini_batches(
    problem: Problem,
    network: FeatureNetwork,
    options: MiniBatches,
    rng: np.random.Generator,
    workers: Workers,
    *,
    budget: Budget | None = None,
    validate: Callable[[FeatureNetwork], float] | None = None,
    on_progress: Callable[[float, float], None] | None = None,
) -> FeatureNetwork:
    """Train a network; with a budget, prune its mask to it on the way.

    Parameters
    ----------
    problem : Problem
        Training rows.
    network : FeatureNetwork
        Where to start.
    options : MiniBatches
        Steps.
    rng : numpy.random.Generator
        Order of the rows.
    workers : Workers
        Who computes; the bits of the result do not depend on them.
    budget : Budget, optional
        What the result may cost. None keeps the mask.
    validate : callable, optional
        Loss of a network on rows held out; the best one after pruning is returned.
    on_progress : callable, optional
        Told the share of the steps done and the loss of the batch.
    """
    parameters: Parameters = tuple(  # type: ignore[assignment]
        np.array(values, dtype=np.float32)
        for values in (network.frequencies, network.offsets, network.head, network.bias)
    )
    mask, scale = network.mask.copy(), problem.X.std(axis=0)
    adam, batches = _Adam(parameters, options), _batches(problem.n_samples, options, rng)
    first, last = (int(share * options.n_steps) for share in _PRUNING)
    pause = max(1, options.n_steps // _PRUNINGS)
    look = max(1, options.n_steps // _VALIDATIONS)
    n_dense = int(mask.sum())
    best, least = None, np.inf
    kept = mask.astype(np.float32)
    for step, rows in enumerate(batches, start=1):
        gradient = loss_and_gradient(
            problem, parameters, workers, rows, rectified=network.rectified
        )
        adam.step(parameters, _per_row(gradient, problem, rows), kept)
        if budget is not None and first <= step < last and step % pause == 0:
            n_end = budget.entries_for(mask.shape[1])
            n_entries = entries_at((step - first) / (last - first), n_dense, n_end)
            mask = largest_blocks(parameters[0], scale, mask, n_entries, budget)
            kept = mask.astype(np.float32)
        elif budget is not None and step == max(last, 1):
            mask = final_mask(parameters[0], scale, mask, budget)
            kept = mask.astype(np.float32)
            parameters[0][~mask] = 0.0
        if step % look == 0 or step == options.n_steps:
            if on_progress is not None:
                on_progress(step / options.n_steps, gradient.value * problem.n_samples / len(rows))
            if validate is not None and step >= last:
                loss = validate(_with(network, parameters, mask))
                if loss < least:
                    least, best = loss, _with(network, parameters, mask).astype(np.float32)
    return _with(network, parameters, mask) if best is None else best


def _with(network: FeatureNetwork, parameters: Parameters, mask: BoolArray) -> FeatureNetwork:
    """Network with other parameters; they are not copied."""
    frequencies, offsets, head, bias = parameters
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
