"""What CERFClassifier and CERFRegressor share: a network within a budget, and its scores."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import (
    Float64Array,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
)
from cerflearn._validation import (
    Constraint,
    NoEffect,
    Number,
    OneOf,
    Passes,
    Verbosity,
    Whole,
    check_effects,
    check_parameters,
    invalid,
    make_generator,
)
from cerflearn.estimators.fused import cost_of, scores_of
from cerflearn.estimators.gamma import resolve_gamma
from cerflearn.estimators.input import (
    check_has_columns,
    check_n_jobs,
    read_data,
    thread_count,
)
from cerflearn.estimators.predictors.report import input_names, report_lines
from cerflearn.estimators.predictors.scaling import InputScaling, choose_scaling
from cerflearn.estimators.predictors.search import FitOptions, FittedNetwork, fit_network
from cerflearn.estimators.predictors.training_rows import TrainingRows
from cerflearn.features.cost import Cost
from cerflearn.features.masked import MaskedMap
from cerflearn.training.pruning import Budget
from cerflearn.training.scores import TargetKind
from cerflearn.training.settings import SettingsRequest, default_macs, least_macs
from cerflearn.training.task import MAX_TEACHER_ROWS, Task

_GAMMA_SHARE = 0.2  # of one over the median squared distance: gamma to start with
_LARGEST_INPUT, _LARGEST_START_GAMMA = 1e15, 1e65  # squares and frequencies must not overflow


_MOST_BUDGET = 10**12  # far beyond any model; arithmetic stays exact
_MOST_FREQUENCIES = 2**27  # that training starts with, 1 GiB


def _check_early_stopping(name: str, value: Any) -> None:
    automatic = isinstance(value, str) and value == "auto"
    if not automatic and not isinstance(value, bool | np.bool_):
        raise invalid(name, value, "True, False or 'auto'")


PREDICTOR_CONSTRAINTS: dict[str, Constraint] = {
    "macs": Whole(
        f"a positive integer of at most {_MOST_BUDGET:,}, or None",
        at_most=_MOST_BUDGET,
        also=(None,),
    ),
    "learn": OneOf(("auto", "masks", "features", "selection")),
    "teacher": OneOf(("auto", "labels", "kernel")),
    "activation": OneOf(("auto", "cosine", "relu")),
    "n_components": Whole("a positive integer or 'auto'", also=("auto",)),
    "gamma": Number(
        "'cv', 'scale', 'median' or a positive number", above=0.0, also=("cv", "scale", "median")
    ),
    "alpha": Number(
        "'auto' or a number from 0 to 1e20", at_least=0.0, at_most=1e20, also=("auto",)
    ),
    "group_size": OneOf((1, 2, 4, 8, 16)),
    "features_per_mask": Whole("a positive integer"),
    "early_stopping": Passes(_check_early_stopping),
    "verbose": Verbosity(),
    "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
}
"""What each parameter that both predictors have must be; the heads differ."""

PREDICTOR_EFFECTS = (
    NoEffect(
        "gamma",
        "activation",
        lambda model: model.activation == "relu",
        "relu features have no kernel coefficient; leave gamma at 'cv'",
    ),
    NoEffect(
        "activation",
        "learn",
        lambda model: model.activation == "relu" and model.learn in ("features", "selection"),
        "features that are drawn are cosines; leave activation at 'auto', or pass learn='masks'",
    ),
    NoEffect(
        "teacher",
        "learn",
        lambda model: model.teacher == "kernel" and model.learn == "selection",
        "features are selected by the labels; leave teacher at 'auto', or train features",
    ),
    NoEffect(
        "alpha",
        "learn",
        lambda model: model.learn == "selection",
        "no frequencies are trained, and the head chooses its penalty; leave alpha at 'auto'",
    ),
    NoEffect(
        "early_stopping",
        "learn",
        lambda model: model.learn == "selection",
        "no frequencies are trained; leave early_stopping at 'auto'",
    ),
)
"""Combinations in which a parameter never changes the result."""


# As numbers of Python: those of NumPy may be short, and overflow.
_OPTIONS = {"learn": str, "teacher": str, "activation": str, "alpha": float, "n_components": int}


class BudgetedPredictor(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of predictors whose map and head together cost at most ``macs``."""

    _constraints: ClassVar[dict[str, Constraint]] = PREDICTOR_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = PREDICTOR_EFFECTS

    macs: int | None
    head: str
    learn: Literal["auto", "masks", "features", "selection"]
    teacher: Literal["auto", "labels", "kernel"]
    activation: Literal["auto", "cosine", "relu"]
    n_components: int | Literal["auto"]
    gamma: float | Literal["cv", "scale", "median"]
    alpha: float | Literal["auto"]
    group_size: int
    features_per_mask: int
    early_stopping: bool | Literal["auto"]
    verbose: int
    n_jobs: int | None
    random_state: RandomStateLike
    feature_map_: MaskedMap
    head_coef_: Float64Array
    head_intercept_: Float64Array

    def _begin_fit(self, y: Any) -> np.random.SeedSequence:
        """Check parameters, delete an earlier fit, and make the seed of all randomness."""
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)
        name = type(self).__name__
        if y is None:
            raise ValueError(f"This {name} requires y to be passed, but the target y is None.")
        check_has_columns(y)
        seed = np.random.SeedSequence(make_generator(self.random_state).integers(2**63, size=2))
        if hasattr(self, "head_coef_"):
            del self.head_coef_  # a fit that fails leaves no half of an old model
        return seed

    def _fit_rows(
        self, rows: TrainingRows, kind: TargetKind, seed: np.random.SeedSequence, n_scores: int
    ) -> tuple[FittedNetwork, Task, InputScaling]:
        """Choose and train a network."""
        budget = self._budget(rows.X.shape[1], n_scores)
        scaling_seed, search_seed = seed.spawn(2)
        rng = np.random.default_rng(scaling_seed)
        # A coefficient that is given is one of inputs as they are.
        scaled = "auto" if self._chooses_gamma else "none"
        scaling = choose_scaling(rows.X, rows.targets, rows.weights, rng, scaled)
        if not scaling.varies.any():
            raise ValueError("X is constant, all its rows are equal: nothing can be learned.")
        task = self._task(rows, kind, budget, scaling)
        n_threads = thread_count(self.n_jobs, len(rows.X))
        fitted = fit_network(task, rows.strata, self._options(), search_seed, n_threads)
        self.macs_ = budget.macs
        self._set_settings(fitted, task.gamma)
        return fitted, task, scaling

    @property
    def _chooses_gamma(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "cv"

    def _budget(self, n_features: int, n_scores: int) -> Budget:
        """Budget of the network, refused if it is too small for what is asked."""
        macs = default_macs(n_features, n_scores) if self.macs is None else int(self.macs)
        budget = Budget(macs, n_scores, int(self.group_size), int(self.features_per_mask))
        least = least_macs(budget, n_features)
        if macs < least and self.macs is None:
            budget = replace(budget, macs=least)
        elif macs < least:
            scores = "score" if n_scores == 1 else f"{n_scores} scores"
            raise ValueError(
                f"macs={self.macs} is not valid: one feature with its {scores} costs {least} MACs, "
                f"the smallest possible budget. Pass macs={least} or more."
            )
        if self.n_components != "auto":
            self._check_n_components(int(self.n_components), budget, n_features)
        return budget

    def _check_n_components(self, n_components: int, budget: Budget, n_features: int) -> None:
        """Refuse more features than the budget, or memory, is enough for."""
        most = budget.macs // (min(budget.group_size, n_features) + budget.n_scores)
        if n_components > most:
            given = f"macs={budget.macs}" + (" (the default)" if self.macs is None else "")
            raise ValueError(
                f"n_components={n_components} is not valid: {given} is enough for {most} features, "
                f"one group of inputs and the scores each. Pass n_components={most} or less, or "
                "more macs."
            )
        if n_components * n_features > _MOST_FREQUENCIES:
            raise ValueError(
                f"n_components={n_components} is not valid: with {n_features:,} inputs it takes "
                f"more than {_MOST_FREQUENCIES:,} frequencies. Pass n_components="
                f"{_MOST_FREQUENCIES // n_features} or less."
            )

    def _task(
        self, rows: TrainingRows, kind: TargetKind, budget: Budget, scaling: InputScaling
    ) -> Task:
        # Kernel ridge regression of few rows needs double precision.
        X = rows.X if len(rows.X) > MAX_TEACHER_ROWS else rows.X.astype(np.float64)
        scaled = scaling.apply(X)
        if self._chooses_gamma:
            gamma = _GAMMA_SHARE * resolve_gamma("median", "rbf", scaled)
        else:
            gamma = resolve_gamma(self.gamma, "rbf", scaled)
        _check_single_precision(scaled, float(gamma))
        # Whole groups are read, also where an input of one never varies.
        n_features = X.shape[1]
        groups = np.logical_or.reduceat(scaling.varies, np.arange(0, n_features, budget.group_size))
        usable = np.repeat(groups, budget.group_size)[:n_features]
        return Task(scaled, rows.targets, rows.weights, kind, budget, usable, float(gamma))

    def _options(self) -> FitOptions:
        """Parameters in the words of the search; None for "auto"."""
        values = {
            name: None if isinstance(value, str) and value == "auto" else kind(value)
            for name, kind in _OPTIONS.items()
            for value in (getattr(self, name),)
        }
        if values["activation"] is None and not self._chooses_gamma:
            values["activation"] = "cosine"  # gamma is a parameter of cosines
        early: Any = self.early_stopping
        return FitOptions(
            request=SettingsRequest(**values),
            head=self.head,
            choose_gamma=self._chooses_gamma,
            early_stopping=None if isinstance(early, str) else bool(early),
            name=type(self).__name__ if self.verbose else None,
        )

    def _set_settings(self, fitted: FittedNetwork, gamma: float) -> None:
        """Set what was chosen, in the words of the constructor."""
        settings = fitted.settings
        self.learn_ = settings.learn
        self.teacher_ = settings.teacher
        self.activation_ = settings.activation
        self.n_components_ = settings.n_components
        self.alpha_ = settings.alpha if settings.trains else "auto"
        self.gamma_ = gamma

    def _store(
        self,
        fitted: FittedNetwork,
        scaling: InputScaling,
        head: tuple[FloatArray, FloatArray],
        importance_coef: FloatArray,
    ) -> None:
        """Set map, importances and head (coefficients and intercepts), which comes last."""
        network = fitted.network
        self.feature_map_ = scaling.to_map(network, int(self.group_size))
        self.feature_importances_ = scaling.importances(network.frequencies, importance_coef)
        coef, intercept = head
        self.head_intercept_ = np.asarray(intercept, dtype=np.float64)
        self.head_coef_ = np.array(coef, dtype=np.float64)

    def _scores(self, X: MatrixLike) -> FloatArray:
        """Scores (n_samples, n_scores) in the dtype of X, without storing all features."""
        check_is_fitted(self, "head_coef_")
        X = read_data(self, X, reset=False)
        n_threads = thread_count(self.n_jobs, X.shape[0])
        return scores_of(self.feature_map_, self.head_coef_, self.head_intercept_, X, n_threads)

    @property
    def n_macs_(self) -> int:
        """MACs of one row, head included."""
        return self._count_cost().macs

    @property
    def inputs_read_(self) -> IntArray:
        """Sorted indices of the inputs that a feature reads."""
        check_is_fitted(self, "head_coef_")
        return np.flatnonzero(self.feature_map_.masks.any(axis=1)).astype(np.int64)

    def _count_cost(self) -> Cost:
        check_is_fitted(self, "head_coef_")
        return cost_of(self.feature_map_, self.head_coef_, self.head_intercept_)

    def report(self) -> str:
        """Summarise the fitted model: cost, inputs, what was chosen, and how far it uses ``macs``.

        Returns
        -------
        str
            A few lines.
        """
        cost = self._count_cost()
        names = input_names(getattr(self, "feature_names_in_", None), self.n_features_in_)
        return "\n".join(report_lines(self, cost, names))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _check_single_precision(X: FloatArray, gamma: float) -> None:
    """Refuse inputs, or frequencies of the kernel, too large for training in float32."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST_INPUT or gamma > _LARGEST_START_GAMMA:
        raise ValueError(
            f"gamma={gamma:.3g} with inputs up to {largest:.3g} is beyond single precision, in "
            "which features are trained: scale X, or pass gamma='cv', which scales it."
        )
