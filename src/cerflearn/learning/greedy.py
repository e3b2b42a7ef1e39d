r"""Greedy selection: simultaneous orthogonal matching pursuit of the teacher by learner columns.

Each step adds the block S of columns that lowers the error of regressing the teacher on all chosen
columns most; of equals the one with the lowest column. With learner and teacher made orthogonal to
what is chosen, Q and R,

.. math:: gain(S) = |P_{Q_S} R|^2 = tr\big((Q_S^\top Q_S)^{-1} (R^\top Q_S)^\top (R^\top Q_S)\big).

Only :math:`L^\top L` and :math:`T^\top L` of the start are needed: one pass over the centred data,
however many samples there are. The chosen columns are removed as in a pivoted Cholesky
factorisation, whose rows are kept instead of updating the K x K matrix at each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from cerflearn._typing import Float64Array, IntArray, StateStore
from cerflearn.learning.normalization import Normalize, fit_normalizer
from cerflearn.learning.ranking import check_n_components, rank_candidates
from cerflearn.learning.rows import Rows
from cerflearn.learning.saved_state import ROUNDS, kept_sums
from cerflearn.learning.stats import SufficientStats, UniformTask, uniform_block

# Added to the diagonal of a block, as a share of the energy that the column had at the start: what
# is left of one that depends on those chosen is rounding, far below this, and gains nothing.
_RIDGE = 1e-9

# Error of the products that gains are made of, as a share of the energies of column and teacher:
# on 300 cosines and their copies up to .64 times 2^-52 was seen.
_ROUNDING = 2.0**-50

# Share of the teacher's energy below which nothing is left to explain but what the ridge left.
_EXPLAINED = 1e-7


@dataclass(frozen=True, eq=False)
class GreedyResult:
    """What the pursuit chose.

    Attributes
    ----------
    ranking : ndarray of shape (n_candidates,), int64
        Columns in the order they were chosen, ``n_components`` of them, then the others by what
        they would still add.
    errors : ndarray of shape (n_steps,)
        Share of the teacher's energy that is left unexplained, after each step.
    """

    ranking: IntArray
    errors: Float64Array


def fit_greedy(
    rows: Rows,
    n_components: int,
    *,
    normalize: Normalize = "standardize",
    units: IntArray | None = None,
    groups: IntArray | None = None,
    store: StateStore | None = None,
) -> GreedyResult:
    """Choose ``n_components`` columns one block after another.

    Parameters
    ----------
    rows : Rows
        Teacher and learner.
    n_components : int
        K'.
    normalize : {"standardize", "center"} or None
        See :mod:`cerflearn.learning.normalization`; scaling the learner changes nothing here.
    units, groups : ndarray of shape (n_candidates,), int64, optional
        Columns to choose together, see
        :func:`cerflearn.learning.ranking.rank_candidates`. Blocks are the groups, or the units
        if there are no groups; a last group that does not fit is entered unit by unit, a last unit
        by its first columns.
    store : StateStore, optional
        Keeps the sums over the rows, and from time to time what was chosen; the same call with a
        store that has them goes on from there, to the same bits.

    Returns
    -------
    GreedyResult
        The first ``n_components`` columns of its ranking are the selector.

    Examples
    --------
    >>> from cerflearn.engine.blocks import ArraySource
    >>> from cerflearn.engine.engines import SerialEngine
    >>> learner = np.random.default_rng(0).normal(size=(200, 5))
    >>> teacher = learner[:, [1, 4]] @ [[0.6, -0.8], [0.8, 0.6]]
    >>> result = fit_greedy(SerialEngine(ArraySource(teacher, learner)), 2)
    >>> sorted(result.ranking[:2].tolist())
    [1, 4]
    """

    def compute() -> SufficientStats:
        normalizer = fit_normalizer(rows, normalize)
        return rows.map_reduce(uniform_block, UniformTask(normalizer, with_gram=True))

    with rows.session():
        stats = compute() if store is None else kept_sums(store, compute)
        assert stats.cross is not None
        assert stats.gram is not None
        return pursue(
            stats.gram,
            stats.cross,
            stats.teacher_energy,
            n_components,
            units=units,
            groups=groups,
            store=store,
        )


def pursue(
    gram: Float64Array,
    cross: Float64Array,
    teacher_energy: float,
    n_components: int,
    *,
    units: IntArray | None = None,
    groups: IntArray | None = None,
    energy: Float64Array | None = None,
    store: StateStore | None = None,
) -> GreedyResult:
    """Pursuit from Gram matrices; parameters as in :func:`fit_greedy`.

    Parameters
    ----------
    gram : ndarray of shape (n_candidates, n_candidates)
        L^T L.
    cross : ndarray of shape (n_outputs, n_candidates)
        T^T L.
    teacher_energy : float
        |T|^2.
    n_components, units, groups
        As in :func:`fit_greedy`.
    energy : ndarray of shape (n_candidates,), optional
        Energy of the columns before others were removed from ``gram``, by which rounding is
        measured. By default the diagonal of ``gram``.
    store : StateStore, optional
        As in :func:`fit_greedy`, of what was chosen.
    """
    n_candidates = len(gram)
    check_n_components(n_components, n_candidates)
    energy = np.diag(gram) if energy is None else energy
    units = np.arange(n_candidates) if units is None else units
    labels = units if groups is None else groups
    pursuit = _Pursuit(gram, cross, energy, teacher_energy, _index_blocks(labels), n_components)
    found = None if store is None else store.load(ROUNDS)
    chosen: list[int] = [] if found is None else found["chosen"]
    errors: list[float] = [1.0] if found is None else found["errors"]
    if found is not None:
        pursuit.restore(found["pursuit"])
    while len(chosen) < n_components and errors[-1] > _EXPLAINED:
        block = pursuit.best_block()
        columns = pursuit.columns(block)
        n_left = n_components - len(chosen)
        if len(columns) > n_left:
            order = np.arange(n_left)
            if groups is not None:
                order = pursue(
                    *pursuit.residual(columns),
                    teacher_energy,
                    n_left,
                    units=_relabel(units[columns]),
                    energy=energy[columns],
                ).ranking
            chosen.extend(columns[order[:n_left]].tolist())
            break
        errors.append(errors[-1] - pursuit.take(block) / teacher_energy)
        chosen.extend(columns.tolist())
        if store is not None:
            store.save_at_times(
                ROUNDS, lambda: {"chosen": chosen, "errors": errors, "pursuit": pursuit.tree()}
            )
    rest = rank_candidates(pursuit.column_gains(), units=units, groups=groups)
    rest = rest[~np.isin(rest, chosen)]
    ranking = np.concatenate([np.array(chosen, dtype=np.int64), rest])
    return GreedyResult(ranking, np.maximum(np.array(errors[1:]), 0.0))


class _Pursuit:
    """Residual Gram matrices of all blocks, given the blocks taken so far.

    With F the rows of the Cholesky factor taken so far (m, n_candidates) and P the parts of the
    teacher along them (m, n_outputs), what is left is ``gram - F^T F`` and ``cross - P^T F``. Both
    are formed for one block at a time; kept up to date are only the diagonal blocks of the first
    and of the second's own Gram matrix, from which the gains follow.
    """

    def __init__(
        self,
        gram: Float64Array,
        cross: Float64Array,
        energy: Float64Array,
        teacher_energy: float,
        index: IntArray,
        n_components: int,
    ) -> None:
        self._gram, self._cross, self._index = gram, cross, index
        self._real = index >= 0
        most = n_components + index.shape[1]
        self._factor = np.empty((most, len(gram)))
        self._parts = np.empty((most, len(cross)))
        self._n_rows = 0
        self._taken = np.zeros(len(index), dtype=np.bool_)
        pair = self._real[:, :, None] & self._real[:, None, :]
        rows, columns = index[:, :, None], index[:, None, :]
        self._learner = np.where(pair, gram[rows, columns], 0.0)
        gathered = np.where(self._real, cross[:, index], 0.0)
        self._teacher = np.einsum("mbi,mbj->bij", gathered, gathered, optimize=True)
        # A padded or constant column gets 1 here and 0 elsewhere, and so gains nothing.
        energy = np.where(self._real, energy[index], 0.0)
        self._ridge = np.where(energy > 0.0, _RIDGE * energy, 1.0)
        self._rounding = _ROUNDING * teacher_energy * energy

    def tree(self) -> dict[str, Any]:
        """Return what depends on the blocks taken so far."""
        return {
            "factor": self._factor[: self._n_rows],
            "parts": self._parts[: self._n_rows],
            "taken": self._taken,
            "learner": self._learner,
            "teacher": self._teacher,
        }

    def restore(self, tree: dict[str, Any]) -> None:
        """Go on where another pursuit of the same matrices was."""
        self._n_rows = len(tree["factor"])
        self._factor[: self._n_rows], self._parts[: self._n_rows] = tree["factor"], tree["parts"]
        self._taken, self._learner = tree["taken"], tree["learner"]
        self._teacher = tree["teacher"]

    def columns(self, block: int) -> IntArray:
        """Columns of a block."""
        columns: IntArray = self._index[block][self._real[block]]
        return columns

    def best_block(self) -> int:
        """Block with the largest gain for each of its columns; the first of equals."""
        gains, rounding = self._gains()
        gains[self._taken] = -np.inf
        best = int(np.argmax(gains))
        return int(np.argmax(gains + rounding >= gains[best] - rounding[best]))

    def column_gains(self) -> Float64Array:
        """Gain for each column of its block, (n_candidates,); 0 for blocks taken."""
        each = np.where(self._taken, 0.0, self._gains()[0])
        gains = np.zeros(len(self._gram))
        gains[self._index[self._real]] = np.repeat(each, self._real.sum(axis=1))
        return gains

    def residual(self, columns: IntArray) -> tuple[Float64Array, Float64Array]:
        """Gram (s, s) and cross (n_outputs, s) matrices of columns, given the blocks taken."""
        factor, parts = self._factor[: self._n_rows], self._parts[: self._n_rows]
        own = factor[:, columns]
        gram = self._gram[np.ix_(columns, columns)] - own.T @ own
        return gram, self._cross[:, columns] - parts.T @ own

    def take(self, block: int) -> float:
        """Remove a block from all others; return its gain."""
        columns, real = self.columns(block), self._real[block]
        factor, parts = self._factor[: self._n_rows], self._parts[: self._n_rows]
        gram, cross = self.residual(columns)
        lower = scipy.linalg.cholesky(gram + np.diag(self._ridge[block][real]), lower=True)
        new_rows = self._gram[columns] - factor[:, columns].T @ factor
        new_rows = scipy.linalg.solve_triangular(lower, new_rows, lower=True)
        new_parts = scipy.linalg.solve_triangular(lower, cross.T, lower=True)
        overlap = new_parts @ self._cross - (new_parts @ parts.T) @ factor
        self._downdate(new_rows, overlap, new_parts @ new_parts.T)
        stop = self._n_rows + len(columns)
        self._factor[self._n_rows : stop] = new_rows
        self._parts[self._n_rows : stop] = new_parts
        self._n_rows = stop
        self._taken[block] = True
        return float(np.vdot(new_parts, new_parts))

    def _downdate(self, rows: Float64Array, overlap: Float64Array, energy: Float64Array) -> None:
        """Bring the blocks up to date: with C the residual cross matrix, C - parts^T rows."""
        g = np.where(self._real, rows[:, self._index], 0.0)
        x = np.where(self._real, overlap[:, self._index], 0.0)
        mixed = np.einsum("abi,abj->bij", x, g, optimize=True)
        self._learner -= np.einsum("abi,abj->bij", g, g, optimize=True)
        self._teacher -= mixed + mixed.transpose(0, 2, 1)
        self._teacher += np.einsum("abi,ac,cbj->bij", g, energy, g, optimize=True)

    def _gains(self) -> tuple[Float64Array, Float64Array]:
        """Gain of each block divided by its number of columns, and its error, (n_blocks,) each.

        Both are 0 where the gain is not above the error.
        """
        ridge = self._ridge[:, :, None] * np.eye(self._index.shape[1])
        inverse = np.linalg.inv(self._learner + ridge)
        gains = np.einsum("bij,bji->b", inverse, self._teacher)
        rounding = np.einsum("bii,bi->b", inverse, self._rounding)
        sizes = np.where(gains > rounding, self._real.sum(axis=1), np.inf)
        return gains / sizes, rounding / sizes


def _index_blocks(labels: IntArray) -> IntArray:
    """Columns of each label, (n_labels, largest), filled up with -1; by first column."""
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    starts = np.cumsum(counts) - counts
    index = np.full((len(counts), counts.max()), -1)
    index[labels[order], np.arange(len(labels)) - starts[labels[order]]] = order
    index = index[counts > 0]
    return index[np.argsort(index[:, 0])]


def _relabel(labels: IntArray) -> IntArray:
    """Return the same classes, numbered from 0."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
