"""Blocks on a few threads; NumPy and BLAS release the interpreter while they compute."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from cerflearn.engine.base import Engine, MergeTree, ResultT
from cerflearn.engine.blas import limit_this_thread, one_thread_blas
from cerflearn.engine.blocks import BlockSource
from cerflearn.engine.serial import SerialEngine


class ThreadsEngine(Engine):
    """Runs blocks on ``n_threads`` threads and merges them in block order.

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


def make_engine(source: BlockSource, n_jobs: int | None = None) -> Engine:
    """Return the engine for scikit-learn's ``n_jobs``: None and 1 run serially.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from.
    n_jobs : int, optional
        Number of threads; -1 is one for each CPU this process may use, -2 one fewer.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use None, a positive number, or -1 for all.")
    n_threads = 1 if n_jobs is None else n_jobs
    if n_threads < 0:
        n_threads = max(1, _n_cpus() + 1 + n_threads)
    n_threads = min(n_threads, len(source))
    return SerialEngine(source) if n_threads <= 1 else ThreadsEngine(source, n_threads)


def _n_cpus() -> int:
    """CPUs this process may run on, which in a container may be fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
