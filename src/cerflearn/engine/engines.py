"""Engines: the interface, the merge tree, and the engines of this process.

Equal bits for any number of workers need four rules: rows are cut on a fixed grid
by global row index (:mod:`cerflearn.engine.blocks`), a block function is pure, its results are
merged along a tree that depends on nothing but their number, and BLAS and LAPACK run on one
thread (:func:`one_thread_blas`), since their sums are ordered by the number of threads.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from threadpoolctl import ThreadpoolController

from cerflearn.engine.blocks import BlockSource

StateT = TypeVar("StateT")


class Mergeable(Protocol):
    """Result of a block that can be merged with that of the rows behind it."""

    def merge(self, other: Any) -> Any:
        """Return the result of both blocks together, changing neither."""


ResultT = TypeVar("ResultT", bound=Mergeable)


class MergeTree(Generic[ResultT]):
    """Merge results in pairs, pairs of pairs, and so on, as they arrive in block order.

    The shape depends only on how many results there are, and at most ``log2`` of that many are
    held at once. Pairwise sums also round less than one running sum.

    Examples
    --------
    >>> class Text(str):
    ...     def merge(self, other):
    ...         return Text(f"({self}{other})")
    >>> tree = MergeTree()
    >>> for letter in "abcde":
    ...     tree.push(Text(letter))
    >>> str(tree.result())
    '(((ab)(cd))e)'
    """

    def __init__(self) -> None:
        self._pending: list[tuple[int, ResultT]] = []

    def push(self, result: ResultT) -> None:
        """Add the result of the next block."""
        n_blocks = 1
        while self._pending and self._pending[-1][0] == n_blocks:
            result = self._pending.pop()[1].merge(result)
            n_blocks *= 2
        self._pending.append((n_blocks, result))

    def result(self) -> ResultT:
        """Return the merge of all results; ``ValueError`` if there was none."""
        if not self._pending:
            raise ValueError("There are no rows: give at least one.")
        total = self._pending.pop()[1]
        while self._pending:
            total = self._pending.pop()[1].merge(total)
        return total


class Engine(ABC):
    """Runs block functions over one source of row blocks.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from.
    """

    def __init__(self, source: BlockSource) -> None:
        self.source = source

    @abstractmethod
    def map_reduce(
        self,
        function: Callable[..., ResultT],
        state: object,
        own: Sequence[object] | None = None,
    ) -> ResultT:
        """Merge ``function(state, *arrays)`` over all blocks, along the fixed tree.

        Parameters
        ----------
        function : callable
            Pure and at module level, so that it can be sent to other processes.
        state : object
            What all blocks need; sent once to each worker, never changed.
        own : sequence of object, optional
            What each block needs for itself: one for each block, in block order, handed to the
            function behind the arrays.
        """

    @property
    def n_blocks(self) -> int:
        """Number of blocks of the source."""
        return len(self.source)

    def map_block(self, function: Callable[..., ResultT], state: object, index: int) -> ResultT:
        """Return ``function(state, *arrays)`` of block ``index``, in the calling thread."""
        with one_thread_blas():
            return function(state, *self.source.block(index))

    def _arguments(self, index: int, own: Sequence[object] | None) -> tuple[Any, ...]:
        """Arrays of a block, and what it has for itself."""
        block = self.source.block(index)
        return block if own is None else (*block, own[index])

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep BLAS and LAPACK on one thread, in blocks and between them."""
        with one_thread_blas():
            yield


class SerialEngine(Engine):
    """Runs blocks one after another: the reference that all engines equal bit by bit.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from.
    """

    def map_reduce(
        self,
        function: Callable[..., ResultT],
        state: object,
        own: Sequence[object] | None = None,
    ) -> ResultT:
        """See :meth:`Engine.map_reduce`."""
        tree: MergeTree[ResultT] = MergeTree()
        with one_thread_blas():
            for index in range(len(self.source)):
                tree.push(function(state, *self._arguments(index, own)))
        return tree.result()


