"""Rows of Dask arrays and data frames, which stay where they are: workers compute on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from cerflearn._typing import IntArray
from cerflearn.engine.blocks import Block, BlockSource
from cerflearn.engine.dask_engine import PartitionedSource, Partitions, compute
from cerflearn.estimators.row_checks import (
    as_numbers,
    check_finite_block,
    join_targets,
    shared_text,
)
from cerflearn.estimators.streamed_rows import StreamedRows
from cerflearn.features.level import SameLevel
from cerflearn.linalg.row_slices import column_range

LEAST_ROWS = 64
"""Rows that outputs are computed of at once, at least: for fewer the core sums otherwise."""


class ClusterRows(StreamedRows):
    """Rows that workers read and compute on; what is asked for here is sent."""

    _partitions: Partitions
    _join: JoinedRows

    def map_ranges(self, function: Callable[[Any], Any], n_rows: int) -> Iterator[Any]:
        """Yield ``function`` of each ``n_rows`` rows, computed by the workers."""
        yield from self._partitions.map_ranges(function, n_rows)

    def block_source(self, function: Callable[[Any, Any], Block], y: Any) -> BlockSource:
        """Return blocks that the workers compute.

        Parameters
        ----------
        function : callable
            Arrays of some rows and of what belongs to them.
        y : ClusterRows, StreamedRows, ndarray or None
            What belongs to the rows; that which is not on the cluster is read into memory.
        """
        if isinstance(y, ClusterRows):
            y = y._partitions
        elif isinstance(y, StreamedRows):
            y = y[:]
        return PartitionedSource(self._partitions, SameLevel(function), y)

    def _slice(self, start: int, stop: int) -> Any:
        if stop <= start:
            return np.empty((0, self.shape[1]), self.dtype)
        return self._take(np.arange(start, stop))

    def _take(self, index: IntArray) -> Any:
        return self._join(self._partitions.take(index))


class DaskRows(ClusterRows):
    """X of a Dask collection, checked by the workers in a first pass.

    Parameters
    ----------
    X : dask array or data frame
        Rows; unknown chunk sizes are found out once.
    y : object
        Targets: a Dask array or series, which is computed and kept here, or anything else.
    """

    def __init__(self, X: Any, y: Any = None) -> None:
        from dask import delayed

        self.name = "the Dask collection"
        self.feature_names = frame_names(X)
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions: it must have two.")
        parts = partitions_of(X)
        inspect = delayed(_inspect, pure=False)
        found = compute(lambda: [inspect(part, index) for index, part in enumerate(parts)])
        for item in found:
            if isinstance(item, str):
                raise ValueError(item)
        filled = [item for item in found if item[0]]
        if not filled:
            raise ValueError(f"{self.name} has no rows.")
        lengths = [item[0] for item in found]
        self.shape = (sum(lengths), len(filled[0][2]))
        widths = [len(item[2]) for item in filled]
        if len(set(widths)) > 1:
            other = next(i for i, item in enumerate(found) if item[0] and len(item[2]) != widths[0])
            raise ValueError(
                f"Partition {other} of X has another number of columns than the first."
            )
        self.dtype = np.result_type(*(item[1] for item in filled))
        self.lowest = np.min([item[2] for item in filled], axis=0)
        self.highest = np.max([item[3] for item in filled], axis=0)
        self._join = JoinedRows(self.dtype)
        self._partitions = Partitions(parts, lengths, CutTables(self._join))
        self.y = compute_target(y)


class JoinedRows:
    """Makes one array, or CSR matrix, of rows of several tables, in one dtype.

    Parameters
    ----------
    dtype : dtype
        Float32 or float64.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    def __call__(self, tables: list[Any]) -> Any:
        """Join."""
        parts = [as_table(table, "X") for table in tables]
        if any(map(issparse, parts)):
            return vstack(parts, format="csr").astype(self.dtype, copy=False)
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return np.ascontiguousarray(rows, dtype=self.dtype)


