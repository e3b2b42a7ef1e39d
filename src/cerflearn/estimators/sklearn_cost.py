"""What scikit-learn's estimators cost: one counting function for each kind.

Whatever can be folded into a following product, such as a mean that is subtracted, costs its
storage and nothing at run time. Some estimators both predict and transform, by different products:
steps of a pipeline before the last, and branches of unions and of columns, transform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_selection import RFE, SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from cerflearn.estimators.tree_cost import count_boosting
from cerflearn.features.cost import Cost, stored_cost

PartAndRole = tuple[Any, bool]
"""A fitted estimator, and whether it is its ``transform`` that runs for a row."""


def parts_of(estimator: Any, transforms: bool) -> list[PartAndRole] | None:
    """Fitted estimators inside a compound one, all of which run for a row; None if it is none.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    transforms : bool
        Whether its ``transform`` is what runs, even if it predicts, too.

    Returns
    -------
    list of (estimator, bool) or None
        The parts, and whether it is their ``transform`` that runs.
    """
    if hasattr(estimator, "best_estimator_"):
        return [(estimator.best_estimator_, transforms)]
    for kinds, parts in _COMPOUND:
        if isinstance(estimator, kinds):
            return [part for part in parts(estimator, transforms) if _runs(part[0])]
    if isinstance(estimator, RFE) and not transforms:
        return [(estimator, True), (estimator.estimator_, False)]
    return None


def count(estimator: Any, transforms: bool) -> Cost | None:
    """Cost of a fitted estimator that is not compound; None if no rule fits.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    transforms : bool
        Whether its ``transform`` is what runs, even if it predicts, too.

    Returns
    -------
    Cost or None
        Of one row.
    """
    for kinds, rule in _TRANSFORMS if transforms else ():
        if isinstance(estimator, kinds):
            return rule(estimator)
    for kinds, rule in _RULES:
        if isinstance(estimator, kinds):
            return rule(estimator)
    # Coefficients are those of predict.
    return _linear(estimator) if hasattr(estimator, "coef_") and not transforms else None


def _runs(part: Any) -> bool:
    """Whether a step does anything: not None, "drop" or "passthrough", nor a constant label."""
    does_nothing = part is None or isinstance(part, str) or _is_identity(part)
    return not (does_nothing or type(part).__name__ == "_ConstantPredictor")


def _is_identity(part: Any) -> bool:
    return isinstance(part, FunctionTransformer) and part.func is None


def _linear(estimator: Any) -> Cost:
    coef = estimator.coef_
    n_intercepts = np.size(estimator.intercept_) if getattr(estimator, "fit_intercept", True) else 0
    if issparse(coef):
        # A stored weight, its input, and where each row of weights starts.
        n_indices = coef.nnz + coef.shape[0] + 1
        return stored_cost(macs=coef.nnz, n_parameters=coef.nnz + n_intercepts, n_indices=n_indices)
    return stored_cost(macs=coef.size, n_parameters=coef.size + n_intercepts)


def _perceptron(estimator: Any) -> Cost:
    macs = sum(weights.size for weights in estimator.coefs_)
    n_biases = sum(biases.size for biases in estimator.intercepts_)
    return stored_cost(macs=macs, n_parameters=macs + n_biases)


def _rbf_sampler(estimator: Any) -> Cost:
    n_features, n_outputs = estimator.random_weights_.shape
    macs = n_features * n_outputs
    return stored_cost(macs=macs, trig=n_outputs, n_parameters=macs + n_outputs + 1)


def _nystroem(estimator: Any) -> Cost:
    macs = estimator.components_.size + estimator.normalization_.size
    # The coefficient of the kernel is stored too.
    return stored_cost(macs=macs, n_parameters=macs + 1)


def _components(estimator: Any) -> Cost:
    """Directions times inputs; the mean becomes one bias for each direction."""
    n_directions, n_features = estimator.components_.shape
    n_biases = n_directions if hasattr(estimator, "mean_") else 0
    macs = n_directions * n_features
    return stored_cost(macs=macs, n_parameters=macs + n_biases)


def _discriminants(estimator: Any) -> Cost:
    """Directions of a discriminant analysis times inputs, those alone that ``transform`` keeps."""
    n_features, n_directions = estimator.scalings_.shape
    most = estimator.n_components
    n_directions = min(n_directions, len(estimator.classes_) - 1 if most is None else most)
    macs = n_features * n_directions
    # One solver subtracts the mean, the other does not.
    n_biases = n_directions if estimator.solver == "svd" else 0
    return stored_cost(macs=macs, n_parameters=macs + n_biases)


def _rotations(estimator: Any) -> Cost:
    """Directions times inputs; mean and deviations become part of weights and biases."""
    n_features, n_directions = estimator.x_rotations_.shape
    macs = n_features * n_directions
    return stored_cost(macs=macs, n_parameters=macs + n_directions)


def _scaler(estimator: Any) -> Cost:
    n_features = int(estimator.n_features_in_)
    # A mean may be known and not be subtracted.
    asked = getattr(estimator, "with_mean", getattr(estimator, "with_centering", True))
    shifts = bool(asked) and not isinstance(estimator, MaxAbsScaler)
    scales = getattr(estimator, "scale_", None) is not None
    # x * scale + shift is one operation; a scaler that does nothing costs nothing.
    used = n_features if scales or shifts else 0
    return stored_cost(macs=used, n_parameters=n_features * (int(scales) + int(shifts)))


def _imputer(estimator: Any) -> Cost:
    return stored_cost(macs=0, n_parameters=len(estimator.statistics_))


def _selector(estimator: Any) -> Cost:
    return stored_cost(macs=0, n_parameters=0, n_indices=int(estimator.get_support().sum()))


def _encoder(estimator: Any) -> Cost:
    """Categories are stored and looked up, which is no multiplication."""
    return stored_cost(macs=0, n_parameters=sum(len(c) for c in estimator.categories_))


def _calibration(estimator: Any) -> Cost:
    """One curve: slope and offset of a sigmoid, or the table of an isotonic function."""
    if hasattr(estimator, "X_thresholds_"):
        return stored_cost(macs=1, n_parameters=2 * len(estimator.X_thresholds_))
    return stored_cost(macs=1, n_parameters=2)


class _Curves:
    """Calibration curves of one classifier."""

    def __init__(self, calibrators: Any) -> None:
        self.calibrators = calibrators


def _curves(curves: _Curves) -> Cost:
    return sum((_calibration(curve) for curve in curves.calibrators), start=Cost())


def _calibrated_parts(estimator: Any, _: bool) -> list[PartAndRole]:
    pairs = estimator.calibrated_classifiers_
    parts = [part for pair in pairs for part in (pair.estimator, _Curves(pair.calibrators))]
    return [(part, False) for part in parts]


def _steps(pipeline: Any, transforms: bool) -> list[PartAndRole]:
    """List the steps, of which all but the last transform."""
    *first, last = (step for _, step in pipeline.steps)
    return [(step, True) for step in first] + [(last, transforms)]


def _columns(columns: Any, _: bool) -> list[PartAndRole]:
    """List the branches that have columns: the others are left unfitted."""
    return [(part, True) for _, part, chosen in columns.transformers_ if _any_column(chosen)]


def _any_column(chosen: Any) -> bool:
    """Whether columns are named: one, a slice, or a list or mask that is not empty."""
    listed = np.asarray(chosen)
    return bool(listed.any()) if listed.dtype == bool else listed.size > 0


# What a compound estimator runs for a row, if it is to predict or if it is to transform.
_COMPOUND: tuple[tuple[Any, Callable[[Any, bool], Iterable[PartAndRole]]], ...] = (
    (Pipeline, _steps),
    (FeatureUnion, lambda e, _: [(part, True) for _, part in e.transformer_list]),
    (ColumnTransformer, _columns),
    (FrozenEstimator, lambda e, transforms: [(e.estimator, transforms)]),
    (CalibratedClassifierCV, _calibrated_parts),
    (TransformedTargetRegressor, lambda e, _: [(e.regressor_, False)]),
    (
        (OneVsRestClassifier, OneVsOneClassifier, MultiOutputClassifier, MultiOutputRegressor),
        lambda e, _: [(part, False) for part in e.estimators_],
    ),
)

# Of estimators that predict as well.
_TRANSFORMS: tuple[tuple[Any, Callable[[Any], Cost]], ...] = (
    (LinearDiscriminantAnalysis, _discriminants),
    ((PLSRegression, PLSCanonical, CCA), _rotations),
)

_RULES: tuple[tuple[Any, Callable[[Any], Cost]], ...] = (
    (_Curves, _curves),
    (RBFSampler, _rbf_sampler),
    (Nystroem, _nystroem),
    ((MLPClassifier, MLPRegressor), _perceptron),
    ((HistGradientBoostingClassifier, HistGradientBoostingRegressor), count_boosting),
    ((PCA, IncrementalPCA, TruncatedSVD), _components),
    ((StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler), _scaler),
    (SimpleImputer, _imputer),
    (SelectorMixin, _selector),
    ((OneHotEncoder, OrdinalEncoder), _encoder),
)
