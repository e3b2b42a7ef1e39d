"""Candidates and the budget that is kept while some of them are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.estimators.cerf.candidates import Candidates, MacBudget
from cerflearn.features.dense import draw_dense_map
from cerflearn.spectral import Gaussian

BLOCK = np.array([0, 0, 1, 1, 2])


def macs_of(kept, n_macs, block_macs, shared_macs):
    """What some projections cost, from the definition."""
    blocks = {int(BLOCK[p]) for p in kept}
    return shared_macs + sum(int(n_macs[p]) for p in kept) + block_macs * len(blocks)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 9), min_size=5, max_size=5),
    st.integers(0, 20),
    st.integers(0, 10),
    st.integers(0, 60),
    st.lists(st.integers(0, 4), max_size=12),
)
def test_a_budget_counts_each_block_once_and_is_never_exceeded(
    n_macs, block_macs, shared_macs, budget, moves
):
    budgeted = MacBudget(
        np.array(n_macs), block=BLOCK, block_macs=block_macs, shared_macs=shared_macs, budget=budget
    )
    kept: set[int] = set()
    for projection in moves:
        if projection in kept:
            budgeted.remove(projection)
            kept.remove(projection)
            continue
        allowed = macs_of(kept | {projection}, n_macs, block_macs, shared_macs) <= budget
        assert budgeted.add(projection) == allowed
        kept |= {projection} if allowed else set()


def test_without_a_limit_everything_is_allowed():
    budget = MacBudget(np.full(3, 10**9))
    assert all(budget.add(projection) for projection in range(3))


def candidates(paired, groups=None, budget=None):
    drawn = draw_dense_map(
        3, 10 if paired else 5, Gaussian(1.0), np.random.default_rng(0), paired=paired
    )
    n_macs = np.array([5, 1, 4, 1, 1])
    return Candidates(drawn, groups, 4, MacBudget(n_macs, budget=budget))


@pytest.mark.parametrize("paired", [False, True])
def test_columns_know_their_projection_and_group(paired):
    labels = np.array([0, 0, 1, 1, 2])
    found = candidates(paired, labels)
    each = 2 if paired else 1
    np.testing.assert_array_equal(found.column_units, np.repeat(np.arange(5), each))
    np.testing.assert_array_equal(found.column_groups, np.repeat(labels, each))
    assert candidates(paired).column_groups is None


def test_projections_come_in_the_order_of_their_first_column():
    ranking = np.array([7, 2, 6, 3, 0, 9, 8, 1, 4, 5])
    assert candidates(paired=True).in_order(ranking).tolist() == [3, 1, 0, 4, 2]


def test_what_costs_too_much_is_passed_over_for_something_cheaper():
    order = np.array([2, 0, 1, 4, 3])
    assert candidates(False).choose(order, 3).tolist() == [2, 0, 1]
    assert candidates(False, budget=6).choose(order, 3).tolist() == [2, 1, 4]
    assert candidates(False, budget=2).choose(order, 3).tolist() == [1, 4]
