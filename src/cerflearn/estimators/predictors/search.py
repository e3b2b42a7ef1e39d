"""Choice of settings on held-out rows, and training of the network with the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.estimators.predictors.drawn_features import draw_selected_network
from cerflearn.linalg.ridge import fit_ridge_path
from cerflearn.training.model_selection import (
    HeldOutResult,
    SelectionRule,
    rule_for,
    stratified_parts,
)
from cerflearn.training.network import FeatureNetwork, Problem, Workers
from cerflearn.training.scores import score_targets
from cerflearn.training.settings import (
    FEW_ROWS,
    SettingsRequest,
    TeacherName,
    TrainingSettings,
    candidate_settings,
    n_weights_of,
)
from cerflearn.training.task import Task, kernel_problem, labels_problem
from cerflearn.training.train import effort_for, train_network, uses_mini_batches

_COMPARISON_EFFORT = 0.4  # share of the usual steps while settings are compared
_EARLY_STOPPING_ROWS = 10_000  # from which early stopping is the default
_EARLY_STOPPING_PARTS = 10  # one of which is held out
_FOLDS_OF_CLASSES, _FOLDS_OF_NUMBERS = 3, 5  # of few rows
_FOLDS_OF_MANY_ROWS = 5  # one of which is held out


@dataclass(frozen=True)
class FitOptions:
    """Options of a fit, beside the data.

    Attributes
    ----------
    request : SettingsRequest
        Settings that are given.
    head : str
        ``"ridge"`` fits the head to the trained features; others keep the trained one.
    choose_gamma : bool
        Whether drawn features choose their gamma.
    early_stopping : bool or None
        None: for many rows.
    name : str or None
        Printed before lines that report progress; None prints nothing.
    """

    request: SettingsRequest
    head: str
    choose_gamma: bool
    early_stopping: bool | None
    name: str | None


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A trained network.

    Attributes
    ----------
    network : FeatureNetwork
        In double precision.
    settings : TrainingSettings
        It was trained with.
    held_out : HeldOutResult or None
        Scores of held-out rows by networks of these settings; None if nothing was compared.
    """

    network: FeatureNetwork
    settings: TrainingSettings
    held_out: HeldOutResult | None


@dataclass(eq=False)
class _Fold:
    """Rows to train on and held-out rows, with the problems made so far."""

    train: Task
    test: Task
    problems: dict[TeacherName, Problem] = field(default_factory=dict)


def fit_network(
    task: Task,
    strata: IntArray,
    options: FitOptions,
    seed: np.random.SeedSequence,
    n_threads: int,
) -> FittedNetwork:
    """Compare settings and train a network with the best.

    Parameters
    ----------
    task : Task
        All training rows.
    strata : ndarray of shape (n_samples,), int64
        Classes, which all folds get their share of; zeros if there are none.
    options : FitOptions
        Options.
    seed : numpy.random.SeedSequence
        Of all randomness; that of one setting does not depend on the others.
    n_threads : int
        Threads; the bits of the result do not depend on their number.

    Returns
    -------
    FittedNetwork
        The network.
    """
    with Workers(n_threads) as workers:
        search = _Search(task, strata, options, seed, workers)
        settings, held_out = search.choose()
        return FittedNetwork(search.train_on_all(settings), settings, held_out)


