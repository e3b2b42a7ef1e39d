"""Rows that are not in memory: what ``fit`` reads of them, block by block.

:class:`StreamedRows` stands for X where an array would: it has a shape and a dtype, and slices of
rows are arrays. :class:`SourceRows` reads them from a source of :mod:`cerflearn.blocks`.
"""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from cerflearn._typing import BoolArray, FloatArray, IntArray
from cerflearn.blocks.once import SpooledSource
from cerflearn.blocks.row_source import RowSource
from cerflearn.estimators.row_checks import (
    BlockReader,
    SeenBlocks,
    checksum_of,
    join_targets,
    shared_text,
)

LAST_READ_ROWS = 32 * 1024
"""Rows of the blocks read last that are kept: threads ask for rows a little out of order."""


class StreamedRows(ABC):
    """X in blocks: finite numbers, float32 or float64.

    Attributes
    ----------
    name : str
        What errors call it.
    shape : tuple of int
        Rows and columns.
    dtype : dtype
        Float32 or float64.
    feature_names : list of str or None
        Names of the columns.
    y : ndarray or None
        Targets of all rows, which are kept in memory.
    lowest, highest : ndarray of shape (n_features,)
        Smallest and largest value of each column.
    """

    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    feature_names: list[str] | None
    y: Any
    lowest: FloatArray
    highest: FloatArray
    ndim = 2

    def varying(self) -> BoolArray:
        """Which columns hold more than one value, (n_features,)."""
        varying: BoolArray = self.highest > self.lowest
        return varying

    def max(self) -> Any:
        """Return the largest value."""
        return self.highest.max()

    def min(self) -> Any:
        """Return the smallest value."""
        return self.lowest.min()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> Any:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            assert step == 1
            return self._slice(start, max(start, stop))
        return self._take(np.asarray(rows, dtype=np.int64))

    def describe(self, row: int) -> str:
        """Return what errors call a row."""
        return f"row {row} of {self.name}"

    def map_ranges(self, function: Callable[[Any], Any], n_rows: int) -> Iterator[Any]:
        """Yield ``function`` of each ``n_rows`` rows, in their order."""
        for start in range(0, self.shape[0], n_rows):
            yield function(self[start : start + n_rows])

    @abstractmethod
    def _slice(self, start: int, stop: int) -> Any:
        """Rows ``[start, stop)``, an array in C order or a CSR matrix."""

    @abstractmethod
    def _take(self, index: IntArray) -> Any:
        """Rows with ascending numbers."""


class SourceRows(StreamedRows):
    """Rows of a source, all checked in a first pass.

    Parameters
    ----------
    source : RowSource
        Where they come from. Rows of one that can be read once only are kept in a file.

    Notes
    -----
    Blocks are read one after the other; asking for rows before those that are kept starts the
    source anew. Several threads may ask.
    """

    def __init__(self, source: RowSource) -> None:
        self.source = source = kept_in_file(source) if source.read_once else source
        self.name, self.feature_names = source.name, source.feature_names
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._n_kept = 0
        self._lock = threading.Lock()
        self._running: Iterator[Any] | None = None
        self._next = 0
        self._check()

    def _check(self) -> None:
        """Go through all blocks once."""
        source, lengths, targets = self.source, [], []
        version, reader = source.version(), BlockReader(source)
        # Nothing is known of the blocks yet, but the version of the whole is.
        unread = SeenBlocks(source, [], 0, None, version)
        digests: list[int] = []
        dtypes: set[np.dtype[Any]] = set()
        texts: dict[str, str] = {}
        for index, (given, y) in enumerate(source.blocks()):
            X, y = reader.read(index, given, y)
            lengths.append(X.shape[0])
            dtypes.add(X.dtype)
            if y is not None:
                targets.append(shared_text(y, texts))
            if version is None:
                digests.append(checksum_of(X))
            unread.check_version()
        n_rows = sum(lengths)
        if n_rows == 0 or reader.lowest is None or reader.highest is None:
            raise ValueError(f"{self.name} has no rows.")
        self.shape = (n_rows, len(reader.lowest))
        kept = digests if version is None else None
        self._seen = SeenBlocks(source, lengths, self.shape[1], kept, version)
        self._starts = self._seen.starts
        self.lowest, self.highest = reader.lowest, reader.highest
        self.dtype = np.result_type(*dtypes)
        self.y = join_targets(targets, self.name) if targets else None

    def describe(self, row: int) -> str:
        """Return what errors call a row: its place in its block."""
        return self._seen.describe_row(row)

    def _slice(self, start: int, stop: int) -> Any:
        if stop <= start:
            return self._joined([self._block(0)[:0]])
        parts = [self._block(index)[slice(*local)] for index, local in self._places(start, stop)]
        return self._joined(parts)

    def _take(self, index: IntArray) -> Any:
        blocks = np.searchsorted(self._starts, index, side="right") - 1
        parts = [
            self._block(int(block))[index[blocks == block] - self._starts[block]]
            for block in np.unique(blocks)
        ]
        return self._joined(parts)

    def _joined(self, parts: list[Any]) -> Any:
        if any(map(issparse, parts)):
            return vstack(parts, format="csr").astype(self.dtype, copy=False)
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return np.ascontiguousarray(rows, dtype=self.dtype)

    def _places(self, start: int, stop: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Blocks that rows lie in, with the range in each."""
        begin = int(np.searchsorted(self._starts, start, side="right")) - 1
        end = int(np.searchsorted(self._starts, stop, side="left"))
        for block in range(begin, end):
            first, last = int(self._starts[block]), int(self._starts[block + 1])
            if first < last:
                yield block, (max(start, first) - first, min(stop, last) - first)

    def _block(self, index: int) -> Any:
        """Return rows of X of one block, kept or read."""
        with self._lock:
            kept = self._kept.get(index)
            if kept is not None:
                return kept
            if self._running is None or index < self._next:
                self._running, self._next = self._seen.read(index), index
            while True:
                at = self._next
                self._read_next(at)
                if at == index:
                    return self._kept[index]

    def _read_next(self, index: int) -> None:
        """Read the block that comes next and keep it, without those read long ago."""
        assert self._running is not None
        try:
            X = next(self._running)
        except BaseException:
            self._running = None
            raise
        self._next = index + 1
        if index in self._kept:
            return
        self._kept[index] = X
        self._n_kept += X.shape[0]
        while self._n_kept > LAST_READ_ROWS and len(self._kept) > 2:
            self._n_kept -= self._kept.popitem(last=False)[1].shape[0]

    def __getstate__(self) -> dict[str, Any]:
        """Nothing that is being read."""
        fresh = {"_kept": OrderedDict(), "_n_kept": 0, "_running": None, "_next": 0, "_lock": None}
        return self.__dict__ | fresh

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._lock = threading.Lock()


def kept_in_file(source: RowSource) -> SpooledSource:
    """Source whose rows are written to a temporary file when they are first read; says so."""
    kept = SpooledSource(source)
    warnings.warn(
        f"{source.name} can be read once only: fit keeps its rows in a temporary file in "
        f"{kept.folder}, which is deleted afterwards. Pass from_blocks the function that makes "
        "the iterator to do without.",
        UserWarning,
        stacklevel=2,
    )
    return kept
