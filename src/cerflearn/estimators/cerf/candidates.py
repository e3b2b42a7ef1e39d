"""Features to choose from: what they cost, and their values, with the teacher's, in blocks."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.engine.blocks import BlockSource, CachedSource, ComputedSource
from cerflearn.estimators.dask_rows import ClusterRows
from cerflearn.estimators.input import NO_ROWS, TrainingData
from cerflearn.estimators.streamed_rows import StreamedRows
from cerflearn.estimators.teachers import LabelTeacher, Teacher
from cerflearn.features.base import FeatureMap, outputs_of, projections_for

STREAMED_CACHE_BYTES = 2**28
"""Most memory of kept blocks where the rows themselves are not in memory: 256 MiB."""


class MacBudget:
    """MACs of the chosen projections together, against a budget.

    Parameters
    ----------
    n_macs : ndarray of shape (n_projections,), int64
        MACs of each projection alone.
    block : ndarray of shape (n_projections,), int64, optional
        Block that each projection belongs to, counted whole with its first projection.
    block_macs, shared_macs : int, default=0
        MACs of a block; MACs that are counted once, whatever is chosen.
    budget : int, optional
        MACs at most; None: no limit.
    """

    def __init__(
        self,
        n_macs: IntArray,
        *,
        block: IntArray | None = None,
        block_macs: int = 0,
        shared_macs: int = 0,
        budget: int | None = None,
    ) -> None:
        self._n_macs = n_macs
        self._block = np.zeros(len(n_macs), dtype=np.int64) if block is None else block
        self._block_macs = block_macs
        self._kept = np.zeros(int(self._block.max()) + 1, dtype=np.int64)
        self._left = np.inf if budget is None else budget - shared_macs

    def _added_macs(self, projection: int) -> int:
        """MACs that the projection adds, or saves, while it is not counted."""
        first = self._kept[self._block[projection]] == 0
        return int(self._n_macs[projection]) + (self._block_macs if first else 0)

    def add(self, projection: int) -> bool:
        """Count a projection if the budget allows; return whether it does."""
        added = self._added_macs(projection)
        if added > self._left:
            return False
        self._left -= added
        self._kept[self._block[projection]] += 1
        return True

    def macs_of(self, projections: IntArray) -> IntArray:
        """MACs of each projection alone, without its block."""
        return self._n_macs[projections]

    @property
    def left(self) -> float:
        """MACs that are left; infinity without a limit."""
        return float(self._left)

    @property
    def has_blocks(self) -> bool:
        """Whether projections are counted in blocks."""
        return self._block_macs > 0

    def remove(self, projection: int) -> None:
        """Stop counting a projection."""
        self._kept[self._block[projection]] -= 1
        self._left += self._added_macs(projection)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Features to choose from.

    Attributes
    ----------
    feature_map : FeatureMap
        Its columns are the candidates; a paired map has all its sines.
    groups : ndarray of shape (n_projections,), int64, optional
        Projections to choose together (they share a mask or a block): equal numbers from 0, in
        ascending order. None: each projection is chosen by itself.
    n_outputs : int
        Columns to keep.
    budget : MacBudget
        Of the kept projections.
    """

    feature_map: FeatureMap
    groups: IntArray | None
    n_outputs: int
    budget: MacBudget

    @property
    def column_units(self) -> IntArray:
        """Projection of each column, (n_candidates,)."""
        columns = np.arange(self.feature_map.n_outputs)
        return columns // 2 if self.feature_map.paired else columns

    @property
    def column_groups(self) -> IntArray | None:
        """Group of each column, (n_candidates,); None if there are no groups."""
        return None if self.groups is None else self.groups[self.column_units]

    @property
    def n_columns(self) -> int:
        """Columns to choose: those to keep, in whole pairs."""
        paired = self.feature_map.paired
        return outputs_of(projections_for(self.n_outputs, paired), paired)

    def columns_of(self, projections: IntArray) -> IntArray:
        """Columns of projections, in their order; as many as are kept at most."""
        if self.feature_map.paired:
            projections = np.stack([2 * projections, 2 * projections + 1], axis=1).ravel()
        return projections[: self.n_outputs]  # an odd number drops the last sine

    def in_order(self, ranking: IntArray) -> IntArray:
        """Projections in the order of their first column in a ranking of the columns."""
        ranked = self.column_units[ranking]
        _, first = np.unique(ranked, return_index=True)
        return ranked[np.sort(first)]

    def choose(self, order: IntArray, n_projections: int) -> IntArray:
        """First ``n_projections`` of an order that fit the budget together, in that order.

        A projection above the rest of the budget is skipped; a cheaper one behind it may be taken.
        """
        chosen: list[int] = []
        for projection in order.tolist():
            if len(chosen) == n_projections:
                break
            if self.budget.add(projection):
                chosen.append(projection)
        return np.array(chosen, dtype=np.int64)

    def choose_exactly(self, order: IntArray, n_projections: int) -> IntArray:
        """So many projections within the budget: the first of an order, then the cheapest others.

        As many as possible are taken in order; so many must fit the budget if they are the
        cheapest. Blocks are all of one cost: there the first are taken.
        """
        if self.budget.has_blocks:
            return self.choose(order, n_projections)
        macs = self.budget.macs_of(order)
        total = np.concatenate([[0], np.cumsum(macs)])

        def fits(n_first: int) -> bool:
            cheapest = np.sort(macs[n_first:])[: n_projections - n_first]
            return bool(total[n_first] + cheapest.sum() <= self.budget.left)

        n_first = bisect_left(range(n_projections + 1), True, key=lambda n: not fits(n)) - 1
        n_first = max(n_first, 0)
        rest = n_first + np.argsort(macs[n_first:], kind="stable")[: n_projections - n_first]
        return np.concatenate([order[:n_first], order[np.sort(rest)]])


