"""Squared Euclidean distances between rows, through matrix products."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array

_Real = TypeVar("_Real", bound=np.floating[Any])


def squared_distances(X: NDArray[_Real], Y: NDArray[_Real]) -> NDArray[_Real]:
    r"""Squared distances of rows about zero, such as standardised ones.

    .. math:: |x - y|^2 = |x|^2 + |y|^2 - 2 x^\top y

    Parameters
    ----------
    X : ndarray of shape (n_x, n_features)
        Rows.
    Y : ndarray of shape (n_y, n_features)
        Other rows, or X itself.

    Returns
    -------
    ndarray of shape (n_x, n_y)
        In the dtype of the rows; none is negative.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  1.]])
    """
    squares = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)
    return distances_from_products((2.0 * X) @ Y.T, *squares)


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


def centred_squared_distances(X: Float64Array, Y: Float64Array) -> Float64Array:
    """Squared distances of rows as they come, of which the mean of Y is subtracted first.

    Centring changes no distance, but rows far from zero lose digits without it. The terms are
    added in place, in another order than in :func:`squared_distances`: Gram matrices of exact
    kernels may be large, and one array of their size is enough.

    Parameters
    ----------
    X : ndarray of shape (n_x, n_features)
        Rows.
    Y : ndarray of shape (n_y, n_features)
        Other rows, or X itself.

    Returns
    -------
    ndarray of shape (n_x, n_y)
        None is negative; the distance of a row to itself is exactly 0 if Y is X.
    """
    centre = Y.sum(axis=0) / max(1, len(Y))
    first = X - centre
    second = first if Y is X else Y - centre
    distances: Float64Array = -2.0 * (first @ second.T)
    distances += np.einsum("ij,ij->i", first, first)[:, None]
    distances += np.einsum("ij,ij->i", second, second)
    if Y is X:
        np.fill_diagonal(distances, 0.0)
    np.maximum(distances, 0.0, out=distances)
    return distances
