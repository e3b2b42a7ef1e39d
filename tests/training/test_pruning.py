"""Masks within a budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cerflearn.training.pruning import (
    Budget,
    entries_after,
    entries_at,
    final_mask,
    largest_blocks,
)


def test_the_largest_entries_are_kept():
    frequencies = np.array([[3.0, -1.0], [0.5, 2.0], [4.0, 0.1]])
    scale = np.array([1.0, 1.0, 0.1])  # the largest frequency reads an input that hardly varies
    usable = np.ones((3, 2), dtype=bool)
    mask = largest_blocks(frequencies, scale, usable, 3, Budget(100, 1))
    assert mask.tolist() == [[True, True], [False, True], [False, False]]


@given(
    seed=st.integers(0, 1000),
    n_features=st.integers(1, 20),
    n_projections=st.integers(1, 9),
    group_size=st.sampled_from([1, 2, 4]),
    features_per_mask=st.integers(1, 3),
    n_scores=st.integers(1, 4),
    slack=st.integers(0, 60),
)
def test_final_masks_are_within_the_budget_and_made_of_whole_blocks(
    seed, n_features, n_projections, group_size, features_per_mask, n_scores, slack
):
    rng = np.random.default_rng(seed)
    macs = n_projections * n_scores + group_size * features_per_mask + slack
    budget = Budget(macs, n_scores, group_size, features_per_mask)
    frequencies = rng.normal(size=(n_features, n_projections))
    usable = np.ones(frequencies.shape, dtype=bool)
    mask = final_mask(frequencies, np.ones(n_features), usable, budget)
    assert mask.sum() + n_scores * mask.any(axis=0).sum() <= macs
    for start in range(0, n_features, group_size):
        for first in range(0, n_projections, features_per_mask):
            block = mask[start : start + group_size, first : first + features_per_mask]
            assert block.all() or not block.any()
    # Nothing that still fits is left out: the next block would exceed the budget.
    left = macs - mask.sum() - n_scores * mask.any(axis=0).sum()
    reading = mask.any(axis=0)
    if group_size == features_per_mask == 1 and reading.all() and not mask.all():
        assert left < 1 + n_scores


def test_pruning_never_brings_an_entry_back():
    rng = np.random.default_rng(0)
    frequencies = rng.normal(size=(10, 6))
    usable = rng.uniform(size=(10, 6)) < 0.5
    for budget in (Budget(1000, 1), Budget(1000, 1, 2, 3)):
        mask = largest_blocks(frequencies, np.ones(10), usable, 20, budget)
        assert not (mask & ~usable).any()


def test_most_entries_are_dropped_early():
    counts = [entries_at(share, 1000, 100) for share in (-1.0, 0.0, 0.5, 1.0, 2.0)]
    assert counts == [1000, 1000, pytest.approx(212, abs=1), 100, 100]


@given(n_start=st.integers(1, 10**7), n_end=st.integers(-5, 2 * 10**7))
def test_prunings_drop_at_most_a_quarter_each_and_end_where_they_should(n_start, n_end):
    kept = entries_after(n_start, n_end, 0.25)
    end = max(1, min(n_start, n_end))
    assert kept[-1] == end
    before = np.concatenate([[n_start], kept[:-1]])
    assert (kept <= before).all()
    assert (kept >= 0.75 * before - 1.0).all()  # one for rounding
    if end == n_start:
        assert kept.tolist() == [n_start]  # nothing is lost to rounding where all can stay
