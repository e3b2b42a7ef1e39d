"""Sources of row blocks: slices of arrays, or functions that compute the rows they are asked for.

Block i holds the rows ``[i * block_rows, (i + 1) * block_rows)`` of the whole data, for any
caller and in any order of requests.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Block: TypeAlias = tuple[NDArray[Any], ...]

BLOCK_ROWS = 1024
"""Rows of a block. Matrix products of 512 to 4,096 rows ran equally fast (within 5 %); fewer rows
merge more often, more rows need more memory."""

CACHE_BYTES = 2 * 1024**3
"""Default size of a cache of blocks, 2 GiB."""


class BlockSource(ABC):
    """Row blocks on the fixed grid.

    Parameters
    ----------
    n_rows : int
        Number of rows of the whole data.
    block_rows : int, default=1024
        Rows of each block but the last. Another value gives other rounding.
    """

    def __init__(self, n_rows: int, block_rows: int = BLOCK_ROWS) -> None:
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows!r} must be at least 1.")
        self.n_rows = n_rows
        self.block_rows = block_rows

    def __len__(self) -> int:
        return -(-self.n_rows // self.block_rows)

    def rows(self, index: int) -> tuple[int, int]:
        """Return the first row of block ``index`` and the row behind its last."""
        start = index * self.block_rows
        return start, min(start + self.block_rows, self.n_rows)

    def own_engine(self) -> Any:
        """Return the engine of a source that only one engine can run; None for all others."""
        return None

    @abstractmethod
    def block(self, index: int) -> Block:
        """Return the arrays of block ``index``, not to be written to."""


class ArraySource(BlockSource):
    """Blocks cut from arrays or memory maps that have the same rows; nothing is copied.

    Parameters
    ----------
    *arrays : ndarray
        Such as teacher (n_samples, n_outputs) and learner (n_samples, n_candidates).
    block_rows : int, default=1024
        Rows of a block.
    """

    def __init__(self, *arrays: NDArray[Any], block_rows: int = BLOCK_ROWS) -> None:
        lengths = [len(array) for array in arrays]
        if len(set(lengths)) != 1:
            raise ValueError(f"Arrays have different numbers of rows: {lengths}.")
        super().__init__(lengths[0], block_rows)
        self.arrays = arrays

    def block(self, index: int) -> Block:
        """Return slices of the arrays."""
        start, stop = self.rows(index)
        return tuple(array[start:stop] for array in self.arrays)


class ComputedSource(BlockSource):
    """Blocks computed on request.

    Parameters
    ----------
    compute : callable
        ``compute(start, stop)`` returns the arrays of rows ``[start, stop)``, the same bits at
        every call.
    n_rows : int
        Number of rows.
    block_rows : int, default=1024
        Rows of a block.
    """

    def __init__(
        self, compute: Callable[[int, int], Block], n_rows: int, block_rows: int = BLOCK_ROWS
    ) -> None:
        super().__init__(n_rows, block_rows)
        self.compute = compute

    def block(self, index: int) -> Block:
        """Return what ``compute`` gives; ``ValueError`` if it has other rows than asked for."""
        start, stop = self.rows(index)
        block = tuple(self.compute(start, stop))
        lengths = [len(array) for array in block]
        if any(length != stop - start for length in lengths):
            raise ValueError(f"Rows {start} to {stop} were asked for, arrays have {lengths} rows.")
        return block


class CachedSource(BlockSource):
    """Keep blocks of another source until ``max_bytes`` are used; others are requested again.

    Parameters
    ----------
    source : BlockSource
        Where blocks come from; its blocks are pure, so that a kept one has the bits of a new one.
    max_bytes : int, default=2 GiB
        Most memory that kept blocks may use.
    """

    def __init__(self, source: BlockSource, max_bytes: int = CACHE_BYTES) -> None:
        super().__init__(source.n_rows, source.block_rows)
        self.source = source
        self.max_bytes = max_bytes
        self._kept: dict[int, Block] = {}
        self._used_bytes = 0
        self._lock = threading.Lock()

    @property
    def used_bytes(self) -> int:
        """Bytes of the kept blocks."""
        return self._used_bytes

    def block(self, index: int) -> Block:
        """Return the kept block or a new one."""
        kept = self._kept.get(index)
        if kept is not None:
            return kept
        # A view would keep the whole of a larger array alive behind our count of bytes.
        block = tuple(_owned(array) for array in self.source.block(index))
        n_bytes = sum(array.nbytes for array in block)
        with self._lock:
            if index not in self._kept and self._used_bytes + n_bytes <= self.max_bytes:
                self._kept[index] = block
                self._used_bytes += n_bytes
        return block


def _owned(array: NDArray[Any]) -> NDArray[Any]:
    return array if array.base is None else np.array(array)
