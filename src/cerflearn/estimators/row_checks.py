"""Checks of the blocks of a source, with errors that name the block."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from cerflearn._typing import FloatArray
from cerflearn.blocks.row_source import RowSource


class BlockReader:
    """Checks blocks of a source one after the other: width, numbers, targets.

    Parameters
    ----------
    source : RowSource
        For errors.

    Attributes
    ----------
    lowest, highest : ndarray of shape (n_features,) or None
        Of the blocks read so far.
    """

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._width: int | None = None
        self._has_target: bool | None = None
        self.lowest: FloatArray | None = None
        self.highest: FloatArray | None = None

    def read(self, index: int, given: Any, y: Any) -> tuple[Any, Any]:
        """Return X as numbers, and y; ``ValueError`` if they do not fit or are not finite."""
        where = self._source.describe(index)
        if getattr(given, "ndim", None) != 2:
            shape = getattr(given, "shape", None)
            kind = type(given).__name__ if shape is None else f"the shape {shape}"
            raise ValueError(f"X of {where} must be an array of two dimensions, it has {kind}.")
        if self._width is None:
            self._width = given.shape[1]
        if given.shape[1] != self._width:
            raise ValueError(
                f"{where} has {given.shape[1]} columns, the blocks before it have {self._width}."
            )
        self._check_target(given, y, where)
        X = as_numbers(given, where)
        check_finite_block(X, where)
        if X.shape[0]:
            self._widen(X)
        return X, y

    def _check_target(self, X: Any, y: Any, where: str) -> None:
        if self._has_target is None:
            self._has_target = y is not None
        if self._has_target != (y is not None):
            has, others = ("no", "have one") if y is None else ("a", "have none")
            raise ValueError(f"{where} has {has} target, the blocks before it {others}.")
        if y is not None and len(y) != X.shape[0]:
            raise ValueError(f"{where} has {X.shape[0]} rows and {len(y)} targets.")

    def _widen(self, X: Any) -> None:
        lowest, highest = column_range(X)
        self.lowest = lowest if self.lowest is None else np.minimum(self.lowest, lowest)
        self.highest = highest if self.highest is None else np.maximum(self.highest, highest)


def as_numbers(X: Any, where: str) -> Any:
    """Rows of an array or sparse matrix in float32 or float64; ``ValueError`` for text."""
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{where} holds values of the type {X.dtype}, not real numbers.")
    if issparse(X):
        X = X.tocsr()
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def check_finite_block(X: Any, where: str) -> None:
    """Refuse NaN and infinity."""
    values = X.data if issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return
    what = "NaN" if np.isnan(values).any() else "infinity"
    row = ""
    if not issparse(X):
        row = f" in row {int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])}"
    raise ValueError(f"{where} contains {what}{row}. Fill missing values first, or drop such rows.")


def column_range(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column of an array or CSR matrix, (n_features,)."""
    lowest, highest = X.min(axis=0), X.max(axis=0)
    if issparse(X):
        lowest, highest = lowest.toarray().ravel(), highest.toarray().ravel()
    return np.asarray(lowest), np.asarray(highest)


def digest_of(X: Any) -> int:
    """Return a number that differs, most likely, if the rows do."""
    parts = (X.data, X.indices, X.indptr) if issparse(X) else (X,)
    value = 0
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).data, value)
    return value


def join_targets(parts: list[NDArray[Any]], name: str) -> NDArray[Any]:
    """Targets of all blocks, one behind the other."""
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise ValueError(f"The targets of {name} have different numbers of columns in its blocks.")
    if len({part.dtype.kind in "OSUT" for part in parts if len(part)}) > 1:
        raise ValueError(f"The target of {name} is text in some blocks and a number in others.")
    return np.concatenate(parts)
