"""The ``engine`` of ``fit``: where sums over rows are computed."""

from __future__ import annotations

from typing import Any, Literal

from cerflearn._validation import invalid
from cerflearn.estimators.input import is_dask, is_streamed

EngineName = Literal["serial", "threads", "dask"]
"""What ``engine`` may be, beside None."""


def engine_jobs(
    engine: EngineName, X: Any, n_jobs: int | None, macs: int | None = None
) -> int | None:
    """Return ``n_jobs`` of a fit with an engine: ``"threads"`` by itself uses all cores.

    ``ValueError`` if the engine is none, or X or ``n_jobs`` contradict it.

    Parameters
    ----------
    engine : {"serial", "threads", "dask"}
        As ``fit`` was given it.
    X : object
        As ``fit`` was given it.
    n_jobs : int or None
        Of the estimator, checked.
    macs : int, optional
        Of an estimator that trains a network where it is given.
    """
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
    if engine == "serial":
        return 1
    return -1 if engine == "threads" and n_jobs is None else n_jobs
