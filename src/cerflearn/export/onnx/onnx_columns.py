"""Which columns of its input the parts of a model read, and how."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from cerflearn.export.program import column_index, is_idle

_ENCODES = (OneHotEncoder, OrdinalEncoder, TargetEncoder)


def code_columns(estimator: Any, n_columns: int) -> frozenset[int]:
    """Positions of columns of which an encoder makes something: other numbers are other codes."""
    readers = _readers(estimator, np.arange(n_columns), first=True)
    found = (columns for part, columns, _ in readers if isinstance(part, _ENCODES))
    return frozenset(int(column) for columns in found for column in columns)


def marked_columns(estimator: Any, n_columns: int) -> dict[int, float]:
    """Numbers that mean missing, by the position of the column."""
    return {
        int(column): float(part.missing_values)
        for part, columns, first in _readers(estimator, np.arange(n_columns), first=True)
        if first and isinstance(part, SimpleImputer) and _is_marker(part.missing_values)
        for column in columns
    }


def _is_marker(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not math.isnan(value)


def _readers(estimator: Any, columns: Any, first: bool) -> Iterator[tuple[Any, Any, bool]]:
    """Parts, columns of the input they read, and whether they read them as they are.

    A part after the first one of a Pipeline may read any of its columns.
    """
    if isinstance(estimator, ColumnTransformer):
        for _, part, given in estimator.transformers_:
            chosen = columns[column_index(estimator, given, len(columns))] if first else columns
            yield from _readers(part, chosen, first)
    elif isinstance(estimator, FeatureUnion):
        for _, part in estimator.transformer_list:
            yield from _readers(part, columns, first)
    elif isinstance(estimator, Pipeline):
        parts = [step for _, step in estimator.steps if not is_idle(step)]
        for place, part in enumerate(parts):
            if place > 0 and isinstance(parts[0], ColumnTransformer):
                return  # its own parts are all that reads columns
            yield from _readers(part, columns, first and place == 0)
    else:
        yield estimator, columns, first
