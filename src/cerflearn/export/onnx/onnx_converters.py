"""Converters of skl2onnx for estimators of cerflearn, RBFSampler and Nystroem."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler

from cerflearn.estimators.applications.autoencoder import KernelAutoencoder
from cerflearn.estimators.applications.cca import RandomizedKernelCCA
from cerflearn.estimators.applications.imputer import KernelImputer
from cerflearn.estimators.applications.kernel_pca import RandomizedKernelPCA
from cerflearn.estimators.cerf.blocked_cerf import BlockedCERF
from cerflearn.estimators.cerf.masked_cerf import MaskedCERF
from cerflearn.estimators.linear_models import LINEAR_CLASSIFIERS, LINEAR_REGRESSORS
from cerflearn.estimators.maps.fastfood import FastfoodFeatures
from cerflearn.estimators.maps.masked import MaskedFourierFeatures
from cerflearn.estimators.maps.rff import RandomFourierFeatures
from cerflearn.estimators.predictors.classifier import CERFClassifier
from cerflearn.estimators.predictors.regressor import CERFRegressor
from cerflearn.export.onnx.onnx_heads import (
    label_values,
    write_labels,
    write_probabilities,
    write_votes,
)
from cerflearn.export.onnx.onnx_kernels import write_nystroem
from cerflearn.export.onnx.onnx_nodes import PHASE_FORMS, GraphWriter, write_steps
from cerflearn.export.program import program_of
from cerflearn.export.steps import Features, Linear, Output, Step
from cerflearn.features.dense import DenseMap

_FEATURE_MAPS: tuple[type, ...] = (
    RandomFourierFeatures,
    MaskedFourierFeatures,
    FastfoodFeatures,
    MaskedCERF,
    BlockedCERF,
)
_ENCODERS: tuple[type, ...] = (RandomizedKernelPCA, KernelAutoencoder, RandomizedKernelCCA)

_FORM_OPTION: dict[str, Any] = {"form": list(PHASE_FORMS)}
_LABEL_OPTIONS: dict[str, Any] = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [True, False],
    "raw_scores": [True, False],
}


def register_converters() -> None:
    """Tell skl2onnx how to convert our estimators, RBFSampler and Nystroem; twice does no harm.

    ``LinearSVC`` as the last step of a Pipeline is repaired too: skl2onnx 1.20 asks for its option
    ``zipmap`` and then refuses it.
    """
    from skl2onnx import update_registered_converter

    def register(kind: type, convert: Any, shape: Any, **rest: Any) -> None:
        update_registered_converter(kind, f"Cerflearn{kind.__name__}", shape, convert, **rest)

    for kind in _FEATURE_MAPS:
        register(kind, convert_steps, features_shape, options=_FORM_OPTION)
    for kind in _ENCODERS:
        register(kind, _convert_encoder, features_shape, options=_FORM_OPTION)
    register(CERFRegressor, convert_steps, features_shape, options=_FORM_OPTION)
    register(
        CERFClassifier,
        _convert_classifier,
        _classifier_shape,
        parser=_parse_classifier,
        options=_FORM_OPTION | _LABEL_OPTIONS,
    )
    register(RBFSampler, convert_steps, features_shape)
    register(Nystroem, _convert_nystroem, features_shape)
    register(KernelImputer, _convert_imputer, _imputer_shape)
    _repair_linear_svc()


def linear_conversions(parts: list[Any]) -> list[dict[str, dict[type, Any]]]:
    """Conversions of linear models without probabilities, for ``skl2onnx.convert_sklearn``.

    For classifiers those of skl2onnx have no float64, and call the scores probabilities; for
    regressors they fail in float64 where there is no intercept.

    Parameters
    ----------
    parts : list of estimator
        All of the model; the others are left to skl2onnx.
    """
    found = (part for part in parts if isinstance(part, LINEAR_CLASSIFIERS))
    classifiers = [type(part) for part in found if not hasattr(part, "predict_proba")]
    regressors = [type(part) for part in parts if isinstance(part, LINEAR_REGRESSORS)]
    of_scores = {
        "custom_conversion_functions": _convert_classifier,
        "custom_shape_calculators": _classifier_shape,
        "custom_parsers": _parse_scores,
    }
    of_values = {
        "custom_conversion_functions": convert_steps,
        "custom_shape_calculators": features_shape,
    }
    return [
        {name: dict.fromkeys(kinds, function) for name, function in functions.items()}
        for kinds, functions in ((classifiers, of_scores), (regressors, of_values))
    ]


def _repair_linear_svc() -> None:
    from skl2onnx.common import _registration

    found = _registration.get_converter("SklearnLinearSVC")
    options = found.get_allowed_options()
    if "zipmap" not in options:
        allowed = options | {"zipmap": _LABEL_OPTIONS["zipmap"]}
        _registration.register_converter(
            "SklearnLinearSVC", found._fct, overwrite=True, options=allowed
        )


def _steps_of(model: Any) -> tuple[tuple[Step, ...], Output]:
    if isinstance(model, RBFSampler):
        weights = np.asarray(model.random_weights_, dtype=np.float64)
        n_outputs = weights.shape[1]
        feature_map = DenseMap(
            weights=weights,
            offsets=np.asarray(model.random_offset_, dtype=np.float64),
            amplitudes=np.full(n_outputs, np.sqrt(2.0 / n_outputs)),
            n_outputs=n_outputs,
            paired=False,
        )
        return (Features(feature_map),), Output("features")
    program = program_of(model)
    return program.steps, program.output


def is_double(operator: Any) -> bool:
    """Whether an operator of skl2onnx reads float64."""
    from skl2onnx.common.data_types import DoubleTensorType

    return any(isinstance(variable.type, DoubleTensorType) for variable in operator.inputs)


def _begin(scope: Any, operator: Any, container: Any) -> tuple[GraphWriter, str]:
    """Writer, and the name of the inputs as one matrix of floats."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    double = is_double(operator)
    writer = GraphWriter(scope, container, np.float64 if double else np.float32)
    wanted = DoubleTensorType if double else FloatTensorType
    parts = []
    for variable in operator.inputs:
        fits = isinstance(variable.type, wanted)
        name = variable.full_name
        parts.append(name if fits else writer.cast(name, writer.dtype))
    return writer, parts[0] if len(parts) == 1 else writer.node("Concat", *parts, axis=1)


