"""What all engines share: the interface and the merge tree.

Equal bits for any number of workers need four rules: rows are cut on a fixed grid
by global row index (:mod:`cerflearn.engine.blocks`), a block function is pure, its results are
merged along a tree that depends on nothing but their number, and BLAS and LAPACK run on one
thread (:mod:`cerflearn.engine.blas`), since their sums are ordered by the number of threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from cerflearn.engine.blas import one_thread_blas
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
    def map_reduce(self, function: Callable[..., ResultT], state: object) -> ResultT:
        """Merge ``function(state, *arrays)`` over all blocks, along the fixed tree.

        Parameters
        ----------
        function : callable
            Pure and at module level, so that it can be sent to other processes.
        state : object
            What all blocks need; sent once to each worker, never changed.
        """

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep BLAS and LAPACK on one thread, in blocks and between them."""
        with one_thread_blas():
            yield
