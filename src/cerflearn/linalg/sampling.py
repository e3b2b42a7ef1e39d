"""Rows that stand for all rows."""

from __future__ import annotations

import numpy as np

from cerflearn._typing import IntArray


def evenly_spaced_rows(n_samples: int, n_rows: int) -> IntArray:
    """Row numbers, evenly spaced from the first row to the last, the same in every run.

    Parameters
    ----------
    n_samples : int
        Rows there are.
    n_rows : int
        Most rows to return.

    Returns
    -------
    ndarray of shape (min(n_samples, n_rows),), int64
        Distinct, in ascending order.

    Examples
    --------
    >>> evenly_spaced_rows(10, 4)
    array([0, 3, 6, 9])
    """
    return np.linspace(0, n_samples - 1, min(n_samples, n_rows)).round().astype(np.int64)
