"""Streamed second moments: equal to those of all rows, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.engine.engines import MergeTree
from cerflearn.linalg.moments import cross_moments_block


def direct(left, right):
    """Means and centred products in one go, from the definition."""
    a, b = left - left.mean(axis=0), right - right.mean(axis=0)
    return left.mean(axis=0), right.mean(axis=0), a.T @ a, a.T @ b, b.T @ b


def parts(moments):
    return (
        moments.left_mean,
        moments.right_mean,
        moments.left_scatter,
        moments.cross_scatter,
        moments.right_scatter,
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=7),
    shift=st.sampled_from([0.0, 1e6]),
    seed=st.integers(0, 2**16),
)
def test_merged_blocks_have_the_moments_of_all_rows(sizes, shift, seed):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(sum(sizes), 3)) + shift, rng.normal(size=(sum(sizes), 2))
    cuts = np.cumsum([0, *sizes])
    tree = MergeTree()
    for start, stop in pairwise(cuts):
        tree.push(cross_moments_block(True, left[start:stop], right[start:stop]))
    merged = tree.result()
    assert merged.n_samples == sum(sizes)
    # Products of rows of size 1 around a mean of size `shift`, which is rounded to its last place.
    tolerance = 1e-12 + 1e-15 * shift * sum(sizes)
    for found, wanted in zip(parts(merged), direct(left, right), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=tolerance)


def test_a_large_mean_costs_no_digits():
    # A sum of raw products would lose them all: 1e8 squared has an ulp of 2.
    rng = np.random.default_rng(0)
    left = rng.normal(size=(500, 2))
    shifted = cross_moments_block(False, left + 1e8, np.empty((500, 0)))
    plain = cross_moments_block(False, left, np.empty((500, 0)))
    np.testing.assert_allclose(shifted.left_scatter, plain.left_scatter, rtol=1e-6)


def test_merging_changes_neither_side():
    rng = np.random.default_rng(1)
    first, second = (
        cross_moments_block(True, rng.normal(size=(4, 2)), np.ones((4, 1))) for _ in "ab"
    )
    before = [np.copy(a) for m in (first, second) for a in parts(m)]
    first.merge(second)
    for kept, now in zip(before, [a for m in (first, second) for a in parts(m)], strict=True):
        np.testing.assert_array_equal(kept, now)


@pytest.mark.parametrize("with_right", [True, False])
def test_the_right_view_may_have_no_columns(with_right):
    moments = cross_moments_block(with_right, np.arange(6.0).reshape(3, 2), np.empty((3, 0)))
    assert moments.cross_scatter.shape == (2, 0)
    assert (moments.right_scatter is not None) == with_right
