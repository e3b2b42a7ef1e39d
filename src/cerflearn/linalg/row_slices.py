"""Tables that may be long, wide or sparse: rows in slices, evenly spaced rows, column ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import FloatArray, IntArray

_SLICE_ROWS, _SLICE_ENTRIES = 4096, 2**24
_STEP = 256  # rows: slices are whole multiples, as the core sums whole vectors of rows


def row_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices that cover all rows in order: 4,096 rows each, fewer of very many columns.

    They depend on the shape alone, so that sums over them have the same bits wherever rows are.

    Parameters
    ----------
    n_rows, n_columns : int
        Shape of the table.

    Examples
    --------
    >>> list(row_slices(5000, 10))
    [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    at_once = _SLICE_ENTRIES // max(1, n_columns) // _STEP * _STEP
    step = min(_SLICE_ROWS, max(_STEP, at_once))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


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


def column_range(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column of an array or CSR matrix, (n_features,)."""
    lowest, highest = X.min(axis=0), X.max(axis=0)
    if issparse(X):
        lowest, highest = lowest.toarray().ravel(), highest.toarray().ravel()
    return np.asarray(lowest), np.asarray(highest)
