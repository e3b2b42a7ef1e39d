"""Means and second moments of two sets of columns, streamed over blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array


@dataclass(frozen=True, eq=False)
class CrossMoments:
    r"""Second moments of left columns F and right columns X over the same rows, in float64.

    Sums are around the means of the rows they cover, so that a large mean costs no digits.

    Attributes
    ----------
    n_samples : int
        N.
    left_mean : ndarray of shape (n_left,)
        :math:`\bar F`.
    right_mean : ndarray of shape (n_right,)
        :math:`\bar X`.
    left_scatter : ndarray of shape (n_left, n_left)
        :math:`\sum_n (F_n - \bar F)(F_n - \bar F)^\top`.
    cross_scatter : ndarray of shape (n_left, n_right)
        :math:`\sum_n (F_n - \bar F)(X_n - \bar X)^\top`.
    right_scatter : ndarray of shape (n_right, n_right), optional
        :math:`\sum_n (X_n - \bar X)(X_n - \bar X)^\top`; None if it was not asked for.
    """

    n_samples: int
    left_mean: Float64Array
    right_mean: Float64Array
    left_scatter: Float64Array
    cross_scatter: Float64Array
    right_scatter: Float64Array | None = None

    def merge(self, other: CrossMoments) -> CrossMoments:
        """Moments of the rows of both (Chan, Golub and LeVeque's update); neither is changed."""
        n_samples = self.n_samples + other.n_samples
        left, right = other.left_mean - self.left_mean, other.right_mean - self.right_mean
        weight = other.n_samples / n_samples
        between = self.n_samples * weight
        right_scatter = None
        if self.right_scatter is not None and other.right_scatter is not None:
            right_scatter = self.right_scatter + other.right_scatter
            right_scatter += np.outer(between * right, right)
        left_scatter = self.left_scatter + other.left_scatter
        left_scatter += np.outer(between * left, left)
        cross_scatter = self.cross_scatter + other.cross_scatter
        cross_scatter += np.outer(between * left, right)
        return CrossMoments(
            n_samples=n_samples,
            left_mean=self.left_mean + weight * left,
            right_mean=self.right_mean + weight * right,
            left_scatter=left_scatter,
            cross_scatter=cross_scatter,
            right_scatter=right_scatter,
        )


def cross_moments_block(
    with_right_scatter: bool, left: NDArray[Any], right: NDArray[Any]
) -> CrossMoments:
    """Block function: moments of left (b, n_left) and right (b, n_right), which may have no column.

    Parameters
    ----------
    with_right_scatter : bool
        Whether ``right_scatter`` is wanted.
    left, right : ndarray
        Columns of one block.
    """
    # In C order, since NumPy adds up columns of other layouts in another order.
    left, right = (np.asarray(a, dtype=np.float64, order="C") for a in (left, right))
    left_mean, right_mean = left.mean(axis=0), right.mean(axis=0)
    left, right = left - left_mean, right - right_mean
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what is not finite
        return CrossMoments(
            n_samples=len(left),
            left_mean=left_mean,
            right_mean=right_mean,
            left_scatter=left.T @ left,
            cross_scatter=left.T @ right,
            right_scatter=right.T @ right if with_right_scatter else None,
        )
