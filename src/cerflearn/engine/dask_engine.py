"""Engine on a Dask cluster: blocks and merges are tasks, the bits those of the serial engine.

A pass is one graph: tasks that cut rows out of partitions and run the block function over a run of
2^k blocks, and merges of their results along the tree that all engines use. Everything a task
needs is among its arguments, so that the scheduler runs it anew wherever its worker is lost:
nothing is scattered, and no task is bound to a worker. Dask is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn.engine.blocks import BLOCK_ROWS, Block, BlockSource
from cerflearn.engine.engines import Engine, MergeTree, ResultT, one_thread_blas

MOST_ATTEMPTS = 4
"""Times that a pass is begun where workers die under it. Dask itself gives a task up after the
fourth death (``allowed-failures``); an attempt has new tasks, of which nothing is counted yet."""

TASK_BLOCKS = 16
"""Blocks of a task, at most and a power of two: a task then takes far longer than its overhead of
about a millisecond."""

_LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


class Partitions:
    """Rows in partitions on a cluster.

    Parameters
    ----------
    delayed : sequence of Delayed
        The partitions, each a table of rows.
    lengths : sequence of int
        Their rows; 0 is legal.
    cut : callable
        ``cut(tables)`` makes one array of rows of several, in a worker.
    """

    def __init__(
        self, delayed: Sequence[Any], lengths: Sequence[int], cut: Callable[[list[Any]], Any]
    ) -> None:
        self.delayed = list(delayed)
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.cut = cut

    @property
    def n_rows(self) -> int:
        """Rows of all partitions."""
        return int(self.starts[-1])

    def places(self, start: int, stop: int) -> tuple[list[Any], list[tuple[int, int]]]:
        """Partitions that rows ``[start, stop)`` lie in, and the range in each."""
        begin = int(np.searchsorted(self.starts, start, side="right")) - 1
        end = int(np.searchsorted(self.starts, stop, side="left"))
        tables, local = [], []
        for index in range(begin, end):
            first, last = int(self.starts[index]), int(self.starts[index + 1])
            if first < last:
                tables.append(self.delayed[index])
                local.append((max(start, first) - first, min(stop, last) - first))
        return tables, local

    def map_ranges(self, function: Callable[[Any], Any], n_rows: int) -> list[Any]:
        """Return ``function`` of each ``n_rows`` rows, in their order, computed by the workers."""
        from dask import delayed

        run = delayed(_run_range, pure=False)
        job = delayed((function, self.cut), traverse=False)

        def build() -> list[Any]:
            starts = range(0, self.n_rows, n_rows)
            return [run(job, *self.places(at, min(at + n_rows, self.n_rows))) for at in starts]

        return list(compute(build))


class PartitionedSource(BlockSource):
    """Blocks computed from partitions, by workers.

    Parameters
    ----------
    partitions : Partitions
        The rows.
    function : callable
        ``function(rows, y)`` returns the arrays of some rows; sent to the workers.
    y : ndarray or None
        What belongs to each row and is in memory here; sent with the rows of a task.
    block_rows : int, default=1024
        Rows of a block.
    """

    def __init__(
        self,
        partitions: Partitions,
        function: Callable[[Any, Any], Block],
        y: NDArray[Any] | None = None,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        super().__init__(partitions.n_rows, block_rows)
        self.partitions, self.function, self.y = partitions, function, y

    def own_engine(self) -> Engine:
        """Return the engine that runs where the partitions are."""
        return DaskEngine(self)

    def block(self, index: int) -> Block:
        """Return the arrays of a block, computed by a worker and sent here."""
        from dask import delayed

        job = delayed((_arrays, None, self.function, self.partitions.cut), traverse=False)
        build = delayed(_run_blocks, pure=False)
        found: Block = compute(lambda: [build(job, *self.task(index, index + 1), None)])[0]
        return found

    def task(self, first: int, last: int) -> tuple[Any, ...]:
        """Arguments of a task that runs blocks ``[first, last)``."""
        start, stop = self.rows(first)[0], self.rows(last - 1)[1]
        y = None if self.y is None else self.y[start:stop]
        return (*self.partitions.places(start, stop), y, self.block_rows)


class DaskEngine(Engine):
    """Runs blocks on the workers of the active client, or on Dask's threads if there is none.

    Parameters
    ----------
    source : PartitionedSource
        Where the blocks come from.
    """

    source: PartitionedSource

    def map_reduce(
        self,
        function: Callable[..., ResultT],
        state: object,
        own: Sequence[object] | None = None,
    ) -> ResultT:
        """See :meth:`Engine.map_reduce`."""
        from dask import delayed

        run, source = delayed(_run_blocks, pure=False), self.source
        if len(source) == 0:
            raise ValueError("There are no rows: give at least one.")

        def build() -> list[Any]:
            job = (function, state, source.function, source.partitions.cut)
            shared = delayed(job, traverse=False)
            tree: MergeTree[_Node] = MergeTree()
            for first in range(0, len(source), TASK_BLOCKS):
                last = min(first + TASK_BLOCKS, len(source))
                mine = None if own is None else list(own[first:last])
                mine = mine if mine is None else delayed(mine, traverse=False)
                tree.push(_Node(run(shared, *source.task(first, last), mine)))
            return [tree.result().task]

        result: ResultT = compute(build)[0]
        return result


class _Node:
    """A task whose result can be merged with that of another, by a third."""

    def __init__(self, task: Any) -> None:
        self.task = task

    def merge(self, other: _Node) -> _Node:
        """Return the task that merges both."""
        from dask import delayed

        return _Node(delayed(_merge, pure=False)(self.task, other.task))


def active_client() -> Any:
    """Return the client of a cluster that is in use, or None."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def compute(build: Callable[[], list[Any]]) -> list[Any]:
    """Compute tasks on the cluster, with new ones where too many workers died.

    Parameters
    ----------
    build : callable
        Returns tasks, with new keys at each call.

    Returns
    -------
    list
        Their results. If anything is raised, also by Ctrl-C, no task is left on the cluster.
    """
    client = active_client()
    if client is None:
        import dask

        return list(dask.compute(*build(), scheduler="threads"))
    from distributed import KilledWorker

    for attempt in range(1, MOST_ATTEMPTS + 1):
        try:
            return _compute_once(client, build())
        except KilledWorker as error:
            if attempt == MOST_ATTEMPTS:
                raise RuntimeError(
                    f"Workers of the Dask cluster died under each of {MOST_ATTEMPTS} attempts, "
                    f"the last one {error.last_worker}: most often they run out of memory. Give "
                    "them more of it, or make the partitions smaller."
                ) from error
    raise AssertionError


