"""Samplers of masked and blocked maps: candidates, budgets, scales of blocks."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cerflearn.features.block_sampler import BlockSampler
from cerflearn.features.masked_sampler import MaskedSampler
from cerflearn.spectral import Gaussian

LAW = Gaussian(0.3)
VARYING = np.ones(20, dtype=np.bool_)


@pytest.mark.parametrize("mask_law", ["fixed", "beta_bernoulli"])
def test_candidates_within_a_budget_are_those_of_as_many_outputs(mask_law):
    setting = {"law": LAW, "mask_density": 0.2, "mask_law": mask_law, "features_per_mask": 2}
    budgeted = MaskedSampler(n_outputs=100, macs=90, **setting)
    plan = budgeted.plan(VARYING)
    found, _, n_outputs = budgeted.draw_candidates(plan, lambda n: 3 * n, np.random.default_rng(0))
    counted = MaskedSampler(n_outputs=n_outputs, **setting)
    wanted, _, _ = counted.draw_candidates(plan, lambda n: 3 * n, np.random.default_rng(0))
    np.testing.assert_array_equal(found.frequencies, wanted.frequencies)


@pytest.mark.parametrize(
    ("per_mask", "groups"), [(1, None), (2, [0, 0, 1, 1, 2]), (4, [0] * 4 + [1])]
)
def test_projections_of_a_mask_are_a_group(per_mask, groups):
    sampler = MaskedSampler(law=LAW, n_outputs=4, paired=False, features_per_mask=per_mask)
    plan = sampler.plan(VARYING)
    _, found, _ = sampler.draw_candidates(plan, lambda _: 5, np.random.default_rng(0))
    assert (found is None) if groups is None else (found.tolist() == groups)


@pytest.mark.parametrize("share", [(), ("signs",)])
@pytest.mark.parametrize("centre_law", [None, LAW])
def test_the_smallest_budget_that_is_named_pays_for_a_block(share, centre_law):
    setting = {"law": LAW, "n_outputs": 9, "share": share, "centre_law": centre_law}
    with pytest.raises(ValueError, match="Fastfood block") as caught:
        BlockSampler(macs=1, **setting).n_outputs_for(20)
    least = int(re.search(r"costs (\d+) MACs", str(caught.value))[1])
    assert BlockSampler(macs=least, **setting).n_outputs_for(20) == 64  # pairs of 32
    with pytest.raises(ValueError, match="Fastfood block"):
        BlockSampler(macs=least - 1, **setting).n_outputs_for(20)


def test_blocks_are_scaled_by_factors_of_their_own():
    setting = {"law": LAW, "n_outputs": 1, "paired": False}
    n_blocks = 2_000
    plain, scaled = (
        BlockSampler(scale_spread=spread, **setting)
        .draw(4, 4 * n_blocks, np.random.default_rng(0))
        .blocks.row_scale
        for spread in (0.0, 0.5)
    )
    factors = scaled / plain
    assert factors.shape == (n_blocks, 4)
    np.testing.assert_allclose(factors, np.repeat(factors[:, :1], 4, axis=1), rtol=1e-12)
    logarithms = np.log(factors[:, 0])
    assert abs(logarithms.mean()) < 0.05
    assert logarithms.std() == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(("n_candidates", "n_columns"), [(1, 64), (64, 64), (65, 128), (128, 128)])
def test_candidates_are_whole_blocks(n_candidates, n_columns):
    sampler = BlockSampler(law=LAW, n_outputs=1)
    drawn = sampler.draw_candidates(20, n_candidates, np.random.default_rng(0))
    assert drawn.n_outputs == n_columns
