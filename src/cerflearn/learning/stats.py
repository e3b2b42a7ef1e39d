"""The sums over samples that the M-step and the bound need, and how a block of rows is summed up.

Block functions take a task, which is the same for all blocks, and the two arrays of one block. They
are pure and at module level, so that any engine can run them anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array
from cerflearn.learning.e_step import (
    TILE_ROWS,
    log_odds,
    selection_proba,
    sweep_selection_proba,
)
from cerflearn.learning.normalization import Normalizer
from cerflearn.learning.state import VariationalState

# Values of a tile of rows: each of the five arrays of the E-step has 256 KiB, so that they stay in
# the second-level cache while some twenty operations go over them.
_TILE_VALUES = 2**15


@dataclass(frozen=True, eq=False)
class SufficientStats:
    r"""Sums over samples n, given the selection probabilities :math:`\nu`; all in float64.

    Attributes
    ----------
    n_samples : float
        N; of averages over mini-batches, the average number of rows.
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

    n_samples: float
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

    def scaled(self, factor: float) -> SufficientStats:
        """Return all sums times a number; -1 makes ``merge`` a difference."""
        return SufficientStats(
            n_samples=self.n_samples * factor,
            teacher_energy=self.teacher_energy * factor,
            selected=self.selected * factor,
            selected_energy=self.selected_energy * factor,
            alignment=self.alignment * factor,
            entropy=self.entropy * factor,
            cross=None if self.cross is None else self.cross * factor,
            gram=None if self.gram is None else self.gram * factor,
        )


def _add(left: Float64Array | None, right: Float64Array | None) -> Float64Array | None:
    if left is None or right is None:
        return None
    return left + right


@dataclass(frozen=True, eq=False)
class UniformTask:
    r"""All samples select all features with one probability.

    Attributes
    ----------
    normalizer : Normalizer
        Applied first.
    proba : float
        :math:`\nu`; 1 gives plain Gram and cross matrices.
    with_gram : bool
        Whether the Gram matrix is needed.
    """

    normalizer: Normalizer
    proba: float = 1.0
    with_gram: bool = False


@dataclass(frozen=True, eq=False)
class EStepTask:
    """An E-step followed by the sums for the M-step.

    Attributes
    ----------
    normalizer : Normalizer
        Applied first.
    state : VariationalState
        Rotation, scale, noise and q(pi).
    with_cross, with_gram : bool
        Which matrices the M-step needs: none if the rotation is fixed.
    """

    normalizer: Normalizer
    state: VariationalState
    with_cross: bool = True
    with_gram: bool = False


@dataclass(frozen=True, eq=False)
class SweepTask:
    """An E-step that updates features in turn, for any rotation.

    Attributes
    ----------
    normalizer : Normalizer
        Applied first.
    state : VariationalState
        Rotation, scale, noise and q(pi).
    initial_proba : float
        Where samples without a state of their own start.
    """

    normalizer: Normalizer
    state: VariationalState
    initial_proba: float


@dataclass(frozen=True, eq=False)
class SweepStats:
    """Sums over the rows of blocks, and the selection probabilities of each block.

    Attributes
    ----------
    stats : SufficientStats
        Sums over the rows of all blocks.
    probas : tuple of ndarray of shape (b, n_candidates)
        For each block, in block order, where its next E-step starts.
    """

    stats: SufficientStats
    probas: tuple[Float64Array, ...]

    def merge(self, other: SweepStats) -> SweepStats:
        """Return the sums and the blocks of both, ours first."""
        return SweepStats(self.stats.merge(other.stats), self.probas + other.probas)