def keep_places(chosen: IntArray, before: IntArray, pieces: IntArray) -> IntArray:
    """Order chosen projections so that whole pieces that stay chosen keep their place.

    Whole pieces come first, in places of equal width; the place of one that is dropped goes to a
    new one. Pieces of which only a part is chosen follow.

    Parameters
    ----------
    chosen : ndarray of shape (n_chosen,), int64
        Projections.
    before : ndarray of shape (n_before,), int64
        Projections chosen before, in their order.
    pieces : ndarray of shape (n_projections,), int64
        Equal numbers for projections that stay side by side.

    Returns
    -------
    ndarray of shape (n_chosen,), int64
        The chosen projections, ordered.

    Examples
    --------
    >>> keep_places(np.array([0, 2, 3]), np.array([1, 2, 0]), np.arange(4))
    array([3, 2, 0])
    """
    width = int(np.bincount(pieces).max())
    members = {piece: chosen[pieces[chosen] == piece] for piece in np.unique(pieces[chosen])}
    whole = [piece for piece in members if len(members[piece]) == width]
    places: list[Any] = [None] * len(whole)
    for place in range(len(before) // width):
        run = pieces[before[place * width : (place + 1) * width]]
        if place < len(whole) and (run == run[0]).all() and run[0] in whole:
            places[place] = run[0]
    rest = [piece for piece in whole if piece not in places]
    places = [rest.pop(0) if piece is None else piece for piece in places]
    places += [piece for piece in members if len(members[piece]) < width]
    return np.concatenate([np.sort(members[piece]) for piece in places]).astype(np.int64)


class Embedding:
    """Teacher and learner of some rows, computed where they are.

    Parameters
    ----------
    teacher : Teacher
        Without rows.
    learner_map : FeatureMap
        The candidates.
    """

    def __init__(self, teacher: Teacher, learner_map: FeatureMap) -> None:
        self.teacher, self.learner_map = teacher, learner_map

    def __call__(self, rows: Any, y: Any) -> tuple[Float64Array, Float64Array]:
        """Return both."""
        data = TrainingData(rows, rows, y)
        learner = self.learner_map.transform_batch(data.dense(0, data.n_samples))
        return self.teacher.on(data).rows(0, data.n_samples), learner


def embedding_source(
    data: TrainingData,
    teacher: Teacher,
    learner_map: FeatureMap,
    cache_bytes: int,
) -> BlockSource:
    """Blocks of teacher (b, n_outputs) and learner (b, n_candidates), kept where they fit.

    Parameters
    ----------
    data : TrainingData
        The rows.
    teacher : Teacher
        What is imitated.
    learner_map : FeatureMap
        The candidates.
    cache_bytes : int
        Most memory of kept blocks; 0 computes them anew in every pass. Same bits either way. For
        rows that are not in memory at most :data:`STREAMED_CACHE_BYTES`.
    """
    if isinstance(data.X, ClusterRows):
        y = data.y if isinstance(teacher, LabelTeacher) else None
        return data.X.block_source(Embedding(teacher.on(NO_ROWS), learner_map), y)

    if isinstance(data.X, StreamedRows):
        cache_bytes = min(cache_bytes, STREAMED_CACHE_BYTES)

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        learner = learner_map.transform_batch(data.dense(start, stop))
        return teacher.rows(start, stop), learner

    source = ComputedSource(compute, data.n_samples)
    return CachedSource(source, cache_bytes) if cache_bytes > 0 else source
