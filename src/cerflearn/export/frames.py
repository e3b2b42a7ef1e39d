"""Columns of frames by the names that a model was fitted with."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline


def chooses_by_name(estimator: Any) -> bool:
    """Whether a ColumnTransformer in the estimator is given columns by name."""
    if isinstance(estimator, Pipeline):
        return any(chooses_by_name(step) for _, step in estimator.steps)
    if not isinstance(estimator, ColumnTransformer):
        return False
    given = estimator.transformers_[: len(estimator.transformers)]  # without the remainder
    return any(_are_names(columns) for *_, columns in given)


def _are_names(columns: Any) -> bool:
    if isinstance(columns, slice):
        return isinstance(columns.start, str) or isinstance(columns.stop, str)
    chosen = np.asarray(columns)
    return chosen.size > 0 and chosen.dtype.kind in "OU"


def fitted_columns(estimator: Any, X: Any) -> Any:
    """Columns of a frame in the order of the fit, if some are chosen by name; other X as it is.

    A choice by name accepts any order, and other columns beside.
    """
    if not hasattr(X, "columns") or not chooses_by_name(estimator):
        return X
    names = list(getattr(estimator, "feature_names_in_", X.columns))
    absent = [name for name in names if name not in X.columns]
    if absent:
        raise ValueError(f"X lacks columns that the model was fitted with: {absent}.")
    return X[names]
