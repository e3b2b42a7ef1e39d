"""Kinds of cerflearn's own estimators and selectors."""

from __future__ import annotations

from typing import Any

from cerflearn.estimators.applications.autoencoder import KernelAutoencoder
from cerflearn.estimators.applications.cca import RandomizedKernelCCA
from cerflearn.estimators.applications.imputer import KernelImputer
from cerflearn.estimators.applications.kernel_pca import RandomizedKernelPCA
from cerflearn.estimators.cerf.blocked_cerf import BlockedCERF
from cerflearn.estimators.cerf.cvem_selector import CVEM
from cerflearn.estimators.cerf.masked_cerf import MaskedCERF
from cerflearn.estimators.cerf.selectors import Greedy
from cerflearn.estimators.cerf.shared_selector import Shared
from cerflearn.estimators.cerf.trained import Trained
from cerflearn.estimators.maps.fastfood import FastfoodFeatures
from cerflearn.estimators.maps.masked import MaskedFourierFeatures
from cerflearn.estimators.maps.rff import RandomFourierFeatures
from cerflearn.estimators.not_stored import NotStored
from cerflearn.estimators.predictors.classifier import CERFClassifier
from cerflearn.estimators.predictors.regressor import CERFRegressor
from cerflearn.features.linear import LinearPart
from cerflearn.persistence.data_kinds import LAW_KINDS, MOST_INPUTS, NETWORK_MAPS, check_network
from cerflearn.persistence.kinds import Kind
from cerflearn.persistence.plain import Plain
from cerflearn.persistence.specs import (
    FiniteNumber,
    Integer,
    Labels,
    Maybe,
    Part,
    Sequence,
    Spec,
    Switch,
    Tensor,
    Word,
)
from cerflearn.persistence.widths import output_width

INPUTS: dict[str, Spec] = {
    "n_features_in_": Integer(1, MOST_INPUTS, name="D"),
    "feature_names_in_": Labels("D", text_only=True),
}
"""What every fitted estimator has; the names are optional."""

NAMES = frozenset({"feature_names_in_"})
"""The attribute that is there only if ``fit`` saw names."""

_STREAM = "_stream"  # statistics of partial_fit, which are not stored


def _map_fields(map_kind: str) -> dict[str, Spec]:
    return INPUTS | {
        "law_": Part(LAW_KINDS),
        "gamma_": Maybe(FiniteNumber(above=0.0)),
        "feature_map_": Part((map_kind,)),
        "_n_features_out": Integer(1),
    }


_MASK_FIELDS: dict[str, Spec] = {
    "mask_density_": FiniteNumber(above=0.0),
    "features_per_mask_": Integer(1),
}

_LEARNED_FIELDS: dict[str, Spec] = {
    "selected_": Tensor("i8", ("selected",), least=0),
    "feature_proba_": Tensor("f8", ("candidates",)),
    "rotation_": Tensor("f8", ("teacher", "rotated")),
    "scale_": FiniteNumber(),
    "errors_": Tensor("f8", ("errors",), finite=False),
    "lower_bounds_": Tensor("f8", ("bounds",), finite=False),
    "n_iter_": Integer(),
    "chosen_selector_": Word(("greedy", "trained")),
    "teacher_coef_": Tensor("f8", ("components", "outputs")),
    "teacher_intercept_": Tensor("f8", ("components",)),
    "was_streamed": Switch(),
}

_OPTIONAL_LEARNED = NAMES | {
    "rotation_", "scale_", "errors_", "lower_bounds_", "n_iter_", "chosen_selector_",
    "teacher_coef_", "teacher_intercept_", "was_streamed",
}  # fmt: skip


def _check_map(estimator: Any) -> None:
    feature_map = estimator.feature_map_
    if feature_map.n_features != estimator.n_features_in_:
        raise ValueError("the map and n_features_in_ do not fit")
    if feature_map.n_outputs != estimator._n_features_out:
        raise ValueError("the map and its number of columns do not fit")


def _check_learned(estimator: Any) -> None:
    _check_map(estimator)
    selected, proba = estimator.selected_, estimator.feature_proba_
    if len(selected) != estimator.feature_map_.n_outputs or not selected.max() < len(proba):
        raise ValueError("selected_ does not fit the map or the candidates")


def _stream_mark(estimator: Any) -> dict[str, Any]:
    """Mark a model of ``partial_fit``, whose statistics are left out."""
    return {"was_streamed": True} if _STREAM in vars(estimator) else {}


def _forget_stream(estimator: Any) -> None:
    if vars(estimator).pop("was_streamed", False):
        setattr(estimator, _STREAM, NotStored("statistics of partial_fit"))


