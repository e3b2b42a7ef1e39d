"""Features to choose from, what they cost, what a selector is and what it finds."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from cerflearn._typing import Float64Array, IntArray, StateStore
from cerflearn._validation import (
    Constraint,
    NoEffect,
    Number,
    Passes,
    Whole,
    check_effects,
    check_parameters,
    invalid,
)
from cerflearn.features.base import FeatureMap, outputs_of, projections_for
from cerflearn.learning.rows import Rows

Report = Callable[[int, str, float], bool]
"""Called with the number of a stage, the name of a value and the value; returns True to stop."""


UNEXPLAINED = "unexplained share of the teacher"
"""What selectors that regress the teacher report."""


def _check_normalize(name: str, value: Any) -> None:
    known = value is None or (isinstance(value, str) and value in ("standardize", "center"))
    if not known:
        raise invalid(name, value, "'standardize', 'center' or None")


COMMON_CONSTRAINTS: dict[str, Constraint] = {
    "normalize": Passes(_check_normalize),
    "cache_bytes": Whole("a number of bytes, 0 for no cache", at_least=0),
}
"""What the parameters that all selectors have must be."""

STREAM_CONSTRAINTS: dict[str, Constraint] = {
    "learning_offset": Number("a number that is not negative", at_least=0.0),
    "learning_decay": Number("a number above 0.5 and at most 1", above=0.5, at_most=1.0),
}
"""What the parameters of selectors that learn from mini-batches must be."""

MOST_STAGES = 10_000
"""Largest number of stages of a selector."""


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


@dataclass(frozen=True, eq=False)
class Selection:
    """What a selector found.

    Attributes
    ----------
    ranking : ndarray of shape (n_candidates,), int64
        Candidate columns, best first.
    feature_proba : ndarray of shape (n_candidates,), optional
        E[pi]; None for selectors that decide for all samples at once.
    rotation : ndarray of shape (n_outputs, n_candidates), optional
        W of CVEM.
    scale : float, optional
        c; the greedy selector has none.
    lower_bounds : ndarray of shape (n_iter,), optional
        Of CVEM.
    errors : ndarray of shape (n_iter,), optional
        Share of the teacher's energy that is left unexplained, of the other selectors.
    converged : bool
        False if CVEM ran out of stages.
    stopped : bool
        Whether a callback ended it.
    """

    ranking: IntArray
    feature_proba: Float64Array | None = None
    rotation: Float64Array | None = None
    scale: float | None = None
    lower_bounds: Float64Array | None = None
    errors: Float64Array | None = None
    converged: bool = True
    stopped: bool = False


class Selector(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of selectors: parameters that clone, print and can be searched over."""

    _constraints: ClassVar[dict[str, Constraint]]
    _without_effect: ClassVar[tuple[NoEffect, ...]] = ()

    cache_bytes: int

    def _check_parameters(self) -> None:
        """Refuse parameters that are not valid, or have no effect."""
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    @property
    @abstractmethod
    def _n_reports(self) -> int:
        """Most stages that are reported."""

    @abstractmethod
    def _select(
        self,
        rows: Rows,
        candidates: Candidates,
        report: Report,
        store: StateStore | None = None,
    ) -> Selection:
        """Rank the candidates, given teacher and learner in blocks; report each stage.

        A store keeps states on the way, and is gone on from where it has some.
        """


class StreamSelector(Selector):
    """Base of selectors that learn from mini-batches, too."""

    # Parameters that may change between mini-batches.
    _free_in_streams: ClassVar[tuple[str, ...]] = (
        "learning_offset",
        "learning_decay",
        "cache_bytes",
    )

    @property
    def _can_stream(self) -> bool:
        """Whether it does with its parameters."""
        return True

    @abstractmethod
    def _learn_batch(
        self, learned: Any, rows: Rows, candidates: Candidates
    ) -> tuple[Any, Selection]:
        """Learn from a mini-batch; ``learned`` is what the last call returned, None at first."""
