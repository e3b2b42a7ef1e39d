"""The instruction level of this process, and of work that is done for another one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cerflearn import _native

_lock = threading.Lock()


def level_in_use() -> str:
    """Return the level that maps are packed for here, to be sent with work."""
    return _native.current_level()


@contextmanager
def at_level(level: str) -> Iterator[None]:
    """Work at the level of the process that the work comes from, for the same bits.

    Parameters
    ----------
    level : str
        From :func:`level_in_use` of that process; ``ValueError`` if this CPU does not have it.
    """
    if level == _native.current_level():
        yield
        return
    with _lock, _native.use_level(level):
        yield


class SameLevel:
    """A function that works elsewhere at the level of the process that made it.

    Parameters
    ----------
    function : callable
        Sent to other processes.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.level = level_in_use()

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        with at_level(self.level):
            return self.function(*arguments)
