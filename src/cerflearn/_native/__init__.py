"""The only importer of the compiled extension: level, threads, model objects, outputs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from cerflearn._native import _core
from cerflearn._native._core import (
    LinearPart,
    Model,
    TableModel,
    TrainingNetwork,
    cosine_turns,
    dense_model,
    fastfood_model,
    finish_phases,
    fma_peak,
    get_num_threads,
    kept_output_bytes,
    kept_output_limit,
    levels,
    linear_part,
    masked_model,
    set_kept_output_limit,
    set_num_threads,
    sine_turns,
    table_model,
    walsh_hadamard,
)

__all__ = [
    "LinearPart",
    "Model",
    "TableModel",
    "TrainingNetwork",
    "available_cores",
    "backend_info",
    "cosine_turns",
    "current_level",
    "dense_model",
    "empty_output",
    "fastfood_model",
    "finish_phases",
    "fma_peak",
    "get_num_threads",
    "kept_output_bytes",
    "kept_output_limit",
    "levels",
    "linear_part",
    "masked_model",
    "set_kept_output_limit",
    "set_num_threads",
    "sine_turns",
    "table_model",
    "use_level",
    "walsh_hadamard",
]

LIMIT_VARIABLE = "CERF_OUTPUT_CACHE"
"""Environment variable: most bytes of outputs that are gone to be kept for new ones."""

_LARGE = 4 * 2**20  # bytes from which on pages, not arithmetic, take the time

_level = levels()[-1]


def current_level() -> str:
    """Level that new models are packed for: the best this CPU has, or a forced one."""
    return _level


@contextmanager
def use_level(level: str) -> Iterator[None]:
    """Force an instruction-set level inside a ``with`` block (not per thread).

    Parameters
    ----------
    level : {"baseline", "v3", "v4"}
        One of :func:`levels`; anything else is a ValueError.
    """
    global _level
    if level not in levels():
        raise ValueError(f"level={level!r} cannot run on this CPU; it has {', '.join(levels())}.")
    before, _level = _level, level
    try:
        yield
    finally:
        _level = before


def backend_info() -> dict[str, Any]:
    """Return what the native core runs on: level in use, levels available, threads, compiler."""
    return {
        "level": current_level(),
        "levels": levels(),
        "threads": get_num_threads(),
        "compiler": _core.compiler(),
    }


def available_cores() -> int:
    """Cores that this process may use: those of its affinity mask, or fewer by a CPU quota.

    It is what joblib counts, and so what ``n_jobs=-1`` means everywhere else.
    """
    return int(joblib.cpu_count())


class CerfController(threadpoolctl.LibController):  # type: ignore[misc]
    """How threadpoolctl finds the extension and reads or sets its cap."""

    user_api = "cerflearn"
    internal_api = "cerflearn"
    filename_prefixes = ("_core",)
    check_symbols = ("cerf_get_num_threads", "cerf_set_num_threads")

    def get_num_threads(self) -> int:
        """Cap in force."""
        # Other packages have a _core too; threadpoolctl calls this before it checks the symbols.
        get = getattr(self.dynlib, "cerf_get_num_threads", lambda: 1)
        return int(get())

    def set_num_threads(self, num_threads: int) -> None:
        """Change the cap."""
        self.dynlib.cerf_set_num_threads(num_threads)

    def get_version(self) -> None:
        """No version apart from the package's."""

    def set_additional_attributes(self) -> None:
        """Nothing to add."""


def empty_output(n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Array of any content, C order; large ones of float32 and float64 in memory that is kept.

    The system zeroes new pages before their first use, which takes up to half as long as a cheap
    map. The memory of a large output is therefore kept when the array and its views are gone, up
    to 256 MiB in all (:data:`LIMIT_VARIABLE`), and its pages are offered to the system,
    which may take them when memory runs short.
    """
    if n_rows * n_columns * dtype.itemsize >= _LARGE:
        if dtype == np.float32:
            return _core.large_output_float32(n_rows, n_columns)
        if dtype == np.float64:
            return _core.large_output_float64(n_rows, n_columns)
    return np.empty((n_rows, n_columns), dtype)


def _read_limit() -> None:
    text = os.environ.get(LIMIT_VARIABLE)
    if text is None:
        return
    if not text.isdecimal():
        raise ValueError(
            f"{LIMIT_VARIABLE}={text!r} in the environment is not valid: give a number of bytes, "
            "0 to keep none."
        )
    _core.set_kept_output_limit(min(int(text), sys.maxsize))


threadpoolctl.register(CerfController)
_core.set_default_num_threads(available_cores())
_read_limit()
