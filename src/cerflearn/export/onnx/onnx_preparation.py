"""Imputers and encoders of numbers as nodes of our own, and what skl2onnx misreads.

skl2onnx writes the operators Imputer and OneHotEncoder: ONNX Runtime has the first in float32 only,
the second gives float32 in graphs of float64, and the first knows no marker such as 0. It leaves
out the bounds of MaxAbsScaler.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder

from cerflearn.export.onnx.onnx_converters import convert_steps, features_shape, is_double
from cerflearn.export.onnx.onnx_nodes import GraphWriter
from cerflearn.export.program import column_index, is_idle, program_of


def preparation_conversions(parts: list[Any], dtype: str) -> dict[str, dict[type, Any]]:
    """Conversions of imputers, encoders and MaxAbsScaler, for ``skl2onnx.convert_sklearn``.

    Text is left to skl2onnx, and so are codes in float32, where it refuses unknown ones.

    Parameters
    ----------
    parts : list of estimator
        All of the model.
    dtype : {"float32", "float64"}
        Of numbers in the graph, which an encoder cannot tell from inputs of text.
    """
    kinds = {SimpleImputer, OneHotEncoder, MaxAbsScaler} & set(map(type, parts))
    double = dtype == "float64"
    encoders = kinds & {OneHotEncoder} if double else set()
    return {
        "custom_parsers": dict.fromkeys(encoders, _parse_encoder),
        "custom_conversion_functions": dict.fromkeys(kinds, partial(_convert, double=double)),
        "custom_shape_calculators": dict.fromkeys(kinds, partial(_shape, double=double)),
    }


def as_skl2onnx_reads(estimator: Any) -> Any:
    """Return the estimator, or a copy without what skl2onnx refuses.

    Steps of a Pipeline that pass rows on and parts of a FeatureUnion that are dropped are left out,
    columns that a ColumnTransformer is given as a slice, a mask or counted from the end are listed,
    and coefficients of linear models are not sparse.

    Parameters
    ----------
    estimator : estimator
        Fitted; it is left as it is.
    """
    if isinstance(estimator, Pipeline):
        steps = [(name, as_skl2onnx_reads(step)) for name, step in estimator.steps]
        steps = [(name, step) for name, step in steps if not is_idle(step)]
        if [id(step) for _, step in steps] == [id(step) for _, step in estimator.steps]:
            return estimator
        return Pipeline(steps or [("all", FunctionTransformer())])
    changed = copy(estimator)
    if issparse(getattr(estimator, "coef_", None)) and hasattr(estimator, "densify"):
        return changed.densify()
    if isinstance(estimator, FeatureUnion):
        parts = [(name, as_skl2onnx_reads(part)) for name, part in estimator.transformer_list]
        changed.transformer_list = [pair for pair in parts if not _is_dropped(pair[1])]
        return changed
    if not isinstance(estimator, ColumnTransformer):
        return estimator
    changed.transformers_ = [
        (name, as_skl2onnx_reads(part), _listed(estimator, columns))
        for name, part, columns in estimator.transformers_
    ]
    return changed


def _is_dropped(part: Any) -> bool:
    return isinstance(part, str) and part == "drop"


def _listed(transformer: ColumnTransformer, columns: Any) -> Any:
    """Columns as a list of positions, unless they are given by name, one by one."""
    if not isinstance(columns, slice) and np.asarray(columns).dtype.kind in "OU":
        return columns
    return column_index(transformer, columns, transformer.n_features_in_).tolist()


def _is_ours(operator: Any) -> bool:
    """Whether we write the nodes of an operator."""
    from skl2onnx.common.data_types import StringTensorType

    model = operator.raw_operator
    if isinstance(model, MaxAbsScaler):
        return bool(getattr(model, "clip", False))  # since scikit-learn 1.8
    if getattr(model, "add_indicator", False):
        raise ValueError(
            "SimpleImputer(add_indicator=True) cannot be exported: leave the indicator out."
        )
    if any(isinstance(variable.type, StringTensorType) for variable in operator.inputs):
        return False
    if isinstance(model, OneHotEncoder):
        _check_codes(model, double=is_double(operator))
        if not is_double(operator):
            return False
    try:
        program_of(model)
    except ValueError:  # infrequent categories
        return False
    return True


def _check_codes(encoder: OneHotEncoder, *, double: bool) -> None:
    """Refuse codes of numbers that skl2onnx has no message for."""
    numbers = [codes for codes in map(np.asarray, encoder.categories_) if codes.dtype.kind == "f"]
    values = np.concatenate([np.zeros(0), *numbers])
    if np.isnan(values).any():
        raise ValueError("OneHotEncoder with NaN as a category cannot be exported.")
    fractions = values[values != np.rint(values)]
    if len(fractions) and not double:
        raise ValueError(
            f"OneHotEncoder of codes that are no whole numbers, such as {fractions[0]:g}, cannot "
            "be exported in float32: pass dtype='float64'."
        )


def _parse_encoder(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    """Declare the output of an encoder as float64, by which the parts after it are declared."""
    from skl2onnx._supported_operators import get_model_alias
    from skl2onnx.common.data_types import DoubleTensorType

    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs.extend(inputs)
    operator.outputs.append(scope.declare_local_variable("variable", DoubleTensorType()))
    return operator.outputs


def _shape(operator: Any, *, double: bool) -> None:
    if _is_ours(operator):
        features_shape(operator)
        return
    from skl2onnx.common import _registration
    from skl2onnx.common.data_types import DoubleTensorType

    _registration.get_shape_calculator(operator.type)(operator)
    if double and isinstance(operator.raw_operator, OneHotEncoder):
        operator.outputs[0].type = DoubleTensorType(operator.outputs[0].type.shape)


def _convert(scope: Any, operator: Any, container: Any, *, double: bool) -> None:
    if _is_ours(operator):
        convert_steps(scope, operator, container)
        return
    from skl2onnx.common import _registration

    convert = _registration.get_converter(operator.type)
    if not (double and isinstance(operator.raw_operator, OneHotEncoder)):
        convert(scope, operator, container)
        return
    made = scope.get_unique_variable_name("codes")
    narrow = SimpleNamespace(
        raw_operator=operator.raw_operator, inputs=operator.inputs, output_full_names=[made]
    )
    convert(scope, narrow, container)
    writer = GraphWriter(scope, container, np.float64)
    writer.cast(made, np.float64, output=operator.outputs[0].full_name)
