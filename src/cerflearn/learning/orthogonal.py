"""The orthogonal group: projection and distance (Eq. 8)."""

from __future__ import annotations

import scipy.linalg

from cerflearn._typing import Float64Array


def thin_svd(matrix: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Singular value decomposition R diag(s) P^T with min(m, k) singular values.

    LAPACK's divide and conquer is twice as fast; it may fail to converge where its older QR
    iteration does not.
    """
    try:
        left, values, right = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    except scipy.linalg.LinAlgError:
        left, values, right = scipy.linalg.svd(
            matrix, full_matrices=False, check_finite=False, lapack_driver="gesvd"
        )
    return left, values, right


def project_to_orthogonal(matrix: Float64Array) -> Float64Array:
    r"""Nearest matrix with orthonormal columns, :math:`R P^\top` of :math:`A = R\,diag(s)\,P^\top`.

    It is also :math:`\arg\max_W tr(W^\top A)`. For a matrix wider than tall the *rows* are
    orthonormal: they are the top of the square solution for A padded with rows of zeros.

    Parameters
    ----------
    matrix : ndarray of shape (n_outputs, n_candidates)
        A.

    Examples
    --------
    >>> import numpy as np
    >>> project_to_orthogonal(np.array([[0.0, -2.0], [3.0, 0.0]]))
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    left, _, right = thin_svd(matrix)
    return left @ right
