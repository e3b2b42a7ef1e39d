"""What CERFClassifier and CERFRegressor share: a network within a budget, and its scores."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import issparse
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
from cerflearn.estimators.fused import bytes_of, cost_of, scores_of
from cerflearn.estimators.gamma import resolve_gamma
from cerflearn.estimators.input import (
    FLOATS,
    THREADED_ROWS,
    check_has_columns,
    check_n_jobs,
    read_data,
    thread_count,
)
from cerflearn.estimators.predictors.distilled import teacher_fitter
from cerflearn.estimators.predictors.drawn_features import draw_selected_network
from cerflearn.estimators.predictors.report import input_names, report_lines
from cerflearn.estimators.predictors.scaling import InputScaling, scale_inputs
from cerflearn.estimators.predictors.training_rows import TrainingRows
from cerflearn.features.cost import Cost, StoredArray, compressed_array, stored_bytes
from cerflearn.features.linear import LinearPart
from cerflearn.features.masked import MaskedMap
from cerflearn.features.tables import TableMap
from cerflearn.training.deployed import FeatureNetwork, choose_bins, deploy
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.policy import (
    SettingsRequest,
    TrainingSettings,
    default_macs,
    least_macs,
    n_components_for,
    usual_inputs,
)
from cerflearn.training.pruning import Budget, input_importances
from cerflearn.training.scores import TargetKind
from cerflearn.training.search import (
    HeldOutResult,
    Rescore,
    Search,
    SearchOptions,
    SearchResult,
    scaled_inputs,
)
from cerflearn.training.task import Task
from cerflearn.training.trainer import IMPORTANCE_ROWS, input_deviations

_GAMMA_SHARE = 0.2  # of one over the median squared distance: gamma of drawn features
_LARGEST_INPUT, _LARGEST_START_GAMMA = 1e15, 1e65  # squares and frequencies must not overflow
_EARLY_STOPPING_ROWS = 10_000  # from which on a tenth of the rows can be spared

_MOST_BUDGET = 10**12  # far beyond any model; arithmetic stays exact
_MOST_FREQUENCIES = 2**27  # that training starts with, 1 GiB

_TEACHERS = ("auto", "labels", "kernel")


def _check_early_stopping(name: str, value: Any) -> None:
    automatic = isinstance(value, str) and value == "auto"
    if not automatic and not isinstance(value, bool | np.bool_):
        raise invalid(name, value, "True, False or 'auto'")


def _check_teacher_name(name: str, value: Any) -> None:
    if isinstance(value, str) and value in _TEACHERS:
        return
    if isinstance(value, str) or not hasattr(value, "fit"):
        raise invalid(name, value, "'auto', 'labels', 'kernel' or an estimator")


def _check_settings(name: str, value: Any) -> None:
    known = {field.name for field in fields(TrainingSettings)}
    if value is not None and not (isinstance(value, dict) and set(value) == known):
        raise invalid(name, value, "None, or the settings_ of a fitted predictor")


PREDICTOR_CONSTRAINTS: dict[str, Constraint] = {
    "macs": Whole(
        f"a positive integer of at most {_MOST_BUDGET:,}, or None",
        at_most=_MOST_BUDGET,
        also=(None,),
    ),
    "max_bytes": Whole(
        f"a positive integer of at most {_MOST_BUDGET:,}, or None",
        at_most=_MOST_BUDGET,
        also=(None,),
    ),
    "storage": OneOf(("float32", "int16", "int8")),
    "learn": OneOf(("auto", "masks", "features", "selection")),
    "teacher": Passes(_check_teacher_name),
    "activation": OneOf(("auto", "cosine", "relu", "table")),
    "n_components": Whole("0, a positive integer or 'auto'", at_least=0, also=("auto",)),
    "gamma": Number(
        "'cv', 'scale', 'median' or a positive number", above=0.0, also=("cv", "scale", "median")
    ),
    "alpha": Number(
        "'auto' or a number from 0 to 1e20", at_least=0.0, at_most=1e20, also=("auto",)
    ),
    "settings": Passes(_check_settings),
    "group_size": OneOf((1, 2, 4, 8, 16)),
    "features_per_mask": Whole("a positive integer"),
    "effort": Number("a number from .01 to 1,000", at_least=0.01, at_most=1000.0),
    "early_stopping": Passes(_check_early_stopping),
    "verbose": Verbosity(),
    "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
}
"""What each parameter that both predictors have must be; the heads differ."""

PREDICTOR_EFFECTS = (
    NoEffect(
        "gamma",
        "activation",
        lambda model: model.activation in ("relu", "table"),
        "only cosines have a kernel coefficient; leave gamma at 'cv'",
    ),
    NoEffect(
        "activation",
        "learn",
        lambda model: model.activation in ("relu", "table") and model.learn == "selection",
        "features that are selected are cosines; leave activation at 'auto', or pass learn='masks'",
    ),
    NoEffect(
        "teacher",
        "learn",
        lambda model: model.teacher not in ("auto", "labels") and model.learn == "selection",
        "features are selected by the labels; leave teacher at 'auto', or train features",
    ),
    *(
        NoEffect(
            name,
            "learn",
            lambda model: model.learn == "selection",
            f"no frequencies are trained; leave {name} at its default, or train features",
        )
        for name in ("alpha", "effort", "early_stopping", "max_bytes", "settings")
    ),
    *(
        NoEffect(
            name,
            "settings",
            lambda model: model.settings is not None,
            f"settings say it too; leave {name} at its default, or settings at None",
        )
        for name in ("activation", "n_components", "alpha", "gamma")
    ),
)
"""Combinations in which a parameter never changes the result."""


# As numbers of Python: those of NumPy may be short, and overflow.
_OPTIONS = {"learn": str, "activation": str, "alpha": float, "n_components": int}


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """A network with what was found on the way to it.

    Attributes
    ----------
    network : FeatureNetwork
        Of scaled inputs.
    settings : TrainingSettings
        It was trained with.
    held_out : HeldOutResult or None
        Scores of held-out rows by networks of these settings; None if nothing was compared.
    importances : ndarray of shape (n_features,)
        Of the inputs.
    task : Task
        Training rows, scaled.
    scaling : InputScaling
        Of the inputs.
    """

    network: FeatureNetwork
    settings: TrainingSettings
    held_out: HeldOutResult | None
    importances: Float64Array
    task: Task
    scaling: InputScaling

    @property
    def trains(self) -> bool:
        """Whether features were trained, not only selected."""
        return self.settings.learn != "selection"


class BudgetedPredictor(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of predictors whose features and scores together cost at most ``macs``."""

    _constraints: ClassVar[dict[str, Constraint]] = PREDICTOR_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = PREDICTOR_EFFECTS

    macs: int | None
    max_bytes: int | None
    storage: Literal["float32", "int16", "int8"]
    head: str
    learn: Literal["auto", "masks", "features", "selection"]
    teacher: Any
    activation: Literal["auto", "cosine", "relu", "table"]
    n_components: int | Literal["auto"]
    gamma: float | Literal["cv", "scale", "median"]
    alpha: float | Literal["auto"]
    settings: dict[str, Any] | None
    group_size: int
    features_per_mask: int
    effort: float
    early_stopping: bool | Literal["auto"]
    verbose: int
    n_jobs: int | None
    random_state: RandomStateLike
    feature_map_: MaskedMap | TableMap
    head_coef_: Float64Array
    head_intercept_: Float64Array
    linear_coef_: Float64Array

    def _begin_fit(self, y: Any) -> np.random.SeedSequence:
        """Check parameters, delete an earlier fit, and make the seed of all randomness."""
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)
        name = type(self).__name__
        if y is None:
            raise ValueError(f"This {name} requires y to be passed, but the target y is None.")
        check_has_columns(y)
        seed = np.random.SeedSequence(make_generator(self.random_state).integers(2**63, size=2))
        if hasattr(self, "head_intercept_"):
            del self.head_intercept_  # a fit that fails leaves no half of an old model
        return seed

    def _fit_rows(
        self,
        rows: TrainingRows,
        kind: TargetKind,
        seed: np.random.SeedSequence,
        n_scores: int,
        rescore: Rescore | None = None,
    ) -> FittedNetwork:
        """Choose and train a network."""
        budget = self._budget(rows.X.shape[1], n_scores)
        # A coefficient that is given is one of inputs as they are.
        scaling = scale_inputs(rows.X, rows.weights, by_column=self._chooses_gamma)
        if not scaling.varies.any():
            raise ValueError("X is constant, all its rows are equal: nothing can be learned.")
        task = self._task(rows, kind, budget, scaling)
        gamma = self._start_gamma(task)
        self.macs_ = budget.macs
        if self.learn == "selection":
            fitted = self._select(task, scaling, gamma, seed)
        else:
            options = self._search_options(gamma, rescore, seed, len(rows.X))
            found = Search(task, options, seed).run(needs_held_out=self._needs_held_out(kind))
            fitted = _deployed(found, task, scaling)
        self._set_settings(fitted, gamma)
        return fitted

    @property
    def _chooses_gamma(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "cv"

    @property
    def _has_fitted_head(self) -> bool:
        """Whether the head is fitted to the features once they are trained."""
        return self.head in ("ridge", "svm", "svm_ovo")

    def _needs_held_out(self, kind: TargetKind) -> bool:
        """Whether probabilities are scaled on held-out rows, compared or not."""
        return kind != "regression" and self.head in ("logistic", "ridge")

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
        if self.max_bytes is None:
            return budget
        return self._with_bytes(budget, n_features)

    def _with_bytes(self, budget: Budget, n_features: int) -> Budget:
        """Budget that counts bytes, refused if the smallest model has more."""
        storage, n_scores = self.storage, budget.n_scores

        def count_bytes(
            n_entries: int, n_components: int, n_linear: int, n_bins: int | None
        ) -> int:
            arrays = [
                compressed_array(n_entries, n_components, n_features),
                StoredArray(n_components * n_scores * (n_bins or 1)),
                compressed_array(n_linear, n_scores, n_features),
            ]
            biases = n_components + n_scores
            return stored_bytes(storage, n_features=n_features, arrays=arrays, n_biases=biases)

        per_mask = budget.features_per_mask
        group = min(budget.group_size, n_features)
        n_bins = 32 if self.activation == "table" else None
        least = count_bytes(group * per_mask, per_mask, 0, n_bins)
        if int(self.max_bytes or 0) < least:
            raise ValueError(
                f"max_bytes={self.max_bytes} is not valid: the smallest model has {least} bytes. "
                f"Pass max_bytes={least} or more."
            )
        return replace(budget, max_bytes=int(self.max_bytes or 0), count_bytes=count_bytes)

    def _check_n_components(self, n_components: int, budget: Budget, n_features: int) -> None:
        """Refuse more features than the budget, or memory, is enough for; and none of a kind."""
        if n_components == 0 and not self._has_linear_part:
            raise ValueError(
                "n_components=0 is not valid: only head='logistic' or 'trained' with "
                "learn='masks' has a linear part, which is left without features."
            )
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

    @property
    def _has_linear_part(self) -> bool:
        return not self._has_fitted_head and self.learn in ("auto", "masks")

    def _task(
        self, rows: TrainingRows, kind: TargetKind, budget: Budget, scaling: InputScaling
    ) -> Task:
        # Whole groups are read, also where an input of one never varies.
        n_features = rows.X.shape[1]
        groups = np.logical_or.reduceat(scaling.varies, np.arange(0, n_features, budget.group_size))
        usable = np.repeat(groups, budget.group_size)[:n_features]
        return Task(
            scaling.apply(rows.X),
            rows.targets,
            rows.weights,
            rows.strata,
            kind,
            budget,
            usable,
            scaling.factors() if self._chooses_gamma else {},
        )

    def _start_gamma(self, task: Task) -> float:
        """Kernel coefficient of drawn frequencies."""
        if self._chooses_gamma:
            return float(_GAMMA_SHARE * resolve_gamma("median", "rbf", task.X))
        gamma = float(resolve_gamma(self.gamma, "rbf", task.X))
        _check_single_precision(task.X, gamma)
        return gamma

    def _select(
        self, task: Task, scaling: InputScaling, gamma: float, seed: np.random.SeedSequence
    ) -> FittedNetwork:
        """Draw features, select among them by the targets, and fit a ridge head."""
        budget, n_usable = task.budget, int(task.usable.sum())
        n_components: Any = self.n_components
        if n_components == "auto":
            usual = max(usual_inputs(n_usable, budget.n_scores), min(n_usable, 4))
            n_components = n_components_for(budget, usual, n_usable, task.n_samples)
        rng = np.random.default_rng(seed.spawn(1)[0])
        network = draw_selected_network(
            task, int(n_components), gamma, rng, choose_gamma=self._chooses_gamma
        )
        settings = TrainingSettings("cosine", int(n_components), 0.0, learn="selection")
        sizes = np.abs(network.frequencies) @ np.linalg.norm(network.head, axis=1)
        sizes *= input_deviations(task.X)
        shares = sizes / sizes.sum() if sizes.sum() > 0.0 else np.zeros(len(sizes))
        return FittedNetwork(network, settings, None, shares, task, scaling)

    def _search_options(
        self,
        gamma: float,
        rescore: Rescore | None,
        seed: np.random.SeedSequence,
        n_samples: int,
    ) -> SearchOptions:
        """Parameters in the words of the search; None for "auto"."""
        values: dict[str, Any] = {
            name: None if isinstance(value, str) and value == "auto" else kind(value)
            for name, kind in _OPTIONS.items()
            for value in (getattr(self, name),)
        }
        named = isinstance(self.teacher, str)
        values["teacher"] = "estimator" if not named else self.teacher
        if values["teacher"] == "auto":
            values["teacher"] = None
        early: Any = self.early_stopping
        name = type(self).__name__
        return SearchOptions(
            request=SettingsRequest(
                **values,
                gamma=None if self._chooses_gamma else gamma,
                tables=not self._has_fitted_head,
                linear_part=self._has_linear_part,
                settings=None if self.settings is None else TrainingSettings(**self.settings),
            ),
            effort=float(self.effort),
            early_stopping=n_samples >= _EARLY_STOPPING_ROWS if early == "auto" else bool(early),
            fit_teacher=None
            if named
            else teacher_fitter(self.teacher, int(seed.generate_state(1)[0])),
            rescore=rescore,
            report=(lambda line: print(f"[{name}] {line}")) if self.verbose else None,
            n_threads=thread_count(self.n_jobs, n_samples),
        )

    def _set_settings(self, fitted: FittedNetwork, gamma: float) -> None:
        """Set what was chosen, in the words of the constructor."""
        settings = fitted.settings
        self.learn_ = settings.learn
        self.teacher_ = settings.teacher
        self.activation_ = settings.activation
        self.n_components_ = settings.n_components
        self.alpha_ = settings.alpha if fitted.trains else "auto"
        self.gamma_ = gamma
        self.settings_ = asdict(settings)

    def _store(
        self,
        fitted: FittedNetwork,
        head: tuple[FloatArray, FloatArray] | None = None,
        units: FloatArray | float = 1.0,
        shift: FloatArray | float = 0.0,
    ) -> None:
        """Set the map, importances, linear part and head, of which the intercept comes last.

        Parameters
        ----------
        fitted : FittedNetwork
            Of scaled inputs.
        head : tuple of ndarray, optional
            Coefficients and intercepts instead of the network's.
        units, shift : ndarray of shape (n_scores,) or float
            Scores are multiplied by the units, and the shift is added.
        """
        network, scaling = fitted.network, fitted.scaling
        linear, bias = scaling.linear_of_inputs(network)
        coef = network.head.T
        if head is not None:
            coef, bias = head
        factor = np.broadcast_to(np.asarray(units, dtype=np.float64), np.shape(bias))
        intercept = np.asarray(bias * factor + shift, dtype=np.float64)
        self.feature_importances_ = fitted.importances
        self.linear_coef_ = np.ascontiguousarray((linear * factor).T)
        self.head_coef_ = np.array(coef * factor[:, None], dtype=np.float64)
        if network.activation == "table" or network.mask.shape[1] == 0:
            scaled = replace(network, tables=network.tables * factor)
            tables = scaling.to_tables(scaled, self.linear_coef_.T, intercept)
            self.feature_map_ = tables
        else:
            self.feature_map_ = scaling.to_map(network, int(self.group_size))
        self._linear_part = LinearPart(coef=self.linear_coef_.T) if linear.any() else None
        self.head_intercept_ = intercept

    @property
    def tables_(self) -> Float64Array:
        """Scores of each bin, (n_tables, n_bins, n_scores); no table unless features are tables."""
        check_is_fitted(self, "head_intercept_")
        if isinstance(self.feature_map_, TableMap):
            return self.feature_map_.tables
        return np.zeros((0, 2, len(self.head_intercept_)))

    @property
    def bin_edges_(self) -> Float64Array:
        """Edges (n_tables, n_bins + 1) of the bins of ``X @ feature_map_.frequencies``."""
        n_tables, n_bins, _ = self.tables_.shape
        if n_tables == 0:
            return np.zeros((0, n_bins + 1))
        edges: Float64Array = np.arange(n_bins + 1.0) - self.feature_map_.offsets[:, None]
        return edges

    def _scores(self, X: MatrixLike) -> FloatArray:
        """Scores (n_samples, n_scores) in the dtype of X, without storing all features."""
        # Plain arrays that need no conversion skip scikit-learn's validation, which takes longer
        # than the scores of a row. The core refuses what is not finite.
        fitted = self.__dict__
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.shape[1] == fitted.get("n_features_in_")
            and X.shape[0] > 0
            and "head_intercept_" in fitted
            and "feature_names_in_" not in fitted
        ):
            n_threads = 1 if len(X) < THREADED_ROWS else thread_count(self.n_jobs, len(X))
            try:
                return self._scores_of(X, n_threads)
            except ValueError:
                pass  # said again below, in scikit-learn's words
        check_is_fitted(self, "head_intercept_")
        X = read_data(self, X, reset=False)
        return self._scores_of(X, thread_count(self.n_jobs, X.shape[0]))

    def _scores_of(self, X: Any, n_threads: int) -> FloatArray:
        """Scores of checked X."""
        feature_map = self.feature_map_
        if isinstance(feature_map, TableMap):
            run = feature_map.scores_sparse if issparse(X) else feature_map.scores
            return run(X, n_threads=n_threads)
        return scores_of(
            feature_map, self.head_coef_, self.head_intercept_, X, n_threads, self._linear_part
        )

    @property
    def n_macs_(self) -> int:
        """Operations of one row, scores included."""
        return self._count_cost().macs

    @property
    def inputs_read_(self) -> IntArray:
        """Sorted indices of the inputs that a feature or the linear part reads."""
        check_is_fitted(self, "head_intercept_")
        read = self.feature_map_.masks.any(axis=1) | self.linear_coef_.any(axis=0)
        return np.flatnonzero(read).astype(np.int64)

    def _count_cost(self) -> Cost:
        check_is_fitted(self, "head_intercept_")
        feature_map, linear = self.feature_map_, self._linear_part
        if isinstance(feature_map, TableMap):
            return feature_map.cost(self.storage)
        head, intercept = self.head_coef_, self.head_intercept_
        counted = cost_of(feature_map, head, intercept, linear)
        n_bytes = bytes_of(feature_map, head, intercept, linear, storage=self.storage)
        return replace(counted, n_bytes=n_bytes)

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


