"""Principal components from a scatter matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from cerflearn._typing import Float64Array
from cerflearn.linalg.signs import fixed_signs


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
