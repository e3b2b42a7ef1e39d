r"""Non-negative weights of selected features, so that their inner products approximate a kernel.

.. math:: \min_{w \ge 0} \sum_{ij} \Big(K_{ij} - \sum_k w_k \varphi_{ik} \varphi_{jk}\Big)^2
          = w^\top A w - 2 b^\top w + const

with :math:`A = (\varphi^\top \varphi)^{\circ 2}` (elementwise square) and
:math:`b_k = \varphi_k^\top K \varphi_k`. The N x N kernel matrix is not needed if it is a
teacher's, :math:`K = T T^\top`, as then :math:`b_k = |T^\top \varphi_k|^2`. The weighted map
:math:`\sqrt{w_k} \varphi_k` costs no more than the plain one. Features are not centred here.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.optimize import nnls

from cerflearn._typing import Float64Array, IntArray

# Eigenvalues below this share of the largest are rounding: A is a Gram matrix of n^2 rows.
_NULL = 1e-12


def kernel_weights(
    gram: Float64Array, target: Float64Array, *, units: IntArray | None = None
) -> Float64Array:
    """Solve for the weights; some are exactly 0, for the caller to replace those features.

    Parameters
    ----------
    gram : ndarray of shape (n_components, n_components)
        Inner products of feature columns over some rows.
    target : ndarray of shape (n_components,)
        b, see :func:`teacher_target` and :func:`kernel_target`, over the same rows.
    units : ndarray of shape (n_components,), int64, optional
        Columns that share a weight, numbered from 0, such as the cosine and sine of a projection:
        the weighted kernel then depends on differences of inputs only.

    Returns
    -------
    ndarray of shape (n_components,)
        w, not negative.

    Examples
    --------
    >>> features = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> kernel = features @ np.diag([0.5, 3.0]) @ features.T
    >>> kernel_weights(features.T @ features, kernel_target(features, kernel)).round(6)
    array([0.5, 3. ])
    """
    labels = np.arange(len(target)) if units is None else units
    belongs = np.eye(labels.max() + 1)[labels]
    quadratic = belongs.T @ np.square(gram) @ belongs
    linear = belongs.T @ target
    # Weights of columns with unit energy: sizes of columns no longer affect the conditioning.
    size = np.sqrt(np.diag(quadratic))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    squared, vectors = scipy.linalg.eigh(quadratic * np.outer(inverse, inverse))
    kept = squared > _NULL * squared[-1]
    root = np.sqrt(squared[kept])
    factor = root[:, None] * vectors[:, kept].T
    right = (vectors[:, kept].T @ (linear * inverse)) / root
    solution, _ = nnls(factor, right, maxiter=10 * len(linear))
    weights: Float64Array = (solution * inverse)[labels]
    return weights


def teacher_target(cross: Float64Array) -> Float64Array:
    r""":math:`b_k = |T^\top \varphi_k|^2` from :math:`T^\top \varphi` (n_outputs, n_components)."""
    target: Float64Array = np.square(cross).sum(axis=0)
    return target


def kernel_target(features: Float64Array, kernel: Float64Array) -> Float64Array:
    r""":math:`b_k = \varphi_k^\top K \varphi_k` for features (n, n_components), kernel (n, n)."""
    target: Float64Array = np.einsum("nk,nk->k", features, kernel @ features)
    return target


def fixed_rows(n_samples: int, n_rows: int) -> IntArray:
    """At most ``n_rows`` row numbers, evenly spread and the same in every run."""
    count = min(n_samples, n_rows)
    return np.arange(count) * n_samples // count