def _deployed(found: SearchResult, task: Task, scaling: InputScaling) -> FittedNetwork:
    """Network as it is deployed, of inputs scaled one by one, with importances of its inputs."""
    network, settings = found.network, found.settings
    _check_finite(network)
    inputs = scaled_inputs(task, settings)
    n_bins = settings.n_bins or 2
    if network.kind == "table" and settings.n_bins is None and network.n_components > 0:
        n_bins = choose_bins(network, task, inputs)
    deployed = deploy(network, n_bins)
    factors = task.input_factors.get(settings.scaling)
    if factors is not None:
        deployed = deployed.rescaled(factors)
    rows = np.linspace(0, len(inputs) - 1, min(len(inputs), IMPORTANCE_ROWS)).astype(np.int64)
    importances = input_importances(network, inputs[rows], input_deviations(inputs))
    return FittedNetwork(deployed, settings, found.held_out, importances, task, scaling)


def _check_finite(network: TrainableNetwork) -> None:
    """Refuse a network whose training has diverged."""
    if not (np.isfinite(network.parameters).all() and np.isfinite(network.variances).all()):
        raise ValueError(
            "Training diverged: values of X or y are too far apart. Clip outliers, or scale X, "
            "for example with QuantileTransformer."
        )


def _check_single_precision(X: FloatArray, gamma: float) -> None:
    """Refuse inputs, or frequencies of the kernel, too large for training in float32."""
    largest = max(float(X.max()), -float(X.min()))
    if not largest <= _LARGEST_INPUT or gamma > _LARGEST_START_GAMMA:
        raise ValueError(
            f"gamma={gamma:.3g} with inputs up to {largest:.3g} is beyond single precision, in "
            "which features are trained: scale X, or pass gamma='cv', which scales it."
        )