def uniform_block(
    task: UniformTask, teacher: NDArray[Any], learner: NDArray[Any]
) -> SufficientStats:
    """Sum up for one selection probability; ``alignment`` is 0, as there is no rotation yet."""
    teacher, learner = task.normalizer.apply(teacher, learner)
    n_samples, n_candidates = learner.shape
    proba = task.proba
    each = -sum(p * float(np.log(p)) for p in (proba, 1.0 - proba) if p > 0.0)
    usable = task.normalizer.usable
    return SufficientStats(
        n_samples=n_samples,
        teacher_energy=float(np.vdot(teacher, teacher)),
        selected=np.where(usable, proba * n_samples, 0.0),
        selected_energy=proba * np.square(learner).sum(axis=0),
        alignment=np.zeros(n_candidates),
        entropy=each * n_samples * int(usable.sum()),
        cross=proba * (teacher.T @ learner),
        gram=proba**2 * (learner.T @ learner) if task.with_gram else None,
    )


def e_step_block(task: EStepTask, teacher: NDArray[Any], learner: NDArray[Any]) -> SufficientStats:
    """E-step (Eqs. 21-25) and the sums it leaves for Eqs. 26-34, in one pass.

    Two products of size (b, n_outputs, n_candidates) dominate; the E-step itself goes over tiles
    of rows that stay in cache.
    """
    teacher, learner = task.normalizer.apply(teacher, learner)
    projected = teacher @ task.state.rotation
    odds = log_odds(task.state)
    n_samples, n_candidates = learner.shape
    expected = np.empty_like(learner)
    sums = np.zeros((3, n_candidates))
    entropy = 0.0
    tile_rows = min(TILE_ROWS, max(1, _TILE_VALUES // n_candidates))
    for start in range(0, n_samples, tile_rows):
        tile = slice(start, start + tile_rows)
        entropy += _e_step_tile(task, odds, projected[tile], learner[tile], expected[tile], sums)
    return SufficientStats(
        n_samples=n_samples,
        teacher_energy=float(np.vdot(teacher, teacher)),
        selected=sums[0],
        selected_energy=sums[1],
        alignment=sums[2],
        entropy=entropy,
        cross=teacher.T @ expected if task.with_cross else None,
        gram=expected.T @ expected if task.with_gram else None,
    )


def _e_step_tile(
    task: EStepTask,
    odds: Float64Array,
    projected: Float64Array,
    learner: Float64Array,
    expected: Float64Array,
    sums: Float64Array,
) -> float:
    """Fill ``expected`` (b, n_candidates), add to ``sums`` (3, n_candidates), return entropy."""
    state = task.state
    proba, entropy = selection_proba(projected, learner, odds, state.scale, state.noise_std)
    np.multiply(proba, learner, out=expected)
    sums[0] += proba.sum(axis=0)
    sums[1] += np.multiply(expected, learner, out=proba).sum(axis=0)
    sums[2] += np.multiply(expected, projected, out=proba).sum(axis=0)
    return entropy


def sweep_block(
    task: SweepTask,
    teacher: NDArray[Any],
    learner: NDArray[Any],
    proba: Float64Array | None = None,
) -> SweepStats:
    """E-step (Eqs. 21-25) that updates features in turn, and all sums for Eqs. 26-34.

    ``proba`` (b, n_candidates) are the probabilities that the last E-step left; None at first.
    """
    teacher, learner = task.normalizer.apply(teacher, learner)
    rotation = task.state.rotation
    projected, overlap, odds = teacher @ rotation, rotation.T @ rotation, log_odds(task.state)
    if proba is None:
        proba = np.where(task.normalizer.usable, task.initial_proba, 0.0) + np.zeros_like(learner)
    updated, entropy = np.empty_like(learner), 0.0
    for start in range(0, len(learner), TILE_ROWS):
        tile = slice(start, start + TILE_ROWS)
        updated[tile], part = sweep_selection_proba(
            projected[tile], learner[tile], odds, task.state, overlap, proba[tile]
        )
        entropy += part
    expected = updated * learner
    stats = SufficientStats(
        n_samples=len(learner),
        teacher_energy=float(np.vdot(teacher, teacher)),
        selected=updated.sum(axis=0),
        selected_energy=(expected * learner).sum(axis=0),
        alignment=(expected * projected).sum(axis=0),
        entropy=entropy,
        cross=teacher.T @ expected,
        gram=expected.T @ expected,
    )
    return SweepStats(stats, (updated,))
