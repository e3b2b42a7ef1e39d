"""Features to choose from, what they cost, what a selector is and what it finds."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from cerflearn._typing import Float64Array, IntArray
from cerflearn._validation import Constraint, NoEffect, check_effects, check_parameters
from cerflearn.features.base import FeatureMap
from cerflearn.learning.rows import Rows

Report = Callable[[int, str, float], bool]
"""Told the number of a stage and the name and value of what it reached; True asks to stop."""


class MacBudget:
    """MACs of the chosen projections together, against a budget.

    Parameters
    ----------
    price : ndarray of shape (n_projections,), int64
        MACs of each projection alone.
    block : ndarray of shape (n_projections,), int64, optional
        Block that each projection belongs to, counted whole with its first projection.
    block_price, spent : int, default=0
        MACs of a block; MACs that are due in any case.
    budget : int, optional
        MACs at most; None: no limit.
    """

    def __init__(
        self,
        price: IntArray,
        *,
        block: IntArray | None = None,
        block_price: int = 0,
        spent: int = 0,
        budget: int | None = None,
    ) -> None:
        self._price = price
        self._block = np.zeros(len(price), dtype=np.int64) if block is None else block
        self._block_price = block_price
        self._kept = np.zeros(int(self._block.max()) + 1, dtype=np.int64)
        self._left = np.inf if budget is None else budget - spent

    def _due(self, projection: int) -> int:
        """MACs that the projection adds, or saves, while it is not counted."""
        first = self._kept[self._block[projection]] == 0
        return int(self._price[projection]) + (self._block_price if first else 0)

    def add(self, projection: int) -> bool:
        """Count a projection if the budget allows; return whether it does."""
        due = self._due(projection)
        if due > self._left:
            return False
        self._left -= due
        self._kept[self._block[projection]] += 1
        return True

    def remove(self, projection: int) -> None:
        """Stop counting a projection."""
        self._kept[self._block[projection]] -= 1
        self._left += self._due(projection)


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

    def in_order(self, ranking: IntArray) -> IntArray:
        """Projections in the order of their first column in a ranking of the columns."""
        ranked = self.column_units[ranking]
        _, first = np.unique(ranked, return_index=True)
        return ranked[np.sort(first)]

    def choose(self, order: IntArray, n_projections: int) -> IntArray:
        """First ``n_projections`` of an order that the budget pays for together, in that order.

        A projection that costs too much is passed over, for a cheaper one behind it.
        """
        chosen: list[int] = []
        for projection in order.tolist():
            if len(chosen) == n_projections:
                break
            if self.budget.add(projection):
                chosen.append(projection)
        return np.array(chosen, dtype=np.int64)


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
    """

    ranking: IntArray
    feature_proba: Float64Array | None = None
    rotation: Float64Array | None = None
    scale: float | None = None
    lower_bounds: Float64Array | None = None
    errors: Float64Array | None = None
    converged: bool = True


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
    def _select(self, rows: Rows, candidates: Candidates, report: Report) -> Selection:
        """Rank the candidates, given teacher and learner in blocks; report each stage."""