def _n_outputs(model: Any) -> int:
    if isinstance(model, Nystroem):
        return len(model.normalization_)
    if type(model) in _ENCODERS:
        return int(model.n_components_)
    return int(_steps_of(model)[0][-1].n_outputs)


def features_shape(operator: Any) -> None:
    """Set shape and type of features or of predicted numbers."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    kind = DoubleTensorType if is_double(operator) else FloatTensorType
    shape = [operator.inputs[0].get_first_dimension(), _n_outputs(operator.raw_operator)]
    operator.outputs[0].type = kind(shape)


def _classifier_shape(operator: Any) -> None:
    """Shapes and types of labels and of probabilities or scores."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    model = operator.raw_operator
    steps, output = _steps_of(model)
    classes, n_rows = label_values(model.classes_), operator.inputs[0].get_first_dimension()
    n_columns = steps[-1].n_outputs if output.kind == "multilabel" else len(classes)
    text = classes.dtype.kind == "U" and not _option(operator.scope_inst, model, "nocl")
    label_type = StringTensorType if text else Int64TensorType
    several = output.kind == "multilabel"
    operator.outputs[0].set_type(label_type([n_rows, n_columns] if several else [n_rows]))
    only_scores = _gives_scores(operator.scope_inst, model)
    if only_scores and output.kind == "binary":
        n_columns = 1
    operator.outputs[1].type.shape = [n_rows, n_columns]


def _option(holder: Any, model: Any, name: str, default: Any = False) -> Any:
    """Value of an option of skl2onnx for a model, if it has such options."""
    found = holder.get_options(model, {name: default}, fail=False)
    return default if found is None else found[name]


def _gives_scores(holder: Any, model: Any) -> bool:
    """Whether the second output is scores, not probabilities."""
    raw = bool(_option(holder, model, "raw_scores"))
    return raw or not isinstance(model, CERFClassifier)


