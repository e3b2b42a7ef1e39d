r"""One selector shared by all samples already while learning.

With one z the posterior of each :math:`z_k` sums evidence over all samples and becomes certain, so
the E-step turns into a choice. Given a rotation, keeping feature k with a scale :math:`c_k` of its
own lowers the error by

.. math:: \max_{c_k} 2 c_k \sum_n L_{nk} (W^\top T_n)_k - c_k^2 \sum_n L_{nk}^2
          = \Big(\sum_n L_{nk} (W^\top T_n)_k\Big)^2 \Big/ \sum_n L_{nk}^2,

which is its score. (The sums are the diagonal of :math:`W^\top T^\top L`, which is positive
semidefinite for the best W: no sum is negative.) Choosing the best K' at once would score them by a
rotation fitted to all K candidates; so they are dropped step by step, each time with a new one.
All of it needs one pass for means and one for :math:`T^\top L`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cerflearn._typing import Float64Array, IntArray, StateStore
from cerflearn.learning.normalization import Normalize, fit_normalizer
from cerflearn.learning.orthogonal import project_to_orthogonal
from cerflearn.learning.ranking import check_n_components, rank_candidates
from cerflearn.learning.rows import Rows
from cerflearn.learning.saved_state import ROUNDS, kept_sums
from cerflearn.learning.stats import SufficientStats, UniformTask, uniform_block


@dataclass(frozen=True, eq=False)
class SharedResult:
    """What the shared selector learned.

    Attributes
    ----------
    ranking : ndarray of shape (n_candidates,), int64
        Columns, best first: those kept to the end, then those dropped last, and so on.
    rotation : ndarray of shape (n_outputs, n_components)
        W of the ``n_components`` kept columns, in the order of ``ranking``.
    scale : float
        c.
    errors : ndarray of shape (n_iter,)
        Share of the teacher's energy that is left unexplained, after each stage.
    n_iter : int
        Number of stages.
    """

    ranking: IntArray
    rotation: Float64Array
    scale: float
    errors: Float64Array
    n_iter: int


def fit_shared(
    rows: Rows,
    n_components: int,
    *,
    normalize: Normalize = "standardize",
    units: IntArray | None = None,
    groups: IntArray | None = None,
    max_stages: int = 20,
    on_stage: Callable[[int, float], None] | None = None,
    store: StateStore | None = None,
) -> SharedResult:
    """Choose ``n_components`` columns for all samples, dropping the others step by step.

    Parameters
    ----------
    rows : Rows
        Teacher and learner.
    n_components : int
        K'.
    normalize : {"standardize", "center"} or None
        See :mod:`cerflearn.learning.normalization`.
    units, groups : ndarray of shape (n_candidates,), int64, optional
        Columns to keep or drop together, see
        :func:`cerflearn.learning.ranking.rank_candidates`.
    max_stages : int, default=20
        Number of steps from K to K' columns, which fall geometrically; at least 2 are taken.
    on_stage : callable, optional
        Called with the number of the stage and its error.
    store : StateStore, optional
        Keeps the sums over the rows, and what is left after each stage; the same call with a store
        that has them goes on from there, to the same bits, and reports the stages before, too.

    Returns
    -------
    SharedResult
        The first ``n_components`` columns of its ranking are the selector.

    Examples
    --------
    >>> from cerflearn.engine.blocks import ArraySource
    >>> from cerflearn.engine.engines import SerialEngine
    >>> learner = np.random.default_rng(0).normal(size=(200, 5))
    >>> teacher = learner[:, [1, 4]] @ [[0.6, -0.8], [0.8, 0.6]]
    >>> result = fit_shared(SerialEngine(ArraySource(teacher, learner)), 2)
    >>> sorted(result.ranking[:2].tolist())
    [1, 4]
    """

    def compute() -> SufficientStats:
        normalizer = fit_normalizer(rows, normalize)
        return rows.map_reduce(uniform_block, UniformTask(normalizer))

    with rows.session():
        return choose_shared(
            compute() if store is None else kept_sums(store, compute),
            n_components,
            units=units,
            groups=groups,
            max_stages=max_stages,
            on_stage=on_stage,
            store=store,
        )


def choose_shared(
    stats: SufficientStats,
    n_components: int,
    *,
    units: IntArray | None = None,
    groups: IntArray | None = None,
    max_stages: int = 20,
    on_stage: Callable[[int, float], None] | None = None,
    store: StateStore | None = None,
) -> SharedResult:
    """Choose columns as :func:`fit_shared` does, from sums in which all are selected.

    Parameters
    ----------
    stats : SufficientStats
        With the cross matrix.
    n_components, units, groups, max_stages, on_stage, store
        As in :func:`fit_shared`.
    """
    n_candidates = len(stats.selected)
    check_n_components(n_components, n_candidates)
    units = np.arange(n_candidates) if units is None else units
    groups = units if groups is None else groups
    shares = np.linspace(0.0, 1.0, max(2, max_stages))
    counts = np.rint(n_candidates ** (1.0 - shares) * n_components**shares).astype(np.int64)
    found = None if store is None else store.load(ROUNDS)
    ranking: IntArray = np.arange(n_candidates) if found is None else found["ranking"]
    errors: list[float] = [] if found is None else found["errors"]
    if on_stage is not None:
        for stage, error in enumerate(errors):
            on_stage(stage, error)
    for stage, wanted in enumerate(counts.tolist()):
        if stage < len(errors):
            continue
        last = stage == len(counts) - 1
        count = wanted if last else _end_of_group(groups[ranking], wanted)
        kept = ranking[:count]
        fit = _fit(stats, kept)
        order = rank_candidates(fit.scores, units=units[kept], groups=groups[kept])
        # Columns dropped before stay behind, in the order of the stage that dropped them.
        ranking = np.concatenate([kept[order], ranking[count:]])
        errors.append(fit.error)
        if store is not None and not last:  # the last one has the rotation, too
            store.save(ROUNDS, {"ranking": ranking, "errors": errors})
        if on_stage is not None:
            on_stage(stage, fit.error)
    return SharedResult(ranking, fit.rotation[:, order], fit.scale, np.array(errors), len(errors))


class _Fit(NamedTuple):
    """Procrustes fit of some columns (count,): W, c, share of energy left, scores (count,)."""

    rotation: Float64Array
    scale: float
    error: float
    scores: Float64Array


def _fit(stats: SufficientStats, kept: IntArray) -> _Fit:
    """Fit the kept columns to the teacher; constant columns score 0."""
    assert stats.cross is not None
    cross, energy = stats.cross[:, kept], stats.selected_energy[kept]
    rotation = project_to_orthogonal(cross)
    alignment = np.einsum("mk,mk->k", rotation, cross)
    total = float(alignment.sum())
    scale = total / float(energy.sum())
    scores = np.divide(np.square(alignment), energy, out=np.zeros(len(kept)), where=energy > 0.0)
    return _Fit(rotation, scale, 1.0 - scale * total / stats.teacher_energy, scores)


def _end_of_group(labels: IntArray, count: int) -> int:
    """Smallest number of leading columns, at least ``count``, that splits no group."""
    while count < len(labels) and labels[count] == labels[count - 1]:
        count += 1
    return count
