"""Imputers and encoders of numbers as nodes of our own, and what skl2onnx misreads.

skl2onnx writes the operators Imputer and OneHotEncoder: ONNX Runtime has the first in float32 only,
the second gives float32 in graphs of float64, and the first knows no marker such as 0.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from cerflearn.export.onnx.onnx_converters import convert_steps, features_shape, is_double
from cerflearn.export.program import column_index, is_idle, program_of


def preparation_conversions(parts: list[Any]) -> dict[str, dict[type, Any]]:
    """Conversions of imputers and encoders, for ``skl2onnx.convert_sklearn``.

    Text is left to skl2onnx, and so are codes in float32, where it refuses unknown ones.

    Parameters
    ----------
    parts : list of estimator
        All of the model.
    """
    kinds = [kind for kind in (SimpleImputer, OneHotEncoder) if kind in map(type, parts)]
    return {
        "custom_conversion_functions": dict.fromkeys(kinds, _convert),
        "custom_shape_calculators": dict.fromkeys(kinds, _shape),
    }


def as_skl2onnx_reads(estimator: Any) -> Any:
    """Return the estimator, or a copy without what skl2onnx refuses.

    Steps of a Pipeline that pass rows on are left out, and columns that a ColumnTransformer is
    given as a slice, a mask or counted from the end are listed.

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
    if not isinstance(estimator, ColumnTransformer):
        return estimator
    changed = copy(estimator)
    changed.transformers_ = [
        (name, as_skl2onnx_reads(part), _listed(estimator, columns))
        for name, part, columns in estimator.transformers_
    ]
    return changed


def _listed(transformer: ColumnTransformer, columns: Any) -> Any:
    """Columns as a list of positions, unless they are given by name, one by one."""
    if not isinstance(columns, slice) and np.asarray(columns).dtype.kind in "OU":
        return columns
    return column_index(transformer, columns, transformer.n_features_in_).tolist()


def _is_ours(operator: Any) -> bool:
    """Whether we write the nodes of an operator."""
    from skl2onnx.common.data_types import StringTensorType

    model = operator.raw_operator
    if getattr(model, "add_indicator", False):
        raise ValueError(
            "SimpleImputer(add_indicator=True) cannot be exported: leave the indicator out."
        )
    if any(isinstance(variable.type, StringTensorType) for variable in operator.inputs):
        return False
    if isinstance(model, OneHotEncoder) and not is_double(operator):
        return False
    try:
        program_of(model)
    except ValueError:  # NaN as a category, infrequent ones
        return False
    return True


def _shape(operator: Any) -> None:
    if _is_ours(operator):
        features_shape(operator)
        return
    from skl2onnx.common import _registration

    _registration.get_shape_calculator(operator.type)(operator)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    if _is_ours(operator):
        convert_steps(scope, operator, container)
        return
    from skl2onnx.common import _registration

    _registration.get_converter(operator.type)(scope, operator, container)
