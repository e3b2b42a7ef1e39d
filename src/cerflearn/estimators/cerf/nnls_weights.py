r"""Non-negative weights of the chosen projections; those that get no weight are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.estimators.cerf.candidates import Candidates, MacBudget
from cerflearn.learning.rows import Rows
from cerflearn.learning.weights import PairSums, kernel_weights, pair_block

# An exchange solves for the weights some hundred times: a second at this many columns, 8 at twice.
_MOST_EXCHANGED_COLUMNS = 128
_MOST_EXCHANGED = 16
_EXCHANGE_ROUNDS = 5
_TRIES = 8
_LEAST_GAIN = 1e-6  # of the error: more than rounding


def weigh(
    rows: Rows,
    candidates: Candidates,
    chosen: IntArray,
    order: IntArray,
    *,
    whole_groups: bool,
) -> tuple[IntArray, Float64Array]:
    """Weights w for which inner products of different rows approximate the teacher's.

    A projection with weight 0 is replaced by the next candidate not tried yet, until all weights
    are positive or no candidate is left; the number of projections does not change. Whole groups,
    if they are few, are then exchanged for others while that lowers the error: those chosen for
    equal weights are not the best ones for these. The budget of the candidates is kept.

    Parameters
    ----------
    rows : Rows
        Teacher and learner in blocks.
    candidates : Candidates
        What the learner's columns are.
    chosen : ndarray of int64
        Projections to begin with.
    order : ndarray of shape (n_projections,), int64
        All projections, best first.
    whole_groups : bool
        Replace only groups whose weights are all 0, by groups: for blocks, which are counted
        whole.

    Returns
    -------
    projections, weights : ndarray of shape (n_chosen,)
        Sorted projections, and the weight of each: of its cosine and of its sine.
    """
    units = candidates.column_units
    equations = _NormalEquations(rows.map_reduce(pair_block, None), units)
    places = _Places(chosen, order, candidates.groups if whole_groups else None, candidates.budget)
    while True:
        fit = equations.fit(places.projections())
        if not fit.weights.any() and not equations.with_themselves:
            # Different rows have inner products of zero: only those of a row with itself are left.
            equations = _NormalEquations(equations.sums.with_themselves(), units)
        elif not places.refill(set(fit.projections[fit.weights == 0.0].tolist())):
            break
    few = fit.n_columns <= _MOST_EXCHANGED_COLUMNS and places.count <= _MOST_EXCHANGED
    if whole_groups and few:
        fit = _exchange(equations, places, fit)
    return fit.projections, fit.weights


@dataclass(frozen=True, eq=False)
class _WeightFit:
    """Weights of sorted projections, and the error w'Aw - 2 b'w that they leave."""

    projections: IntArray
    weights: Float64Array
    error: float
    n_columns: int


class _NormalEquations:
    """Normal equations of all candidates, to be solved for some."""

    def __init__(self, sums: PairSums, units: IntArray) -> None:
        self.sums, self._units = sums, units
        self._quadratic, self._linear = sums.normal_equations()

    @property
    def with_themselves(self) -> bool:
        """Whether rows are compared with themselves, too."""
        return not self.sums.own.any()

    def fit(self, projections: IntArray) -> _WeightFit:
        """Weights of some projections."""
        columns = self._columns(projections)
        if not len(columns):
            return _WeightFit(projections, np.zeros(0), 0.0, 0)
        own = np.searchsorted(projections, self._units[columns])
        quadratic, linear = self._quadratic[np.ix_(columns, columns)], self._linear[columns]
        by_column = kernel_weights(quadratic, linear, units=own)
        weights = np.zeros(len(projections))
        weights[own] = by_column
        error = float(by_column @ (quadratic @ by_column) - 2.0 * (linear @ by_column))
        return _WeightFit(projections, weights, error, len(columns))

    def gains(self, fit: _WeightFit) -> Float64Array:
        """Fall of the error if a projection alone were added to a fit, (n_projections,)."""
        columns = self._columns(fit.projections)
        by_column = fit.weights[np.searchsorted(fit.projections, self._units[columns])]
        slope = np.bincount(self._units, self._linear - self._quadratic[:, columns] @ by_column)
        curvature = np.bincount(self._units, np.diag(self._quadratic))
        falls = np.square(np.maximum(slope, 0.0))
        gain: Float64Array = np.divide(
            falls, curvature, out=np.zeros_like(falls), where=curvature > 0.0
        )
        return gain

    def _columns(self, projections: IntArray) -> IntArray:
        return np.flatnonzero(np.isin(self._units, projections))


def _exchange(equations: _NormalEquations, places: _Places, fit: _WeightFit) -> _WeightFit:
    """Exchange groups for others, one after the other, while the error falls."""
    for _ in range(_EXCHANGE_ROUNDS):
        before = fit.error
        for place in range(places.count):
            rest = np.setdiff1d(fit.projections, places.members(place))
            gain = equations.gains(equations.fit(rest))
            for successor in places.successors(place, gain)[:_TRIES]:
                other = equations.fit(np.union1d(rest, successor))
                if other.error < fit.error - _LEAST_GAIN * abs(fit.error):
                    places.exchange(place, successor)
                    fit = other
        if fit.error == before:
            break
    return fit


class _Places:
    """Chosen projections, or groups of them, and the candidates that could replace each."""

    def __init__(
        self, chosen: IntArray, order: IntArray, groups: IntArray | None, budget: MacBudget
    ) -> None:
        label = np.arange(len(order)) if groups is None else groups
        self._budget = budget
        self._places = _by_label(chosen, label)
        taken = {int(label[p]) for p in chosen}
        self._others = [m for m in _by_label(order, label) if int(label[m[0]]) not in taken]

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self._places)

    def members(self, place: int) -> list[int]:
        """Projections of a place."""
        return self._places[place]

    def projections(self) -> IntArray:
        """All chosen projections, sorted."""
        return np.sort(np.concatenate([np.array(m, dtype=np.int64) for m in self._places]))

    def refill(self, useless: set[int]) -> bool:
        """Replace places whose projections are all useless; return whether any changed."""
        changed = False
        for place, members in enumerate(self._places):
            if useless.issuperset(members):
                successor = next(self._affordable(place), None)
                if successor is not None:
                    del self._others[self.exchange(place, successor)]
                    changed = True
        return changed

    def successors(self, place: int, gain: Float64Array) -> list[list[int]]:
        """Candidates for a place, the largest gain first."""
        return sorted(self._affordable(place), key=lambda members: -float(gain[members].sum()))

    def exchange(self, place: int, successor: list[int]) -> int:
        """Put a candidate in a place; return the index at which the replaced ones are kept."""
        index = next(i for i, other in enumerate(self._others) if other[0] == successor[0])
        self._remove(self._places[place])
        self._add(successor)
        self._others[index], self._places[place] = self._places[place], successor
        return index

    def _affordable(self, place: int) -> Iterator[list[int]]:
        """Candidates of the same number that the budget allows instead of those in a place."""
        members = self._places[place]
        for other in list(self._others):
            successor = other[: len(members)]
            if len(successor) < len(members):
                continue
            self._remove(members)
            affordable = self._add(successor)
            if affordable:
                self._remove(successor)
            self._add(members)
            if affordable:
                yield successor

    def _remove(self, members: list[int]) -> None:
        for projection in members:
            self._budget.remove(projection)

    def _add(self, members: list[int]) -> bool:
        for count, projection in enumerate(members):
            if not self._budget.add(projection):
                self._remove(members[:count])
                return False
        return True


def _by_label(projections: IntArray, label: IntArray) -> list[list[int]]:
    """Projections in lists of one label each, in the order of their first member."""
    lists: dict[int, list[int]] = {}
    for projection in projections.tolist():
        lists.setdefault(int(label[projection]), []).append(projection)
    return list(lists.values())
