r"""Incremental EM: an M-step after the E-step of each block of rows (Neal and Hinton, 1998).

The sums of all rows are the sum of those of the blocks. When the E-step of block b is taken anew,
its old sums are subtracted and its new ones added,

.. math:: S \leftarrow S - S_b^{old} + S_b^{new},

and the M-step follows at once. The E-step maximises the bound over the selections of its block,
given all others, the M-step over the parameters: the bound never falls. The sums of every block are
kept, n_blocks x n_outputs x n_candidates numbers.
"""

from __future__ import annotations

from functools import reduce

from cerflearn.learning.m_step import Fixed, ProcrustesSolver, m_step
from cerflearn.learning.normalization import Normalizer
from cerflearn.learning.rows import Rows
from cerflearn.learning.state import VariationalState
from cerflearn.learning.stats import (
    EStepTask,
    SufficientStats,
    UniformTask,
    e_step_block,
    uniform_block,
)

MOST_BLOCK_BYTES = 2 * 1024**3
"""Most memory for the sums of all blocks, 2 GiB."""


def start_blocks(rows: Rows, normalizer: Normalizer, initial_proba: float) -> list[SufficientStats]:
    """Return the sums of each block where all samples select all features with one probability.

    Parameters
    ----------
    rows : Rows
        Teacher and learner, in blocks.
    normalizer : Normalizer
        Applied first.
    initial_proba : float
        That probability.

    Returns
    -------
    list of SufficientStats
        One for each block; ``ValueError`` if they need more than 2 GiB.
    """
    n_outputs, n_candidates = len(normalizer.teacher_mean), len(normalizer.usable)
    n_bytes = 8 * rows.n_blocks * n_outputs * n_candidates
    if n_bytes > MOST_BLOCK_BYTES:
        raise ValueError(
            f"schedule='incremental' keeps the sums of each of {rows.n_blocks} blocks of rows: "
            f"{rows.n_blocks} x {n_outputs} x {n_candidates} numbers, {n_bytes / 2**30:.1f} GiB, "
            f"and at most {MOST_BLOCK_BYTES / 2**30:.0f} GiB are possible. Pass schedule='batch', "
            "fewer candidates or fewer rows."
        )
    task = UniformTask(normalizer, initial_proba)
    return [rows.map_block(uniform_block, task, index) for index in range(rows.n_blocks)]


def update_blocks(
    rows: Rows,
    normalizer: Normalizer,
    state: VariationalState,
    blocks: list[SufficientStats],
    fixed: Fixed,
) -> tuple[VariationalState, SufficientStats]:
    """One pass over all blocks; the bound does not fall in any of its steps.

    Parameters
    ----------
    rows : Rows
        Teacher and learner, in blocks.
    normalizer : Normalizer
        Applied first.
    state : VariationalState
        Where the pass starts.
    blocks : list of SufficientStats
        Sums that the last E-step of each block left; the new ones take their place.
    fixed : Fixed
        Scale and noise that are not learned.

    Returns
    -------
    VariationalState, SufficientStats
        State and sums of all rows after the pass.
    """
    solver = ProcrustesSolver()
    # Added up anew in each pass, so that rounding of the differences does not pile up.
    total = reduce(SufficientStats.merge, blocks)
    for index, old in enumerate(blocks):
        new = rows.map_block(e_step_block, EStepTask(normalizer, state), index)
        total = total.merge(old.scaled(-1.0)).merge(new)
        blocks[index] = new
        state = m_step(state, total, solver, fixed)
    return state, total