_PREDICTOR_FIELDS: dict[str, Spec] = INPUTS | {
    "outputs_2d_": Switch(),
    "macs_": Integer(),
    "learn_": Word(("masks", "features", "selection")),
    "teacher_": Word(("labels", "kernel", "boosting", "estimator")),
    "activation_": Word(("cosine", "relu", "table")),
    "n_components_": Integer(),
    "alpha_": FiniteNumber(least=0.0, words=("auto",)),
    "gamma_": FiniteNumber(least=0.0),
    "settings_": Plain(),
    "feature_importances_": Tensor("f8", ("D",)),
    "linear_coef_": Tensor("f8", ("scores", "D")),
    "head_coef_": Tensor("f8", ("scores", "columns")),
    "feature_map_": Part(NETWORK_MAPS),
    "head_intercept_": Tensor("f8", ("scores",)),
}


def _add_linear_part(model: Any) -> None:
    linear = model.linear_coef_
    model._linear_part = LinearPart(coef=linear.T) if linear.any() else None


def _check_predictor(model: Any) -> None:
    n_scores = len(model.head_intercept_)
    check_network(
        model.feature_map_,
        model.head_coef_,
        n_scores,
        model.n_features_in_,
        model.linear_coef_.shape,
    )
    if not isinstance(model.settings_, dict):
        raise ValueError("settings_ is not a dictionary")


def _check_classifier(model: Any) -> None:
    _check_predictor(model)
    n_classes, n_scores = len(model.classes_), len(model.head_intercept_)
    if model.outputs_2d_:
        expected = n_classes
    elif n_classes == 2:
        expected = 1
    elif model.head == "svm_ovo":
        expected = n_classes * (n_classes - 1) // 2
    else:
        expected = n_classes
    if n_scores != expected or (n_classes < 2 and not model.outputs_2d_):
        raise ValueError(f"{n_scores} scores do not fit {n_classes} classes")


def _check_regressor(model: Any) -> None:
    _check_predictor(model)
    low, high = model.prediction_range_
    if not (low <= high).all():  # NaN neither; infinity for a target without a range
        raise ValueError("prediction_range_ has a lower bound above the upper one")
    if not model.outputs_2d_ and len(model.head_intercept_) != 1:
        raise ValueError("scores do not fit one target")


_CODE_FIELDS: dict[str, Spec] = {
    "encoder_": Part(("Encoder",)),
    "components_": Tensor("f8", ("codes", "columns")),
    "mean_": Tensor("f8", ("columns",)),
    "_intercept": Tensor("f8", ("codes",)),
    "_n_codes": Integer(1),
    "moments_": Part(("CrossMoments",)),
    "explained_variance_": Tensor("f8", ("codes",)),
    "explained_variance_ratio_": Tensor("f8", ("codes",), finite=False),
    "singular_values_": Tensor("f8", ("codes",)),
    "inverse_weights_": Tensor("f8", ("codes", "D")),
    "inverse_mean_": Tensor("f8", ("D",)),
    "n_samples_seen_": Integer(1),
    "_n_features_out": Integer(1, name="codes"),
}

_OPTIONAL_CODES = NAMES | {
    "encoder_", "components_", "mean_", "_intercept", "_n_codes", "moments_", "feature_map_",
    "inverse_weights_", "inverse_mean_",
}  # fmt: skip


def _check_codes(model: Any) -> None:
    fitted = vars(model)
    if ("encoder_" in fitted) == ("components_" in fitted):
        raise ValueError("codes need either an encoder or components")
    if model.fit_inverse_transform != ("inverse_weights_" in fitted and "inverse_mean_" in fitted):
        raise ValueError("the regression from codes to inputs is missing, or not asked for")
    if "encoder_" in fitted:
        encoder = model.encoder_
        if encoder.feature_map.n_features != model.n_features_in_:
            raise ValueError("the encoder and n_features_in_ do not fit")
        if encoder.n_codes != model._n_features_out:
            raise ValueError("the encoder and its codes do not fit")
        return
    if not {"mean_", "_intercept", "_n_codes", "moments_", "feature_map_"} <= set(fitted):
        raise ValueError("an attribute of components is missing")
    _check_inner(model.feature_map_, model.n_features_in_, model.components_.shape[1])
    moments = model.moments_
    n_right = model.n_features_in_ if model.fit_inverse_transform else 0
    if len(moments.left_mean) != len(model.mean_) or len(moments.right_mean) != n_right:
        raise ValueError("moments_ do not fit the components")
    if not 1 <= model._n_codes == model._n_features_out:
        raise ValueError("the number of codes does not fit")


def _check_inner(inner: Any, n_inputs: int, n_columns: int) -> None:
    if inner.n_features_in_ != n_inputs or output_width(inner) != n_columns:
        raise ValueError("the inner map does not fit its inputs or components")


def _check_canonical(model: Any) -> None:
    _check_inner(model.feature_map_, model.n_features_in_, model.x_components_.shape[1])
    _check_inner(model.y_feature_map_, model.n_features_y_, model.y_components_.shape[1])