def convert_steps(scope: Any, operator: Any, container: Any) -> None:
    """Write an estimator that is known as steps: feature maps, predictors of numbers, imputers."""
    model = operator.raw_operator
    writer, rows = _begin(scope, operator, container)
    form = _option(scope, model, "form", "auto")
    made = write_steps(writer, _steps_of(model)[0], rows, form)
    writer.node("Identity", made, output=operator.outputs[0].full_name)


def _convert_encoder(scope: Any, operator: Any, container: Any) -> None:
    """Kernel PCA, autoencoder, canonical correlations: a network, or a map and directions."""
    model = operator.raw_operator
    if "encoder_" in vars(model):
        convert_steps(scope, operator, container)
        return
    from skl2onnx._supported_operators import get_model_alias

    inner = model.feature_map_
    form = _option(scope, model, "form", "auto")
    if type(inner) in _FEATURE_MAPS:
        scope.add_options(id(inner), {"form": form})
    features = scope.declare_local_operator(get_model_alias(type(inner)), inner)
    features.inputs.extend(operator.inputs)
    kind = operator.outputs[0].type.__class__
    made = scope.declare_local_variable("features", kind())
    features.outputs.append(made)
    writer = GraphWriter(scope, container, np.float64 if is_double(operator) else np.float32)
    directions, mean = _directions(model)
    step = Linear(directions, -(directions @ mean))
    codes = write_steps(writer, (step,), made.full_name)
    writer.node("Identity", codes, output=operator.outputs[0].full_name)


def _directions(model: Any) -> tuple[Any, Any]:
    if isinstance(model, RandomizedKernelCCA):
        return model.x_components_, model.x_mean_
    return model.components_, model.mean_


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Labels, and probabilities or scores."""
    model = operator.raw_operator
    writer, rows = _begin(scope, operator, container)
    steps, output = _steps_of(model)
    form = _option(scope, model, "form", "auto")
    scores = write_steps(writer, steps, rows, form)
    if output.kind == "pairs":
        scores = write_votes(writer, scores, len(model.classes_))
    classes = label_values(model.classes_)
    if _option(scope, model, "nocl"):
        classes = np.arange(len(classes))
    labels, numbers = (variable.full_name for variable in operator.outputs)
    write_labels(writer, output, scores, classes, labels)
    if _gives_scores(scope, model):
        writer.node("Identity", scores, output=numbers)
    else:
        write_probabilities(writer, output, scores, model.inverse_temperature_, numbers)


def _convert_nystroem(scope: Any, operator: Any, container: Any) -> None:
    narrow, rows = _begin(scope, operator, container)
    writer = GraphWriter(scope, container, np.float64)
    if narrow.dtype != writer.dtype:
        rows = writer.cast(rows, np.float64)
    features = write_nystroem(writer, operator.raw_operator, rows)
    narrow.cast(features, narrow.dtype, output=operator.outputs[0].full_name)


def _parse_classifier(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare outputs of CERFClassifier; ZipMap is for float32 and one label a row only."""
    from skl2onnx._parse import _parse_sklearn_classifier
    from skl2onnx.common.data_types import DoubleTensorType

    if model.outputs_2d_ or any(isinstance(found.type, DoubleTensorType) for found in inputs):
        scope.add_options(id(model), {"zipmap": False})
    return _parse_sklearn_classifier(scope, model, inputs, custom_parsers=custom_parsers)


def _parse_scores(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    """Declare outputs of a classifier without probabilities."""
    from skl2onnx._supported_operators import get_model_alias
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs.extend(inputs)
    kind = guess_tensor_type(inputs[0].type)
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable("scores", kind))
    return operator.outputs


def _imputer_shape(operator: Any) -> None:
    """Refuse KernelImputer, whose values depend on which others are missing."""
    name = type(operator.raw_operator).__name__
    raise ValueError(
        f"{name} cannot be exported to ONNX: what it fills in depends on which values of a row are "
        "missing. Complete rows before they reach the model."
    )


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:  # noqa: ARG001
    _imputer_shape(operator)
