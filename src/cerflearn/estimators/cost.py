"""What a fitted estimator costs: ours, and the scikit-learn estimators it is compared with."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cerflearn.estimators.sklearn_cost import count, parts_of
from cerflearn.features.base import FeatureMap
from cerflearn.features.cost import Cost


def counted_cost(estimator: BaseEstimator, *, transforms: bool = False) -> Cost:
    """Count what one row costs; see :func:`cerflearn.cost`, which adds sizes of exports.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    transforms : bool, default=False
        Whether an estimator that predicts and transforms is to transform, as a step of a pipeline.

    Returns
    -------
    Cost
        Of one row.
    """
    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    parts = parts_of(estimator, transforms)
    if parts is not None:
        return sum((counted_cost(part, transforms=role) for part, role in parts), start=Cost())
    counted: Cost | None
    if hasattr(estimator, "_count_cost"):
        counted = estimator._count_cost()
    elif isinstance(getattr(estimator, "feature_map_", None), FeatureMap):
        counted = estimator.feature_map_.cost()
    else:
        counted = count(estimator, transforms)
    if counted is None:
        raise ValueError(
            f"{estimator!r} cannot be counted{' as a transformer' if transforms else ''}: pass an "
            "estimator of cerflearn, or of scikit-learn a linear model, MLP, HistGradientBoosting, "
            "RBFSampler, Nystroem, PCA, LinearDiscriminantAnalysis, PLS, scaler, SimpleImputer, "
            "encoder or feature selector, or a Pipeline, ColumnTransformer, FeatureUnion, "
            "one-against-rest, calibrated or searched combination of these."
        )
    return counted
