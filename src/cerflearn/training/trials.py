"""Trainings that a search compares: of some settings in one fold, wherever they run.

What they read is in memory and travels with them: at most as many rows as settings are compared on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.training import policy
from cerflearn.training.deployed import deploy_fitted, first_bins
from cerflearn.training.held_out import Fold
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.saved_training import KeptTraining
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Problem, Task, scaled_inputs
from cerflearn.training.trainer import train_network

Rescore = Callable[[TrainableNetwork, TrainingSettings, Task, Task], Float64Array]
"""Scores of the second task's rows by a head fitted to the first's."""


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
    networks: Sequence[TrainableNetwork], task: Task, judge: Task, settings: TrainingSettings
) -> list[float]:
    """Losses of networks that were trained on a task, on the rows of a judge."""
    rows = judge.evenly_spaced(policy.SEARCH_ROWS)
    inputs = scaled_inputs(rows, settings)
    return [rows.loss(task.bounded(network.scores(inputs))) for network in networks]


def least(losses: Sequence[float]) -> int:
    """Index of the least loss; one that is not a number is not."""
    return int(np.argmin(np.nan_to_num(losses, nan=np.inf)))
