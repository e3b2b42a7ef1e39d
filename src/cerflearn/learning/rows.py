"""Interface to the training data that learning needs: a pass over row blocks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar


class Sums(Protocol):
    """Sums over some rows, which can be merged."""

    def merge(self, other: Any) -> Any:
        """Return the sums over the rows of both, changing neither."""


SumsT = TypeVar("SumsT", bound=Sums)


class Rows(Protocol):
    """Teacher and learner rows, in blocks; the engines of :mod:`cerflearn.engine` fit."""

    def map_reduce(self, function: Callable[..., SumsT], state: object) -> SumsT:
        """Merge ``function(state, teacher, learner)`` over all blocks in a fixed order."""

    def session(self) -> AbstractContextManager[None]:
        """Return a context in which BLAS and LAPACK give the same bits on any machine load."""
