"""Blocks that can be read once only, and a temporary file that keeps them for further passes."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from weakref import finalize

import numpy as np

from cerflearn.blocks.row_source import RowBlock, RowSource, as_pair


class OnceSource(RowSource):
    """Blocks of an iterator, for a single pass; see :func:`from_blocks`.

    Parameters
    ----------
    blocks : iterator
        Of X or pairs (X, y).
    name : str
        For errors.
    """

    read_once = True

    def __init__(self, blocks: Iterator[Any], name: str) -> None:
        self._blocks: Iterator[Any] | None = blocks
        self.name = name

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`; ``ValueError`` in a second pass."""
        blocks, self._blocks = self._blocks, None
        if blocks is None:
            raise ValueError(
                f"{self.name} can be read once only, and has been read: make it anew, or pass "
                "from_blocks the function that makes the iterator."
            )
        for index, block in enumerate(blocks):
            if index >= first:
                yield as_pair(block, self.name)

    def __repr__(self) -> str:
        return f"OnceSource({self.name}, can be read once only)"


class SpooledSource(RowSource):
    """Blocks of a source that can be read once, kept in a temporary file for further passes.

    The first pass reads the source and writes its rows, all others read the file. It is deleted
    with this object, or when the process ends in whatever way: it has no name in its folder.

    Parameters
    ----------
    source : RowSource
        To be read in the first pass, which must be a whole one. Targets come in this pass alone.
    """

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self.name, self.feature_names = source.name, source.feature_names
        self.folder = tempfile.gettempdir()
        self._file = tempfile.TemporaryFile(suffix=".npy")  # noqa: SIM115  # kept for all passes
        finalize(self, self._file.close)
        self._places: list[tuple[int, Any, tuple[int, ...]]] | None = None
        self._lock = threading.Lock()

    def version(self) -> Any:
        """Return a constant: nobody else can change the file."""
        return "kept"

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`."""
        if self._places is None:
            yield from self._keep()
            return
        for place in self._places[first:]:
            yield self._load(*place), None

    def _keep(self) -> Iterator[RowBlock]:
        """Yield blocks of the source and write them, each after the caller has accepted it."""
        places = []
        for X, y in self._source.blocks():
            yield X, y
            is_sparse = hasattr(X, "tocsr")
            table = X.tocsr() if is_sparse else X
            arrays = (table.data, table.indices, table.indptr) if is_sparse else (table,)
            places.append((self._file.tell(), type(table) if is_sparse else None, table.shape))
            self._write(arrays)
        self._places = places

    def _write(self, arrays: Iterable[Any]) -> None:
        """Append arrays; the file is deleted if they cannot be written."""
        try:
            for array in arrays:
                np.save(self._file, array, allow_pickle=False)
            self._file.flush()
        except OSError as error:
            with suppress(OSError):  # of what could not be written
                self._file.close()
            raise type(error)(
                error.errno,
                f"The temporary file in {self.folder} that keeps the rows of {self.name} cannot "
                f"be written: {error.strerror}. Name a folder with more room in TMPDIR, or pass "
                "from_blocks the function that makes the iterator, which needs no file",
            ) from error

    def _load(self, place: int, sparse: Any, shape: tuple[int, ...]) -> Any:
        """Read one block."""
        with self._lock:
            self._file.seek(place)
            if sparse is None:
                return np.load(self._file, allow_pickle=False)
            arrays = tuple(np.load(self._file, allow_pickle=False) for _ in range(3))
        return sparse(arrays, shape=shape)
