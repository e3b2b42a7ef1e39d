"""Engines of this process: one block after another, or blocks on a few threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from cerflearn.engine.base import Engine, MergeTree, ResultT
from cerflearn.engine.blas import limit_this_thread, one_thread_blas
from cerflearn.engine.blocks import BlockSource


def make_engine(source: BlockSource, n_threads: int = 1) -> Engine:
    """Return the engine for a number of threads, of which there are no more than blocks.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from.
    n_threads : int, default=1
        Number of threads, at least 1.
    """
    if n_threads < 1:
        raise ValueError(f"n_threads={n_threads!r} must be at least 1.")
    n_threads = min(n_threads, len(source))
    return SerialEngine(source) if n_threads <= 1 else ThreadsEngine(source, n_threads)


class SerialEngine(Engine):
    """Runs blocks one after another: the reference that all engines equal bit by bit.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from.
    """

    def map_reduce(self, function: Callable[..., ResultT], state: object) -> ResultT:
        """See :meth:`cerflearn.engine.base.Engine.map_reduce`."""
        tree: MergeTree[ResultT] = MergeTree()
        with one_thread_blas():
            for index in range(len(self.source)):
                tree.push(function(state, *self.source.block(index)))
        return tree.result()


class ThreadsEngine(Engine):
    """Runs blocks on ``n_threads`` threads and merges them in block order.

    NumPy and BLAS release the interpreter while they compute.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from; asked from several threads at once.
    n_threads : int
        Number of threads, at least 1.
    """

    def __init__(self, source: BlockSource, n_threads: int) -> None:
        super().__init__(source)
        if n_threads < 1:
            raise ValueError(f"n_threads={n_threads!r} must be at least 1.")
        self.n_threads = n_threads

    def map_reduce(self, function: Callable[..., ResultT], state: object) -> ResultT:
        """See :meth:`cerflearn.engine.base.Engine.map_reduce`."""

        def run(index: int) -> ResultT:
            return function(state, *self.source.block(index))

        tree: MergeTree[ResultT] = MergeTree()
        running: deque[Future[ResultT]] = deque()
        pool = ThreadPoolExecutor(self.n_threads, initializer=limit_this_thread)
        with one_thread_blas(), pool:
            try:
                for index in range(len(self.source)):
                    # One block waits for each that runs: no thread idles while we merge, and
                    # memory does not grow with the number of blocks.
                    if len(running) == 2 * self.n_threads:
                        tree.push(running.popleft().result())
                    running.append(pool.submit(run, index))
                while running:
                    tree.push(running.popleft().result())
            except BaseException:
                for future in running:
                    future.cancel()
                raise
        return tree.result()
