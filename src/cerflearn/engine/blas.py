"""BLAS and LAPACK on one thread, while any computation needs it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

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
