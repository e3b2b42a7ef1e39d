"""Choosing among recipes on rows that they have not seen, and training the winner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.training.judging import Judge, Trial
from cerflearn.training.network import FeatureNetwork
from cerflearn.training.problem import Problem, Workers
from cerflearn.training.training import (
    FEW_ROWS,
    Lesson,
    Recipe,
    Task,
    as_problem,
    effort_for,
    kernel_lesson,
    plain_lesson,
    train,
    uses_mini_batches,
)

Finish = Callable[[FeatureNetwork, Task], FeatureNetwork]
"""Gives a trained network the head that it is to have."""

StartNetwork = Callable[[Task, Recipe, np.random.Generator], FeatureNetwork]
"""Draws a network with masks that stay."""

_SEARCH_EFFORT = 0.4
_HELD_OUT = 0.1
_FOLDS_OF_CLASSES, _FOLDS_OF_NUMBERS = 3, 5


@dataclass(eq=False)
class _Fold:
    """Rows to train on and rows to judge by, with the lessons made so far."""

    train: Task
    test: Task
    lessons: dict[bool, Lesson] = field(default_factory=dict)


class RecipeSearch:
    """Judges recipes on held-out rows: in several folds for few rows, else on a fifth of them.

    Parameters
    ----------
    task : Task
        All training rows.
    strata : ndarray of shape (n_samples,), int
        Classes, which every part gets its share of; zeros if there are none.
    judge : Judge
        Compares the recipes.
    start, finish : callable
        Make networks with random masks; fit another head to a trained network.
    seed : numpy.random.SeedSequence
        Of all randomness; a recipe's does not depend on the others tried.
    workers : Workers
        Who computes.
    """

    def __init__(
        self,
        task: Task,
        strata: IntArray,
        judge: Judge,
        start: StartNetwork,
        finish: Finish,
        seed: np.random.SeedSequence,
        workers: Workers,
    ) -> None:
        self._task, self._judge, self._workers = task, judge, workers
        self._start, self._finish = start, finish
        self._folding, self._lesson_seed, self._network_seed = seed.spawn(3)
        self._strata = strata

    def try_all(self, recipes: list[Recipe], report: Callable[[Trial], None]) -> Trial:
        """Best of several recipes: all are tried on the first fold, the finalists on all."""
        folds = self._folds()
        trials = [self._try(recipe, folds[:1]) for recipe in recipes]
        for trial in trials:
            report(trial)
        if len(folds) > 1:
            trials = [self._more(trial, folds[1:]) for trial in self._judge.finalists(trials)]
            for trial in trials:
                report(trial)
        return self._judge.winner(trials)

    def train(
        self,
        recipe: Recipe,
        *,
        early_stopping: bool,
        on_progress: Callable[[float, float], None] | None = None,
    ) -> FeatureNetwork:
        """Train on all rows, but a tenth if early stopping needs rows to look at."""
        task, held_out = self._task, None
        n_frequencies = task.X.shape[1] * recipe.n_projections
        if early_stopping and recipe.refined and uses_mini_batches(task.n_samples, n_frequencies):
            parts = stratified_parts(self._strata, round(1 / _HELD_OUT), self._folding)
            held_out = as_problem(plain_lesson(task.rows(parts == 0)), task.loss)
            task = task.rows(parts != 0)
        lesson = self._lesson(task, recipe.distil)
        return self._run(task, lesson, recipe, 1.0, held_out, on_progress)

    def _folds(self) -> list[_Fold]:
        n_parts = n_tested = _FOLDS_OF_CLASSES if self._task.classes else _FOLDS_OF_NUMBERS
        if self._task.n_samples > FEW_ROWS:
            n_parts, n_tested = 5, 1
        parts = stratified_parts(self._strata, n_parts, self._folding)
        rows = [(parts != part, parts == part) for part in range(n_tested)]
        return [_Fold(self._task.rows(seen), self._task.rows(unseen)) for seen, unseen in rows]

    def _try(self, recipe: Recipe, folds: list[_Fold]) -> Trial:
        scores = []
        for fold in folds:
            if recipe.distil not in fold.lessons:
                fold.lessons[recipe.distil] = self._lesson(fold.train, recipe.distil)
            network = self._run(fold.train, fold.lessons[recipe.distil], recipe, _SEARCH_EFFORT)
            scores.append(network.scores(fold.test.X))
        targets = np.concatenate([fold.test.targets for fold in folds])
        weights = np.concatenate([fold.test.weights for fold in folds])
        return self._judged(recipe, np.concatenate(scores), targets, weights)

    def _more(self, trial: Trial, folds: list[_Fold]) -> Trial:
        """Trial on its own and further folds."""
        other = self._try(trial.recipe, folds)
        scores, targets, weights = (
            np.concatenate([getattr(trial, name), getattr(other, name)])
            for name in ("scores", "targets", "weights")
        )
        return self._judged(trial.recipe, scores, targets, weights)

    def _judged(
        self, recipe: Recipe, scores: Float64Array, targets: Float64Array, weights: Float64Array
    ) -> Trial:
        merits = self._judge.score(scores, targets, weights)
        return Trial(recipe, merits, scores, targets, weights)

    def _lesson(self, task: Task, distil: bool) -> Lesson:
        if not distil:
            return plain_lesson(task)
        return kernel_lesson(task, np.random.default_rng(self._lesson_seed))

    def _run(
        self,
        task: Task,
        lesson: Lesson,
        recipe: Recipe,
        effort: float,
        held_out: Problem | None = None,
        on_progress: Callable[[float, float], None] | None = None,
    ) -> FeatureNetwork:
        rng = np.random.default_rng(self._network_seed)
        start = None if recipe.learned_masks else self._start(task, recipe, rng)
        if start is not None and not recipe.refined:
            return start
        n_frequencies = task.X.shape[1] * recipe.n_projections
        effort *= effort_for(self._task.n_samples, n_frequencies, classes=task.classes)
        network = train(
            task, lesson, recipe, rng, self._workers,
            start=start, effort=effort, held_out=held_out, on_progress=on_progress,
        )  # fmt: skip
        return self._finish(network, task)


def stratified_parts(strata: IntArray, n_parts: int, seed: np.random.SeedSequence) -> IntArray:
    """Part (n_samples,) of each row, with equal shares of each stratum.

    Every stratum's rows are dealt out in random order, the next going on where the last ended, so
    that parts differ by at most one row.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    parts = np.empty(len(strata), dtype=np.int64)
    parts[order] = np.arange(len(strata)) % n_parts
    return parts
