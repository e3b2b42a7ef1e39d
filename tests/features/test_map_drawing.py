"""Drawing feature maps: masks, blocks, orthogonal frequencies, budgets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn.features.blocked import (
    blocks_within_budget,
    draw_block_offsets,
    draw_blocked_map,
)
from cerflearn.features.cost import fastfood_macs
from cerflearn.features.dense import DenseMap, draw_orthogonal
from cerflearn.features.fastfood import SHAREABLE
from cerflearn.features.masked import draw_masked_map, masks_within_budget
from cerflearn.features.masks import MaskSet, draw_beta_bernoulli_masks, draw_fixed_masks
from cerflearn.spectral import Gaussian, GaussianMixture, Product, StudentT
from map_samples import N_FEATURES, draw_masked, expected_features, rows


def test_masked_transform_matches_dense_when_mask_is_full(paired):
    law = StudentT(0.3, 3.0)
    rng = np.random.default_rng(0)
    masked = draw_masked(N_FEATURES, 60, law, rng, paired=paired, density=1.0)
    dense = DenseMap(
        weights=masked.frequencies,
        offsets=masked.offsets,
        amplitudes=masked.amplitudes,
        n_outputs=60,
        paired=paired,
    )
    assert masked.masks.all()
    np.testing.assert_allclose(masked.transform(rows(30)), dense.transform(rows(30)), atol=1e-12)


@pytest.mark.parametrize("group_size", [1, 8])
@pytest.mark.parametrize("per_mask", [1, 3, 16])
@pytest.mark.parametrize("n_samples", [1, 40])
def test_masks_of_any_grouping_and_sharing_are_applied(group_size, per_mask, n_samples):
    rng = np.random.default_rng(2)
    usable = rng.random(N_FEATURES) < 0.7  # groups lose inputs
    masks = draw_beta_bernoulli_masks(-(-50 // per_mask), usable, 0.3, group_size, rng)
    feature_map = draw_masked_map(
        masks,
        int(usable.sum()),
        N_FEATURES,
        50,
        Gaussian(0.3),
        rng,
        paired=False,
        features_per_mask=per_mask,
        group_size=group_size,
    )
    assert not feature_map.masks[~usable].any()
    np.testing.assert_array_equal(feature_map.active, feature_map.masks.sum(axis=0))
    np.testing.assert_array_equal(feature_map.masks, feature_map.frequencies != 0.0)
    X = rows(n_samples)
    np.testing.assert_allclose(
        feature_map.transform(X), expected_features(feature_map, X), atol=1e-12
    )


def test_laws_that_are_not_exchangeable_are_drawn_in_full():
    rng = np.random.default_rng(0)
    centres = np.arange(6.0)[None] + 1.0
    masks = MaskSet(np.array([0, 2, 4]), np.array([0, 5, 2, 3], dtype=np.int32))
    feature_map = draw_masked_map(
        masks, 6, 6, 4, GaussianMixture(centres, 1e-9), rng, paired=False, features_per_mask=2
    )
    scale = np.sqrt(3.0)
    np.testing.assert_allclose(feature_map.frequencies[[0, 5], 0], scale * np.array([1.0, 6.0]))
    np.testing.assert_allclose(feature_map.frequencies[[2, 3], 3], scale * np.array([3.0, 4.0]))
    product = Product(Gaussian(1.0), Gaussian(1.0))
    assert draw_masked_map(masks, 6, 6, 4, product, rng, features_per_mask=1).n_projections == 2


@pytest.mark.parametrize("n_features", [1, 2, 17, 32, 33, 100])
@pytest.mark.parametrize("share", [(), ("signs",), ("permutation",), ("scales",), SHAREABLE])
def test_planned_and_transformed_blocks_have_the_same_features(n_features, share):
    rng = np.random.default_rng(0)
    feature_map = draw_blocked_map(n_features, 201, Gaussian(0.5), rng, share=share)
    X = np.random.default_rng(1).normal(size=(25, n_features))
    np.testing.assert_allclose(
        feature_map.transform(X), expected_features(feature_map, X), atol=1e-12
    )


def test_zero_signs_are_masks_of_a_block():
    feature_map = draw_blocked_map(N_FEATURES, 200, Gaussian(0.5), np.random.default_rng(0))
    signs = feature_map.blocks.signs.copy()
    signs[1, ::2] = 0.0
    masked = replace(feature_map, blocks=replace(feature_map.blocks, signs=signs))
    assert masked.masks[:, :64].all()
    np.testing.assert_array_equal(masked.masks, masked.frequencies != 0.0)
    np.testing.assert_allclose(
        masked.transform(rows(30)), expected_features(masked, rows(30)), atol=1e-12
    )


@pytest.mark.parametrize("law", [Gaussian(0.7), StudentT(0.7, 5.0)], ids=repr)
def test_orthogonal_frequencies_are_orthogonal_within_blocks(law):
    frequencies = draw_orthogonal(6, 15, law, np.random.default_rng(0))
    for start in (0, 6, 12):
        block = frequencies[:, start : start + 6]
        gram = block.T @ block
        np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-12)


def test_directions_of_orthogonal_frequencies_are_uniform():
    # First column of each of many draws: mean 0 and covariance I / D, as on the sphere.
    rng = np.random.default_rng(0)
    n, D = 4_000, 3
    first = np.stack([draw_orthogonal(D, D, Gaussian(1.0), rng)[:, 0] for _ in range(n)])
    units = first / np.linalg.norm(first, axis=1, keepdims=True)
    assert np.abs(units.mean(axis=0)).max() < 5.0 / np.sqrt(D * n)
    squares = np.square(units).mean(axis=0)
    variance = 2.0 * (D - 1) / (D**2 * (D + 2))  # of a squared coordinate on the sphere
    assert np.abs(squares - 1.0 / D).max() < 5.0 * np.sqrt(variance / n)


@pytest.mark.parametrize("macs", [3, 100, 1_000, 12_345])
@pytest.mark.parametrize("per_mask", [1, 16])
@pytest.mark.parametrize("draw", [draw_fixed_masks, draw_beta_bernoulli_masks])
def test_masks_fill_a_budget_and_do_not_exceed_it(macs, per_mask, draw):
    usable = np.ones(N_FEATURES, dtype=bool)

    def draw_masks(n_masks, rng):
        return draw(n_masks, usable, 0.2, 1, rng)

    # A guess of the size that is far too large only costs more rounds.
    results = [
        masks_within_budget(draw_masks, macs, guess, per_mask, np.random.default_rng(1))
        for guess in (8.0, 1e9)
    ]
    masks, n_projections = results[0]
    active = np.repeat(masks.counts, per_mask)[:n_projections]
    assert active.sum() <= macs
    assert masks.n_masks == max(1, -(-n_projections // per_mask))
    assert macs - active.sum() < N_FEATURES


@pytest.mark.parametrize("shared_signs", [False, True])
@pytest.mark.parametrize("macs", [0, 175, 176, 352, 5_000])
def test_blocks_fill_a_budget_and_do_not_exceed_it(macs, shared_signs):
    n_blocks = blocks_within_budget(macs, 16, shared_signs=shared_signs)
    if n_blocks:
        assert fastfood_macs(n_blocks, 16, shared_signs=shared_signs) <= macs
    assert fastfood_macs(n_blocks + 1, 16, shared_signs=shared_signs) > macs


@pytest.mark.parametrize(("n_projections", "size"), [(48, 16), (37, 16), (5, 8), (1, 1)])
def test_offsets_of_a_block_are_equally_spaced(n_projections, size):
    offsets = draw_block_offsets(n_projections, size, False, np.random.default_rng(3))
    assert offsets.shape == (n_projections,)
    for first in range(0, n_projections, size):
        block = offsets[first : first + size]
        around = np.sort(block) - np.arange(len(block)) * 2.0 * np.pi / len(block)
        np.testing.assert_allclose(around, around[0])
        assert 0.0 <= around[0] < 2.0 * np.pi / len(block)
    assert not draw_block_offsets(n_projections, size, True, np.random.default_rng(3)).any()


def test_each_offset_of_a_block_is_uniform():
    rng = np.random.default_rng(4)
    offsets = np.array([draw_block_offsets(4, 4, False, rng) for _ in range(4000)])
    quarters = np.floor(offsets / (np.pi / 2.0)).astype(int)
    for place in range(4):
        counts = np.bincount(quarters[:, place], minlength=4)
        assert len(counts) == 4
        assert abs(counts - 1000).max() < 5 * np.sqrt(750)


def test_blocks_are_drawn_with_their_offsets():
    rng = np.random.default_rng(5)
    drawn = draw_blocked_map(16, 40, Gaussian(1.0), rng, paired=False)
    steps = np.diff(np.sort(drawn.offsets[:16]))
    np.testing.assert_allclose(steps, 2.0 * np.pi / 16)
    np.testing.assert_allclose(np.diff(np.sort(drawn.offsets[32:])), 2.0 * np.pi / 8)


def test_offsets_of_blocks_can_be_independent_as_in_the_paper():
    drawn = draw_blocked_map(
        16, 4000, Gaussian(1.0), np.random.default_rng(5), paired=False, spaced_offsets=False
    )
    steps = np.diff(np.sort(drawn.offsets[:16]))
    assert steps.max() > 1.5 * 2.0 * np.pi / 16
    counts, _ = np.histogram(drawn.offsets, bins=10, range=(0.0, 2.0 * np.pi))
    assert counts.sum() == 4000
    assert abs(counts - 400).max() < 5 * np.sqrt(360)