class CutTables:
    """Cuts rows out of tables, and joins them.

    Parameters
    ----------
    join : callable
        Makes one table of several.
    """

    def __init__(self, join: JoinedRows) -> None:
        self.join = join

    def __call__(self, tables: list[Any], places: list[Any]) -> Any:
        """Rows at a place in each table."""
        pairs = zip(tables, places, strict=True)
        return self.join([(t.iloc if hasattr(t, "iloc") else t)[place] for t, place in pairs])


def frame_names(X: Any) -> list[str] | None:
    """Names of the columns of a data frame, if all are text."""
    names = [*getattr(X, "columns", ())]
    return names if names and all(isinstance(name, str) for name in names) else None


def partitions_of(X: Any) -> list[Any]:
    """Delayed tables of rows of an array, data frame or series."""
    if hasattr(X, "columns"):
        return list(X.to_delayed())
    X = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
    parts = X.to_delayed()
    return list(parts.ravel() if hasattr(parts, "ravel") else parts)


def compute_target(y: Any) -> Any:
    """Targets in memory."""
    if not hasattr(y, "to_delayed"):
        return y
    parts, texts = partitions_of(y), dict[str, str]()
    return join_targets([shared_text(part, texts) for part in compute(lambda: parts)], "y")


def as_table(table: Any, where: str) -> Any:
    """Rows of an array, a sparse matrix or a pandas frame, as numbers."""
    if hasattr(table, "iloc"):
        for name, dtype in table.dtypes.items():
            if getattr(dtype, "kind", "O") not in "biuf":
                raise ValueError(f"The column {name!r} of {where} has the type {dtype}: encode it.")
        table = table.to_numpy()
    return as_numbers(table if issparse(table) else np.asarray(table), where)


def partition_name(index: int) -> str:
    """Return what errors call a partition."""
    return f"partition {index} of X"


def _inspect(table: Any, index: int) -> Any:
    """Task: rows, dtype and range of a partition; or what is wrong with it, as text."""
    where = partition_name(index)
    try:
        rows = as_table(table, where)
        check_finite_block(rows, where)
    except ValueError as error:
        return str(error)
    n_rows = int(rows.shape[0])
    return (n_rows, rows.dtype, *column_range(rows)) if n_rows else (0, rows.dtype, None, None)


def lazy_output(X: Any, run: Callable[[Any], Any]) -> Any:
    """Dask array of the outputs of each partition, computed when it is asked for.

    Parameters
    ----------
    X : dask array or data frame
        Rows.
    run : callable
        Outputs of rows in memory; sent to the workers.
    """
    if hasattr(X, "columns"):
        X = X.to_dask_array()
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    like = run(np.zeros((1, X.shape[1]), dtype))[:0]  # shape and dtype of the outputs
    output, settings = _LazyOutput(SameLevel(run), like, dtype), {"dtype": like.dtype, "meta": like}
    if like.ndim == 1:
        return X.map_blocks(output, drop_axis=1, **settings)
    return X.map_blocks(output, chunks=(X.chunks[0], (like.shape[1],)), **settings)


class _LazyOutput:
    """Outputs of a partition, each row with the bits it has among many rows."""

    def __init__(self, run: Callable[[Any], Any], like: Any, dtype: Any) -> None:
        self.run, self.like, self.dtype = run, like, dtype

    def __call__(self, table: Any, block_id: tuple[int, ...] | None = None) -> Any:
        # Dask gives the number of the partition to an argument of this name.
        where = "X" if block_id is None else partition_name(block_id[0])
        rows = as_table(table, where).astype(self.dtype, copy=False)
        n_rows = int(rows.shape[0])
        if n_rows == 0:
            return self.like
        check_finite_block(rows, where)
        if n_rows < LEAST_ROWS and not issparse(rows):
            rows = np.concatenate(
                [rows, np.zeros((LEAST_ROWS - n_rows, rows.shape[1]), self.dtype)]
            )
        return self.run(rows)[:n_rows]
