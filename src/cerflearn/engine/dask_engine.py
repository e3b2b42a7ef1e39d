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
    """Rows in partitions that workers can read.

    Parameters
    ----------
    tables : sequence
        The partitions: Delayed objects, or whatever ``cut`` finds them by.
    lengths : sequence of int
        Their rows; 0 is legal.
    cut : callable
        ``cut(tables, places)`` makes one array of rows of several partitions, in a worker. Places
        are slices, or ascending row numbers, in each of them.
    """

    def __init__(
        self,
        tables: Sequence[Any],
        lengths: Sequence[int],
        cut: Callable[[list[Any], list[Any]], Any],
    ) -> None:
        self.tables = list(tables)
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.cut = cut

    @property
    def n_rows(self) -> int:
        """Rows of all partitions."""
        return int(self.starts[-1])

    def places(self, start: int, stop: int) -> tuple[list[Any], list[slice]]:
        """Partitions that rows ``[start, stop)`` lie in, and the range in each."""
        begin = int(np.searchsorted(self.starts, start, side="right")) - 1
        end = int(np.searchsorted(self.starts, stop, side="left"))
        tables, local = [], []
        for index in range(begin, end):
            first, last = int(self.starts[index]), int(self.starts[index + 1])
            if first < last:
                tables.append(self.tables[index])
                local.append(slice(max(start, first) - first, min(stop, last) - first))
        return tables, local

    def map_ranges(self, function: Callable[[Any], Any], n_rows: int) -> list[Any]:
        """Return ``function`` of each ``n_rows`` rows, in their order, computed by the workers."""
        starts = range(0, self.n_rows, n_rows)
        ranges = [self.places(start, min(start + n_rows, self.n_rows)) for start in starts]
        return self._map(function, ranges)

    def take(self, index: NDArray[Any]) -> list[Any]:
        """Return rows with ascending numbers, an array for each partition that has some."""
        owner = np.searchsorted(self.starts, index, side="right") - 1
        used = np.unique(owner).tolist()
        return self._map(
            _as_it_is,
            [([self.tables[i]], [index[owner == i] - self.starts[i]]) for i in used],
        )

    def _map(self, function: Callable[[Any], Any], ranges: list[Any]) -> list[Any]:
        from dask import delayed

        run = delayed(_run_range, pure=False)
        job = delayed((function, self.cut), traverse=False)
        return list(compute(lambda: [run(job, *places) for places in ranges]))


class PartitionedSource(BlockSource):
    """Blocks computed from partitions, by workers.

    Parameters
    ----------
    partitions : Partitions
        The rows.
    function : callable
        ``function(rows, y)`` returns the arrays of some rows; sent to the workers.
    y : Partitions, ndarray or None
        What belongs to each row: in partitions of its own, or in memory here and sent with the
        rows of a task.
    block_rows : int, default=1024
        Rows of a block.
    """

    def __init__(
        self,
        partitions: Partitions,
        function: Callable[[Any, Any], Block],
        y: Any = None,
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

        job = delayed(self.job(_arrays, None), traverse=False)
        build = delayed(_run_blocks, pure=False)
        found: Block = compute(lambda: [build(job, *self.task(index, index + 1), None)])[0]
        return found

    def job(self, function: Callable[..., Any], state: object) -> tuple[Any, ...]:
        """Return what all tasks of a pass have in common."""
        cut_y = self.y.cut if isinstance(self.y, Partitions) else None
        return function, state, self.function, self.partitions.cut, cut_y, self.block_rows

    def task(self, first: int, last: int) -> tuple[Any, ...]:
        """Arguments of a task that runs blocks ``[first, last)``: where rows are, and y."""
        start, stop = self.rows(first)[0], self.rows(last - 1)[1]
        if isinstance(self.y, Partitions):
            y: Any = self.y.places(start, stop)
        else:
            y = None if self.y is None else self.y[start:stop]
        return (*self.partitions.places(start, stop), y)


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
            shared = delayed(source.job(function, state), traverse=False)
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


def map_on_workers(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return ``function(item)`` of independent items, in their order, each a task.

    Parameters
    ----------
    function : callable
        Sent to the workers, with all that it needs.
    items : sequence
        Its arguments.
    """
    from dask import delayed

    run = delayed(_run_item, pure=False)

    def build() -> list[Any]:
        job = delayed((function,), traverse=False)
        return [run(job, delayed((item,), traverse=False)) for item in items]

    return compute(build)


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
        found = list(client.gather(futures))
        for future in futures:
            future.release()  # not left to its finalizer, in which Python loses a Ctrl-C
        return found
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


def _run_item(job: tuple[Any, ...], item: tuple[Any, ...]) -> Any:
    """Task: a function of an item."""
    with one_thread_blas():
        return job[0](item[0])


def _run_range(job: tuple[Any, ...], tables: list[Any], places: list[Any]) -> Any:
    """Task: a function of some rows."""
    function, cut = job
    with one_thread_blas():
        return function(cut(tables, places))


def _run_blocks(
    job: tuple[Any, ...], tables: list[Any], places: list[Any], y: Any, own: list[Any] | None
) -> Any:
    """Task: the merged results of consecutive blocks; the first one begins with the rows."""
    function, state, arrays_of, cut, cut_y, block_rows = job
    tree: MergeTree[Any] = MergeTree()
    with one_thread_blas():
        rows = cut(tables, places)
        y = y if cut_y is None else cut_y(*y)
        for index, start in enumerate(range(0, rows.shape[0], block_rows)):
            part = slice(start, start + block_rows)
            arrays = arrays_of(rows[part], None if y is None else y[part])
            tree.push(function(state, *arrays, *(() if own is None else (own[index],))))
        return tree.result()


def _merge(left: Any, right: Any) -> Any:
    """Task: two results as one."""
    with one_thread_blas():
        return left.merge(right)


def _arrays(_: object, *arrays: NDArray[Any]) -> Block:
    """Block function: the arrays themselves, of one block, which are never merged."""
    return arrays


def _as_it_is(rows: Any) -> Any:
    """Return the rows."""
    return rows
