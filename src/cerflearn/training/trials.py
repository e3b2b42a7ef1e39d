"""Trainings that a search compares, wherever they run, and what they score on held-out rows.

What a training reads is in memory and travels with it: at most as many rows as settings are
compared on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.training import policy
from cerflearn.training.deployed import deploy_fitted, first_bins
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.saved_training import KeptTraining
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Problem, Task, scaled_inputs
from cerflearn.training.trainer import train_network

Rescore = Callable[[TrainableNetwork, TrainingSettings, Task, Task], Float64Array]
"""Scores of the second task's rows by a head fitted to the first's."""


@dataclass(eq=False)
class Fold:
    """Rows to train on and held-out rows, with the problems made so far."""

    train: Task
    test: Task
    problems: dict[tuple[str, str], Problem] = field(default_factory=dict)


class Trial(NamedTuple):
    """A training.

    Attributes
    ----------
    settings : TrainingSettings
        How.
    fold : int
        Number of the fold.
    n_steps, n_starts : int
        Steps of each start; of the starts, the least training loss decides.
    last : bool
        Whether it is of the last round: held-out rows are scored by the network as it will be
        deployed, and the network is kept.
    """

    settings: TrainingSettings
    fold: int
    n_steps: int
    n_starts: int
    last: bool


class TrialResult(NamedTuple):
    """What a training has found.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_scores)
        Of the held-out rows.
    network : TrainableNetwork or None
        The network; None unless the round is the last one.
    """

    scores: Float64Array
    network: TrainableNetwork | None


MapTrials = Callable[[Callable[[Trial], TrialResult], Sequence[Trial]], list[TrialResult]]
"""Runs trainings, and returns what they have found, in their order."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Runs trainings.

    Attributes
    ----------
    folds : list of Fold
        With the problems that trainings need.
    n_samples : int
        Rows of the last training.
    seed : int
        Of all randomness.
    rescore : callable or None
        See :class:`~cerflearn.training.search_options.SearchOptions`.
    """

    folds: list[Fold]
    n_samples: int
    seed: int
    rescore: Rescore | None

    def run(self, trial: Trial) -> TrialResult:
        """Train, and score the held-out rows of the fold."""
        settings, fold = trial.settings, self.folds[trial.fold]
        problem = fold.problems[settings.teacher, settings.scaling]
        networks = [
            train_start(fold.train, problem, settings, trial.n_steps, self.seed, number=number)
            for number in range(trial.n_starts)
        ]
        network = networks[0]
        if len(networks) > 1:
            network = networks[least(losses_of(networks, fold.train, fold.train, settings))]
        scores = self.held_out_scores(network, settings, fold, last=trial.last)
        return TrialResult(scores, network if trial.last else None)

    def held_out_scores(
        self, network: TrainableNetwork, settings: TrainingSettings, fold: Fold, *, last: bool
    ) -> Float64Array:
        """Scores of held-out rows: in the last round as the network will be deployed.

        Parameters
        ----------
        network : TrainableNetwork
            Trained in the fold.
        settings : TrainingSettings
            It was trained with.
        fold : Fold
            Its rows.
        last : bool
            See :class:`Trial`.
        """
        if self.rescore is not None:
            scores: FloatArray = self.rescore(network, settings, fold.train, fold.test)
        elif last and network.kind == "table" and network.n_components > 0:
            binned = first_bins(settings, network.n_scores, self.n_samples)
            deployed = deploy_fitted(network, binned, fold.train)
            scores = deployed.scores(scaled_inputs(fold.test, settings))
        else:
            scores = network.scores(scaled_inputs(fold.test, settings))
        return fold.train.bounded(scores)


@dataclass(frozen=True, eq=False)
class HeldOutResult:
    """Scores of held-out rows by networks of one setting.

    Attributes
    ----------
    settings : TrainingSettings
        Of the networks.
    scores, targets : ndarray of shape (n_rows, n_scores)
        Of the rows.
    weights, losses : ndarray of shape (n_rows,)
        Of the rows.
    networks : list of TrainableNetwork
        One for each fold.
    n_trained : int
        Rows that each was trained on.
    """

    settings: TrainingSettings
    scores: Float64Array
    targets: Float64Array
    weights: Float64Array
    losses: Float64Array
    networks: list[TrainableNetwork]
    n_trained: int

    @property
    def mean(self) -> float:
        """Weighted mean loss; infinite if it is not a number."""
        mean = float(self.weights @ self.losses / self.weights.sum())
        return mean if np.isfinite(mean) else np.inf

    def is_as_good_as(self, other: HeldOutResult, n_errors: float = policy.SIMPLER_WITHIN) -> bool:
        """Return whether the loss is at most so many paired standard errors higher.

        Of results of different numbers of folds, the first ones, which both have, are compared.
        """
        n = min(len(self.losses), len(other.losses))
        share = self.weights[:n] / self.weights[:n].sum()
        difference = self.losses[:n] - other.losses[:n]
        mean = float(share @ difference)
        error = float(np.sqrt(share**2 @ np.square(difference - mean)))
        return mean <= n_errors * error


def train_start(
    task: Task,
    problem: Problem,
    settings: TrainingSettings,
    n_steps: int,
    seed: int,
    *,
    held_out: Task | None = None,
    on_progress: Callable[[float, float], None] | None = None,
    start: TrainableNetwork | None = None,
    number: int = 0,
    kept: KeptTraining | None = None,
) -> TrainableNetwork:
    """Train a network from one start.

    Parameters
    ----------
    task : Task
        Its rows.
    problem : Problem
        The same rows, with the targets and inputs that the settings ask for.
    settings : TrainingSettings
        How.
    n_steps, seed : int
        Steps, and the seed of all randomness.
    held_out : Task, optional
        Rows of early stopping.
    on_progress, start, kept : optional
        See :func:`~cerflearn.training.trainer.train_network`.
    number : int
        Of the start.
    """
    rng = np.random.default_rng([seed, 2, settings.draw, number])
    stop = None
    if held_out is not None:
        inputs = scaled_inputs(held_out, settings)
        stop = lambda network: held_out.loss(task.bounded(network.scores(inputs)))  # noqa: E731
    return train_network(
        problem, settings, task.budget, task.usable, task.constant_scores(), n_steps, rng,
        held_out_loss=stop, on_progress=on_progress, start=start, kept=kept,
    )  # fmt: skip


def losses_of(
    networks: Sequence[TrainableNetwork], task: Task, compared: Task, settings: TrainingSettings
) -> list[float]:
    """Losses of networks that were trained on a task, on the rows on which they are compared."""
    rows = compared.evenly_spaced(policy.SEARCH_ROWS)
    inputs = scaled_inputs(rows, settings)
    return [rows.loss(task.bounded(network.scores(inputs))) for network in networks]


def least(losses: Sequence[float]) -> int:
    """Index of the least loss; one that is not a number is not."""
    return int(np.argmin(np.nan_to_num(losses, nan=np.inf)))


def best_of_kinds(ranked: Sequence[TrainingSettings]) -> list[TrainingSettings]:
    """First of each kind of features, in their order."""
    found: dict[str, TrainingSettings] = {}
    for settings in ranked:
        found.setdefault(settings.kind, settings)
    return list(found.values())


def finalists_of(results: Sequence[HeldOutResult]) -> list[TrainingSettings]:
    """List settings in the order in which they become finalists.

    First the best of each kind that may be as good as the best of all, then the others.
    """
    ranked = ranked_settings(results)
    by_settings = {result.settings: result for result in results}
    best = by_settings[ranked[0]]
    leaders = [
        settings
        for settings in best_of_kinds(ranked)
        if by_settings[settings].is_as_good_as(best, policy.FINALISTS_WITHIN)
    ]
    return list(dict.fromkeys([*leaders, *ranked]))


def ranked_settings(results: Sequence[HeldOutResult]) -> list[TrainingSettings]:
    """List settings in the order of their held-out losses."""
    return [result.settings for result in sorted(results, key=lambda result: result.mean)]


def choose_bins(
    settings: TrainingSettings,
    evaluate: Callable[[TrainingSettings], HeldOutResult],
    n_scores: int,
    n_samples: int,
    constant_loss: float,
) -> HeldOutResult:
    """Choose how tables are deployed, on held-out rows.

    First how much the trained values weigh, then the fewest bins that lose little.

    Parameters
    ----------
    settings : TrainingSettings
        Of tables; a number of bins that they have is kept.
    evaluate : callable
        Held-out result of settings with given bins.
    n_scores : int
        Of a network.
    n_samples : int
        Rows of the last training.
    constant_loss : float
        Of constant scores on the held-out rows.

    Returns
    -------
    HeldOutResult
        Of the chosen bins.
    """
    first = first_bins(settings, n_scores, n_samples)
    refits = policy.REFITS if settings.refit is None and first.refit else (first.refit,)
    results = [evaluate(replace(first, refit=refit)) for refit in refits]
    best = min(results, key=lambda result: result.mean)
    if settings.n_bins is not None:
        return best
    by_bins = {
        n_bins: best if n_bins == first.n_bins else evaluate(replace(best.settings, n_bins=n_bins))
        for n_bins in policy.N_BINS
    }
    losses = {n_bins: result.mean for n_bins, result in by_bins.items()}
    return by_bins[fewest_bins(losses, constant_loss)]


def fewest_bins(losses: dict[int, float], constant_loss: float) -> int:
    """Fewest bins that lose little, see :data:`~cerflearn.training.policy.BIN_LOSS`.

    Parameters
    ----------
    losses : dict
        Held-out loss by number of bins, ascending.
    constant_loss : float
        Of constant scores on the same rows.
    """
    lowest = min(losses.values())
    of_least, of_constant = policy.BIN_LOSS
    most = lowest + min(of_least * lowest, of_constant * constant_loss)
    return next((n_bins for n_bins, loss in losses.items() if loss <= most), max(losses))
