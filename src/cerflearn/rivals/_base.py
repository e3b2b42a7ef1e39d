"""What all rivals share: reading, standardised inputs, gamma, scores and probabilities."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from cerflearn._typing import Float64Array, FloatArray, MatrixLike, RandomStateLike
from cerflearn._validation import (
    Constraint,
    NoEffect,
    Number,
    Whole,
    check_effects,
    check_parameters,
    make_generator,
)
from cerflearn.engine.engines import one_thread_blas
from cerflearn.estimators.fused import cost_of, scores_of
from cerflearn.estimators.gamma import resolve_gamma
from cerflearn.estimators.input import read_data
from cerflearn.estimators.scaling import InputScaling, scale_inputs
from cerflearn.estimators.targets import class_targets, kind_of_target
from cerflearn.features.base import FeatureMap
from cerflearn.features.cost import Cost
from cerflearn.linalg.ridge import RIDGE_ALPHAS, RidgeFit, fit_ridge_path
from cerflearn.training.kernel_ridge import tune_kernel
from cerflearn.training.scores import (
    TargetKind,
    fit_inverse_temperature,
    probabilities,
    score_targets,
)

GAMMA_MULTIPLES = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0)
"""What ``gamma="cv"`` tries: multiples of one over the median squared distance."""

_GAMMA_CHOICE_ROWS = 500  # of kernel ridge regression, which chooses gamma
_MOST_COMPONENTS = 2**14  # heads need matrices of as many rows and columns: 2 GiB

RivalGamma: TypeAlias = float | Literal["cv", "scale", "median"]
"""What ``gamma`` of a rival may be."""

GAMMA_CONSTRAINT = Number(
    "a positive number of at most 1e100, 'cv', 'scale' or 'median'",
    above=0.0,
    at_most=1e100,
    also=("cv", "scale", "median"),
)
ALPHA_CONSTRAINT = Number(
    "a positive number of at least 1e-300, or 'auto'", at_least=1e-300, also=("auto",)
)
COMPONENTS_CONSTRAINT = Whole(
    f"a positive integer of at most {_MOST_COMPONENTS:,}", at_most=_MOST_COMPONENTS
)


@dataclass(frozen=True, eq=False)
class RivalData:
    """Checked training rows, standardised.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardised inputs, float64.
    classes : ndarray of shape (n_samples, n_scores)
        1 for a row's class, else 0; one column, the second class, for two.
    scaling : InputScaling
        What standardised them.
    """

    X: Float64Array
    classes: Float64Array
    scaling: InputScaling

    @property
    def targets(self) -> Float64Array:
        """Scores to regress on, (n_samples, n_scores): -1 and 1 for two classes, else 0 and 1."""
        return score_targets(self.classes, self.kind)

    @property
    def kind(self) -> TargetKind:
        """Whether there are two classes or more."""
        return "binary" if self.classes.shape[1] == 1 else "multiclass"

    @property
    def weights(self) -> Float64Array:
        """Equal weights of the rows, which sum to one."""
        return np.full(len(self.X), 1.0 / len(self.X))

    @property
    def raw(self) -> Float64Array:
        """Inputs as they came, (n_samples, n_features)."""
        raw: Float64Array = self.X * self.scaling.scale + self.scaling.mean
        return raw

    def unscale(self, frequencies: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Frequencies (n_features, n_projections) and offsets that take raw inputs."""
        raw = frequencies / self.scaling.scale[:, None]
        return raw, -self.scaling.mean @ raw


class RivalClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of the rivals: a feature map and a linear head, or scores of their own."""

    _constraints: ClassVar[dict[str, Constraint]] = {}
    _without_effect: ClassVar[tuple[NoEffect, ...]] = ()

    random_state: RandomStateLike
    classes_: Any
    feature_map_: FeatureMap
    head_coef_: Float64Array
    head_intercept_: Float64Array
    _inverse_temperature: float

    def fit(self, X: MatrixLike, y: Any) -> Self:
        """Learn the kernel and the scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; standardised inside, sparse data is made dense.
        y : array-like of shape (n_samples,)
            Labels, of two classes or more.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        rng = make_generator(self.random_state)
        self.__dict__.pop("head_coef_", None)  # a fit that fails leaves no half of an old model
        with one_thread_blas():
            self._fit_rows(self._read(X, y), rng)
        return self

    def _read(self, X: Any, y: Any) -> RivalData:
        """Check X and y, number the classes, standardise the inputs."""
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} requires y to be passed, but the target y is None.")
        X, y = read_data(self, X, reset=True, y=y)
        kind_of_target(y)  # refuses labels of different kinds
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_.tolist()}: a classifier needs two or more."
            )
        X = (X.toarray() if issparse(X) else X).astype(np.float64)
        classes = class_targets(numbers, len(self.classes_))
        weights = np.full(len(X), 1.0 / len(X))
        scaling = scale_inputs(X, weights, by_column=True)
        return RivalData(np.asarray(scaling.apply(X), dtype=np.float64), classes, scaling)

    def _check_parameters(self) -> None:
        """Refuse parameters that are not valid, or that change nothing beside others."""
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    @abstractmethod
    def _fit_rows(self, data: RivalData, rng: np.random.Generator) -> None:
        """Fit to checked rows, on one BLAS thread."""

    def _store(self, feature_map: FeatureMap, head: Float64Array, bias: Float64Array) -> None:
        """Keep map and head (n_outputs, n_scores)."""
        self.feature_map_ = feature_map
        self.head_coef_ = np.ascontiguousarray(head.T)
        self.head_intercept_ = np.asarray(bias, dtype=np.float64)

    def _calibrate(self, data: RivalData, scores: Float64Array) -> None:
        """Choose the factor between scores and log-odds."""
        self._inverse_temperature = fit_inverse_temperature(
            scores, data.classes, data.weights, data.kind
        )

    def _raw_scores(self, X: Any) -> FloatArray:
        """Scores (n_samples, n_scores) of checked X."""
        return scores_of(self.feature_map_, self.head_coef_, self.head_intercept_, X)

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Compute scores of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One score for two classes, positive for the second.
        """
        check_is_fitted(self, "head_coef_")
        scores = self._raw_scores(read_data(self, X, reset=False))
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: MatrixLike) -> Any:
        """Predict labels of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            For each row the class of the highest score.
        """
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    def predict_proba(self, X: MatrixLike) -> Float64Array:
        """Predict probabilities of the classes: sigmoid or softmax of scaled scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Each row sums to one; columns are in the order of ``classes_``.
        """
        scores = self.decision_function(X).astype(np.float64)
        if scores.ndim == 1:  # the softmax of (-s, s) / 2 is the sigmoid of s
            scores = np.column_stack([-0.5 * scores, 0.5 * scores])
        return probabilities(scores, self._inverse_temperature, "multiclass")

    @property
    def n_macs_(self) -> int:
        """MACs of one row, head included."""
        return self._count_cost().macs

    def _count_cost(self) -> Cost:
        check_is_fitted(self, "head_coef_")
        return cost_of(self.feature_map_, self.head_coef_, self.head_intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def choose_gamma(gamma: RivalGamma, data: RivalData, rng: np.random.Generator) -> float:
    """Coefficient of the Gaussian kernel of standardised inputs.

    ``"cv"`` has the least leave-one-out error of kernel ridge regression on 500 rows, among
    :data:`GAMMA_MULTIPLES`.
    """
    if not (isinstance(gamma, str) and gamma == "cv"):
        return resolve_gamma(gamma, "rbf", data.X)
    rows = np.sort(rng.permutation(len(data.X))[:_GAMMA_CHOICE_ROWS])
    targets = data.targets - data.targets.mean(axis=0)
    weights = data.weights[rows]
    return tune_kernel(data.X[rows], targets[rows], weights, widths=GAMMA_MULTIPLES).gamma


def fit_ridge(
    data: RivalData, features: FloatArray, alphas: tuple[float, ...] = RIDGE_ALPHAS
) -> RidgeFit:
    r"""Ridge regression :math:`\min \tfrac1n |T - F A - a|^2 + \alpha \bar v |A|^2` of the scores.

    Parameters
    ----------
    data : RivalData
        Rows.
    features : ndarray of shape (n_samples, n_outputs)
        F.
    alphas : tuple of float
        Penalties in units of :math:`\bar v`, the mean variance of a feature; the one of the least
        leave-one-out error is taken.
    """
    return fit_ridge_path(features, data.targets, data.weights, alphas)


def relative_alpha(features: FloatArray, penalty: float) -> float:
    r"""Penalty of the squared error *summed* over rows, in the units of :func:`fit_ridge`."""
    return penalty / (len(features) * (float(features.var(axis=0).mean()) or 1.0))
