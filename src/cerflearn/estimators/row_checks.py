"""Checks of the blocks of a source, with errors that name the block."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from cerflearn._typing import FloatArray
from cerflearn.blocks.row_source import RowSource
from cerflearn.linalg.row_slices import column_range


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
        if not hasattr(given, "dtype") or given.ndim != 2:
            kind = f"has the shape {given.shape}" if hasattr(given, "dtype") else ""
            kind = kind or f"is a {type(given).__name__}"
            raise ValueError(f"X of {where} must be an array of two dimensions, it {kind}.")
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


class SeenBlocks:
    """Blocks of a source that a first pass has checked: further passes must yield the same.

    Parameters
    ----------
    source : RowSource
        The source.
    lengths : sequence of int
        Rows of its blocks.
    width : int
        Number of columns.
    digests : list of int or None
        Of the blocks, where the source has no version.
    version : object, optional
        Of the source in the first pass; None asks it now.
    """

    def __init__(
        self,
        source: RowSource,
        lengths: Sequence[int],
        width: int,
        digests: list[int] | None,
        version: Any = None,
    ) -> None:
        self.source, self.width, self.digests = source, width, digests
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.version = source.version() if version is None else version

    def read(self, first: int) -> Iterator[Any]:
        """Yield rows of each block from ``first`` on; ``ValueError`` if they are other ones."""
        blocks = self.source.blocks(first)
        for index in range(first, len(self.starts) - 1):
            self.check_version()
            given, _ = next(blocks, (None, None))
            expected = int(self.starts[index + 1] - self.starts[index])
            if given is None or np.shape(given) != (expected, self.width):
                raise self._changed(index)
            X = as_numbers(given, self.source.describe(index))
            if self.digests is None:
                yield X
                continue
            if checksum_of(X) != self.digests[index]:
                raise self._changed(index)
            yield X.copy()  # a function of the user's may fill one array again and again

    def check_version(self) -> None:
        """Refuse a source that has changed."""
        if self.version is not None and self.source.version() != self.version:
            raise ValueError(
                f"{self.source.name} has changed since it was first read: each pass must read the "
                "same rows. Write it under another name, and fit again."
            )

    def describe_row(self, row: int) -> str:
        """Return what errors call a row: its place in its block."""
        block = int(np.searchsorted(self.starts, row, side="right")) - 1
        return f"row {row - int(self.starts[block])} of {self.source.describe(block)}"

    def _changed(self, index: int) -> ValueError:
        return ValueError(
            f"{self.source.describe(index)} is not what it was in the first pass: a source must "
            "yield the same blocks in every pass."
        )


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


def checksum_of(X: Any) -> int:
    """Return a number that differs, most likely, if the rows do."""
    parts = (X.data, X.indices, X.indptr) if issparse(X) else (X,)
    value = 0
    for part in parts:
        value = zlib.crc32(np.ascontiguousarray(part).data, value)
    return value


def shared_text(y: Any, known: dict[str, str]) -> NDArray[Any]:
    """Copy of some targets in which equal texts are one object: 8 bytes a row.

    Parameters
    ----------
    y : array-like
        Targets.
    known : dict
        Texts so far, which is added to.
    """
    targets = np.array(y)
    if targets.dtype == object:
        values = targets.ravel().tolist()
        targets.flat[:] = [known.setdefault(v, v) if isinstance(v, str) else v for v in values]
    return targets


def join_targets(parts: list[NDArray[Any]], name: str) -> NDArray[Any]:
    """Targets of all blocks, one behind the other."""
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise ValueError(f"The targets of {name} have different numbers of columns in its blocks.")
    if len({part.dtype.kind in "OSUT" for part in parts if len(part)}) > 1:
        raise ValueError(f"The target of {name} is text in some blocks and a number in others.")
    return np.concatenate(parts)


def first_missing(y: Any) -> int | None:
    """Return the first row without a target, None or NaN in an array; None if there is no such."""
    if getattr(y, "dtype", None) is None or y.dtype.kind not in ("f", "O"):
        return None
    missing = np.isnan(y) if y.dtype.kind == "f" else _is_missing(y)
    rows = np.flatnonzero(missing.any(axis=1) if missing.ndim > 1 else missing)
    return int(rows[0]) if len(rows) else None


def _is_missing(y: NDArray[Any]) -> NDArray[Any]:
    """Which objects are None, or numbers that are NaN."""
    flat = [value is None or (isinstance(value, float) and value != value) for value in y.flat]
    return np.reshape(np.array(flat, dtype=bool), y.shape)
