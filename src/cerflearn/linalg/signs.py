"""Signs of directions, which eigenvectors and singular vectors leave open."""

from __future__ import annotations

import numpy as np

from cerflearn._typing import Float64Array


def fixed_signs(rows: Float64Array) -> Float64Array:
    """Signs that make the entry of largest size of each row positive; the first of equal ones.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Directions.

    Returns
    -------
    ndarray of shape (n_rows, 1)
        -1 or 1, to multiply the rows by.

    Examples
    --------
    >>> fixed_signs(np.array([[1.0, -3.0], [2.0, -2.0]]))
    array([[-1.],
           [ 1.]])
    """
    largest = np.abs(rows).argmax(axis=1)
    signs = np.where(rows[np.arange(len(rows)), largest] < 0.0, -1.0, 1.0)
    return signs[:, None]