def _compute_once(client: Any, tasks: list[Any]) -> list[Any]:
    import dask

    futures: list[Any] = []
    try:
        with dask.config.set({_LARGE_GRAPH: "16 GiB"}):  # the state of a stage is meant to be sent
            futures = client.compute(tasks)
        return list(client.gather(futures))
    except BaseException as error:
        if client.status == "running":
            # Also those that are done: the scheduler then forgets the tasks they failed with.
            client.cancel(futures)
        elif isinstance(error, CancelledError | OSError):
            raise RuntimeError(
                "The connection to the Dask scheduler is lost: start a cluster and a Client, and "
                "begin again."
            ) from error
        raise


def _run_range(job: tuple[Any, ...], tables: list[Any], places: list[tuple[int, int]]) -> Any:
    """Task: a function of some rows."""
    function, cut = job
    with one_thread_blas():
        return function(_rows(cut, tables, places))


def _run_blocks(
    job: tuple[Any, ...],
    tables: list[Any],
    places: list[tuple[int, int]],
    y: NDArray[Any] | None,
    block_rows: int,
    own: list[Any] | None,
) -> Any:
    """Task: the merged results of consecutive blocks; the first one begins with the rows."""
    function, state, arrays_of, cut = job
    tree: MergeTree[Any] = MergeTree()
    with one_thread_blas():
        rows = _rows(cut, tables, places)
        for index, start in enumerate(range(0, rows.shape[0], block_rows)):
            part = slice(start, start + block_rows)
            arrays = arrays_of(rows[part], None if y is None else y[part])
            tree.push(function(state, *arrays, *(() if own is None else (own[index],))))
        return tree.result()


def _rows(cut: Callable[[list[Any]], Any], tables: list[Any], places: list[Any]) -> Any:
    """Rows of some partitions as one table."""
    pieces = [
        (table.iloc if hasattr(table, "iloc") else table)[slice(*place)]
        for table, place in zip(tables, places, strict=True)
    ]
    return cut(pieces)


def _merge(left: Any, right: Any) -> Any:
    """Task: two results as one."""
    with one_thread_blas():
        return left.merge(right)


def _arrays(_: object, *arrays: NDArray[Any]) -> Block:
    """Block function: the arrays themselves, of one block, which are never merged."""
    return arrays