class ThreadsEngine(Engine):
    """Runs blocks on ``n_threads`` threads and merges them in block order.

    NumPy and BLAS release the interpreter while they compute.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from; read by several threads at once.
    n_threads : int
        Number of threads, at least 1.
    """

    def __init__(self, source: BlockSource, n_threads: int) -> None:
        super().__init__(source)
        if n_threads < 1:
            raise ValueError(f"n_threads={n_threads!r} must be at least 1.")
        self.n_threads = n_threads

    def map_reduce(
        self,
        function: Callable[..., ResultT],
        state: object,
        own: Sequence[object] | None = None,
    ) -> ResultT:
        """See :meth:`Engine.map_reduce`."""

        def run(index: int) -> ResultT:
            return function(state, *self._arguments(index, own))

        tree: MergeTree[ResultT] = MergeTree()
        running: deque[Future[ResultT]] = deque()
        pool = ThreadPoolExecutor(self.n_threads, initializer=limit_this_thread)
        with one_thread_blas(), pool:
            try:
                for index in range(len(self.source)):
                    # One block is queued for each that runs: no thread is idle during a merge, and
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


def make_engine(source: BlockSource, n_threads: int = 1) -> Engine:
    """Return the source's own engine, or that of some threads, of which no more than blocks.

    Parameters
    ----------
    source : BlockSource
        Where the blocks come from.
    n_threads : int, default=1
        Number of threads, at least 1.
    """
    if n_threads < 1:
        raise ValueError(f"n_threads={n_threads!r} must be at least 1.")
    own: Engine | None = source.own_engine()
    if own is not None:
        return own
    n_threads = min(n_threads, len(source))
    return SerialEngine(source) if n_threads <= 1 else ThreadsEngine(source, n_threads)


ItemT = TypeVar("ItemT")
FoundT = TypeVar("FoundT")


def map_in_order(
    function: Callable[[ItemT], FoundT], items: Sequence[ItemT], n_threads: int
) -> list[FoundT]:
    """Return ``function(item)`` of independent items, in their order, on some threads.

    Each thread keeps BLAS and LAPACK to itself, so that bits do not depend on ``n_threads``.

    Parameters
    ----------
    function : callable
        Its results do not depend on each other.
    items : sequence
        Its arguments.
    n_threads : int
        Number of threads, at least 1.

    Returns
    -------
    list
        Of results.
    """
    n_threads = min(n_threads, len(items))
    if n_threads <= 1:
        with one_thread_blas():
            return [function(item) for item in items]
    pool = ThreadPoolExecutor(n_threads, initializer=limit_this_thread)
    with one_thread_blas(), pool:
        return list(pool.map(function, items))


_lock = threading.Lock()
_own = threading.local()
_n_users = 0
_limiter: Any = None


@contextmanager
def one_thread_blas() -> Iterator[None]:
    """Limit BLAS and LAPACK to one thread, in the whole process where they have no finer limit.

    The limit is lifted when the last of several overlapping contexts ends: if the first one to
    end lifted it, the bits of the others would change.
    """
    global _limiter, _n_users
    if getattr(_own, "limited", False):
        yield
        return
    with _lock:
        controller = ThreadpoolController()
        if _n_users == 0:
            _take_control(controller)
        # Also for later contexts, see limit_this_thread.
        limiter = controller.limit(limits=1, user_api="blas")
        _limiter = limiter if _n_users == 0 else _limiter
        _n_users += 1
    _own.limited = True
    try:
        yield
    finally:
        _own.limited = False
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                _take_control(controller)
                _limiter.restore_original_limits()
                _take_control(controller)
                _limiter = None


def limit_this_thread() -> None:
    """Set the limit in a thread that ends before a context of :func:`one_thread_blas`.

    Some libraries have one limit for each calling thread rather than one for the process.
    """
    ThreadpoolController().limit(limits=1, user_api="blas")


def _take_control(controller: ThreadpoolController) -> None:
    """Let this thread set limits: recent threadpoolctl silently ignores all but one thread."""
    for library in controller.lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)
