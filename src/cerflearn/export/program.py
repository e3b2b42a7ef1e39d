"""Fitted estimators and Pipelines as a :class:`~cerflearn.export.steps.Program`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import Float64Array, IntArray
from cerflearn.estimators.applications.cca import RandomizedKernelCCA
from cerflearn.estimators.applications.kernel_pca import RandomizedKernelPCA
from cerflearn.estimators.encoder import Encoder
from cerflearn.estimators.linear_models import LINEAR_CLASSIFIERS, LINEAR_REGRESSORS
from cerflearn.estimators.maps.random_feature_map import RandomFeatureMap
from cerflearn.estimators.predictors.budgeted import BudgetedPredictor
from cerflearn.estimators.predictors.classifier import CERFClassifier
from cerflearn.export.steps import (
    Branch,
    Clip,
    Features,
    Fill,
    Linear,
    OneHot,
    Output,
    OutputKind,
    Parallel,
    Program,
    Scale,
    Scores,
    Step,
    TableScores,
)
from cerflearn.features.linear import LinearPart
from cerflearn.features.tables import TableMap

SUPPORTED = (
    "an estimator of cerflearn other than KernelImputer, or a Pipeline of SimpleImputer, "
    "StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, OneHotEncoder of numbers, "
    "ColumnTransformer or FeatureUnion of these, a map or encoder of cerflearn, and a predictor of "
    "cerflearn or a linear model of scikit-learn"
)
"""What can be exported, for messages."""


def program_of(estimator: BaseEstimator) -> Program:
    """Make steps of a fitted estimator or Pipeline.

    Parameters
    ----------
    estimator : estimator
        Fitted; see :data:`SUPPORTED`.

    Returns
    -------
    Program
        Its steps; ``ValueError`` names the part that has none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from cerflearn import MaskedFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> model = make_pipeline(StandardScaler(), MaskedFourierFeatures(), RidgeClassifier())
    >>> program = program_of(model.fit(X, X[:, 0] > 0))
    >>> [type(step).__name__ for step in program.steps], program.output.kind
    (['Scale', 'Scores'], 'binary')
    """
    check_is_fitted(estimator)
    steps, output = _convert(estimator, int(_n_inputs(estimator)))
    names = getattr(estimator, "feature_names_in_", None)
    return Program(
        n_inputs=int(_n_inputs(estimator)),
        input_names=None if names is None else tuple(str(name) for name in names),
        steps=tuple(_fused(steps)),
        output=output,
    )


def steps_of(estimator: Any, n_inputs: int) -> list[Step]:
    """Make steps of a fitted transformer, of which more may follow."""
    steps, output = _convert(estimator, n_inputs)
    if output.kind != "features":
        raise ValueError(f"{estimator!r} is a predictor: it can only be the last step.")
    return steps


def _n_inputs(estimator: Any) -> int:
    if isinstance(estimator, Pipeline):
        return _n_inputs(next(step for _, step in estimator.steps if not is_idle(step)))
    if not hasattr(estimator, "n_features_in_"):
        raise _cannot(estimator)
    return int(estimator.n_features_in_)


def _cannot(estimator: Any) -> ValueError:
    name = type(estimator).__name__
    return ValueError(f"{name} cannot be exported: {estimator!r}. Pass {SUPPORTED}.")


def _convert(estimator: Any, n_inputs: int) -> tuple[list[Step], Output]:
    """Make steps of one estimator for rows of ``n_inputs``, and what comes out."""
    if _passes_through(estimator):
        return [], Output("features")
    rule = next((rule for kinds, rule in _CONVERSIONS if isinstance(estimator, kinds)), None)
    if rule is None:
        raise _cannot(estimator)
    steps, output = rule(estimator, n_inputs)
    if steps and steps[0].n_inputs != n_inputs:
        raise ValueError(
            f"{estimator!r} reads {steps[0].n_inputs} columns, but gets {n_inputs} of them."
        )
    return steps, output


def _passes_through(estimator: Any) -> bool:
    """Whether a part changes nothing: scikit-learn has three ways to say so."""
    if isinstance(estimator, FunctionTransformer):
        return estimator.func is None
    return is_idle(estimator)


def is_idle(step: Any) -> bool:
    """Whether a step of a Pipeline is left out: ``None`` or ``"passthrough"``."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def _fused(steps: list[Step]) -> list[Step]:
    """Features with the linear step after them become scores, which need not store features."""
    fused: list[Step] = []
    for step in steps:
        if isinstance(step, Linear) and fused and isinstance(fused[-1], Features):
            fused[-1] = Scores(fused[-1].feature_map, step.coef, step.intercept)
        else:
            fused.append(step)
    return fused


