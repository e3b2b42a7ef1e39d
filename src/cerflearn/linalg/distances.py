"""Distances between rows, through matrix products."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Real = TypeVar("_Real", bound=np.floating[Any])


def squared_distances(
    X: NDArray[_Real], Y: NDArray[_Real], *, centred: bool = False
) -> NDArray[_Real]:
    r"""Squared Euclidean distances, through one matrix product.

    .. math:: |x - y|^2 = |x|^2 + |y|^2 - 2 x^\top y

    Parameters
    ----------
    X : ndarray of shape (n_x, n_features)
        Rows.
    Y : ndarray of shape (n_y, n_features)
        Other rows, or X itself.
    centred : bool, default=False
        Whether to subtract the mean of Y first. It changes no distance, but rows far from zero
        lose digits without it: True for inputs as they come, False for standardised ones.

    Returns
    -------
    ndarray of shape (n_x, n_y)
        In the dtype of the rows; none is negative. With ``centred``, the distance of a row of X to
        itself is exactly 0 if Y is X.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  1.]])
    """
    first, second = X, Y
    if centred:
        centre = Y.sum(axis=0) / max(1, len(Y))
        first = X - centre
        second = first if Y is X else Y - centre
    squares = np.einsum("ij,ij->i", first, first), np.einsum("ij,ij->i", second, second)
    distances = distances_from_products((2.0 * first) @ second.T, *squares)
    if centred and Y is X:
        np.fill_diagonal(distances, 0.0)
    return distances


def distances_from_products(
    doubled_products: NDArray[_Real], x_squares: NDArray[_Real], y_squares: NDArray[_Real]
) -> NDArray[_Real]:
    """Squared distances (n_x, n_y) from inner products and squared norms; never negative.

    Parameters
    ----------
    doubled_products : ndarray of shape (n_x, n_y)
        Inner products, times two.
    x_squares : ndarray of shape (n_x,)
        Squared norms of the rows of X.
    y_squares : ndarray of shape (n_y,)
        Squared norms of the rows of Y.
    """
    distances: NDArray[_Real] = x_squares[:, None] + y_squares
    distances -= doubled_products
    np.maximum(distances, 0.0, out=distances)
    return distances