def _check_imputer(model: Any) -> None:
    for stage in model.stages_:
        width = getattr(stage, "n_features", None) or len(stage.weights)
        if width != model.n_features_in_:
            raise ValueError("a stage does not fit the inputs")
    if len(model.stages_) != model.n_iter_ or not (model.scale_ > 0.0).all():
        raise ValueError("stages or scales do not fit")
    indicator = model.indicator_
    if indicator is not None and (
        indicator._precomputed or indicator.n_features_in_ != model.n_features_in_
    ):
        raise ValueError("the indicator does not fit the inputs")
    if bool(model.add_indicator) != (indicator is not None):
        raise ValueError("the indicator is missing, or not asked for")


_SELECTOR_CLASSES = (CVEM, Greedy, Shared, Trained)

_MAP_ESTIMATORS: dict[str, Kind] = {
    "RandomFourierFeatures": Kind(
        RandomFourierFeatures, _map_fields("DenseMap"), NAMES, _check_map, True
    ),
    "MaskedFourierFeatures": Kind(
        MaskedFourierFeatures, _map_fields("MaskedMap") | _MASK_FIELDS, NAMES, _check_map, True
    ),
    "FastfoodFeatures": Kind(FastfoodFeatures, _map_fields("BlockedMap"), NAMES, _check_map, True),
    "MaskedCERF": Kind(
        MaskedCERF,
        _map_fields("MaskedMap") | _MASK_FIELDS | _LEARNED_FIELDS,
        _OPTIONAL_LEARNED,
        _check_learned,
        True,
        finish=_forget_stream,
        derived=_stream_mark,
    ),
    "BlockedCERF": Kind(
        BlockedCERF,
        _map_fields("BlockedMap") | _LEARNED_FIELDS,
        _OPTIONAL_LEARNED,
        _check_learned,
        True,
        finish=_forget_stream,
        derived=_stream_mark,
    ),
}

_PREDICTOR_KINDS: dict[str, Kind] = {
    "CERFClassifier": Kind(
        CERFClassifier,
        _PREDICTOR_FIELDS
        | {"classes_": Labels("classes"), "inverse_temperature_": FiniteNumber(0.0)},
        NAMES,
        _check_classifier,
        True,
        finish=_add_linear_part,
    ),
    "CERFRegressor": Kind(
        CERFRegressor,
        _PREDICTOR_FIELDS | {"prediction_range_": Tensor("f8", (2, "scores"), finite=False)},
        NAMES,
        _check_regressor,
        True,
        finish=_add_linear_part,
    ),
}


def estimator_kinds(inner_maps: tuple[str, ...]) -> dict[str, Kind]:
    """Kinds of estimators; ``inner_maps`` are those of maps that applications may have inside."""
    code_fields = INPUTS | _CODE_FIELDS | {"feature_map_": Part(inner_maps)}
    applications = {
        "RandomizedKernelPCA": Kind(
            RandomizedKernelPCA, code_fields, _OPTIONAL_CODES, _check_codes, True
        ),
        "KernelAutoencoder": Kind(
            KernelAutoencoder, code_fields, _OPTIONAL_CODES, _check_codes, True
        ),
        "RandomizedKernelCCA": Kind(
            RandomizedKernelCCA,
            INPUTS
            | {
                "n_features_y_": Integer(1, MOST_INPUTS),
                "feature_map_": Part(inner_maps),
                "y_feature_map_": Part(inner_maps),
                "_x_intercept": Tensor("f8", ("pairs",)),
                "_y_intercept": Tensor("f8", ("pairs",)),
                "x_components_": Tensor("f8", ("pairs", "x_columns")),
                "y_components_": Tensor("f8", ("pairs", "y_columns")),
                "x_mean_": Tensor("f8", ("x_columns",)),
                "y_mean_": Tensor("f8", ("y_columns",)),
                "correlations_": Tensor("f8", ("pairs",)),
                "_n_features_out": Integer(1, name="pairs"),
            },
            NAMES,
            _check_canonical,
            True,
        ),
        "KernelImputer": Kind(
            KernelImputer,
            INPUTS
            | {
                "indicator_": Maybe(Part(("MissingIndicator",))),
                "_covered": Maybe(Tensor("b1", ("D",))),
                "statistics_": Tensor("f8", ("D",)),
                "scale_": Tensor("f8", ("D",)),
                "errors_": Tensor("f8", ("stages",), finite=False),
                "alphas_": Tensor("f8", ("stages", "D"), finite=False),
                "n_iter_": Integer(),
                "stages_": Sequence(Part(("ImputationStage", "TrainedStage"))),
            },
            NAMES,
            _check_imputer,
            True,
        ),
    }
    selectors = {cls.__name__: Kind(cls, {}, is_estimator=True) for cls in _SELECTOR_CLASSES}
    return _MAP_ESTIMATORS | _PREDICTOR_KINDS | applications | selectors
