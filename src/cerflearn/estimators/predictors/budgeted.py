"""What CERFClassifier and CERFRegressor share: a network within a budget, and fused scores."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn._validation import check_choice, check_integer, check_number, invalid
from cerflearn.estimators.fused import cost_of, scores_of
from cerflearn.estimators.gamma import resolve_gamma
from cerflearn.estimators.input import check_n_jobs, read_data, thread_count
from cerflearn.estimators.predictors.distinct_rows import merge_rows
from cerflearn.estimators.predictors.network_map import network_map
from cerflearn.estimators.predictors.random_masks import draw_with_random_masks
from cerflearn.estimators.predictors.scaling import InputScaling, choose_scaling
from cerflearn.features.base import FeatureMap
from cerflearn.features.cost import Cost
from cerflearn.linalg.ridge_path import fit_ridge_path
from cerflearn.training.calibration import score_targets
from cerflearn.training.distillation import MOST_ROWS
from cerflearn.training.judging import Trial, judge_for
from cerflearn.training.losses import Loss
from cerflearn.training.network import FeatureNetwork
from cerflearn.training.problem import Workers
from cerflearn.training.pruning import Budget
from cerflearn.training.recipes import default_macs, drawn, least_macs, make_recipes
from cerflearn.training.search import RecipeSearch
from cerflearn.training.training import Recipe, Task

_WIDTH = 0.2  # of the frequencies that training starts with, times one over the median distance
_EARLY_ROWS = 10_000  # from so many on, a tenth can be spared for early stopping
_FEWEST_ROWS, _MOST_ROWS_TRIED = 30, 20_000  # between which features without training are tried
_LARGEST_INPUT, _LARGEST_GAMMA = 1e15, 1e65  # squares and frequencies must not overflow
_GROUP_SIZES = (1, 2, 4, 8, 16)


class BudgetedPredictor(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of predictors whose map and head together cost at most ``macs``."""

    _predicts_classes: bool

    macs: Any
    head: Any
    gamma: Any
    refine: Any
    masks: Any
    teacher: Any
    activation: Any
    alpha: Any
    group_size: Any
    features_per_mask: Any
    early_stopping: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    feature_map_: FeatureMap
    coef_: Float64Array
    intercept_: Float64Array

    def _check_parameters(self) -> None:
        if self.macs is not None:
            check_integer("macs", self.macs, "a positive integer or None", at_most=10**12)
        if not (isinstance(self.gamma, str) and self.gamma in ("cv", "scale", "median")):
            check_number(
                "gamma", self.gamma, "'cv', 'scale', 'median' or a positive number", above=0.0
            )
        if self.refine is not None:
            check_choice("refine", self.refine, ("auto", "supervised"))
        check_choice("masks", self.masks, ("auto", "learned", "random"))
        if self.masks == "learned" and self.refine is None:
            raise invalid("refine", None, "'auto' or 'supervised' for masks='learned'")
        check_choice("teacher", self.teacher, ("auto", "labels", "kernel"))
        check_choice("activation", self.activation, ("auto", "cosine", "relu"))
        if self.activation == "relu" and (self.masks == "random" or self.refine is None):
            raise invalid(
                "activation",
                "relu",
                "'auto' or 'cosine' for features that are drawn (masks='random' or refine=None)",
            )
        if not (isinstance(self.alpha, str) and self.alpha == "auto"):
            check_number(
                "alpha", self.alpha, "'auto' or a number that is not negative", at_least=0.0
            )
        check_choice("group_size", self.group_size, _GROUP_SIZES)
        check_integer("features_per_mask", self.features_per_mask, "a positive integer")
        early = self.early_stopping
        if not isinstance(early, bool | np.bool_) and not (
            isinstance(early, str) and early == "auto"
        ):
            raise invalid("early_stopping", early, "True, False or 'auto'")
        check_n_jobs(self.n_jobs)
        if not isinstance(self.verbose, bool | np.bool_):
            check_integer("verbose", self.verbose, "True, False or a number", at_least=0)

    @property
    def _chooses_gamma(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "cv"

    def _budget(self, n_features: int, n_scores: int) -> Budget:
        """Budget of the network, refused if it pays for nothing."""
        macs = default_macs(n_features, n_scores) if self.macs is None else int(self.macs)
        budget = Budget(macs, n_scores, int(self.group_size), int(self.features_per_mask))
        least = least_macs(budget, n_features)
        if macs < least and self.macs is None:
            return replace(budget, macs=least)
        if macs < least:
            raise ValueError(
                f"macs={self.macs} is not valid: one feature with its {n_scores} score"
                f"{'s' if n_scores > 1 else ''} costs {least} MACs, the smallest possible budget. "
                f"Pass macs={least} or more."
            )
        return budget

    def _fit_network(
        self,
        X: FloatArray,
        targets: Float64Array,
        weights: Float64Array,
        strata: IntArray,
        loss: Loss,
        seed: np.random.SeedSequence,
        n_scores: int,
    ) -> tuple[FeatureNetwork, Trial | None, Task]:
        """Choose and train a network; ``weights`` sum to one."""
        budget = self._budget(X.shape[1], n_scores)
        scaling_seed, search_seed = seed.spawn(2)
        rng = np.random.default_rng(scaling_seed)
        # A coefficient that is given is one of inputs as they are; rectified features have none.
        keeps = self.activation != "relu" and not self._chooses_gamma
        scaling = choose_scaling(X, targets, weights, rng, "none" if keeps else "auto")
        if not scaling.varies.any():
            raise ValueError("X is constant, all its rows are equal: nothing can be learned.")
        task = self._task(X, targets, weights, loss, budget, scaling)
        self._scaling = scaling
        with Workers(thread_count(self.n_jobs, len(X))) as workers:
            return *self._search_and_train(task, strata, search_seed, workers), task

    def _task(
        self,
        X: FloatArray,
        targets: Float64Array,
        weights: Float64Array,
        loss: Loss,
        budget: Budget,
        scaling: InputScaling,
    ) -> Task:
        # A kernel machine of few rows needs double precision.
        scaled = scaling.apply(X if len(X) > MOST_ROWS else X.astype(np.float64))
        gamma = self.gamma
        if self._chooses_gamma:
            gamma = _WIDTH * resolve_gamma("median", "rbf", scaled)
        else:
            gamma = resolve_gamma(gamma, "rbf", scaled)
        _check_single_precision(scaled, float(gamma))
        self.gamma_ = float(gamma)
        # Whole groups are read, also where an input of one never varies.
        groups = np.logical_or.reduceat(scaling.varies, np.arange(0, X.shape[1], budget.group_size))
        usable = np.repeat(groups, budget.group_size)[: X.shape[1]]
        classes = self._predicts_classes
        return Task(scaled, targets, weights, loss, classes, budget, usable, float(gamma))

    def _search_and_train(
        self,
        task: Task,
        strata: IntArray,
        seed: np.random.SeedSequence,
        workers: Workers,
    ) -> tuple[FeatureNetwork, Trial | None]:
        recipes = self._recipes(task)
        judge = judge_for(recipes, classes=task.classes)
        search = RecipeSearch(task, strata, judge, self._start, self._finish, seed, workers)
        trial = None
        if len(recipes) > 1 or self._needs_trial(recipes[0]):
            trial = search.try_all(recipes, self._report_trial)
        recipe = recipes[0] if trial is None else trial.recipe
        self.recipe_ = recipe
        early = self.early_stopping
        if early == "auto":
            early = task.n_samples >= _EARLY_ROWS
        network = search.train(recipe, early_stopping=early, on_progress=self._report_progress)
        return network, trial

    def _start(self, task: Task, recipe: Recipe, rng: np.random.Generator) -> FeatureNetwork:
        choose = self._chooses_gamma
        return draw_with_random_masks(task, recipe.n_projections, rng, choose_width=choose)

    def _finish(self, network: FeatureNetwork, task: Task) -> FeatureNetwork:
        """Fit a ridge head where that is wanted; its own leave-one-out error chooses the penalty.

        That error is too low, as the features have seen the rows: probabilities need other rows.
        """
        if self.head != "ridge":
            return network
        aims = score_targets(task.targets) if task.classes else task.targets
        fit = fit_ridge_path(network.features(task.X), aims, task.weights)
        return replace(network, head=fit.head, bias=fit.bias)

    def _needs_trial(self, recipe: Recipe) -> bool:
        """Tell whether rows must be held out although there is one recipe only."""
        return self._predicts_classes and (recipe.distil or self.head == "ridge")

    def _recipes(self, task: Task) -> list[Recipe]:
        """Recipes that the parameters allow."""
        n_features = int(task.usable.sum())
        recipes = make_recipes(
            task.budget,
            n_features,
            task.n_samples,
            self.teacher,
            classes=task.classes,
            activation=self._activation(),
        )
        if not (isinstance(self.alpha, str) and self.alpha == "auto"):
            recipes = [replace(recipe, penalty=float(self.alpha)) for recipe in recipes]
        if self.masks == "random" or self.refine is None:
            recipes = [drawn(recipe, task.budget, n_features, task.n_samples) for recipe in recipes]
        plain = drawn(recipes[0], task.budget, n_features, task.n_samples)
        plain = replace(plain, distil=False, refined=False)
        if self.refine is None:
            recipes = [plain]
        elif self._tries_plain(task):
            recipes.append(plain)
        return list(dict.fromkeys(recipes))

    def _activation(self) -> str:
        """Features to try: those with masks that are drawn are cosines."""
        return "cosine" if self.masks == "random" or self.refine is None else str(self.activation)

    def _tries_plain(self, task: Task) -> bool:
        """Tell whether features that are only chosen are tried beside trained ones."""
        wanted = self.refine == "auto" and self.masks != "learned" and self.activation != "relu"
        return wanted and _can_choose(task)

    def _report_trial(self, trial: Trial) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {trial.recipe}: held-out score {trial.score:.4f}")

    def _report_progress(self, share: float, value: float) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {share:4.0%} of training, loss {value:.5g}")

    def _store(self, network: FeatureNetwork) -> None:
        self.feature_map_ = network_map(network, self._scaling, int(self.group_size))
        self.coef_ = network.head.T.astype(np.float64)
        self.intercept_ = network.bias.astype(np.float64)

    def _scores(self, X: Any) -> FloatArray:
        """Scores (n_samples, n_scores) in the dtype of X, without storing all features."""
        check_is_fitted(self, "coef_")
        X = read_data(self, X, reset=False)
        n_threads = thread_count(self.n_jobs, X.shape[0])
        return scores_of(self.feature_map_, self.coef_, self.intercept_, X, n_threads)

    @property
    def n_macs_(self) -> int:
        """MACs of one row, head included."""
        return self._count_cost().macs

    def _count_cost(self) -> Cost:
        check_is_fitted(self, "coef_")
        return cost_of(self.feature_map_, self.coef_, self.intercept_)

    def report(self) -> str:
        """Return a short summary of the fitted model for people to read."""
        check_is_fitted(self, "coef_")
        cost = self._count_cost()
        active = self.feature_map_.masks.sum(axis=0)
        kind = "rectified" if self.feature_map_.rectified else "cosine"
        lines = [
            f"{type(self).__name__}: {cost.macs:,} MACs a row"
            f" ({cost.macs - self.coef_.size:,} for features, {self.coef_.size:,} for scores)",
            f"  {self.feature_map_.n_projections} {kind} features of {active.min()} to "
            f"{active.max()} inputs out of {self.n_features_in_}, {len(self.coef_)} scores",
            f"  {cost.n_parameters:,} parameters, {cost.n_bytes:,} bytes stored, "
            f"{cost.trig or 'no'} cosines a row",
            f"  trained as {self.recipe_}",
        ]
        return "\n".join(lines)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _check_single_precision(X: FloatArray, gamma: float) -> None:
    """Refuse inputs, or frequencies of the kernel, too large for training in float32."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST_INPUT or gamma > _LARGEST_GAMMA:
        raise ValueError(
            f"gamma={gamma:.3g} with inputs up to {largest:.3g} is beyond single precision, in "
            "which features are trained: scale X, or pass gamma='cv', which scales it."
        )


def _can_choose(task: Task) -> bool:
    """Tell whether rows suffice, and targets vary, for features to be chosen by them."""
    few = _FEWEST_ROWS <= task.n_samples <= _MOST_ROWS_TRIED
    return few and bool((task.targets != task.targets[0]).any())


def distinct_rows(
    X: Any, targets: Float64Array, weights: Float64Array
) -> tuple[FloatArray, Float64Array, Float64Array, IntArray]:
    """Dense training rows in canonical order, their targets, weights that sum to one, indices."""
    if issparse(X):
        X = X.toarray()
    rows, sums = merge_rows(X, targets, weights)
    if len(rows) < 2:
        raise ValueError("Found 1 sample with a weight above 0 (n_samples = 1): at least 2 needed.")
    return X[rows], targets[rows], sums / sums.sum(), rows
