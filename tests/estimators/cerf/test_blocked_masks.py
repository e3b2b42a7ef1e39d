"""BlockedCERF with masks inside blocks, and in the paper's setting."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import CVEM, BlockedCERF, MaskedCERF, cost
from cerflearn.features.fastfood import SHAREABLE
from cerflearn.spectral import Cauchy, Gaussian, StudentT
from learned_maps import LEARNED, QUICK, learned_blocks

X = np.random.default_rng(0).normal(size=(90, 16))


def masks_of_blocks(sampler):
    blocks = sampler.feature_map_.blocks
    return blocks.signs[:, : blocks.n_features] != 0.0


@pytest.mark.parametrize("selector", [*LEARNED, "random"])
@pytest.mark.parametrize("share", [(), ("signs",), SHAREABLE])
@pytest.mark.parametrize("spread", [None, 0.5])
def test_a_block_reads_the_inputs_of_its_mask_alone(selector, share, spread):
    sampler = learned_blocks(
        n_components=80, selector=selector, share=share, spread=spread, mask_density=0.25, **QUICK
    ).fit(X)
    np.testing.assert_array_equal(sampler.frequencies_ != 0.0, sampler.masks_)
    assert (masks_of_blocks(sampler).sum(axis=1) == 4).all()
    block = sampler.feature_map_.block_of_projection
    np.testing.assert_array_equal(sampler.masks_, masks_of_blocks(sampler)[block].T)
    np.testing.assert_array_equal(sampler.inputs_read_, np.flatnonzero(sampler.masks_.any(axis=1)))
    unread = np.where(sampler.masks_.any(axis=1), X, 99.0)
    np.testing.assert_array_equal(sampler.transform(unread), sampler.transform(X))


@pytest.mark.parametrize("n_features", [5, 40])
def test_inputs_that_never_vary_are_not_read(n_features):
    data = np.random.default_rng(1).normal(size=(30, n_features))
    data[:, [0, 3]] = 1.0
    for mask_law in ("fixed", "beta_bernoulli"):
        sampler = BlockedCERF(
            mask_density=0.5, mask_law=mask_law, n_components=2_000, selector="random"
        ).fit(data)
        assert not sampler.masks_[[0, 3]].any()
        assert sampler.masks_.any(axis=0).all()
    everything = BlockedCERF(mask_density=1.0, n_components=200, selector="random").fit(data)
    assert everything.masks_.sum() == (n_features - 2) * everything.n_projections_


@pytest.mark.parametrize(
    ("law", "share"),
    [
        (Gaussian(0.3), ()),
        (Gaussian(0.3), ("signs", "permutation")),
        (StudentT(0.3, 3.0), ()),
    ],
    ids=str,
)
def test_masked_blocks_have_the_mean_kernel_over_masks(law, share):
    n_blocks = 4_000
    sampler = BlockedCERF(
        kernel=law,
        mask_density=0.25,
        share=share,
        n_components=2 * 16 * n_blocks,
        selector="random",
        random_state=0,
    ).fit(X)
    masks = masks_of_blocks(sampler)
    # The mask scale: 4 of 16 inputs are read, and the sum over them grows as sqrt(4 / 16).
    wanted = np.mean([law.rescaled(2.0).kernel(X[:5] * mask) for mask in masks], axis=0)
    features = sampler.transform(X[:5])
    # Means of a block lie in [-1, 1]: Hoeffding, 1e-6 a pair; blocks that share B and Q are
    # independent given these.
    bound = np.sqrt(2.0 * np.log(2.0 / 1e-6) / n_blocks)
    assert np.abs(features @ features.T - wanted).max() < bound


@pytest.mark.parametrize(("law", "index"), [(Gaussian(2.0), 2.0), (Cauchy(2.0), 1.0)], ids=str)
def test_centres_are_masked_and_scaled_by_their_own_law(law, index):
    setting = {"kernel": law, "spread": 0.5, "n_components": 320, "selector": "random"}
    plain, masked = (
        BlockedCERF(random_state=0, mask_density=density, **setting).fit(X)
        for density in (None, 0.25)
    )
    read = masks_of_blocks(masked)
    np.testing.assert_allclose(
        masked.feature_map_.blocks.centres,
        plain.feature_map_.blocks.centres * read * 4.0 ** (1.0 / index),
        rtol=1e-12,
    )
    about = [
        s.frequencies_ - s.feature_map_.blocks.centres.T.repeat(16, 1) for s in (plain, masked)
    ]
    np.testing.assert_allclose(about[1], about[0] * masked.masks_ * 2.0, atol=1e-12)


@pytest.mark.parametrize("share", [(), ("signs",), SHAREABLE])
def test_masks_save_no_macs_and_do_not_let_the_first_transform_be_shared(share):
    for budget in (400, 901):
        sampler = BlockedCERF(macs=budget, share=share, mask_density=0.4).fit(X)
        assert sampler.n_macs_ == cost(sampler).macs == 176 * (budget // 176)


@pytest.mark.parametrize("scale_spread", [0.0, 0.5])
def test_blocks_that_share_scales_have_rows_of_equal_length_up_to_their_diagonal(scale_spread):
    sampler = BlockedCERF(
        share=("scales",), scale_spread=scale_spread, n_components=640, selector="random"
    ).fit(X)
    norms = np.linalg.norm(sampler.frequencies_, axis=0).reshape(-1, 16)
    diagonal = np.linalg.norm(sampler.feature_map_.blocks.gaussian_diag, axis=1)
    np.testing.assert_allclose(norms / diagonal[:, None], np.tile(norms[0] / diagonal[0], (20, 1)))


def test_the_papers_setting_is_one_call_away():
    sampler = BlockedCERF.paper_setting(n_components=64, tol=0.5, random_state=0).fit(X)
    assert sampler.get_params(deep=False) | {"selector": None} == BlockedCERF(
        share=("signs", "permutation"),
        spread=1.0,
        mask_density=0.4,
        mask_law="beta_bernoulli",
        spaced_offsets=False,
        paired=False,
        n_components=64,
        selected_fraction=0.4,
        random_state=0,
    ).get_params(deep=False) | {"selector": None}
    assert sampler.selector.get_params() == CVEM(solver="admm", tol=0.5).get_params()
    assert sampler.n_candidates_ == 160
    assert sampler.n_macs_ == 4 * (176 + 16)
    counts = masks_of_blocks(sampler).sum(axis=1)
    assert counts.min() >= 1
    assert sampler.rotation_.shape == (160, 160)


def test_the_printed_blocks_share_scales_too():
    sampler = BlockedCERF.paper_setting(literal=True, n_components=32, tol=1.0, random_state=0)
    assert sampler.share == SHAREABLE
    assert sampler.selector.get_params() == (
        CVEM(solver="admm", tol=1.0, e_step="literal", normalize=None).get_params()
    )
    sampler.fit(X)
    blocks = sampler.feature_map_.blocks
    assert len(blocks.row_scale) == len(blocks.permutation) == 1
    assert np.isfinite(sampler.transform(X)).all()


def test_parameters_override_the_papers():
    sampler = BlockedCERF.paper_setting(
        n_candidates=96,
        n_components=20,
        mask_density=None,
        mask_law="fixed",
        share=(),
        solver="admm",
    )
    assert sampler.share == ()
    assert sampler.selected_fraction is None
    random = BlockedCERF.paper_setting(n_components=20, selector="random").fit(X)
    assert random.n_components_ == 20
    with pytest.raises(ValueError, match=r"selector='greedy' and tol are not valid together: pass"):
        BlockedCERF.paper_setting(selector="greedy", tol=0.5)
    with pytest.raises(ValueError, match="literal=True sets the latter"):
        BlockedCERF.paper_setting(selector="greedy", literal=True)


@pytest.mark.parametrize(
    ("cls", "override"),
    [
        (BlockedCERF, {"paired": True}),
        (BlockedCERF, {"mask_density": None}),
        (BlockedCERF, {"mask_density": 1.0}),
        (MaskedCERF, {"mask_density": 1.0}),
        (MaskedCERF, {"selector": "random"}),
    ],
)
def test_what_an_override_makes_void_is_left_out_of_the_papers_setting(cls, override):
    X = np.random.default_rng(0).normal(size=(60, 5))
    model = cls.paper_setting(n_components=16, random_state=0, **override)
    assert model.fit_transform(X).shape == (60, 16)


@pytest.mark.parametrize("cls", [BlockedCERF, MaskedCERF])
def test_an_override_without_effect_is_refused_and_so_is_an_odd_literal(cls):
    model = cls.paper_setting(n_components=16, mask_density=1.0, mask_law="beta_bernoulli")
    with pytest.raises(ValueError, match="mask_law='beta_bernoulli' has no effect"):
        model.fit(np.random.default_rng(0).normal(size=(60, 5)))
    with pytest.raises(ValueError, match="literal='yes' is not valid"):
        cls.paper_setting(literal="yes")
