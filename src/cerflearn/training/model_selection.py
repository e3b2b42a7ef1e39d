"""Comparison of settings by the scores of held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.training.scores import TargetKind, log_likelihood
from cerflearn.training.settings import TrainingSettings

Criterion = Callable[[Float64Array, Float64Array, Float64Array, TargetKind], Float64Array]
"""``criterion(scores, targets, weights, kind)`` says how good each row's scores are, (n_rows,)."""


@dataclass(frozen=True, eq=False)
class HeldOutResult:
    """Scores of held-out rows by networks of one setting.

    Attributes
    ----------
    settings : TrainingSettings
        Of the networks.
    criterion : ndarray of shape (n_rows,)
        How good the scores of each row are; higher is better.
    scores, targets : ndarray of shape (n_rows, n_scores)
        Of the rows.
    weights : ndarray of shape (n_rows,)
        Of the rows.
    """

    settings: TrainingSettings
    criterion: Float64Array
    scores: Float64Array
    targets: Float64Array
    weights: Float64Array

    @property
    def mean(self) -> float:
        """Weighted mean of the criterion."""
        return float(self.weights @ self.criterion / self.weights.sum())

    def is_better(self, other: HeldOutResult, n_errors: float) -> bool:
        """Return whether the mean is higher by more than some paired standard errors."""
        share = self.weights / self.weights.sum()
        difference = self.criterion - other.criterion
        mean = float(share @ difference)
        error = np.sqrt(share**2 @ np.square(difference - mean))
        return mean > n_errors * float(error)


@dataclass(frozen=True)
class SelectionRule:
    """Criterion, and how much better later settings must be than earlier ones.

    Attributes
    ----------
    criterion : callable
        See :data:`Criterion`.
    n_errors : float
        Paired standard errors to be better by.
    n_continued : int, default=None
        Settings that are evaluated on more than the first fold: the first, and the best others.
        None for all.
    along_path : bool, default=False
        Of settings that train, take the best mean of three neighbours in their order.
    """

    criterion: Criterion
    n_errors: float
    n_continued: int | None = None
    along_path: bool = False

    def continued(self, results: Sequence[HeldOutResult]) -> list[HeldOutResult]:
        """Results to continue with, in their order."""
        if self.n_continued is None:
            return list(results)
        best = sorted(results[1:], key=lambda result: -result.mean)[: self.n_continued - 1]
        return [result for result in results if result is results[0] or result in best]

    def best(self, results: Sequence[HeldOutResult]) -> HeldOutResult:
        """Best result; an earlier one unless a later one is better by enough."""
        best, others = results[0], list(results[1:])
        if self.along_path:
            best = _best_on_path([result for result in results if result.settings.trains])
            others = [result for result in results if not result.settings.trains]
        for result in others:
            if result.is_better(best, self.n_errors):
                best = result
        return best


def _best_on_path(results: Sequence[HeldOutResult]) -> HeldOutResult:
    """Take the best mean of a result and its neighbours; ends count alone."""
    means = np.nan_to_num([result.mean for result in results], nan=-np.inf)
    smooth = means.copy()
    smooth[1:-1] = (means[:-2] + means[1:-1] + means[2:]) / 3.0
    return results[int(np.argmax(smooth))]


def accuracy(
    scores: Float64Array, targets: Float64Array, weights: Float64Array, kind: TargetKind
) -> Float64Array:
    """1.0 for rows whose highest score is their class's, else 0.0; the share of right labels."""
    del weights
    if kind == "multiclass":
        right = np.equal(scores.argmax(axis=1), targets.argmax(axis=1))
        return np.asarray(right, dtype=np.float64)
    return np.asarray(((scores > 0.0) == (targets > 0.5)).mean(axis=1), dtype=np.float64)


def minus_squared_error(
    scores: Float64Array, targets: Float64Array, weights: Float64Array, kind: TargetKind
) -> Float64Array:
    """Minus the mean squared error of each row, (n_rows,)."""
    del weights, kind
    found: Float64Array = -np.square(scores - targets).mean(axis=1)
    return found


def rule_for(settings: Sequence[TrainingSettings], *, classifies: bool) -> SelectionRule:
    """Choose the rule by which some settings are compared.

    Squared errors of few rows depend on the largest of them. Where alpha falls from setting to
    setting, the mean over neighbours takes out much of that noise; features that were only
    selected have no neighbours, and need a larger margin. Otherwise a margin is used.
    Networks trained on a kernel machine and on the labels are compared by their accuracy, as the
    probabilities of the former are off even where the accuracy is higher; accuracies of few rows
    are noisy, hence the margin.

    Parameters
    ----------
    settings : sequence of TrainingSettings
        To compare.
    classifies : bool
        Whether targets are classes or labels.

    Returns
    -------
    SelectionRule
        The rule.
    """
    if not classifies:
        path = _is_path(settings)
        return SelectionRule(minus_squared_error, n_errors=2.0 if path else 1.0, along_path=path)
    if len({setting.teacher for setting in settings if setting.trains}) > 1:
        return SelectionRule(accuracy, n_errors=2.0, n_continued=2)
    return SelectionRule(log_likelihood, n_errors=0.0)


def _is_path(settings: Sequence[TrainingSettings]) -> bool:
    """Return whether settings that train differ in alpha alone, which falls."""
    trained = [setting for setting in settings if setting.trains]
    alike = len({replace(setting, alpha=0.0) for setting in trained}) == 1
    alphas = [setting.alpha for setting in trained]
    return alike and len(trained) > 2 and alphas == sorted(alphas, reverse=True)


def stratified_parts(strata: IntArray, n_parts: int, seed: np.random.SeedSequence) -> IntArray:
    """Part (n_samples,) of each row, with equal shares of each stratum.

    The rows of a stratum go to the parts in turn and in random order. Each stratum begins with
    the part after the last one's end, so that parts differ by at most one row.

    Parameters
    ----------
    strata : ndarray of shape (n_samples,), int64
        Such as classes.
    n_parts : int
        Number of parts.
    seed : numpy.random.SeedSequence
        Of the order.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        Numbers from 0.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    parts = np.empty(len(strata), dtype=np.int64)
    parts[order] = np.arange(len(strata)) % n_parts
    return parts
