r"""Training of one network: Adam on mini-batches, pruned to the budget on the way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from cerflearn._typing import BoolArray, Float64Array
from cerflearn.training import policy
from cerflearn.training.network import Float32Array, TrainableNetwork
from cerflearn.training.pruning import Budget, prune
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.start import draw_network, set_moments
from cerflearn.training.task import Problem, batches_of_rows

IMPORTANCE_ROWS = 512
"""Rows over which importances are measured."""

_LAST_MOMENT_ROWS = 2**16  # over which moments of projections are measured at the end
_WARM_UP = 0.02  # share of the steps


def train_network(
    problem: Problem,
    settings: TrainingSettings,
    budget: Budget,
    usable: BoolArray,
    bias: Float64Array,
    n_steps: int,
    rng: np.random.Generator,
    *,
    held_out_loss: Callable[[TrainableNetwork], float] | None = None,
    on_progress: Callable[[float, float], None] | None = None,
    start: TrainableNetwork | None = None,
) -> TrainableNetwork:
    """Train a network within a budget.

    Parameters
    ----------
    problem : Problem
        What to train on.
    settings : TrainingSettings
        How.
    budget : Budget
        Of the result.
    usable : ndarray of shape (n_features,), bool
        Inputs that may be read.
    bias : ndarray of shape (n_scores,)
        To start with.
    n_steps : int
        Steps of Adam.
    rng : numpy.random.Generator
        Source of randomness.
    held_out_loss : callable, optional
        Early stopping: of several networks after the last pruning, the one with the least value
        is returned. None: the last one.
    on_progress : callable, optional
        Called with the share of the steps done and the mean loss of the last of them.
    start : TrainableNetwork, optional
        Network within the budget that is trained on, for fewer steps and at a lower rate. None: one
        is drawn, and pruned.

    Returns
    -------
    TrainableNetwork
        Moments of its projections are those of the training rows.
    """
    rate, budget = policy.LEARNING_RATE, budget.within(settings.macs)
    if start is None:
        network = draw_network(problem, settings, budget, usable, bias, rng)
    else:
        network, rate = start.restarted(), policy.RESUMED_RATE * rate
        n_steps = max(1, round(policy.RESUMED_STEPS * n_steps))
    run = _Steps(problem, settings, n_steps, rate, rng)
    sample, deviations = run.importance_rows(), input_deviations(problem.X)
    counts = len(network.inputs), network.n_components, len(network.linear_inputs)
    n_start = budget.operations(*counts)
    if not budget.admits(budget.macs, *counts, settings.n_bins):
        n_start = max(n_start, budget.macs + 1)  # too many bytes: pruned at least once
    marks, costs = pruning_schedule(n_start, budget.macs, n_steps)
    begin = 0
    for end, macs in zip(marks, costs, strict=True):
        loss = run.steps(network, begin, end)
        network = prune(network, sample, deviations, macs, budget, settings.n_bins)
        begin = end
        if on_progress is not None:
            on_progress(end / n_steps, loss)
    if held_out_loss is None:
        loss = run.steps(network, begin, n_steps)
        run.finish(network)
    else:
        network, loss = run.steps_with_checks(network, begin, held_out_loss)
    if on_progress is not None:
        on_progress(1.0, loss)
    return network


def pruning_schedule(n_start: int, n_end: int, n_steps: int) -> tuple[list[int], list[int]]:
    """Return the steps after which a network is pruned, and the operations that are left.

    Operations fall by equal ratios; the network is never pruned if it is small enough.

    Examples
    --------
    >>> pruning_schedule(1000, 10, 1200)[0][:3], pruning_schedule(1000, 10, 1200)[1][-3:]
    ([200, 275, 350], [31, 17, 10])
    """
    if n_start <= n_end:
        return [], []
    first, last = policy.PRUNING_SPAN
    n = policy.N_PRUNINGS
    shares = np.arange(1, n + 1) / n
    marks = np.rint(n_steps * (first + (last - first) * (shares - 1.0 / n))).astype(int)
    costs = (n_start * (n_end / n_start) ** shares).astype(int)
    costs[-1] = n_end
    return marks.tolist(), costs.tolist()


class _Steps:
    """Order of the rows, rates and penalties of one training."""

    def __init__(
        self,
        problem: Problem,
        settings: TrainingSettings,
        n_steps: int,
        rate: float,
        rng: np.random.Generator,
    ) -> None:
        self._problem, self._n_steps = problem, n_steps
        size = min(policy.BATCH_SIZE, problem.n_rows)
        self._order = batches_of_rows(problem.n_rows, size, n_steps, rng)
        self._rates = learning_rates(n_steps, rate)
        self._penalties = penalties_of(settings, problem.n_rows)
        self._moment_rate = min(1.0, size / min(problem.n_rows, policy.MOMENT_HORIZON))

    def importance_rows(self) -> Float32Array:
        """Evenly spaced rows over which importances are measured."""
        n = self._problem.n_rows
        return self._problem.X[np.linspace(0, n - 1, min(n, IMPORTANCE_ROWS)).astype(np.int64)]

    def steps(self, network: TrainableNetwork, begin: int, end: int) -> float:
        """Run steps ``[begin, end)`` and return their mean loss."""
        problem, native = self._problem, network.native()
        loss = native.run_steps(
            X=problem.X,
            targets=problem.targets,
            weights=problem.weights,
            loss=problem.loss,
            order=self._order[begin:end],
            rates=self._rates[begin:end],
            moment_rate=self._moment_rate,
            second_decay=policy.SECOND_DECAY,
            penalties=self._penalties,
        )
        network.n_steps = native.n_steps
        return float(loss)

    def finish(self, network: TrainableNetwork) -> None:
        """Set moments of the projections to those of the training rows."""
        problem = self._problem
        n = problem.n_rows
        rows = slice(None) if n <= _LAST_MOMENT_ROWS else np.linspace(0, n - 1, _LAST_MOMENT_ROWS)
        index = rows if isinstance(rows, slice) else rows.astype(np.int64)
        set_moments(network, problem.X[index], problem.weights[index])

    def steps_with_checks(
        self,
        network: TrainableNetwork,
        begin: int,
        held_out_loss: Callable[[TrainableNetwork], float],
    ) -> tuple[TrainableNetwork, float]:
        """Run the last steps; the network with the least held-out loss, and the last loss."""
        best, least, loss = None, np.inf, np.nan
        marks = np.linspace(begin, self._n_steps, policy.EARLY_STOPPING_CHECKS + 1).astype(int)
        for first, last in pairwise(marks):
            loss = self.steps(network, int(first), int(last))
            seen = network.copy()
            self.finish(seen)
            value = held_out_loss(seen)
            if value < least:
                best, least = seen, value
        return (seen if best is None else best), loss


def input_deviations(X: Float32Array) -> Float32Array:
    """Measure the standard deviation (n_features,) of each input."""
    return np.asarray(X.std(axis=0, dtype=np.float64), dtype=np.float32)


def learning_rates(n_steps: int, rate: float) -> Float32Array:
    """Rates (n_steps,): a short rise to ``rate``, then half a cosine to zero."""
    done = np.arange(n_steps) / n_steps
    rise = np.minimum(1.0, (done + 1.0 / n_steps) / _WARM_UP)
    rates = rate * rise * 0.5 * (1.0 + np.cos(np.pi * done))
    return rates.astype(np.float32)


def penalties_of(settings: TrainingSettings, n_rows: int) -> Float32Array:
    """Penalties of weights, scales, heads, second differences and linear part."""
    heads = settings.alpha * policy.REGRESSOR_VARIANCES[settings.activation]
    return np.array(
        [
            min(policy.WEIGHT_ROWS / n_rows, policy.MOST_WEIGHT_SHARE) * heads,
            policy.SCALE_SHARE * heads if settings.activation == "cosine" else 0.0,
            heads,
            policy.CURVATURE * heads if settings.activation == "table" else 0.0,
            policy.LINEAR_SHARE * heads,
        ],
        dtype=np.float32,
    )