def _pipeline(pipeline: Any, n_inputs: int) -> tuple[list[Step], Output]:
    steps: list[Step] = []
    output = Output("features")
    for _, part in pipeline.steps:
        if output.kind != "features":
            raise ValueError("A predictor must be the last step of a Pipeline.")
        found, output = _convert(part, n_inputs)
        steps += found
        n_inputs = found[-1].n_outputs if found else n_inputs
    return steps, output


def _columns(transformer: Any, n_inputs: int) -> tuple[list[Step], Output]:
    """Branches of a ColumnTransformer, in the order of its outputs."""
    if transformer.transformer_weights:
        raise ValueError(
            "ColumnTransformer with transformer_weights cannot be exported: scale its columns in a "
            "step of their own."
        )
    branches = []
    for _, part, columns in transformer.transformers_:
        index = column_index(transformer, columns, n_inputs)
        if part == "drop" or len(index) == 0:
            continue
        branches.append(Branch(index, tuple(steps_of(part, len(index)))))
    if not branches:
        raise ValueError(f"{transformer!r} has no columns.")
    return [Parallel(n_inputs, tuple(branches))], Output("features")


def column_index(transformer: Any, columns: Any, n_inputs: int) -> IntArray:
    """Positions of columns that are given by name, number, slice or mask."""
    if isinstance(columns, str):
        columns = [columns]
    names = [str(name) for name in getattr(transformer, "feature_names_in_", ())]
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        if isinstance(start, str):
            start = names.index(start)
        if isinstance(stop, str):  # the last of names is included
            stop = names.index(stop) + 1
        return np.arange(n_inputs)[start : stop : columns.step]
    chosen = np.atleast_1d(np.asarray(columns))
    if chosen.dtype.kind in "OU":
        return np.array([names.index(str(name)) for name in chosen], dtype=np.int64)
    if chosen.dtype.kind == "b":
        return np.flatnonzero(chosen).astype(np.int64)
    index = chosen.astype(np.int64)
    return np.where(index < 0, index + n_inputs, index)


def _union(union: Any, n_inputs: int) -> tuple[list[Step], Output]:
    if union.transformer_weights:
        raise ValueError("FeatureUnion with transformer_weights cannot be exported: leave them.")
    every = np.arange(n_inputs)
    parts = [part for _, part in union.transformer_list if part != "drop"]
    branches = [Branch(every, tuple(steps_of(part, n_inputs))) for part in parts]
    return [Parallel(n_inputs, tuple(branches))], Output("features")


def _imputer(imputer: Any, n_inputs: int) -> tuple[list[Step], Output]:
    if imputer.add_indicator:
        raise ValueError("SimpleImputer(add_indicator=True) cannot be exported: leave it out.")
    missing = imputer.missing_values
    try:
        values = np.asarray(imputer.statistics_, dtype=np.float64)
        marker = float("nan") if missing is None else float(missing)
    except (TypeError, ValueError) as error:
        raise ValueError("SimpleImputer of text cannot be exported: impute numbers.") from error
    known = ~np.isnan(values)  # columns without any value are dropped
    if known.all():
        return [Fill(values, marker)], Output("features")
    kept = np.flatnonzero(known).astype(np.int64)
    branch = Branch(kept, (Fill(values[known], marker),))
    return [Parallel(n_inputs, (branch,))], Output("features")


def _scaler(scaler: Any, n_inputs: int) -> tuple[list[Step], Output]:
    zeros, ones = np.zeros(n_inputs), np.ones(n_inputs)
    bounds = None
    if isinstance(scaler, MinMaxScaler):
        centre, factor, shift = zeros, np.array(scaler.scale_), np.array(scaler.min_)
        low, high = scaler.feature_range
        bounds = (float(low), float(high)) if scaler.clip else None
    else:
        found = getattr(scaler, "center_", None)
        if isinstance(scaler, StandardScaler):
            found = scaler.mean_ if scaler.with_mean else None
        scale = getattr(scaler, "scale_", None)
        centre = zeros if found is None else np.array(found, dtype=np.float64)
        factor = ones if scale is None else 1.0 / np.asarray(scale, dtype=np.float64)
        shift = zeros
        if isinstance(scaler, MaxAbsScaler) and getattr(scaler, "clip", False):
            bounds = (-1.0, 1.0)
    return [Scale(centre, factor, shift, bounds)], Output("features")


def _one_hot(encoder: Any, n_inputs: int) -> tuple[list[Step], Output]:  # noqa: ARG001
    if getattr(encoder, "infrequent_categories_", None) is not None and any(
        found is not None for found in encoder.infrequent_categories_
    ):
        raise ValueError("OneHotEncoder with infrequent categories cannot be exported.")
    dropped = encoder.drop_idx_
    categories = []
    for column, codes in enumerate(encoder.categories_):
        if np.asarray(codes).dtype.kind not in "iufb":
            raise ValueError(
                "OneHotEncoder of text cannot be exported: encode categories as numbers first."
            )
        values = np.asarray(codes, dtype=np.float64)
        if np.isnan(values).any():
            raise ValueError("OneHotEncoder with NaN as a category cannot be exported.")
        drop = None if dropped is None else dropped[column]
        categories.append(values if drop is None else np.delete(values, int(drop)))
    return [OneHot(tuple(categories))], Output("features")


