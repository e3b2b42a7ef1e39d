"""The ``engine`` of ``fit``: where sums over rows are computed."""

from __future__ import annotations

from typing import Any, Literal

from cerflearn._validation import invalid
from cerflearn.estimators.input import is_dask, is_streamed, thread_count

EngineName = Literal["serial", "threads", "dask"]
"""What ``engine`` may be, beside None."""


def check_engine(
    engine: EngineName | None, X: Any, n_jobs: int | None, macs: int | None = None
) -> None:
    """Refuse an engine that is none, or that X or ``n_jobs`` contradict.

    Parameters
    ----------
    engine : {"serial", "threads", "dask"} or None
        As ``fit`` was given it.
    X : object
        As ``fit`` was given it.
    n_jobs : int or None
        Of the estimator, checked.
    macs : int, optional
        Of an estimator that trains a network where it is given.
    """
    if engine is None:
        return
    if engine not in ("serial", "threads", "dask"):
        raise invalid("engine", engine, "'serial', 'threads', 'dask' or None")
    if macs is not None:
        raise ValueError(
            f"engine={engine!r} has no effect with macs={macs!r}: a network is trained on rows in "
            "memory, on n_jobs threads. Leave engine out."
        )
    if engine == "dask":
        if not is_streamed(X):
            raise ValueError(
                "engine='dask' and X is in memory: pass a Dask array, or a source of "
                "cerflearn.blocks that the workers can read. n_jobs uses the cores of this machine."
            )
    elif is_dask(X):
        raise ValueError(
            f"engine={engine!r} has no effect: the sums of a Dask collection are computed where "
            "it is. Leave engine out."
        )
    elif engine == "serial" and n_jobs not in (None, 1):
        raise ValueError(f"engine='serial' and n_jobs={n_jobs} contradict: leave one of them out.")
    elif engine == "threads" and n_jobs == 1:
        raise ValueError("engine='threads' and n_jobs=1 contradict: leave one of them out.")


def engine_threads(engine: EngineName | None, n_jobs: int | None, n_samples: int) -> int:
    """Threads for so many rows; ``"threads"`` without ``n_jobs`` uses all cores."""
    if engine == "serial":
        return 1
    if engine == "threads" and n_jobs is None:
        n_jobs = -1
    return thread_count(n_jobs, n_samples)
