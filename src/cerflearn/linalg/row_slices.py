"""Rows in slices: what is computed at once of a table that may be long, wide or not in memory."""

from __future__ import annotations

from collections.abc import Iterator

_MOST_ROWS, _MOST_ENTRIES = 4096, 2**24
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
    at_once = _MOST_ENTRIES // max(1, n_columns) // _STEP * _STEP
    step = min(_MOST_ROWS, max(_STEP, at_once))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
