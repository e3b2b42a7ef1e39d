"""Arrays for what feature maps compute: large ones in memory that is used again."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._native import _core

LIMIT_VARIABLE = "CERF_OUTPUT_CACHE"
"""Environment variable: most bytes of outputs that are gone to be kept for new ones."""

_LARGE = 4 * 2**20  # bytes from which on pages, not arithmetic, take the time


def empty_output(n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Array of any content, C order; large ones of float32 and float64 in memory that is kept.

    The system zeroes new pages before their first use, which takes up to half as long as a cheap
    map. The memory of a large output is therefore kept when the array and its views are gone, up
    to 256 MiB in all (:data:`LIMIT_VARIABLE`), and the system is told that it may have the pages
    whenever it needs them.
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


_read_limit()
