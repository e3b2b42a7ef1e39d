"""Kinds of scikit-learn's linear models."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import LabelBinarizer

from cerflearn.estimators.linear_models import LINEAR_CLASSIFIERS, LINEAR_REGRESSORS
from cerflearn.files.format_error import CerfFormatError
from cerflearn.persistence.estimator_kinds import INPUTS, NAMES
from cerflearn.persistence.kinds import Kind
from cerflearn.persistence.plain import Plain
from cerflearn.persistence.specs import Json, Labels, Part, Reader, Spec, Switch, Word, Writer

LINEAR_MODELS = tuple(cls.__name__ for cls in LINEAR_CLASSIFIERS + LINEAR_REGRESSORS)
"""Names of their kinds."""

_TRANSPOSED = "transposed"  # key of a matrix that is stored column by column
_TARGET_TYPES = ("binary", "multiclass", "multilabel-indicator")


def _linear_fields(fields: dict[str, Spec]) -> dict[str, Spec]:
    return INPUTS | fields | {"n_iter_": Plain(), "alpha_": Plain(), "C_": Plain()}


_LINEAR_OPTIONAL = NAMES | {"n_iter_", "alpha_", "C_", "_label_binarizer"}


class Coefficients:
    """An array of one or two dimensions, or a number: coefficients and intercepts.

    A matrix keeps its order in memory: products of the other order have other last bits.
    """

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Keep it as an array, column by column if it is in memory so."""
        if issparse(value):  # its products have other last bits than those of a dense matrix
            raise ValueError(f"{path} is sparse: call densify() of the model first.")
        array = np.asarray(value)
        if array.ndim == 2 and not array.flags.c_contiguous and array.strides[0] < array.strides[1]:
            return {_TRANSPOSED: writer.put(path, array.T)}
        return writer.put(path, array)

    def decode(self, value: Json, reader: Reader, path: str) -> Any:
        """Return an array, or a NumPy number."""
        if isinstance(value, dict) and set(value) == {_TRANSPOSED}:
            array = reader.take(value[_TRANSPOSED], path).T
        else:
            array = reader.take(value, path)
        if array.dtype.kind != "f" or array.ndim > 2 or not np.isfinite(array).all():
            raise CerfFormatError(f"{path} must be finite numbers in at most two dimensions.")
        return array[()] if array.ndim == 0 else array


def _check_linear(model: Any) -> None:
    coef, intercept = np.asarray(model.coef_), np.asarray(model.intercept_)
    if coef.ndim == 0 or coef.shape[-1] != model.n_features_in_:
        raise ValueError("coef_ does not fit the inputs")
    n_scores = 1 if coef.ndim == 1 else len(coef)
    if intercept.ndim > 1 or intercept.size not in (1, n_scores):
        raise ValueError("intercept_ does not fit coef_")


def _check_linear_classifier(model: Any) -> None:
    _check_linear(model)
    n_classes, n_scores = len(model.classes_), len(np.atleast_2d(model.coef_))
    multilabel = hasattr(model, "_label_binarizer") and model._label_binarizer.y_type_.startswith(
        "multilabel"
    )
    expected = 1 if n_classes == 2 and not multilabel else n_classes
    if n_scores != expected or (n_classes < 2 and not multilabel):
        raise ValueError("classes_ do not fit coef_")
    binarizer = getattr(model, "_label_binarizer", None)
    if binarizer is not None and not np.array_equal(binarizer.classes_, model.classes_):
        raise ValueError("classes_ are not those of the binarizer")


def _linear_kind(cls: type) -> Kind:
    """Kind of one linear model; ridge classifiers keep their classes in a binarizer."""
    shape: dict[str, Any] = {"coef_": Coefficients(), "intercept_": Coefficients()}
    if cls in LINEAR_REGRESSORS:
        fields, check = _linear_fields(shape), _check_linear
    else:
        shape |= {"classes_": Labels("classes"), "_label_binarizer": Part(("LabelBinarizer",))}
        fields, check = _linear_fields(shape), _check_linear_classifier
    return Kind(cls, fields, _LINEAR_OPTIONAL, check, True, make=_make_linear(cls))


def _make_linear(cls: type) -> Any:
    def make(parameters: dict[str, Any], fields: dict[str, Any]) -> Any:
        model = cls(**parameters)
        if isinstance(getattr(cls, "classes_", None), property):  # ridge, before scikit-learn 1.7
            fields = {name: value for name, value in fields.items() if name != "classes_"}
        vars(model).update(fields)
        return model

    return make


def linear_kinds() -> dict[str, Kind]:
    """Kinds of linear models, and of the binarizer that ridge classifiers have."""
    models = {cls.__name__: _linear_kind(cls) for cls in LINEAR_CLASSIFIERS + LINEAR_REGRESSORS}
    binarizer = Kind(
        LabelBinarizer,
        {
            "classes_": Labels("classes"),
            "y_type_": Word(_TARGET_TYPES),
            "sparse_input_": Switch(),
        },
        is_estimator=True,
        needed={
            "neg_label": lambda value: value == -1 and not isinstance(value, bool),
            "pos_label": lambda value: value == 1 and not isinstance(value, bool),
            "sparse_output": lambda value: value is False,
        },
    )
    return models | {"LabelBinarizer": binarizer}
