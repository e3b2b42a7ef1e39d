"""Interface to the training data that learning needs: a pass over row blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar


class Sums(Protocol):
    """Sums over some rows, which can be merged."""

    def merge(self, other: Any) -> Any:
        """Return the sums over the rows of both, changing neither."""


SumsT = TypeVar("SumsT", bound=Sums)


class Rows(Protocol):
    """Teacher and learner rows, in blocks; the engines of :mod:`cerflearn.engine` fit."""

    def map_reduce(
        self, function: Callable[..., SumsT], state: object, own: Sequence[object] | None = None
    ) -> SumsT:
        """Merge ``function(state, teacher, learner)`` over all blocks in a fixed order.

        With ``own``, one object for each block, a block's is the last argument of its call.
        """

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

    def map_block(self, function: Callable[..., SumsT], state: object, index: int) -> SumsT:
        """Return ``function(state, teacher, learner)`` of one block."""

    def session(self) -> AbstractContextManager[None]:
        """Return a context in which BLAS and LAPACK give the same bits on any machine load."""
