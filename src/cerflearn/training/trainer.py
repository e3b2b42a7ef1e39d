r"""Training of one network: Adam on mini-batches, pruned to the budget on the way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from cerflearn._typing import BoolArray, Float64Array
from cerflearn.training import policy
from cerflearn.training.inputs import sampled_rows
from cerflearn.training.mini_batches import MiniBatches
from cerflearn.training.network import Float32Array, TrainableNetwork
from cerflearn.training.pruning import Budget, prune
from cerflearn.training.saved_training import (
    KeptTraining,
    TrainingProgress,
    generator_text,
    set_generator,
)
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.start import draw_network, set_moments
from cerflearn.training.task import Problem


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
    resumed_rate: float = policy.RESUMED_RATE,
    kept: KeptTraining | None = None,
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
    resumed_rate : float
        Share of the rate at which it is trained on.
    kept : KeptTraining, optional
        Goes on from the progress that is kept there, and keeps it.

    Returns
    -------
    TrainableNetwork
        Moments of its projections are those of the training rows.
    """
    progress = None if kept is None else kept.load()
    if progress is not None and progress.finished:
        return progress.network
    rate, budget = policy.LEARNING_RATE, budget.within(settings.macs)
    if start is not None:
        rate, n_steps = resumed_rate * rate, max(1, round(policy.RESUMED_STEPS * n_steps))
    if progress is None:
        network = start.restarted() if start is not None else None
        if network is None:
            network = draw_network(problem, settings, budget, usable, bias, rng)
        n_start = _operations_at_start(network, settings, budget)
        progress = TrainingProgress(network, n_start, "" if kept is None else generator_text(rng))
    else:
        set_generator(rng, progress.generator)
    run = _TrainingRun(problem, settings, n_steps, rate, rng)
    run.train(progress, budget, held_out_loss, on_progress, kept)
    progress.finished = True
    if kept is not None:
        kept.save(progress)
    return progress.network


def _operations_at_start(
    network: TrainableNetwork, settings: TrainingSettings, budget: Budget
) -> int:
    """Operations of a network; more than the budget has if it has too many bytes."""
    counts = len(network.inputs), network.n_components, len(network.linear_inputs)
    n_start = budget.operations(*counts)
    if budget.admits(budget.macs, *counts, settings.n_bins):
        return n_start
    return max(n_start, budget.macs + 1)  # pruned at least once


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


class _TrainingRun:
    """Order of the rows, rates and penalties of one training."""

    def __init__(
        self,
        problem: Problem,
        settings: TrainingSettings,
        n_steps: int,
        rate: float,
        rng: np.random.Generator,
    ) -> None:
        self._problem, self._settings, self._n_steps = problem, settings, n_steps
        size = min(policy.BATCH_SIZE, problem.n_rows)
        self._batches = MiniBatches(problem, size, n_steps, rng)
        self._rates = learning_rates(n_steps, rate)
        self._penalties = penalties_of(settings, problem.n_rows)
        self._moment_rate = min(1.0, size / min(problem.n_rows, policy.MOMENT_HORIZON))

    def train(
        self,
        progress: TrainingProgress,
        budget: Budget,
        held_out_loss: Callable[[TrainableNetwork], float] | None,
        on_progress: Callable[[float, float], None] | None,
        kept: KeptTraining | None,
    ) -> None:
        """Run the steps that are left, see :func:`train_network`."""
        told = on_progress or _say_nothing
        sample, deviations = self.importance_rows(), self._problem.input_deviations
        marks, costs = pruning_schedule(progress.n_start, budget.macs, self._n_steps)
        done, begin = progress.n_pruned, 0
        if done:
            begin = marks[done - 1]
            if progress.n_checked == 0:
                self._batches.skip(begin)
        for end, macs in list(zip(marks, costs, strict=True))[done:]:
            loss = self.steps(progress.network, begin, end)
            n_bins = self._settings.n_bins
            progress.network = prune(progress.network, sample, deviations, macs, budget, n_bins)
            progress.n_pruned, begin = progress.n_pruned + 1, end
            told(end / self._n_steps, loss)
            if kept is not None:
                kept.save(progress)
        if held_out_loss is None:
            loss = self.steps(progress.network, begin, self._n_steps)
            self.finish(progress.network)
        else:
            loss = self._steps_with_checks(progress, begin, held_out_loss, kept)
        told(1.0, loss)

    def importance_rows(self) -> Float32Array:
        """Evenly spaced rows over which importances are measured."""
        return self._problem.X[sampled_rows(self._problem.n_rows, policy.IMPORTANCE_ROWS)]

    def steps(self, network: TrainableNetwork, begin: int, end: int) -> float:
        """Run steps ``[begin, end)`` and return their mean loss."""
        native, total, done = network.native(), 0.0, begin
        for rows in self._batches.take(end - begin):
            n = len(rows.order)
            loss = native.run_steps(
                X=rows.X,
                targets=rows.targets,
                weights=rows.weights,
                loss=self._problem.loss,
                order=rows.order,
                rates=self._rates[done : done + n],
                moment_rate=self._moment_rate,
                second_decay=policy.SECOND_DECAY,
                penalties=self._penalties,
            )
            total, done = total + n * float(loss), done + n
        network.n_steps = native.n_steps
        return total / max(1, end - begin)

    def finish(self, network: TrainableNetwork) -> None:
        """Set moments of the projections to those of the training rows."""
        most = policy.LAST_MOMENT_ENTRIES // max(1, network.n_components)
        n_rows, problem = min(policy.LAST_MOMENT_ROWS, most), self._problem
        set_moments(network, problem.X, problem.weights, n_rows)

    def _steps_with_checks(
        self,
        progress: TrainingProgress,
        begin: int,
        held_out_loss: Callable[[TrainableNetwork], float],
        kept: KeptTraining | None,
    ) -> float:
        """Run the last steps; leaves the network with the least held-out loss, and its last."""
        seen, loss = progress.network, np.nan
        marks = np.linspace(begin, self._n_steps, policy.EARLY_STOPPING_CHECKS + 1).astype(int)
        if progress.n_checked:
            self._batches.skip(int(marks[progress.n_checked]))
        for first, last in list(pairwise(marks))[progress.n_checked :]:
            loss = self.steps(progress.network, int(first), int(last))
            seen = progress.network.copy()
            self.finish(seen)
            value = held_out_loss(seen)
            if value < progress.least:
                progress.best, progress.least = seen, value
            progress.n_checked += 1
            if kept is not None:
                kept.save(progress)
        # The last one where no loss was a number.
        progress.network = seen if progress.best is None else progress.best
        return loss


def _say_nothing(share: float, loss: float) -> None:
    del share, loss


def learning_rates(n_steps: int, rate: float) -> Float32Array:
    """Rates (n_steps,): a short rise to ``rate``, then half a cosine to zero."""
    done = np.arange(n_steps) / n_steps
    rise = np.minimum(1.0, (done + 1.0 / n_steps) / policy.WARM_UP)
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