def _map(estimator: Any, n_inputs: int) -> tuple[list[Step], Output]:  # noqa: ARG001
    return [Features(estimator.feature_map_)], Output("features")


def _encoder_step(encoder: Encoder) -> Step:
    if isinstance(encoder.feature_map, TableMap):
        return TableScores(encoder.feature_map)
    linear = LinearPart(coef=encoder.linear_coef.T) if encoder.linear_coef.any() else None
    return Scores(encoder.feature_map, encoder.head_coef, encoder.intercept, linear)


def _components(estimator: Any, n_inputs: int) -> tuple[list[Step], Output]:
    """Kernel PCA and autoencoder: a trained network, or a map and directions."""
    if "encoder_" in vars(estimator):
        return [_encoder_step(estimator.encoder_)], Output("features")
    intercept = -(estimator.components_ @ estimator.mean_)
    return _projected(estimator.feature_map_, estimator.components_, intercept, n_inputs)


def _canonical(estimator: Any, n_inputs: int) -> tuple[list[Step], Output]:
    """Canonical variates of the first view."""
    intercept = -(estimator.x_components_ @ estimator.x_mean_)
    return _projected(estimator.feature_map_, estimator.x_components_, intercept, n_inputs)


def _projected(
    inner: Any, coef: Float64Array, intercept: Float64Array, n_inputs: int
) -> tuple[list[Step], Output]:
    return [*steps_of(inner, n_inputs), Linear(coef, intercept)], Output("features")


def _predictor(model: Any, n_inputs: int) -> tuple[list[Step], Output]:  # noqa: ARG001
    """Classifier or regressor of ours."""
    step: Step
    if isinstance(model.feature_map_, TableMap):
        step = TableScores(model.feature_map_)
    else:
        linear = LinearPart(coef=model.linear_coef_.T) if model.linear_coef_.any() else None
        step = Scores(model.feature_map_, model.head_coef_, model.head_intercept_, linear)
    if not isinstance(model, CERFClassifier):
        low, high = model.prediction_range_
        clip = Clip(np.broadcast_to(low, step.n_outputs), np.broadcast_to(high, step.n_outputs))
        return [step, clip], Output("values", flat=not model.outputs_2d_)
    n_classes = len(model.classes_)
    if model.outputs_2d_:
        return [step], Output("multilabel", model.classes_)
    if n_classes == 2:
        return [step], Output("binary", model.classes_, flat=True)
    kind: OutputKind = "pairs" if model.head == "svm_ovo" else "multiclass"
    return [step], Output(kind, model.classes_, flat=True)


def _linear_classifier(model: Any, n_inputs: int) -> tuple[list[Step], Output]:  # noqa: ARG001
    step = _linear_step(model)
    if np.ndim(model.classes_) != 1 or (len(model.classes_) > 2 and step.n_outputs == 1):
        raise _cannot(model)
    labels = getattr(model, "_label_binarizer", None)
    if labels is not None and str(labels.y_type_).startswith("multilabel"):
        return [step], Output("multilabel", model.classes_)
    kind: OutputKind = "binary" if step.n_outputs == 1 else "multiclass"
    return [step], Output(kind, model.classes_, flat=True)


def _linear_regressor(model: Any, n_inputs: int) -> tuple[list[Step], Output]:  # noqa: ARG001
    return [_linear_step(model)], Output("values", flat=_is_flat(model))


def _is_flat(model: Any) -> bool:
    """Whether a regressor was fitted to one target, not to a column of it."""
    return not issparse(model.coef_) and np.ndim(model.coef_) == 1


def _linear_step(model: Any) -> Linear:
    dense = model.coef_.toarray() if issparse(model.coef_) else model.coef_  # after sparsify
    coef = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (len(coef),))
    return Linear(coef, np.array(intercept))


_Rule = Callable[[Any, int], tuple[list[Step], Output]]

_CONVERSIONS: tuple[tuple[Any, _Rule], ...] = (
    (Pipeline, _pipeline),
    (ColumnTransformer, _columns),
    (FeatureUnion, _union),
    (SimpleImputer, _imputer),
    ((StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler), _scaler),
    (OneHotEncoder, _one_hot),
    (RandomFeatureMap, _map),
    (RandomizedKernelPCA, _components),
    (RandomizedKernelCCA, _canonical),
    (BudgetedPredictor, _predictor),
    (LINEAR_CLASSIFIERS, _linear_classifier),
    (LINEAR_REGRESSORS, _linear_regressor),
)
