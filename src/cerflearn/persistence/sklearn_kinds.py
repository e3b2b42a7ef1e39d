"""Kinds of scikit-learn's scalers, imputers and encoders.

Attributes of these classes differ a little between versions of scikit-learn: what is stored are
those that ``transform`` and ``predict`` read, and ``finish`` sets what follows from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from cerflearn.persistence.data_kinds import MOST_INPUTS
from cerflearn.persistence.estimator_kinds import INPUTS, NAMES
from cerflearn.persistence.kinds import Kind
from cerflearn.persistence.plain import PARAMETER_DTYPES, Plain
from cerflearn.persistence.specs import (
    Integer,
    Labels,
    Maybe,
    Part,
    Sequence,
    Spec,
    Switch,
    Tensor,
)

_BY_COLUMN = Tensor("f8 f4", ("D",))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_dtype(value: Any) -> bool:
    """Whether a value is a type of numbers, or the name of one."""
    named = value in PARAMETER_DTYPES if isinstance(value, str) else isinstance(value, type)
    return named and np.dtype(value).name in PARAMETER_DTYPES


def _is_range(value: Any) -> bool:
    """Whether a value is two numbers, the first below the second."""
    pair = isinstance(value, tuple) and len(value) == 2
    numbers = pair and all(isinstance(end, int | float | np.integer | np.floating) for end in value)
    return numbers and bool(value[0] < value[1])


def _is_marker(value: Any) -> bool:
    """Whether a value can stand for missing ones: a number, text or None."""
    return value is None or isinstance(value, str | int | float | np.number)


def _scaler(cls: type, fields: dict[str, Spec], **needed: Any) -> Kind:
    seen: dict[str, Spec] = {"n_samples_seen_": Plain()}
    return Kind(
        cls,
        INPUTS | fields | seen,
        NAMES | set(seen),
        is_estimator=True,
        needed={"copy": _is_flag} | needed,
        check=_check_scaler,
    )


def _check_scaler(scaler: Any) -> None:
    if scaler.scale_ is not None and not (scaler.scale_ != 0.0).all():
        raise ValueError("scale_ holds a zero")
    missing = (
        isinstance(scaler, StandardScaler)
        and (
            (scaler.with_mean and scaler.mean_ is None)
            or (scaler.with_std and scaler.scale_ is None)
        )
    ) or (
        isinstance(scaler, RobustScaler)
        and (
            (scaler.with_centering and scaler.center_ is None)
            or (scaler.with_scaling and scaler.scale_ is None)
        )
    )
    if missing:
        raise ValueError("a mean or scale is missing")


def _set_dtypes(imputer: Any) -> None:
    """Make dtypes of their types."""
    imputer._fit_dtype = np.dtype(imputer._fit_dtype)
    imputer._fill_dtype = np.dtype(imputer._fill_dtype)


def _fill_dtype(imputer: Any) -> dict[str, Any]:
    """Type of the filled values, which scikit-learn has from 1.7 on."""
    return {"_fill_dtype": vars(imputer).get("_fill_dtype", imputer._fit_dtype)}


def _check_simple_imputer(imputer: Any) -> None:
    text = any(isinstance(item, str) for item in np.asarray(imputer.statistics_).tolist())
    if text != (imputer._fit_dtype.kind == "O"):
        raise ValueError("statistics_ and the type of the columns do not fit")
    indicator = imputer.indicator_
    if bool(imputer.add_indicator) != (indicator is not None):
        raise ValueError("the indicator is missing, or not asked for")
    if indicator is not None and not (
        indicator._precomputed and indicator.n_features_in_ == imputer.n_features_in_
    ):
        raise ValueError("the indicator does not fit the inputs")


def _check_indicator(indicator: Any) -> None:
    features = indicator.features_
    if len(features) and int(features.max()) >= indicator.n_features_in_:
        raise ValueError("features_ names a column that does not exist")
    if indicator._n_features != indicator.n_features_in_:
        raise ValueError("numbers of columns do not fit")


def _refuse_infrequent(encoder: Any) -> None:
    if encoder._infrequent_enabled and any(
        found is not None for found in encoder.infrequent_categories_
    ):
        raise ValueError(
            "OneHotEncoder with infrequent categories (min_frequency, max_categories) cannot be "
            "stored: group them before."
        )


def _finish_encoder(encoder: Any) -> None:
    """Set what follows from categories and drops."""
    encoder.categories_ = list(encoder.categories_)
    encoder._infrequent_enabled = False
    dropped = encoder.drop_idx_
    if dropped is not None and any(isinstance(item, float) for item in dropped.tolist()):
        raise ValueError("drop_idx_ must hold integers")
    encoder._drop_idx_after_grouping = dropped
    counts = [len(codes) for codes in encoder.categories_]
    if dropped is not None:
        counts = [n - (drop is not None) for n, drop in zip(counts, dropped, strict=True)]
    encoder._n_features_outs = counts


def _check_encoder(encoder: Any) -> None:
    if len(encoder.categories_) != encoder.n_features_in_ or sum(encoder._n_features_outs) < 1:
        raise ValueError("categories_ do not fit the columns")
    if encoder.drop_idx_ is not None:
        for drop, codes in zip(encoder.drop_idx_, encoder.categories_, strict=True):
            if drop is not None and not (type(drop) is int and 0 <= drop < len(codes)):
                raise ValueError("drop_idx_ names a category that does not exist")
    if any(codes.dtype.kind not in "OUiufb" or len(codes) == 0 for codes in encoder.categories_):
        raise ValueError("categories_ must be numbers or text")


class _Categories:
    """Categories of one column, whose number nothing else has."""

    def encode(self, value: Any, writer: Any, path: str) -> Any:
        """Keep the categories."""
        return Labels("").encode(value, writer, path)

    def decode(self, value: Any, reader: Any, path: str) -> Any:
        """Return the categories, in a shape of their own."""
        with reader.own_sizes():
            return Labels("").decode(value, reader, path)


SKLEARN_KINDS: dict[str, Kind] = {
    "StandardScaler": _scaler(
        StandardScaler,
        {
            "mean_": Maybe(_BY_COLUMN),
            "var_": Maybe(_BY_COLUMN),
            "scale_": Maybe(_BY_COLUMN),
        },
        with_mean=_is_flag,
        with_std=_is_flag,
    ),
    "MinMaxScaler": _scaler(
        MinMaxScaler,
        dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), _BY_COLUMN),
        clip=_is_flag,
        feature_range=_is_range,
    ),
    "MaxAbsScaler": _scaler(
        MaxAbsScaler, {"scale_": _BY_COLUMN, "max_abs_": _BY_COLUMN}, clip=_is_flag
    ),
    "RobustScaler": _scaler(
        RobustScaler,
        {"center_": Maybe(_BY_COLUMN), "scale_": Maybe(_BY_COLUMN)},
        with_centering=_is_flag,
        with_scaling=_is_flag,
    ),
    "SimpleImputer": Kind(
        SimpleImputer,
        INPUTS
        | {
            "statistics_": Labels("D", distinct=False),
            "_fit_dtype": Plain(),
            "_fill_dtype": Plain(),
            "indicator_": Maybe(Part(("MissingIndicator",))),
        },
        NAMES,
        _check_simple_imputer,
        True,
        {
            "add_indicator": _is_flag,
            "keep_empty_features": _is_flag,
            "copy": _is_flag,
            "missing_values": _is_marker,
        },
        finish=_set_dtypes,
        derived=_fill_dtype,
    ),
    "MissingIndicator": Kind(
        MissingIndicator,
        INPUTS
        | {
            "features_": Tensor("i8", ("features",), least=0),
            "_n_features": Integer(1, MOST_INPUTS),
            "_precomputed": Switch(),
        },
        NAMES,
        _check_indicator,
        True,
        {"features": lambda value: value in ("missing-only", "all"), "error_on_new": _is_flag},
    ),
    "OneHotEncoder": Kind(
        OneHotEncoder,
        INPUTS
        | {
            "categories_": Sequence(_Categories()),
            "drop_idx_": Maybe(Labels("drops", distinct=False)),
        },
        NAMES,
        _check_encoder,
        True,
        {
            "sparse_output": _is_flag,
            "dtype": _is_dtype,
            "feature_name_combiner": lambda value: isinstance(value, str) and value == "concat",
            "handle_unknown": lambda value: (
                value in ("error", "ignore", "infrequent_if_exist", "warn")
            ),
        },
        refuse=_refuse_infrequent,
        finish=_finish_encoder,
    ),
}
"""Kinds of scikit-learn's scalers, imputers and encoders."""
