r"""Non-negative weights of the chosen projections, and others in place of those that get zero."""

from __future__ import annotations

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.estimators._selection import Candidates, Purse
from cerflearn.learning.rows import Rows
from cerflearn.learning.weights import kernel_weights, pair_block


def weigh_and_refill(
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
    weights are positive or no candidate is left; the number of projections does not change.

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
    sums, units = rows.map_reduce(pair_block, None), candidates.units
    quadratic, linear = sums.normal_equations()
    bundles = candidates.bundles if whole_bundles else None
    places = _Places(chosen, order, bundles, purse)
    while True:
        projections = places.projections()
        columns = np.flatnonzero(np.isin(units, projections))
        own = np.searchsorted(projections, units[columns])
        by_column = kernel_weights(quadratic[np.ix_(columns, columns)], linear[columns], units=own)
        weights = np.zeros(len(projections))
        weights[own] = by_column
        if not weights.any() and sums.own.any():
            # No two rows are alike, to these features: all that is left is a row with itself.
            sums = sums.with_themselves()
            quadratic, linear = sums.normal_equations()
            continue
        if not places.refill(set(projections[weights == 0.0].tolist())):
            return projections, weights


class _Places:
    """Places for projections, or for bundles of them, and who has been tried in them."""

    def __init__(
        self, chosen: IntArray, order: IntArray, bundles: IntArray | None, purse: Purse
    ) -> None:
        label = np.arange(len(order)) if bundles is None else bundles
        self._purse = purse
        self._places = _by_label(chosen, label)
        taken = {int(label[p]) for p in chosen}
        self._waiting = [m for m in _by_label(order, label) if int(label[m[0]]) not in taken]

    def projections(self) -> IntArray:
        """All projections that have a place, sorted."""
        return np.sort(np.concatenate([np.array(m, dtype=np.int64) for m in self._places]))

    def refill(self, useless: set[int]) -> bool:
        """Give places where all are useless to the next that wait; tell whether any changed."""
        changed = False
        for place, members in enumerate(self._places):
            if not useless.issuperset(members):
                continue
            successor = self._next(members)
            if successor is not None:
                self._places[place] = successor
                changed = True
        return changed

    def _next(self, members: list[int]) -> list[int] | None:
        """First who wait, are as many, and can be paid instead of ``members``."""
        for projection in members:
            self._purse.give_back(projection)
        for index, waiting in enumerate(self._waiting):
            successor = waiting[: len(members)]
            if len(successor) == len(members) and self._pay(successor):
                del self._waiting[index]
                return successor
        self._pay(members)
        return None

    def _pay(self, members: list[int]) -> bool:
        for count, projection in enumerate(members):
            if not self._purse.take(projection):
                for paid in members[:count]:
                    self._purse.give_back(paid)
                return False
        return True


def _by_label(projections: IntArray, label: IntArray) -> list[list[int]]:
    """Projections in lists of one label each, in the order of their first member."""
    lists: dict[int, list[int]] = {}
    for projection in projections.tolist():
        lists.setdefault(int(label[projection]), []).append(projection)
    return list(lists.values())
