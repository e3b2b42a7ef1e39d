"""What learning asks of whoever holds the data: a pass over row blocks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar


class Mergeable(Protocol):
    """Sums over some rows."""

    def merge(self, other: Any) -> Any:
        """Return the sums over the rows of both, changing neither."""


ResultT = TypeVar("ResultT", bound=Mergeable)


class Rows(Protocol):
    """Teacher and learner rows, in blocks; the engines of :mod:`cerflearn.engine` fit."""

    def map_reduce(self, function: Callable[..., ResultT], state: object) -> ResultT:
        """Merge ``function(state, teacher, learner)`` over all blocks in a fixed order."""

    def session(self) -> AbstractContextManager[None]:
        """Return a context in which BLAS and LAPACK give the same bits on any machine load."""
