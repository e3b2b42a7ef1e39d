"""Rows to check an exported model with: given ones as inputs of a graph, or rows that are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import Float64Array
from cerflearn.export.drawn_rows import framed_rows
from cerflearn.export.frames import chooses_by_name, fitted_columns
from cerflearn.export.onnx.onnx_bounds import UNIT_ROUNDOFF
from cerflearn.export.onnx.onnx_columns import code_columns, marked_columns
from cerflearn.export.steps import Program

MOST_CHECKED_ROWS = 10_000
"""Rows of those given that are compared; of more, so many at equal distances."""

_STRETCHED_ROWS = 1_000
_STRETCH = 3.0  # distance from the middle of a column, over that of the row it is made of


@dataclass(frozen=True, eq=False)
class InputRows:
    """Rows as the estimator takes them, rounded to the dtype of the graph.

    Attributes
    ----------
    data : ndarray or DataFrame
        Numbers in float64 that float32 can hold if that is the dtype.
    by_column : bool
        Whether the graph has an input for each column, not one matrix.
    name : str
        Name of the matrix.
    dtype : str
        Of numbers in the graph.
    drawn : bool
        Whether the rows were drawn.
    codes : frozenset of int, default=()
        Positions of columns that an encoder reads, of which other numbers are other categories.
    markers : dict of int to float
        Numbers that mean missing, by the position of the column; they are not rounded.
    """

    data: Any
    by_column: bool
    name: str
    dtype: str
    drawn: bool
    codes: frozenset[int] = frozenset()
    markers: dict[int, float] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.shape[0])

    def numbers(self) -> Float64Array:
        """Return a matrix in which text is NaN; steps that are known read none."""
        if not hasattr(self.data, "iloc"):
            return np.asarray(self.data, dtype=np.float64)
        absent = np.full(self.n_rows, np.nan)
        columns = (self.data[column] for column in self.data.columns)
        return np.column_stack([c.to_numpy() if _is_number(c) else absent for c in columns])

    def initial_types(self) -> list[tuple[str, Any]]:
        """Names and types of the inputs, for skl2onnx."""
        from skl2onnx.common import data_types

        double = self.dtype == "float64"
        number = data_types.DoubleTensorType if double else data_types.FloatTensorType
        if not self.by_column:
            return [(self.name, number([None, self.data.shape[1]]))]
        text = data_types.StringTensorType
        return [
            (str(column), (number if _is_number(self.data[column]) else text)([None, 1]))
            for column in self.data.columns
        ]

    def feed(self, rows: slice) -> dict[str, Any]:
        """Make inputs of the graph of some rows."""
        if not self.by_column:
            return {self.name: np.ascontiguousarray(self.data, dtype=self.dtype)[rows]}
        feeds = {}
        for column in self.data.columns:
            values = self.data[column].iloc[rows].to_numpy()
            kind = self.dtype if _is_number(self.data[column]) else np.object_
            feeds[str(column)] = np.asarray(values).astype(kind)[:, None]
        return feeds

    def perturbed(self, data: Any, seed: int) -> Any:
        """Rows whose numbers are rounded otherwise, codes excepted."""
        rng, unit = np.random.default_rng(seed), UNIT_ROUNDOFF[self.dtype]

        def moved(values: Any) -> Any:
            size = np.abs(values) + np.nanstd(values, axis=0)
            return values + unit * size * rng.choice([-1.0, 1.0], size=values.shape)

        return self._changed(data, moved)

    def stretched(self) -> InputRows:
        """At most 1,000 of the rows, with numbers outside their range, where bounds are seen."""

        def far(values: Any) -> Any:
            low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
            middle = 0.5 * low + 0.5 * high
            with np.errstate(over="ignore", invalid="ignore"):
                moved = (middle + _STRETCH * (values - middle)).astype(self.dtype)
            return np.where(np.isfinite(moved), moved.astype(np.float64), values)

        return replace(self, data=self._changed(some_rows(self.data, _STRETCHED_ROWS), far))

    def _changed(self, data: Any, function: Any) -> Any:
        """Rows whose numbers are changed, codes and markers excepted."""
        changed, kept = _on_numbers(data, function), sorted(self.codes)
        if kept and hasattr(data, "iloc"):
            names = data.columns[kept]
            changed[names] = data[names]
        elif kept:
            changed[:, kept] = data[:, kept]
        return _with_markers(changed, data, self.markers, np.float64)


def given_rows(estimator: Any, X: Any, dtype: str, name: str, by_column: bool | None) -> InputRows:
    """Read rows that the user gives.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : {array_like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Rows.
    dtype : {"float32", "float64"}
        What numbers are rounded to.
    name : str
        Of the matrix.
    by_column : bool or None
        Whether each column is an input; None: if some are no numbers, or chosen by name.
    """
    if not hasattr(X, "iloc") and not issparse(X):
        X = X.to_pandas() if hasattr(X, "to_pandas") else np.asarray(X)
    X = some_rows(X, MOST_CHECKED_ROWS)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"X must be rows and columns, with a row at least, not {X.shape}.")
    n_inputs = getattr(estimator, "n_features_in_", X.shape[1])
    if X.shape[1] != n_inputs and not hasattr(X, "iloc"):  # of a frame, columns are chosen
        raise ValueError(f"X of shape {X.shape} must have rows of {n_inputs} inputs.")
    is_frame = hasattr(X, "iloc")
    if not is_frame and X.dtype.kind not in "biuf":
        X = _as_numbers(X)
    X = fitted_columns(estimator, X)
    if by_column is None:
        by_column = is_frame and (chooses_by_name(estimator) or not _all_numbers(X))
    if by_column and not is_frame:
        raise ValueError("by_column=True needs X as a DataFrame, whose columns have names.")

    def rounded(values: Any) -> Float64Array:
        return np.asarray(values).astype(dtype).astype(np.float64)

    n_columns = getattr(estimator, "n_features_in_", X.shape[1])
    markers = marked_columns(estimator, n_columns)
    data = _with_markers(_on_numbers(X, rounded), X, markers, dtype)
    codes = code_columns(estimator, n_columns)
    return InputRows(data, by_column, name, dtype, drawn=False, codes=codes, markers=markers)


def _as_numbers(X: Any) -> Float64Array:
    """Return numbers in an array of any type."""
    try:
        return np.asarray(X.astype(np.float64))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "X holds text: pass a DataFrame, each column of which becomes an input."
        ) from error


def some_rows(X: Any, most: int) -> Any:
    """Take at most so many rows, at equal distances, as an array or frame."""
    X = X.tocsr() if issparse(X) else X
    n_rows = X.shape[0] if X.ndim else 0
    if n_rows > most:
        chosen = np.linspace(0, n_rows - 1, most).astype(np.int64)
        X = X.iloc[chosen] if hasattr(X, "iloc") else X[chosen]
    return X.toarray() if issparse(X) else X


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "biuf"


def _all_numbers(frame: Any) -> bool:
    return all(_is_number(frame[column]) for column in frame.columns)


def _on_numbers(data: Any, function: Any) -> Any:
    """Apply a function to a matrix, or to the columns of a frame that are numbers."""
    if not hasattr(data, "iloc"):
        return function(data)
    changed = data.copy()
    for column in data.columns:
        if _is_number(data[column]):
            changed[column] = function(data[column].to_numpy())
    return changed


def _with_markers(changed: Any, data: Any, markers: dict[int, float], dtype: Any) -> Any:
    """Rows with the markers of others, which they are if they are the same number in a dtype."""
    for place, marker in markers.items():
        is_frame = hasattr(data, "iloc")
        column = data.iloc[:, place] if is_frame else data[:, place]
        if not _is_number(column):
            continue
        absent = np.asarray(column).astype(dtype) == np.float64(marker).astype(dtype)
        if is_frame:
            changed.iloc[absent, place] = marker
        else:
            changed[absent, place] = marker
    return changed


def drawn_rows(program: Program, dtype: str, name: str, by_column: bool | None) -> InputRows:
    """Draw rows, as :func:`~cerflearn.export.drawn_rows.framed_rows` does, rounded to the dtype."""
    data = framed_rows(program, dtype)
    if by_column and not hasattr(data, "iloc"):
        raise ValueError("by_column=True needs names of columns: pass X as a DataFrame.")
    return InputRows(data, bool(by_column), name, dtype, drawn=True)
