"""The sums over samples that the M-step and the bound need."""

from __future__ import annotations

from dataclasses import dataclass

from cerflearn._typing import Float64Array


@dataclass(frozen=True, eq=False)
class SufficientStats:
    r"""Sums over samples n, given the selection probabilities :math:`\nu`; all in float64.

    Attributes
    ----------
    n_samples : int
        N.
    teacher_energy : float
        :math:`\sum_n |T_n|^2`.
    selected : ndarray of shape (n_candidates,)
        :math:`\sum_n \nu_{nk}`, Eq. 26.
    selected_energy : ndarray of shape (n_candidates,)
        :math:`\sum_n \nu_{nk} L_{nk}^2`: expected, as :math:`z^2 = z`, and so with the selector's
        variance.
    alignment : ndarray of shape (n_candidates,)
        :math:`\sum_n \nu_{nk} L_{nk} (W^\top T_n)_k` for the rotation of the pass; its sum is
        :math:`tr(W^\top cross)`.
    entropy : float
        :math:`\sum_{nk} H(\nu_{nk})`.
    cross : ndarray of shape (n_outputs, n_candidates), optional
        :math:`T^\top (\nu \odot L)`; left out where the rotation is fixed.
    gram : ndarray of shape (n_candidates, n_candidates), optional
        :math:`(\nu \odot L)^\top (\nu \odot L)`; only for rotations that are not orthogonal. Its
        diagonal is :math:`\sum_n \nu_{nk}^2 L_{nk}^2`.
    """

    n_samples: int
    teacher_energy: float
    selected: Float64Array
    selected_energy: Float64Array
    alignment: Float64Array
    entropy: float
    cross: Float64Array | None = None
    gram: Float64Array | None = None

    def merge(self, other: SufficientStats) -> SufficientStats:
        """Return the sums over the rows of both; neither is changed: an engine may merge again."""
        return SufficientStats(
            n_samples=self.n_samples + other.n_samples,
            teacher_energy=self.teacher_energy + other.teacher_energy,
            selected=self.selected + other.selected,
            selected_energy=self.selected_energy + other.selected_energy,
            alignment=self.alignment + other.alignment,
            entropy=self.entropy + other.entropy,
            cross=_add(self.cross, other.cross),
            gram=_add(self.gram, other.gram),
        )


def _add(left: Float64Array | None, right: Float64Array | None) -> Float64Array | None:
    if left is None or right is None:
        return None
    return left + right
