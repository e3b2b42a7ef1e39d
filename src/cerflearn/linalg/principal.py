"""Principal components from a scatter matrix, and their rotation to few large entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from cerflearn._typing import Float64Array
from cerflearn.linalg.signs import fixed_signs

_VARIMAX_SWEEPS, _VARIMAX_TOLERANCE, _FLAT = 100, 1e-6, 1e-12
_SINGULAR_ROUNDING = 1e-7  # of the largest; its square is the rounding of an eigenvalue


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Directions of largest variance.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_columns)
        Orthonormal rows, the largest variance first.
    energies : ndarray of shape (n_components,)
        Eigenvalues of the scatter matrix, never negative: squared singular values of the centred
        rows.
    """

    components: Float64Array
    energies: Float64Array


def principal_axes(scatter: Float64Array, n_components: int) -> PrincipalAxes:
    r"""Top eigenvectors of a scatter matrix :math:`S = \sum_n (F_n - \bar F)(F_n - \bar F)^\top`.

    With the singular value decomposition :math:`F - \bar F = R \operatorname{diag}(\sigma) P^\top`
    of section 4.2, :math:`S = P \operatorname{diag}(\sigma^2) P^\top`: P is found without the rows.

    Parameters
    ----------
    scatter : ndarray of shape (n_columns, n_columns)
        Symmetric, positive semi-definite.
    n_components : int
        J, at most n_columns.

    Examples
    --------
    >>> axes = principal_axes(np.array([[2.0, 1.0], [1.0, 2.0]]), 1)
    >>> axes.energies.round(6), axes.components.round(4)
    (array([3.]), array([[0.7071, 0.7071]]))
    """
    n_columns = len(scatter)
    energies, vectors = eigh(scatter, subset_by_index=[n_columns - n_components, n_columns - 1])
    components = np.ascontiguousarray(vectors[:, ::-1].T)
    return PrincipalAxes(components * fixed_signs(components), np.maximum(energies[::-1], 0.0))


def principal_axes_of_rows(rows: Float64Array, n_components: int) -> PrincipalAxes:
    r"""Top principal directions of few rows of many columns, from their products.

    With centred rows F and :math:`F F^\top = R \operatorname{diag}(\sigma^2) R^\top`, the
    directions are :math:`P = F^\top R / \sigma`: a matrix of all pairs of rows instead of columns.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
        Centred; fewer than columns.
    n_components : int
        At most the number of rows.

    Returns
    -------
    PrincipalAxes
        As of :func:`principal_axes`, but for directions without variance, which are zero.
    """
    axes = principal_axes(rows @ rows.T, n_components)
    scale = np.sqrt(axes.energies)
    varies = scale > _SINGULAR_ROUNDING * scale[0]
    components = (axes.components @ rows) / np.where(varies, scale, np.inf)[:, None]
    return PrincipalAxes(components * fixed_signs(components), axes.energies)


def varimax(components: Float64Array) -> Float64Array:
    r"""Rotate orthonormal rows to few large entries and many small ones (Kaiser, 1958).

    .. math:: \max_{R^\top R = I} \sum_j \operatorname{var}_d\bigl((R C)_{jd}^2\bigr)

    by rotations in the plane of two rows after the other. The rows span the same space, so that
    projections on them lose as little; but rows with few large entries can be computed from few
    inputs.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_columns)
        C, orthonormal rows.

    Returns
    -------
    ndarray of shape (n_components, n_columns)
        R C; the largest entry of each row is positive.

    Examples
    --------
    >>> varimax(np.array([[0.8, 0.6, 0.0], [0.6, -0.8, 0.0]])).round(3) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    found = components.copy()
    for _ in range(_VARIMAX_SWEEPS):
        largest = 0.0
        for first in range(len(found)):
            for second in range(first + 1, len(found)):
                angle = _varimax_angle(found[first], found[second])
                largest = max(largest, abs(angle))
                cosine, sine = np.cos(angle), np.sin(angle)
                turn = np.array([[cosine, sine], [-sine, cosine]])
                found[[first, second]] = turn @ found[[first, second]]
        if largest < _VARIMAX_TOLERANCE:
            break
    return found * fixed_signs(found)


def _varimax_angle(x: Float64Array, y: Float64Array) -> float:
    """Angle by which two rows are turned in their plane, so that the criterion is largest."""
    u, v, n = x * x - y * y, 2.0 * x * y, len(x)
    total_u, total_v = u.sum(), v.sum()
    sine = 2.0 * (u @ v) - 2.0 * total_u * total_v / n
    cosine = u @ u - v @ v - (total_u**2 - total_v**2) / n
    if abs(sine) + abs(cosine) <= _FLAT * (u @ u + v @ v):
        return 0.0  # no angle is better than another, up to rounding
    return float(np.arctan2(sine, cosine)) / 4.0
