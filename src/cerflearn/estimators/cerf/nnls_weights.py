r"""Non-negative weights of the chosen projections, and others in place of those that serve less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.estimators.cerf.selection import Candidates, Purse
from cerflearn.learning.rows import Rows
from cerflearn.learning.weights import PairSums, kernel_weights, pair_block

# An exchange solves for the weights some hundred times: a second at this many columns, 8 at twice.
_MOST_COLUMNS = 128
_MOST_BUNDLES = 16
_ROUNDS = 5
_TRIES = 8
_LEAST_GAIN = 1e-6  # of the error: more than rounding


def weigh(
    rows: Rows,
    candidates: Candidates,
    chosen: IntArray,
    order: IntArray,
    purse: Purse,
    *,
    whole_bundles: bool,
) -> tuple[IntArray, Float64Array]:
    """Weights w for which inner products of different rows approximate the teacher's.

    A projection with weight 0 gives its place to the next candidate not tried yet, until all
    weights are positive or no candidate is left; the number of projections does not change. Whole
    bundles, if they are few, are then exchanged for others while that lowers the error: those
    chosen for equal weights are not the best ones for these.

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
    purse : Purse
        That has paid for ``chosen``.
    whole_bundles : bool
        Replace only bundles whose weights are all 0, by bundles: for blocks, which are paid
        whole.

    Returns
    -------
    projections, weights : ndarray of shape (n_chosen,)
        Sorted projections, and the weight of each: of its cosine and of its sine.
    """
    equations = _Equations(rows.map_reduce(pair_block, None), candidates.units)
    places = _Places(chosen, order, candidates.bundles if whole_bundles else None, purse)
    while True:
        fit = equations.fit(places.projections())
        if not fit.weights.any() and not equations.with_themselves:
            # No two rows are alike, to these features: all that is left is a row with itself.
            equations = _Equations(equations.sums.with_themselves(), candidates.units)
        elif not places.refill(set(fit.projections[fit.weights == 0.0].tolist())):
            break
    few = fit.n_columns <= _MOST_COLUMNS and places.count <= _MOST_BUNDLES
    if whole_bundles and few:
        fit = _exchange(equations, places, fit)
    return fit.projections, fit.weights


@dataclass(frozen=True, eq=False)
class _Fit:
    """Weights of sorted projections, and the error w'Aw - 2 b'w that they leave."""

    projections: IntArray
    weights: Float64Array
    error: float
    n_columns: int


class _Equations:
    """Normal equations of all candidates, to be solved for some."""

    def __init__(self, sums: PairSums, units: IntArray) -> None:
        self.sums, self._units = sums, units
        self._quadratic, self._linear = sums.normal_equations()

    @property
    def with_themselves(self) -> bool:
        """Whether rows are compared with themselves, too."""
        return not self.sums.own.any()

    def fit(self, projections: IntArray) -> _Fit:
        """Weights of some projections."""
        columns = self._columns(projections)
        if not len(columns):
            return _Fit(projections, np.zeros(0), 0.0, 0)
        own = np.searchsorted(projections, self._units[columns])
        quadratic, linear = self._quadratic[np.ix_(columns, columns)], self._linear[columns]
        by_column = kernel_weights(quadratic, linear, units=own)
        weights = np.zeros(len(projections))
        weights[own] = by_column
        error = float(by_column @ (quadratic @ by_column) - 2.0 * (linear @ by_column))
        return _Fit(projections, weights, error, len(columns))

    def promise(self, fit: _Fit) -> Float64Array:
        """Fall of the error by each projection of all, were it added to a fit alone."""
        columns = self._columns(fit.projections)
        by_column = fit.weights[np.searchsorted(fit.projections, self._units[columns])]
        slope = np.bincount(self._units, self._linear - self._quadratic[:, columns] @ by_column)
        curvature = np.bincount(self._units, np.diag(self._quadratic))
        falls = np.square(np.maximum(slope, 0.0))
        promised: Float64Array = np.divide(
            falls, curvature, out=np.zeros_like(falls), where=curvature > 0.0
        )
        return promised

    def _columns(self, projections: IntArray) -> IntArray:
        return np.flatnonzero(np.isin(self._units, projections))


def _exchange(equations: _Equations, places: _Places, fit: _Fit) -> _Fit:
    """Exchange bundles for others that wait, one after the other, while the error falls."""
    for _ in range(_ROUNDS):
        before = fit.error
        for place in range(places.count):
            rest = np.setdiff1d(fit.projections, places.members(place))
            promised = equations.promise(equations.fit(rest))
            for successor in places.successors(place, promised)[:_TRIES]:
                other = equations.fit(np.union1d(rest, successor))
                if other.error < fit.error - _LEAST_GAIN * abs(fit.error):
                    places.exchange(place, successor)
                    fit = other
        if fit.error == before:
            break
    return fit


class _Places:
    """Places for projections, or for bundles of them, and who waits for them."""

    def __init__(
        self, chosen: IntArray, order: IntArray, bundles: IntArray | None, purse: Purse
    ) -> None:
        label = np.arange(len(order)) if bundles is None else bundles
        self._purse = purse
        self._places = _by_label(chosen, label)
        taken = {int(label[p]) for p in chosen}
        self._waiting = [m for m in _by_label(order, label) if int(label[m[0]]) not in taken]

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self._places)

    def members(self, place: int) -> list[int]:
        """Projections that have a place."""
        return self._places[place]

    def projections(self) -> IntArray:
        """All projections that have a place, sorted."""
        return np.sort(np.concatenate([np.array(m, dtype=np.int64) for m in self._places]))

    def refill(self, useless: set[int]) -> bool:
        """Give places where all are useless to the next that wait; tell whether any changed."""
        changed = False
        for place, members in enumerate(self._places):
            if useless.issuperset(members):
                successor = next(self._able(place), None)
                if successor is not None:
                    del self._waiting[self.exchange(place, successor)]
                    changed = True
        return changed

    def successors(self, place: int, promised: Float64Array) -> list[list[int]]:
        """Those who could have a place, who promise most first."""
        return sorted(self._able(place), key=lambda members: -float(promised[members].sum()))

    def exchange(self, place: int, successor: list[int]) -> int:
        """Give a place to who waits for it; return where those who had it wait in turn."""
        index = next(i for i, waiting in enumerate(self._waiting) if waiting[0] == successor[0])
        self._give_back(self._places[place])
        self._pay(successor)
        self._waiting[index], self._places[place] = self._places[place], successor
        return index

    def _able(self, place: int) -> Iterator[list[int]]:
        """Those who wait, are as many, and can be paid instead of those who have a place."""
        members = self._places[place]
        for waiting in list(self._waiting):
            successor = waiting[: len(members)]
            if len(successor) < len(members):
                continue
            self._give_back(members)
            able = self._pay(successor)
            if able:
                self._give_back(successor)
            self._pay(members)
            if able:
                yield successor

    def _give_back(self, members: list[int]) -> None:
        for projection in members:
            self._purse.give_back(projection)

    def _pay(self, members: list[int]) -> bool:
        for count, projection in enumerate(members):
            if not self._purse.take(projection):
                self._give_back(members[:count])
                return False
        return True


def _by_label(projections: IntArray, label: IntArray) -> list[list[int]]:
    """Projections in lists of one label each, in the order of their first member."""
    lists: dict[int, list[int]] = {}
    for projection in projections.tolist():
        lists.setdefault(int(label[projection]), []).append(projection)
    return list(lists.values())