class _Search:
    """Compares settings: in several folds for few rows, else on a fifth of the rows."""

    def __init__(
        self,
        task: Task,
        strata: IntArray,
        options: FitOptions,
        seed: np.random.SeedSequence,
        workers: Workers,
    ) -> None:
        self._task, self._strata, self._options, self._workers = task, strata, options, workers
        self._fold_seed, self._teacher_seed, self._network_seed = seed.spawn(3)

    def choose(self) -> tuple[TrainingSettings, HeldOutResult | None]:
        """Best settings, with their scores of held-out rows where these are needed."""
        candidates = candidate_settings(self._task, self._options.request)
        if len(candidates) == 1 and not self._needs_temperature():
            return candidates[0], None
        rule = rule_for(candidates, classifies=self._task.classifies)
        folds = self._folds()
        results = [self._evaluate(settings, folds[:1], rule) for settings in candidates]
        self._print_results(results)
        if len(folds) > 1:
            results = [self._extend(r, folds[1:], rule) for r in rule.continued(results)]
            self._print_results(results)
        best = rule.best(results)
        return best.settings, best

    def train_on_all(self, settings: TrainingSettings) -> FeatureNetwork:
        """Train on all rows, except for a tenth if early stopping needs rows."""
        task, held_out = self._task, None
        n_frequencies = task.X.shape[1] * settings.n_components
        early = self._options.early_stopping
        if early is None:
            early = task.n_samples >= _EARLY_STOPPING_ROWS
        if early and settings.trains and uses_mini_batches(task.n_samples, n_frequencies):
            parts = stratified_parts(self._strata, _EARLY_STOPPING_PARTS, self._fold_seed)
            held_out = labels_problem(task.rows(parts == 0))
            task = task.rows(parts != 0)
        problem = self._problem(task, settings.teacher)
        return self._train(task, problem, settings, 1.0, held_out, _progress(self._options.name))

    def _needs_temperature(self) -> bool:
        """Return whether probabilities need held-out scores although nothing is compared.

        A ridge head has no probabilities of its own. Those of a trained head are scaled wherever
        there would be settings to compare, also if one was given.
        """
        if not self._task.classifies or self._options.head not in ("logistic", "ridge"):
            return False
        free = replace(self._options.request, alpha=None, n_components=None)
        return self._options.head == "ridge" or len(candidate_settings(self._task, free)) > 1

    def _folds(self) -> list[_Fold]:
        n_parts = n_tested = _FOLDS_OF_CLASSES if self._task.classifies else _FOLDS_OF_NUMBERS
        if self._task.n_samples > FEW_ROWS:
            n_parts, n_tested = _FOLDS_OF_MANY_ROWS, 1
        parts = stratified_parts(self._strata, n_parts, self._fold_seed)
        rows = [(parts != part, parts == part) for part in range(n_tested)]
        return [_Fold(self._task.rows(seen), self._task.rows(unseen)) for seen, unseen in rows]

    def _evaluate(
        self, settings: TrainingSettings, folds: list[_Fold], rule: SelectionRule
    ) -> HeldOutResult:
        scores = []
        for fold in folds:
            teacher = settings.teacher
            if teacher not in fold.problems:
                fold.problems[teacher] = self._problem(fold.train, teacher)
            network = self._train(fold.train, fold.problems[teacher], settings, _COMPARISON_EFFORT)
            scores.append(network.scores(fold.test.X))
        targets = np.concatenate([fold.test.targets for fold in folds])
        weights = np.concatenate([fold.test.weights for fold in folds])
        return self._result(settings, np.concatenate(scores), targets, weights, rule)

    def _extend(
        self, result: HeldOutResult, folds: list[_Fold], rule: SelectionRule
    ) -> HeldOutResult:
        """Add the scores of further folds."""
        other = self._evaluate(result.settings, folds, rule)
        return self._result(
            result.settings,
            np.concatenate([result.scores, other.scores]),
            np.concatenate([result.targets, other.targets]),
            np.concatenate([result.weights, other.weights]),
            rule,
        )

    def _result(
        self,
        settings: TrainingSettings,
        scores: Float64Array,
        targets: Float64Array,
        weights: Float64Array,
        rule: SelectionRule,
    ) -> HeldOutResult:
        criterion = rule.criterion(scores, targets, weights, self._task.kind)
        return HeldOutResult(settings, criterion, scores, targets, weights)

    def _problem(self, task: Task, teacher: TeacherName) -> Problem:
        if teacher == "labels":
            return labels_problem(task)
        return kernel_problem(task, np.random.default_rng(self._teacher_seed))

    def _train(
        self,
        task: Task,
        problem: Problem,
        settings: TrainingSettings,
        effort: float,
        held_out: Problem | None = None,
        on_progress: Callable[[float, float], None] | None = None,
    ) -> FeatureNetwork:
        rng, start = np.random.default_rng(self._network_seed), None
        if settings.learn != "masks":
            choose_gamma = self._options.choose_gamma
            start = draw_selected_network(
                task, settings.n_components, rng, choose_gamma=choose_gamma
            )
            if not settings.trains:
                return start
        n_weights = n_weights_of(task.X.shape[1], settings.n_components, task.targets.shape[1])
        effort *= effort_for(self._task.n_samples, n_weights, classes=task.classifies)
        network = train_network(
            task, problem, settings, rng, self._workers,
            start=start, effort=effort, held_out=held_out, on_progress=on_progress,
        )  # fmt: skip
        return _with_ridge_head(network, task) if self._options.head == "ridge" else network

    def _print_results(self, results: list[HeldOutResult]) -> None:
        if self._options.name is not None:
            for result in results:
                name, mean = self._options.name, result.mean
                print(f"[{name}] {result.settings}: held-out score {mean:.4f}")


def _with_ridge_head(network: FeatureNetwork, task: Task) -> FeatureNetwork:
    """Network with a ridge head, whose penalty has the least leave-one-out error.

    That error is too low, as the features were fitted to the rows: probabilities need other rows.
    """
    aims = score_targets(task.targets, task.kind)
    fit = fit_ridge_path(network.features(task.X), aims, task.weights)
    return replace(network, head=fit.head, bias=fit.bias)


def _progress(name: str | None) -> Callable[[float, float], None] | None:
    """Print the share of training done and the loss; None prints nothing."""
    if name is None:
        return None
    return lambda share, loss: print(f"[{name}] {share:4.0%} of training, loss {loss:.5g}")
