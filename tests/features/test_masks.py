"""Masks: invariants of every draw, and the laws of many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from cerflearn.features.masks import (
    automatic_density,
    draw_beta_bernoulli_masks,
    draw_fixed_masks,
    mask_scale,
)

quick = settings(max_examples=80, deadline=None, derandomize=True)
usable = st.lists(st.booleans(), min_size=1, max_size=70).filter(any).map(np.array)
group_sizes = st.sampled_from([1, 2, 4, 8, 16])
densities = st.floats(0.001, 1.0)
seeds = st.integers(0, 2**32 - 1)


def check_structure(masks, usable_inputs, group_size):
    """Pointers valid, ids ascending and usable, groups whole, no mask empty."""
    assert masks.pointers.dtype == np.int64
    assert masks.inputs.dtype == np.int32
    assert masks.pointers[0] == 0
    assert masks.pointers[-1] == len(masks.inputs)
    for start, stop in zip(masks.pointers[:-1], masks.pointers[1:], strict=True):
        inputs = masks.inputs[start:stop]
        assert len(inputs) > 0
        assert (np.diff(inputs) > 0).all()
        expected = [
            i
            for group in sorted({int(i) // group_size for i in inputs})
            for i in range(group * group_size, min((group + 1) * group_size, len(usable_inputs)))
            if usable_inputs[i]
        ]
        assert inputs.tolist() == expected


def groups_read(masks, group_size):
    """Number of distinct groups each mask reads."""
    bounds = zip(masks.pointers[:-1], masks.pointers[1:], strict=True)
    return [len(set(masks.inputs[start:stop] // group_size)) for start, stop in bounds]


@quick
@given(usable, group_sizes, densities, st.integers(0, 9), st.integers(1, 6), seeds)
def test_fixed_masks_keep_their_promises(inputs, group_size, density, n_masks, minimum, seed):
    rng = np.random.default_rng(seed)
    masks = draw_fixed_masks(n_masks, inputs, density, group_size, rng, minimum)
    check_structure(masks, inputs, group_size)
    assert masks.n_masks == n_masks
    assert (masks.counts >= min(inputs.sum(), minimum)).all()

    n_groups = len(set(np.flatnonzero(inputs) // group_size))
    wanted = min(n_groups, round(density * -(-len(inputs) // group_size)))
    counts = groups_read(masks, group_size)
    assert len(set(counts)) <= 1
    # Above what the density asks only to reach the minimum, which takes one group an input.
    assert all(wanted <= count <= max(wanted, minimum) for count in counts)


@quick
@given(usable, group_sizes, densities, st.integers(0, 9), seeds)
def test_beta_bernoulli_masks_keep_their_promises(inputs, group_size, density, n_masks, seed):
    rng = np.random.default_rng(seed)
    masks = draw_beta_bernoulli_masks(n_masks, inputs, density, group_size, rng)
    check_structure(masks, inputs, group_size)
    assert masks.n_masks == n_masks


@pytest.mark.parametrize("draw", [draw_fixed_masks, draw_beta_bernoulli_masks])
@pytest.mark.parametrize("group_size", [1, 2, 8, 16])
def test_density_one_reads_every_usable_input(draw, group_size):
    inputs = np.ones(17, dtype=bool)  # the last group is short
    inputs[[1, 5]] = False
    masks = draw(3, inputs, 1.0, group_size, np.random.default_rng(0))
    assert masks.to_dense(17).T.tolist() == [inputs.tolist()] * 3


def test_fixed_masks_have_the_count_that_the_density_asks():
    inputs = np.ones(784, dtype=bool)
    rng = np.random.default_rng(0)
    assert set(draw_fixed_masks(30, inputs, 0.05, 1, rng).counts) == {39}
    assert set(draw_fixed_masks(30, inputs, 0.05, 8, rng).counts) == {40}
    assert set(draw_fixed_masks(30, inputs, 0.001, 1, rng).counts) == {4}
    assert set(draw_fixed_masks(30, inputs, 0.001, 1, rng, minimum_inputs=1).counts) == {1}


def test_minimum_holds_when_groups_have_lost_inputs():
    inputs = np.zeros(64, dtype=bool)
    inputs[::8] = True  # one usable input a group
    masks = draw_fixed_masks(20, inputs, 0.05, 8, np.random.default_rng(0))
    assert set(masks.counts) == {4}


@pytest.mark.parametrize("n_chosen", [1, 2, 3])
def test_every_subset_is_equally_likely_in_a_fixed_mask(n_chosen):
    # One mask of each permutation: those cut from the same one are not independent.
    n_draws, rng = 6_000, np.random.default_rng(0)
    masks = draw_fixed_masks(
        2 * n_draws, np.ones(5, dtype=bool), n_chosen / 5, 1, rng, minimum_inputs=1
    )
    for position in (0, 1):
        dense = masks.to_dense(5)[:, position :: max(2, 5 // n_chosen)]
        code = 2 ** np.arange(5) @ dense
        _, counts = np.unique(code, return_counts=True)
        assert len(counts) == {1: 5, 2: 10, 3: 10}[n_chosen]
        assert chisquare(counts).pvalue > 1e-3


def test_fixed_masks_read_inputs_about_equally_often():
    # 10 masks of 8 a permutation of 80: every input is read once in each.
    masks = draw_fixed_masks(70, np.ones(80, dtype=bool), 0.1, 1, np.random.default_rng(0))
    assert set(masks.to_dense(80).sum(axis=1)) == {7}


@pytest.mark.parametrize("draw", [draw_fixed_masks, draw_beta_bernoulli_masks])
def test_blocks_do_not_change_the_draw(draw, monkeypatch):
    inputs = np.ones(37, dtype=bool)
    whole = draw(23, inputs, 0.2, 1, np.random.default_rng(0))
    monkeypatch.setattr("cerflearn.features.masks._DRAWN_AT_ONCE", 100)
    blocked = draw(23, inputs, 0.2, 1, np.random.default_rng(0))
    np.testing.assert_array_equal(whole.pointers, blocked.pointers)
    np.testing.assert_array_equal(whole.inputs, blocked.inputs)


@pytest.mark.parametrize("density", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("group_size", [1, 4])
def test_beta_bernoulli_density_has_its_expectation(density, group_size):
    n_groups, n_masks = 4_000, 25
    inputs = np.ones(n_groups * group_size, dtype=bool)
    rng = np.random.default_rng(0)
    masks = draw_beta_bernoulli_masks(n_masks, inputs, density, group_size, rng)
    measured = masks.counts.mean() / len(inputs)
    # pi ~ Beta(a, 1), a = density / (1 - density): variance between and within groups.
    a = density / (1.0 - density)
    between = a / ((a + 1.0) ** 2 * (a + 2.0))
    within = (density * (1.0 - density) - between) / n_masks
    assert abs(measured - density) < 5.0 * np.sqrt((between + within) / n_groups)


def test_beta_bernoulli_shares_its_probabilities_among_masks():
    # Shares of masks that read an input spread as Beta(a, 1), not as independent draws would.
    masks = draw_beta_bernoulli_masks(
        200, np.ones(2_000, dtype=bool), 0.4, 1, np.random.default_rng(0)
    )
    shares = masks.to_dense(2_000).mean(axis=1)
    a = 0.4 / 0.6
    between = a / ((a + 1.0) ** 2 * (a + 2.0))
    expected = between + (0.4 * 0.6 - between) / 200
    # The kurtosis of Beta(2/3, 1) is below 2: the error is under sqrt(1 / 2,000) = 2.2 %.
    assert shares.var() == pytest.approx(expected, rel=5 * 0.022)


def test_beta_bernoulli_masks_follow_the_law_given_not_empty():
    # With one draw of pi known (the same seed), compare with rejection of empty masks.
    n_masks, density = 20_000, 0.3
    masks = draw_beta_bernoulli_masks(
        n_masks, np.ones(4, dtype=bool), density, 1, np.random.default_rng(4)
    )
    a = density / (1.0 - density)
    proba = np.exp(-np.random.default_rng(4).standard_exponential(4) / a)
    subsets = (np.arange(1, 16)[:, None] >> np.arange(4)) & 1
    expected = np.prod(np.where(subsets, proba, 1.0 - proba), axis=1)
    expected *= n_masks / expected.sum()
    counts = np.bincount(2 ** np.arange(4) @ masks.to_dense(4), minlength=16)[1:]
    likely = expected > 5.0
    assert likely.sum() > 3
    observed = np.append(counts[likely], counts[~likely].sum() + 1e-9)
    wanted = np.append(expected[likely], expected[~likely].sum() + 1e-9)
    assert chisquare(observed, wanted).pvalue > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_beta_bernoulli_takes_the_likeliest_group_when_every_probability_underflows(seed):
    masks = draw_beta_bernoulli_masks(
        50, np.ones(3, dtype=bool), 1e-6, 1, np.random.default_rng(seed)
    )
    # log pi = -exponential / a with a = 1e-6: the others are exp(-10^4) times less likely.
    likeliest = np.argmin(np.random.default_rng(seed).standard_exponential(3))
    assert masks.inputs.tolist() == [likeliest] * 50


def test_select_and_to_dense_agree():
    inputs = np.ones(40, dtype=bool)
    masks = draw_beta_bernoulli_masks(9, inputs, 0.2, 1, np.random.default_rng(0))
    dense = masks.to_dense(40)
    assert (dense.sum(axis=0) == masks.counts).all()
    for index in ([3, 0, 3], np.arange(9) % 2 == 0, slice(2, 5), []):
        picked = masks.select(index)
        np.testing.assert_array_equal(picked.to_dense(40), dense[:, index])
        assert picked.pointers.dtype == np.int64
        assert picked.inputs.dtype == np.int32


def test_mask_scale_keeps_the_size_of_a_projection():
    np.testing.assert_allclose(mask_scale(100, np.array([25, 100]), 2.0), [2.0, 1.0])
    np.testing.assert_allclose(mask_scale(100, np.array([25, 100]), 1.0), [4.0, 1.0])


def test_automatic_density_follows_its_rule():
    assert automatic_density(784) == pytest.approx(0.05)
    assert 0.1 <= automatic_density(64) <= 0.15
    assert all(automatic_density(n) == 1.0 for n in range(1, 5))
    densities = [automatic_density(n) for n in range(1, 3_000)]
    assert (np.diff(densities) <= 0.0).all()
    assert all(n * density >= min(n, 4) - 1e-9 for n, density in enumerate(densities, start=1))
    assert automatic_density(784, 1) == 1.0
    assert automatic_density(784, 10) == pytest.approx(0.1)
    assert automatic_density(784, 1000) == automatic_density(784)


@pytest.mark.parametrize("draw", [draw_fixed_masks, draw_beta_bernoulli_masks])
def test_wrong_values_are_refused(draw):
    rng, inputs = np.random.default_rng(0), np.ones(8, dtype=bool)
    with pytest.raises(ValueError, match="density=0"):
        draw(2, inputs, 0.0, 1, rng)
    with pytest.raises(ValueError, match="density=nan"):
        draw(2, inputs, float("nan"), 1, rng)
    with pytest.raises(ValueError, match="group_size=3"):
        draw(2, inputs, 0.5, 3, rng)
    with pytest.raises(ValueError, match="constant"):
        draw(2, ~inputs, 0.5, 1, rng)


@pytest.mark.parametrize("draw", [draw_fixed_masks, draw_beta_bernoulli_masks])
def test_no_masks_is_legal(draw):
    none = draw(0, np.ones(5, dtype=bool), 0.5, 1, np.random.default_rng(0))
    assert none.n_masks == 0
    assert none.to_dense(5).shape == (5, 0)
