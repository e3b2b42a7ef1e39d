r"""Stochastic EM: rows come in mini-batches, each seen once (stochastic variant of section 1).

The sums over samples that the M-step needs become averages over the mini-batches seen so far. The
sums S_t of mini-batch t = 1, 2, ... enter with a weight that falls,

.. math:: \bar S \leftarrow (1 - \rho_t) \bar S + \rho_t S_t, \qquad \rho_t = (t + t_0)^{-\kappa},

the first one, t = 0, with weight 1. The number of rows is averaged in the same way, so that
:math:`\bar S / \bar n` is an average over rows in which all rows of a mini-batch have one weight,
whatever its size. The M-step is that of :mod:`cerflearn.learning.m_step`, on N times this average,
N the rows seen (Eq. 26); its rotation is the polar factor of the averaged cross matrix. Memory does
not grow with the rows.

EM ends in an optimum near its path: a feature that no sample selects stays so, whatever the rows
become. So every 25 mini-batches a second run starts, from averages in which all features are
selected alike; after 25 more it replaces the first if its bound on these mini-batches was higher.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cerflearn.learning.bound import LowerBound, lower_bound
from cerflearn.learning.cvem import start_from, start_state
from cerflearn.learning.m_step import Fixed, ProcrustesSolver, m_step
from cerflearn.learning.normalization import Normalize, Normalizer, fit_normalizer
from cerflearn.learning.rows import Rows
from cerflearn.learning.shared import SharedResult
from cerflearn.learning.state import VariationalState
from cerflearn.learning.stats import (
    EStepTask,
    SufficientStats,
    UniformTask,
    e_step_block,
    uniform_block,
)

TRIAL_BATCHES = 25
"""Mini-batches after which two runs are compared: their first 5 to 10 weigh little then."""


@dataclass(frozen=True, eq=False)
class RunningStats:
    """Averages of sums over mini-batches.

    Attributes
    ----------
    averages : SufficientStats
        Averages, the number of rows among them.
    n_samples : int
        Rows seen.
    n_batches : int
        Mini-batches seen.
    """

    averages: SufficientStats
    n_samples: int
    n_batches: int

    @classmethod
    def add(
        cls, before: RunningStats | None, stats: SufficientStats, offset: float, decay: float
    ) -> RunningStats:
        r"""Return the averages with one more mini-batch; None before the first.

        Parameters
        ----------
        before : RunningStats or None
            Mini-batches so far.
        stats : SufficientStats
            Sums of the next one; ``ValueError`` if they are not finite.
        offset, decay : float
            :math:`t_0` and :math:`\kappa` of the weight :math:`(t + t_0)^{-\kappa}`.
        """
        assert stats.cross is not None
        if not (np.isfinite(stats.teacher_energy) and np.isfinite(stats.cross).all()):
            raise ValueError("The outputs of the teacher are too large to be summed: scale them.")
        n_samples = int(stats.n_samples)
        if before is None:
            return cls(stats, n_samples, 1)
        weight = (before.n_batches + offset) ** -decay
        averages = before.averages.scaled(1.0 - weight).merge(stats.scaled(weight))
        return cls(averages, before.n_samples + n_samples, before.n_batches + 1)

    def sums(self) -> SufficientStats:
        """Return the averages times the rows seen."""
        sums = self.averages.scaled(self.n_samples / self.averages.n_samples)
        return replace(sums, n_samples=self.n_samples)


@dataclass(frozen=True, eq=False)
class EMRun:
    """Stochastic EM from one start.

    Attributes
    ----------
    state : VariationalState
        Parameters and q(pi).
    running : RunningStats or None
        Averages; None before the first mini-batch.
    evidence : float
        Bound of the mini-batches since the runs were last compared, each by the parameters before
        it was learned from.
    """

    state: VariationalState
    running: RunningStats | None = None
    evidence: float = 0.0


@dataclass(frozen=True, eq=False)
class CVEMStream:
    """What CVEM has learned from mini-batches.

    Attributes
    ----------
    normalizer : Normalizer
        Of the rows that the stream began with.
    initial_proba, prior_concentration, fixed
        Of the starts; scale and noise that are not learned.
    run : EMRun
        The one that counts.
    rival : EMRun or None
        One from a later start, to be compared with it.
    uniform : RunningStats or None
        Averages in which all features are selected alike; None before the first mini-batch.
    """

    normalizer: Normalizer
    initial_proba: float
    prior_concentration: float | None
    fixed: Fixed
    run: EMRun
    rival: EMRun | None = None
    uniform: RunningStats | None = None

    @property
    def state(self) -> VariationalState:
        """Parameters and q(pi)."""
        return self.run.state


def start_cvem_stream(
    rows: Rows,
    *,
    normalize: Normalize = "standardize",
    initial_proba: float = 0.5,
    prior_concentration: float | None = None,
    scale: float | None = None,
    noise_std: float | None = None,
) -> CVEMStream:
    """Fix the normalisation on some rows, and start as :func:`cerflearn.learning.cvem.fit_cvem`.

    Parameters
    ----------
    rows : Rows
        Teacher and learner: more rows than candidates, so that all columns of W are determined.
    normalize, initial_proba, prior_concentration, scale, noise_std
        As in :func:`cerflearn.learning.cvem.fit_cvem`.
    """
    fixed = Fixed(scale, noise_std)
    with rows.session():
        normalizer = fit_normalizer(rows, normalize)
        state = start_state(rows, normalizer, initial_proba, prior_concentration, fixed)
    return CVEMStream(normalizer, initial_proba, prior_concentration, fixed, EMRun(state))


def update_cvem_stream(
    stream: CVEMStream, rows: Rows, *, learning_offset: float, learning_decay: float
) -> tuple[CVEMStream, LowerBound]:
    """Learn from one mini-batch: its E-step, then an M-step on the averages.

    Parameters
    ----------
    stream : CVEMStream
        Not changed.
    rows : Rows
        Teacher and learner of the mini-batch.
    learning_offset, learning_decay : float
        See :meth:`RunningStats.add`.

    Returns
    -------
    CVEMStream, LowerBound
        The bound is an estimate for all rows seen: their selections were made by the parameters of
        their time.

    Examples
    --------
    >>> from cerflearn.engine.blocks import ArraySource
    >>> from cerflearn.engine.engines import SerialEngine
    >>> learner = np.random.default_rng(0).normal(size=(600, 5))
    >>> teacher = learner[:, [1, 4]] @ [[0.6, -0.8], [0.8, 0.6]]
    >>> batches = [
    ...     SerialEngine(ArraySource(teacher[i : i + 100], learner[i : i + 100]))
    ...     for i in range(0, 600, 100)
    ... ]
    >>> stream = start_cvem_stream(batches[0])
    >>> for rows in batches:
    ...     stream, _ = update_cvem_stream(stream, rows, learning_offset=10.0, learning_decay=0.7)
    >>> stream.state.feature_proba > 0.5
    array([False,  True, False, False,  True])
    """
    weights = (learning_offset, learning_decay)
    with rows.session():
        run = _advance(stream, stream.run, rows, *weights)
        rival = None if stream.rival is None else _advance(stream, stream.rival, rows, *weights)
        task = UniformTask(stream.normalizer, stream.initial_proba)
        sums = rows.map_reduce(uniform_block, task)
        uniform = RunningStats.add(stream.uniform, sums, *weights)
        if uniform.n_batches % TRIAL_BATCHES == 0:
            run, rival = _compare(run, rival), _rival(stream, uniform)
        assert run.running is not None
        bound = lower_bound(run.state, run.running.sums())
    return replace(stream, run=run, rival=rival, uniform=uniform), bound


def _advance(
    stream: CVEMStream, run: EMRun, rows: Rows, learning_offset: float, learning_decay: float
) -> EMRun:
    """E-step of a mini-batch, then an M-step on the averages."""
    stats = rows.map_reduce(e_step_block, EStepTask(stream.normalizer, run.state))
    running = RunningStats.add(run.running, stats, learning_offset, learning_decay)
    bound = lower_bound(run.state, stats)
    evidence = run.evidence + bound.likelihood + bound.selector + bound.entropy
    state = m_step(run.state, running.sums(), ProcrustesSolver(), stream.fixed)
    return EMRun(state, running, evidence)


def _rival(stream: CVEMStream, uniform: RunningStats) -> EMRun:
    """Run that starts now; its weights start again, too."""
    sums = uniform.sums()
    state = start_from(sums, stream.normalizer, stream.prior_concentration, stream.fixed)
    return EMRun(state, replace(uniform, n_batches=1))


def _compare(run: EMRun, rival: EMRun | None) -> EMRun:
    """Return the run with the higher bound, which has yet to be compared with the next."""
    better = rival is not None and rival.evidence > run.evidence
    return replace(rival if rival is not None and better else run, evidence=0.0)


@dataclass(frozen=True, eq=False)
class SharedStream:
    """What the shared selector has learned from mini-batches.

    Attributes
    ----------
    normalizer : Normalizer
        Of the rows that the stream began with.
    running : RunningStats or None
        Averages; None before the first mini-batch.
    """

    normalizer: Normalizer
    running: RunningStats | None = None


def start_shared_stream(rows: Rows, normalize: Normalize = "standardize") -> SharedStream:
    """Fix the normalisation on some rows."""
    with rows.session():
        return SharedStream(fit_normalizer(rows, normalize))


def update_shared_stream(
    stream: SharedStream,
    rows: Rows,
    choose: Callable[[SufficientStats], SharedResult],
    *,
    learning_offset: float,
    learning_decay: float,
) -> tuple[SharedStream, SharedResult]:
    """Add one mini-batch to the averages, and choose anew from all candidates.

    Parameters
    ----------
    stream : SharedStream
        Not changed.
    rows : Rows
        Teacher and learner of the mini-batch.
    choose : callable
        :func:`cerflearn.learning.shared.choose_shared` with its settings; candidates that it
        drops are not dropped from the averages.
    learning_offset, learning_decay : float
        See :meth:`RunningStats.add`.
    """
    with rows.session():
        stats = rows.map_reduce(uniform_block, UniformTask(stream.normalizer))
        running = RunningStats.add(stream.running, stats, learning_offset, learning_decay)
        return replace(stream, running=running), choose(running.sums())
