"""How recipes that were tried are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import Float64Array
from cerflearn.training.calibration import log_likelihood
from cerflearn.training.training import Recipe

Score = Callable[[Float64Array, Float64Array, Float64Array], Float64Array]
"""``score(scores, targets, weights)`` tells how good each row's scores are, (n_samples,)."""


@dataclass(frozen=True, eq=False)
class Trial:
    """How a recipe did.

    Attributes
    ----------
    recipe : Recipe
        What was tried.
    merits : ndarray of shape (n_samples,)
        How good the scores of rows that were held out are.
    scores, targets, weights : ndarray
        Of these rows.
    """

    recipe: Recipe
    merits: Float64Array
    scores: Float64Array
    targets: Float64Array
    weights: Float64Array

    @property
    def score(self) -> float:
        """Weighted mean merit."""
        return float(self.weights @ self.merits / self.weights.sum())

    def beats(self, other: Trial, n_errors: float) -> bool:
        """Tell whether the mean merit is higher by more than some paired standard errors."""
        share = self.weights / self.weights.sum()
        difference = self.merits - other.merits
        mean = float(share @ difference)
        error = np.sqrt(share**2 @ np.square(difference - mean))
        return mean > n_errors * float(error)


@dataclass(frozen=True)
class Judge:
    """What counts, and how much better a later recipe must be than an earlier one.

    Attributes
    ----------
    score : callable
        See :data:`Score`.
    n_errors : float
        Paired standard errors to be better by.
    n_finalists : int, default=None
        Recipes that are tried on more than the first fold: the first, and the best of the rest.
        None for all.
    along_path : bool, default=False
        Of refined recipes, take the best mean of three neighbours in their order.
    """

    score: Score
    n_errors: float
    n_finalists: int | None = None
    along_path: bool = False

    def finalists(self, trials: Sequence[Trial]) -> list[Trial]:
        """Trials to go on with, in their order."""
        if self.n_finalists is None:
            return list(trials)
        best = sorted(trials[1:], key=lambda trial: -trial.score)[: self.n_finalists - 1]
        return [trial for trial in trials if trial is trials[0] or trial in best]

    def winner(self, trials: Sequence[Trial]) -> Trial:
        """Best trial; an earlier one unless a later one is better by enough."""
        best, others = trials[0], trials[1:]
        if self.along_path:
            best = _best_on_path([trial for trial in trials if trial.recipe.refined])
            others = [trial for trial in trials if not trial.recipe.refined]
        for trial in others:
            if trial.beats(best, self.n_errors):
                best = trial
        return best


def _best_on_path(trials: Sequence[Trial]) -> Trial:
    """Trial with the best mean score of itself and its neighbours; ends stand for themselves."""
    scores = np.nan_to_num([trial.score for trial in trials], nan=-np.inf)
    smooth = scores.copy()
    smooth[1:-1] = (scores[:-2] + scores[1:-1] + scores[2:]) / 3.0
    return trials[int(np.argmax(smooth))]


def right_answers(
    scores: Float64Array, targets: Float64Array, weights: Float64Array
) -> Float64Array:
    """1.0 for rows whose highest score is their class's, else 0.0."""
    del weights
    if targets.shape[1] == 1:
        right = np.ravel((scores > 0.0) == (targets > 0.5))
    else:
        right = np.equal(scores.argmax(axis=1), targets.argmax(axis=1))
    return np.asarray(right, dtype=np.float64)


def closeness(scores: Float64Array, targets: Float64Array, weights: Float64Array) -> Float64Array:
    """Minus the squared error of each row, (n_samples,)."""
    del weights
    merits: Float64Array = -np.square(scores - targets).mean(axis=1)
    return merits


def judge_for(recipes: Sequence[Recipe], *, classes: bool) -> Judge:
    """Choose what counts for some recipes.

    Squared errors of few rows hang on the largest of them. Where penalties fall from recipe to
    recipe, neighbours tell of each other, which takes out much of that chance; features that were
    only chosen have no neighbours, and a larger margin. Else a margin does.
    Learners of a kernel machine and of the labels are compared by their answers, as the
    probabilities of the former are off even where the answers are better; few rows are often right
    by luck, hence the margin.
    """
    if not classes:
        path = _is_path(recipes)
        return Judge(closeness, n_errors=2.0 if path else 1.0, along_path=path)
    if len({recipe.distil for recipe in recipes if recipe.refined}) > 1:
        return Judge(right_answers, n_errors=2.0, n_finalists=2)
    return Judge(log_likelihood, n_errors=0.0)


def _is_path(recipes: Sequence[Recipe]) -> bool:
    """Tell whether refined recipes differ in the penalty alone, which falls."""
    refined = [recipe for recipe in recipes if recipe.refined]
    alike = len({replace(recipe, penalty=0.0) for recipe in refined}) == 1
    penalties = [recipe.penalty for recipe in refined]
    return alike and len(refined) > 2 and penalties == sorted(penalties, reverse=True)
