r"""Constrained variational EM: the outer loop (section 2).

.. math:: T_n \approx c\,W (z_n \odot L_n), \qquad z_{nk} \sim Bernoulli(\pi_k)

Each stage is one pass over the rows, which takes the E-step and sums up what the M-step needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from cerflearn._typing import Float64Array
from cerflearn.learning.admm import SpectralPenalty
from cerflearn.learning.bound import LowerBound, lower_bound
from cerflearn.learning.incremental import start_blocks, update_blocks
from cerflearn.learning.m_step import AdmmSolver, Fixed, ProcrustesSolver, RotationSolver, m_step
from cerflearn.learning.normalization import Normalize, Normalizer, fit_normalizer
from cerflearn.learning.orthogonal import project_to_orthogonal
from cerflearn.learning.rows import Rows
from cerflearn.learning.state import CVEMProgress, CVEMResult, Stage, VariationalState
from cerflearn.learning.stats import (
    EStepTask,
    SufficientStats,
    SweepTask,
    UniformTask,
    e_step_block,
    sweep_block,
    uniform_block,
)

Solver: TypeAlias = Literal["procrustes", "admm"]
EStep: TypeAlias = Literal["orthogonal", "literal"]
Schedule: TypeAlias = Literal["batch", "incremental"]


def fit_cvem(
    rows: Rows,
    *,
    solver: Solver = "procrustes",
    normalize: Normalize = "standardize",
    spectral_penalty: SpectralPenalty = "adaptive",
    e_step: EStep = "orthogonal",
    schedule: Schedule = "batch",
    initial_proba: float = 0.5,
    prior_concentration: float | None = None,
    scale: float | None = None,
    noise_std: float | None = None,
    max_stages: int = 20,
    n_closing_stages: int = 3,
    tol: float = 1e-3,
    on_stage: Callable[[Stage], None] | None = None,
    progress: CVEMProgress | None = None,
    on_progress: Callable[[CVEMProgress], None] | None = None,
) -> CVEMResult:
    r"""Maximise the bound of Eq. 15 over :math:`q(Z)\,q(\pi)`, W, c and :math:`\sigma` in turn.

    Parameters
    ----------
    rows : Rows
        Teacher (n_samples, n_outputs) and learner (n_samples, n_candidates), in blocks.
    solver : {"procrustes", "admm"}, default="procrustes"
        The exact M-step or the paper's, see :mod:`cerflearn.learning.m_step`.
    normalize : {"standardize", "center"} or None, default="standardize"
        See :mod:`cerflearn.learning.normalization`; None is the paper as printed.
    spectral_penalty : float or "adaptive", default="adaptive"
        :math:`\alpha` of ADMM, see :class:`cerflearn.learning.m_step.AdmmSolver`.
    e_step : {"orthogonal", "literal"}, default="orthogonal"
        Project ADMM's rotation before each E-step, which then is exact and needs no state of the
        samples; or leave it as it is and update the features of each sample in turn, as printed.
        The probabilities of all samples, n_samples x n_candidates, are then kept.
    schedule : {"batch", "incremental"}, default="batch"
        An M-step after the E-step of all rows, or after that of each block, see
        :mod:`cerflearn.learning.incremental`; the latter with ``solver="procrustes"`` only.
    initial_proba : float, default=.5
        :math:`\nu` before the first stage.
    prior_concentration : float, optional
        :math:`\gamma` of Eq. 4. By default K: all :math:`\pi_k` are equally likely.
    scale, noise_std : float, optional
        c and :math:`\sigma`, if they are to stay fixed; by default re-estimated in each stage.
    max_stages : int, default=20
        Most stages that update the rotation.
    n_closing_stages : int, default=3
        Stages with a fixed, orthogonal rotation that follow (end of section 2.2).
    tol : float, default=1e-3
        Converged if the bound changes by less than this for each value of the teacher.
    on_stage : callable, optional
        Called after each stage; what it raises ends learning.
    progress : CVEMProgress, optional
        Where another run of the same rows and settings stopped: this one goes on from there, to
        the same bits.
    on_progress : callable, optional
        Called with the progress before the first stage and after each, before ``on_stage``.

    Returns
    -------
    CVEMResult
        Whether it converged is reported there, not warned about.

    Notes
    -----
    With ``solver="procrustes"`` every update is exact given the others, so that the bound never
    falls. With ``e_step="literal"`` no E-step lowers it; the M-step of ADMM, whose objective is
    another, may. Nothing is drawn at random: the same rows give the same bits.

    Examples
    --------
    >>> from cerflearn.engine.blocks import ArraySource
    >>> from cerflearn.engine.engines import SerialEngine
    >>> learner = np.random.default_rng(0).normal(size=(200, 5))
    >>> teacher = learner[:, [1, 4]] @ [[0.6, -0.8], [0.8, 0.6]]
    >>> result = fit_cvem(SerialEngine(ArraySource(teacher, learner)))
    >>> result.feature_proba > 0.5
    array([False,  True, False, False,  True])
    """
    settings = _Settings(
        solver=make_solver(solver, spectral_penalty, e_step),
        incremental=_is_incremental(schedule, solver),
        fixed=Fixed(scale, noise_std),
        initial_proba=initial_proba,
        tol=tol,
    )
    with rows.session():
        if progress is None:
            progress = _start(rows, normalize, prior_concentration, settings)
            if on_progress is not None:
                on_progress(progress)
        settings.solver.warm_start = progress.warm_start
        for number, keep_rotation in enumerate([False] * max_stages + [True] * n_closing_stages):
            if number < progress.n_passed or (progress.converged and not keep_rotation):
                continue
            progress, bound = _take_stage(rows, progress, keep_rotation, settings)
            progress = replace(progress, n_passed=number + 1)
            if on_progress is not None:
                on_progress(progress)
            if on_stage is not None:
                index = len(progress.lower_bounds) - 1
                on_stage(Stage(index, progress.state, bound, keep_rotation))
    state = progress.state
    return CVEMResult(
        feature_proba=state.feature_proba,
        rotation=state.rotation,
        scale=state.scale,
        noise_std=state.noise_std,
        lower_bounds=np.array(progress.lower_bounds),
        n_iter=len(progress.lower_bounds),
        converged=progress.converged,
        state=state,
        normalizer=progress.normalizer,
    )


class _Settings(NamedTuple):
    """What all stages share; the solver keeps where it goes on."""

    solver: RotationSolver
    incremental: bool
    fixed: Fixed
    initial_proba: float
    tol: float


def _start(
    rows: Rows, normalize: Normalize, prior_concentration: float | None, settings: _Settings
) -> CVEMProgress:
    """Two passes: for the normalisation, and for the state before the first stage."""
    normalizer = fit_normalizer(rows, normalize)
    state = start_state(
        rows, normalizer, settings.initial_proba, prior_concentration, settings.fixed
    )
    return CVEMProgress(normalizer, replace(state, orthogonal=settings.solver.orthogonal))


def _take_stage(
    rows: Rows, progress: CVEMProgress, keep_rotation: bool, settings: _Settings
) -> tuple[CVEMProgress, LowerBound]:
    """E-step, M-step and bound, in one pass."""
    normalizer, state, bounds = progress.normalizer, progress.state, progress.lower_bounds
    probas, blocks, fixed = progress.probas, progress.blocks, settings.fixed
    if keep_rotation and not state.orthogonal:
        rotation = project_to_orthogonal(state.rotation)
        state = replace(state, rotation=rotation, orthogonal=True)
    solve = None if keep_rotation else settings.solver
    if settings.incremental and not keep_rotation:
        blocks = blocks or start_blocks(rows, normalizer, settings.initial_proba)
        state, stats = update_blocks(rows, normalizer, state, blocks, fixed)
    else:
        blocks = None
        stats, probas = _e_step(rows, normalizer, state, solve, settings.initial_proba, probas)
        state = m_step(state, stats, solve, fixed)
    bound = lower_bound(state, stats)
    converged = progress.converged
    if not keep_rotation and bounds:
        n_values = stats.n_samples * max(state.rotation.shape)
        converged = abs(bound.total - bounds[-1]) < settings.tol * n_values
    after = replace(
        progress,
        state=state,
        lower_bounds=[*bounds, bound.total],
        converged=converged,
        warm_start=settings.solver.warm_start,
        probas=probas if not state.orthogonal else None,
        blocks=blocks,
    )
    return after, bound


def make_solver(solver: Solver, spectral_penalty: SpectralPenalty, e_step: EStep) -> RotationSolver:
    """Return the M-step that ``solver`` names; parameters as in :func:`fit_cvem`."""
    if spectral_penalty != "adaptive" and not 0.0 <= spectral_penalty < 1.0:
        raise ValueError(
            f"spectral_penalty={spectral_penalty!r} must be 'adaptive' or in [0, 1): from 1 on the "
            "rotation is zero."
        )
    if solver == "procrustes":
        return ProcrustesSolver()
    if solver == "admm":
        return AdmmSolver(spectral_penalty, orthogonal=e_step == "orthogonal")
    raise ValueError(f"solver={solver!r} must be 'procrustes' or 'admm'.")


def _is_incremental(schedule: Schedule, solver: Solver) -> bool:
    """Whether an M-step follows each block."""
    if schedule not in ("batch", "incremental"):
        raise ValueError(f"schedule={schedule!r} must be 'batch' or 'incremental'.")
    if schedule == "incremental" and solver != "procrustes":
        raise ValueError("schedule='incremental' needs solver='procrustes'.")
    return schedule == "incremental"


def start_state(
    rows: Rows,
    normalizer: Normalizer,
    initial_proba: float,
    prior_concentration: float | None,
    fixed: Fixed,
) -> VariationalState:
    """State after an M-step in which all samples select all features with one probability."""
    stats = rows.map_reduce(uniform_block, UniformTask(normalizer, initial_proba))
    return start_from(stats, normalizer, prior_concentration, fixed)


def start_from(
    stats: SufficientStats,
    normalizer: Normalizer,
    prior_concentration: float | None,
    fixed: Fixed,
) -> VariationalState:
    """State after an M-step, from sums in which all features are selected with one probability."""
    assert stats.cross is not None
    n_candidates = len(normalizer.usable)
    state = VariationalState(
        rotation=np.zeros_like(stats.cross),
        scale=1.0 if fixed.scale is None else fixed.scale,
        noise_std=1.0 if fixed.noise_std is None else fixed.noise_std,
        beta_posterior=np.ones((n_candidates, 2)),
        prior_concentration=prior_concentration or float(n_candidates),
        usable=normalizer.usable,
    )
    return m_step(state, stats, ProcrustesSolver(), fixed)


def _e_step(
    rows: Rows,
    normalizer: Normalizer,
    state: VariationalState,
    solver: RotationSolver | None,
    initial_proba: float,
    probas: Sequence[Float64Array] | None,
) -> tuple[SufficientStats, Sequence[Float64Array] | None]:
    """E-step of all rows, with the sums that the solver needs; None keeps the rotation.

    ``probas`` are those of all samples, which only rotations that are not orthogonal need.
    """
    if not state.orthogonal:
        task = SweepTask(normalizer, state, initial_proba)
        swept = rows.map_reduce(sweep_block, task, probas)
        return swept.stats, swept.probas
    with_gram = solver is not None and solver.needs_gram
    e_task = EStepTask(normalizer, state, with_cross=solver is not None, with_gram=with_gram)
    return rows.map_reduce(e_step_block, e_task), probas
