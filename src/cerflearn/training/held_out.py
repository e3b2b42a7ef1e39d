"""Held-out rows: folds, and what networks of some settings score on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cerflearn._typing import Float64Array
from cerflearn.training import policy
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Problem, Task


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


@dataclass(eq=False)
class Fold:
    """Rows to train on and held-out rows, with the problems made so far."""

    train: Task
    test: Task
    problems: dict[tuple[str, str], Problem] = field(default_factory=dict)


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
