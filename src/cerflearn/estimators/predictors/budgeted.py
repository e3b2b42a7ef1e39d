"""What CERFClassifier and CERFRegressor share: a network within a budget, and its scores."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import asdict, replace
from os import PathLike
from typing import Any, ClassVar, Literal, TypeAlias

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
    check_effects,
    check_parameters,
    make_generator,
)
from cerflearn.engine.engines import one_thread_blas
from cerflearn.estimators.dask_rows import ClusterRows
from cerflearn.estimators.engine_choice import EngineName, engine_jobs
from cerflearn.estimators.fused import bytes_of, cost_of, scores_of
from cerflearn.estimators.input import (
    FLOATS,
    THREADED_ROWS,
    check_has_columns,
    open_rows,
    read_data,
    read_weights,
    thread_count,
)
from cerflearn.estimators.predictors.fit_place import (
    FitPlace,
    check_predictor_checkpoint,
    open_place,
)
from cerflearn.estimators.predictors.fitted_network import FittedNetwork, TrainingState
from cerflearn.estimators.predictors.online import fit_warm
from cerflearn.estimators.predictors.parameters import PREDICTOR_CONSTRAINTS, PREDICTOR_EFFECTS
from cerflearn.estimators.predictors.report import input_names, report_lines
from cerflearn.features.cost import Cost
from cerflearn.features.linear import LinearPart
from cerflearn.features.masked import MaskedMap
from cerflearn.features.tables import TableMap
from cerflearn.training.task import Targets

PredictorTeacher: TypeAlias = Literal["auto", "labels", "kernel", "boosting"] | BaseEstimator
"""What ``teacher`` of a predictor may be."""


class BudgetedPredictor(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of predictors whose features and scores together cost at most ``macs``."""

    _constraints: ClassVar[dict[str, Constraint]] = PREDICTOR_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = PREDICTOR_EFFECTS

    macs: int | None
    max_bytes: int | None
    storage: Literal["float32", "int16", "int8"]
    head: str
    learn: Literal["auto", "masks", "features", "selection"]
    teacher: PredictorTeacher
    activation: Literal["auto", "cosine", "relu", "table"]
    n_components: int | Literal["auto"]
    gamma: float | Literal["cv", "scale", "median"]
    alpha: float | Literal["auto"]
    settings: dict[str, Any] | None
    group_size: int
    input_shape: tuple[int, ...] | None
    features_per_mask: int
    effort: float
    early_stopping: bool | Literal["auto"]
    warm_start: bool
    verbose: int
    n_jobs: int | None
    random_state: RandomStateLike
    feature_map_: MaskedMap | TableMap
    head_coef_: Float64Array
    head_intercept_: Float64Array
    linear_coef_: Float64Array
    _training: TrainingState | None

    def _fit(
        self,
        X: MatrixLike,
        y: Any,
        sample_weight: Any,
        checkpoint: str | PathLike[str] | None,
        engine: EngineName | None,
    ) -> None:
        """See ``fit``."""
        self._check_parameters()
        n_jobs = self.n_jobs if engine is None else engine_jobs(engine, X, self.n_jobs)
        X, y = open_rows(X, y, engine)
        if bool(self.warm_start) and "head_intercept_" in self.__dict__:
            fit_warm(self, X, y, sample_weight, checkpoint)
            return
        place = FitPlace(self._begin_fit(y), n_jobs)
        if checkpoint is not None:
            check_predictor_checkpoint(checkpoint, self)
        X, y = read_data(self, X, reset=True, y=y)
        weights = read_weights(sample_weight, X)
        if checkpoint is not None or isinstance(X, ClusterRows):
            place = open_place(place, self, X, {"y": y, "sample_weight": weights}, checkpoint)
        with one_thread_blas():
            self._fit_rows(X, y, weights, place)

    @abstractmethod
    def _fit_rows(
        self, X: Any, y: Any, weights: Float64Array, place: FitPlace, classes: Any = None
    ) -> None:
        """Choose and train a network for checked rows."""

    @abstractmethod
    def _encoded(self, y: Any, weights: Float64Array) -> tuple[Targets, Float64Array, IntArray]:
        """Targets in units of the scores, weights and strata of checked rows of later calls."""

    def _known_classes(self) -> Any:
        """Return the classes of the first call; None for numbers."""
        return None

    def _check_parameters(self) -> None:
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    def _begin_fit(self, y: Any) -> np.random.SeedSequence:
        """Delete an earlier fit, and make the seed of all randomness."""
        name = type(self).__name__
        if y is None:
            raise ValueError(f"This {name} requires y to be passed, but the target y is None.")
        check_has_columns(y)
        seed = np.random.SeedSequence(make_generator(self.random_state).integers(2**63, size=2))
        if hasattr(self, "head_intercept_"):
            del self.head_intercept_  # a fit that fails leaves no half of an old model
        return seed

    def _set_settings(self, fitted: FittedNetwork) -> None:
        """Set what was chosen, in the words of the constructor."""
        settings = fitted.settings
        self.macs_ = fitted.task.budget.macs
        self.learn_ = settings.learn
        self.teacher_ = settings.teacher
        self.activation_ = settings.activation
        self.n_components_ = settings.n_components
        self.alpha_ = fitted.alpha if fitted.trains else "auto"
        self.gamma_ = fitted.gamma
        self.settings_ = asdict(settings)

    def _store(
        self,
        fitted: FittedNetwork,
        head: tuple[FloatArray, FloatArray] | None = None,
        units: FloatArray | float = 1.0,
        shift: FloatArray | float = 0.0,
    ) -> None:
        """Set the map, importances, linear part and head, of which the intercept comes last.

        Keeps what training on needs.

        Parameters
        ----------
        fitted : FittedNetwork
            Of scaled inputs.
        head : tuple of ndarray, optional
            Coefficients and intercepts instead of the network's.
        units, shift : ndarray of shape (n_scores,) or float
            Scores are multiplied by the units, and the shift is added.
        """
        self._training = TrainingState.of(fitted, units, shift) if head is None else None
        self._set_settings(fitted)
        network, scaling = fitted.network, fitted.scaling
        linear, bias = scaling.linear_of_inputs(network)
        coef = network.head.T
        if head is not None:
            coef, bias = (np.asarray(part, dtype=np.float64) for part in head)
            linear = np.zeros((len(linear), len(bias)))  # of pairs of classes: more scores
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
                return self.raw_scores(X, n_threads)
            except ValueError:
                pass  # said again below, in scikit-learn's words
        check_is_fitted(self, "head_intercept_")
        X = read_data(self, X, reset=False)
        return self.raw_scores(X, thread_count(self.n_jobs, X.shape[0]))

    def raw_scores(self, X: MatrixLike, n_threads: int = 1) -> FloatArray:
        """Compute scores of rows without any check but that they are finite.

        Parameters
        ----------
        X : {ndarray, CSR matrix} of shape (n_samples, n_features), float32 or float64
            Data as ``fit`` has seen them.
        n_threads : int, default=1
            Threads; the bits of the result do not depend on their number.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            In the dtype of X: one score for two classes, one for each pair of classes if
            ``head="svm_ovo"``.
        """
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

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_memory", None)  # training rows do not belong into files
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
