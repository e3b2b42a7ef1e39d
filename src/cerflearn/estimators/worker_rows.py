"""Rows of a source that the workers of a Dask cluster read themselves, each those of its tasks."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from cerflearn.blocks.row_source import RowSource
from cerflearn.engine.dask_engine import Partitions, active_client, compute
from cerflearn.estimators.dask_rows import ClusterRows, JoinedRows
from cerflearn.estimators.row_checks import (
    BlockReader,
    SeenBlocks,
    checksum_of,
    join_targets,
    shared_text,
)

CHECK_TASKS = 256
"""Tasks of the first pass, at most: each opens the source."""


class WorkerRows(ClusterRows):
    """Rows of a source, checked by the workers in a first pass; its blocks are the partitions.

    Parameters
    ----------
    source : RowSource
        Sent to the workers, who must be able to read what it reads.
    """

    def __init__(self, source: RowSource) -> None:
        _check_sendable(source)
        self.name, self.feature_names = source.name, source.feature_names
        found = _check_blocks(source)
        filled = [block for block in found if block.n_rows]
        if not filled:
            raise ValueError(f"{self.name} has no rows.")
        self._check_widths(source, found)
        lengths = [block.n_rows for block in found]
        self.shape = (sum(lengths), filled[0].width)
        self.dtype = np.result_type(*(block.dtype for block in filled))
        self.lowest = np.min([block.lowest for block in filled], axis=0)
        self.highest = np.max([block.highest for block in filled], axis=0)
        texts: dict[str, str] = {}
        targets = [shared_text(block.y, texts) for block in found if block.y is not None]
        self.y = join_targets(targets, self.name) if targets else None
        digests = None if found[0].digest is None else [block.digest for block in found]
        seen = SeenBlocks(source.without_target(), lengths, self.shape[1], digests)
        self._seen, self._join = seen, JoinedRows(self.dtype)
        self._partitions = Partitions(range(len(found)), lengths, CutBlocks(seen, self._join))

    def describe(self, row: int) -> str:
        """Return what errors call a row: its place in its block."""
        return self._seen.describe_row(row)

    @staticmethod
    def _check_widths(source: RowSource, found: list[CheckedBlock]) -> None:
        """Compare blocks that different workers have read."""
        first = found[0]
        for index, block in enumerate(found):
            where = source.describe(index)
            if block.width != first.width:
                raise ValueError(
                    f"{where} has {block.width} columns, the blocks before it have {first.width}."
                )
            if (block.y is None) != (first.y is None):
                raise ValueError(f"{where} and block 0 differ in whether they have a target.")


class CutBlocks:
    """Reads blocks of a source, in a worker, and joins some of their rows.

    Parameters
    ----------
    seen : SeenBlocks
        The source.
    join : callable
        Makes one table of several.
    """

    def __init__(self, seen: SeenBlocks, join: JoinedRows) -> None:
        self.seen, self.join = seen, join

    def __call__(self, blocks: list[int], places: list[Any]) -> Any:
        """Rows at a place in each of the blocks, which ascend."""
        wanted = dict(zip(blocks, places, strict=True))
        read = islice(self.seen.read(blocks[0]), blocks[-1] + 1 - blocks[0])
        parts = []
        for index, rows in enumerate(read, blocks[0]):
            if index in wanted:
                parts.append(rows[wanted[index]])
        return self.join(parts)


class CheckedBlock:
    """What a worker tells about a block of the first pass.

    Parameters
    ----------
    X : {ndarray, CSR matrix}
        Its rows, checked.
    y : ndarray or None
        Its targets.
    reader : BlockReader
        That has read this block alone.
    with_digest : bool
        Whether only the rows tell if the source changes.
    """

    def __init__(self, X: Any, y: Any, reader: BlockReader, with_digest: bool) -> None:
        self.n_rows, self.width = X.shape
        self.dtype, self.y = X.dtype, y
        self.lowest: Any = reader.lowest
        self.highest: Any = reader.highest
        self.digest: Any = checksum_of(X) if with_digest else None


def _check_sendable(source: RowSource) -> None:
    """Refuse sources that workers cannot read, and a cluster that is not there."""
    if active_client() is None:
        raise ValueError(
            "engine='dask' needs a cluster, and there is no active client. Make one first: "
            "from distributed import Client; client = Client('tcp://scheduler:8786'), or Client() "
            "for the cores of this machine (pip install 'cerflearn[dask]')."
        )
    if source.read_once:
        raise ValueError(
            f"{source.name} can be read once only, and workers read it one by one: pass "
            "from_blocks the function that makes the iterator, or leave engine='dask' out."
        )
    if source.in_memory:
        raise ValueError(
            f"{source.name} holds its blocks in memory here, where workers cannot read them: pass "
            "a Dask array, a file or a function that reads blocks, or leave engine='dask' out."
        )
    from distributed.protocol.pickle import dumps

    try:
        dumps(source)
    except Exception as error:
        raise TypeError(
            f"{source!r} cannot be sent to the workers of the cluster ({error}): make it of files "
            "or of a function that can be pickled, or leave engine='dask' out."
        ) from error


def _check_blocks(source: RowSource) -> list[CheckedBlock]:
    """Let workers read all blocks once."""
    from dask import delayed

    n_blocks, version = source.n_blocks(), source.version()
    n_each = max(1, -(-n_blocks // CHECK_TASKS))
    check = delayed(_check_some, pure=False)
    shared = delayed((source, version), traverse=False)
    runs = [(i, min(i + n_each, n_blocks)) for i in range(0, n_blocks, n_each)]
    found: list[CheckedBlock] = []
    for part in compute(lambda: [check(shared, *run) for run in runs]):
        if isinstance(part, str):
            raise ValueError(part)
        found += part
    SeenBlocks(source, [], 0, None, version).check_version()
    return found


def _check_some(shared: tuple[RowSource, Any], first: int, last: int) -> Any:
    """Task: what blocks ``[first, last)`` hold; or what is wrong with one of them, as text."""
    source, version = shared
    found = []
    try:
        SeenBlocks(source, [], 0, None, version).check_version()
        for index, (given, y) in enumerate(islice(source.blocks(first), last - first), first):
            reader = BlockReader(source)
            X, y = reader.read(index, given, y)
            found.append(CheckedBlock(X, y, reader, version is None))
    except (ValueError, FileNotFoundError) as error:
        missing = isinstance(error, FileNotFoundError)
        hint = " All workers of the cluster must be able to read it." if missing else ""
        return f"{error}{hint}"
    return found
