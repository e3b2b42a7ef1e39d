r"""Non-negative weights of selected features, so that their inner products approximate a kernel.

.. math:: \min_{w \ge 0} \sum_{i \ne j} \Big(K_{ij} - \sum_k w_k \varphi_{ik} \varphi_{jk}\Big)^2
          = w^\top A w - 2 b^\top w + const

with :math:`A = (\varphi^\top \varphi)^{\circ 2} - (\varphi^{\circ 2})^\top \varphi^{\circ 2}`
(elementwise squares). The N x N kernel matrix is not needed if it is a teacher's,
:math:`K = T T^\top`, as then :math:`b_k = |T^\top \varphi_k|^2 - \sum_i |t_i|^2 \varphi_{ik}^2`.
Pairs of a row with itself are left out: they say nothing about new rows, and a diagonal of ones
would make weights too large, the more the fewer rows there are. The weighted map
:math:`\sqrt{w_k} \varphi_k` costs no more than the plain one. Features are not centred here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.optimize import nnls

from cerflearn._typing import Float64Array, IntArray

# Below this share a difference, or an eigenvalue beside the largest, is rounding.
_NULL = 1e-12


@dataclass(frozen=True, eq=False)
class PairSums:
    r"""Sums over rows, from which those over pairs of different rows follow.

    Attributes
    ----------
    cross : ndarray of shape (n_outputs, n_candidates)
        :math:`T^\top \varphi`.
    gram, squares : ndarray of shape (n_candidates, n_candidates)
        :math:`\varphi^\top \varphi`, and the same of the squared features.
    own : ndarray of shape (n_candidates,)
        :math:`\sum_i |t_i|^2 \varphi_{ik}^2`.
    """

    cross: Float64Array
    gram: Float64Array
    squares: Float64Array
    own: Float64Array

    def merge(self, other: PairSums) -> PairSums:
        """Return the sums over the rows of both; neither is changed."""
        return PairSums(
            self.cross + other.cross,
            self.gram + other.gram,
            self.squares + other.squares,
            self.own + other.own,
        )

    def normal_equations(self) -> tuple[Float64Array, Float64Array]:
        """Return A (n_candidates, n_candidates) and b (n_candidates,)."""
        linear = _difference(np.square(self.cross).sum(axis=0), self.own)
        return _difference(np.square(self.gram), self.squares), linear

    def with_themselves(self) -> PairSums:
        """Return the sums from which pairs of a row with itself are not left out."""
        return replace(self, squares=np.zeros_like(self.squares), own=np.zeros_like(self.own))


def _difference(left: Float64Array, right: Float64Array) -> Float64Array:
    """Return left - right, and 0 where the difference is rounding."""
    difference = left - right
    difference[np.abs(difference) <= _NULL * left] = 0.0
    return difference


def pair_block(_: object, teacher: NDArray[Any], learner: NDArray[Any]) -> PairSums:
    """Sum up one block of rows; there is no task."""
    teacher, learner = teacher.astype(np.float64), learner.astype(np.float64)
    energy, squared = np.square(teacher).sum(axis=1), np.square(learner)
    return PairSums(teacher.T @ learner, learner.T @ learner, squared.T @ squared, energy @ squared)


def kernel_weights(
    quadratic: Float64Array, linear: Float64Array, *, units: IntArray | None = None
) -> Float64Array:
    """Solve for the weights; some are exactly 0, for the caller to replace those features.

    Parameters
    ----------
    quadratic : ndarray of shape (n_components, n_components)
        A, see :meth:`PairSums.normal_equations`.
    linear : ndarray of shape (n_components,)
        b, over the same rows.
    units : ndarray of shape (n_components,), int64, optional
        Columns that share a weight, numbered from 0, such as the cosine and sine of a projection:
        the weighted kernel then depends on differences of inputs only.

    Returns
    -------
    ndarray of shape (n_components,)
        w, not negative.

    Examples
    --------
    >>> features = np.array([[1.0, 0.0], [0.5, 2.0], [1.0, 1.0]])
    >>> teacher = features * np.sqrt([0.5, 3.0])
    >>> kernel_weights(*pair_block(None, teacher, features).normal_equations()).round(6)
    array([0.5, 3. ])
    """
    labels = np.arange(len(linear)) if units is None else units
    belongs = np.eye(labels.max() + 1)[labels]
    quadratic = belongs.T @ quadratic @ belongs
    linear = belongs.T @ linear
    # Weights of columns with unit energy: sizes of columns no longer affect the conditioning.
    size = np.sqrt(np.maximum(np.diag(quadratic), 0.0))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0.0)
    squared, vectors = scipy.linalg.eigh(quadratic * np.outer(inverse, inverse))
    kept = squared > _NULL * squared[-1]
    root = np.sqrt(squared[kept])
    factor = root[:, None] * vectors[:, kept].T
    right = (vectors[:, kept].T @ (linear * inverse)) / root
    solution, _ = nnls(factor, right, maxiter=10 * len(linear))
    weights: Float64Array = (solution * inverse)[labels]
    return weights
