"""MaskedFourierFeatures: masks, their scale, budgets and constant inputs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from cerflearn import MaskedFourierFeatures, RandomFourierFeatures
from cerflearn.features.masks import automatic_density
from cerflearn.spectral import Cauchy, Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 48))
MASK_LAWS = ("fixed", "beta_bernoulli")


@pytest.mark.parametrize("mask_law", MASK_LAWS)
@pytest.mark.parametrize("group_size", [1, 8])
@pytest.mark.parametrize("features_per_mask", [1, 16])
def test_features_are_cosines_of_masked_frequencies(mask_law, group_size, features_per_mask):
    sampler = MaskedFourierFeatures(
        n_components=75,
        mask_density=0.3,
        mask_law=mask_law,
        group_size=group_size,
        features_per_mask=features_per_mask,
        random_state=0,
    ).fit(X)
    phases = X @ sampler.frequencies_
    wanted = np.stack([np.cos(phases), np.sin(phases)], axis=2).reshape(60, -1)[:, :75]
    np.testing.assert_allclose(sampler.transform(X), wanted / np.sqrt(38), atol=1e-12)
    np.testing.assert_array_equal(sampler.masks_, sampler.frequencies_ != 0.0)
    assert sampler.n_macs_ == sampler.masks_.sum()
    # Whole groups, and one mask for each run of projections that share it.
    groups = sampler.masks_.reshape(-1, group_size, 38)
    np.testing.assert_array_equal(groups.any(axis=1), groups.all(axis=1))
    leaders = sampler.masks_[:, np.arange(38) // features_per_mask * features_per_mask]
    np.testing.assert_array_equal(sampler.masks_, leaders)


@pytest.mark.parametrize("mask_law", MASK_LAWS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_constant_inputs_are_never_read(mask_law, container):
    data = X.copy()
    data[:, 5:12] = 0.0
    data[:, 20] = 3.0
    data[1:, 30] = 0.0  # varies by a single entry
    sampler = MaskedFourierFeatures(
        mask_density=0.5, mask_law=mask_law, features_per_mask=1, random_state=0
    )
    read = sampler.fit(container(data)).masks_.any(axis=1)
    assert not read[5:12].any()
    assert not read[20]
    assert read[30] or mask_law == "beta_bernoulli"


@pytest.mark.parametrize("mask_law", MASK_LAWS)
@pytest.mark.parametrize("group_size", [1, 4])
def test_inputs_that_are_read_are_named(mask_law, group_size):
    data = X.copy()
    data[:, :8] = 0.0
    sampler = MaskedFourierFeatures(
        n_components=6, mask_density=0.1, mask_law=mask_law, group_size=group_size, random_state=0
    ).fit(data)
    assert sampler.inputs_read_.dtype == np.int64
    np.testing.assert_array_equal(sampler.inputs_read_, np.flatnonzero(sampler.masks_.any(axis=1)))
    assert 0 < len(sampler.inputs_read_) <= 40
    # Other inputs may hold anything.
    other = RNG.normal(size=data.shape)
    other[:, sampler.inputs_read_] = data[:, sampler.inputs_read_]
    np.testing.assert_array_equal(sampler.transform(other), sampler.transform(data))


def test_if_all_inputs_are_constant_all_are_usable():
    sampler = MaskedFourierFeatures(mask_density=1.0).fit(np.ones((4, 9)))
    assert sampler.masks_.all()


@pytest.mark.parametrize(("law", "index"), [(Gaussian(0.5), 2.0), (Cauchy(0.5), 1.0)], ids=repr)
def test_mask_scale_keeps_the_size_of_a_projection(law, index):
    data = X.copy()
    data[:, :8] = 1.0  # of the 40 usable inputs a mask reads 10
    sampler = MaskedFourierFeatures(
        kernel=law, n_components=8_000, mask_density=10 / 48, features_per_mask=4, random_state=0
    ).fit(data)
    assert set(sampler.masks_.sum(axis=0)) == {10}
    values = np.abs(sampler.frequencies_[sampler.masks_])  # 40,000 of them
    rho = (40 / 10) ** (1.0 / index)
    # Median absolute value: .6745 for the normal law, 1 for Cauchy; its relative error < 1/200.
    median = 0.5 * rho * (0.6745 if index == 2.0 else 1.0)
    assert np.median(values) == pytest.approx(median, rel=5 / 200)


def test_full_masks_give_plain_random_fourier_features():
    masked = MaskedFourierFeatures(
        mask_density=1.0, gamma=0.02, n_components=20_000, random_state=0
    )
    dense = RandomFourierFeatures(gamma=0.02, n_components=20_000, random_state=0)
    kernels = [Z @ Z.T for Z in (s.fit_transform(X[:10]) for s in (masked, dense))]
    assert np.abs(kernels[0] - kernels[1]).max() < 5.0 * np.sqrt(2.0 / 10_000)


@pytest.mark.parametrize("mask_law", MASK_LAWS)
@pytest.mark.parametrize("macs", [48, 500, 10_000])
@pytest.mark.parametrize("paired", [False, True])
def test_a_budget_is_used_and_never_exceeded(mask_law, macs, paired):
    sampler = MaskedFourierFeatures(
        macs=macs, mask_law=mask_law, mask_density=0.25, paired=paired, random_state=0
    ).fit(X)
    assert macs - 48 < sampler.n_macs_ <= macs
    assert sampler.n_components_ == sampler.n_projections_ * (2 if paired else 1)


def test_automatic_density_follows_inputs_and_projections():
    assert MaskedFourierFeatures().fit(X).mask_density_ == automatic_density(48, 50)
    assert MaskedFourierFeatures(macs=500).fit(X).mask_density_ == automatic_density(48)
    assert MaskedFourierFeatures(n_components=1).fit(X).mask_density_ == 1.0
    very_wide = RNG.normal(size=(3, 20_000))
    density = MaskedFourierFeatures(macs=9_000).fit(very_wide).mask_density_
    assert density == automatic_density(20_000) < 1 / 50
    wide = MaskedFourierFeatures(n_components=1024).fit(RNG.normal(size=(5, 784)))
    assert wide.mask_density_ == pytest.approx(0.05)
    assert set(wide.masks_.sum(axis=0)) == {39}
    assert MaskedFourierFeatures().fit(X[:, :5]).masks_.sum(axis=0).min() == 4


def test_an_automatic_mask_reads_four_inputs_also_with_a_short_group():
    # Two of the groups 2, 2, 2, 2 and 1 may have three inputs: masks have three groups.
    sampler = MaskedFourierFeatures(group_size=2, random_state=0).fit(X[:, :9])
    assert set(sampler.masks_.sum(axis=0)) == {5, 6}
    given = MaskedFourierFeatures(group_size=2, mask_density=4 / 9, random_state=0).fit(X[:, :9])
    assert set(given.masks_.sum(axis=0)) == {3, 4}


def test_masks_of_the_lowest_density_count_one_input_each():
    sampler = MaskedFourierFeatures(mask_density=1e-6, random_state=0).fit(X[:, :10])
    assert sampler.n_macs_ == sampler.n_projections_ == 50
    assert sampler.features_per_mask_ == 5  # 50 inputs are read in all, 5 times each of 10


def test_a_density_given_as_a_number_is_kept():
    for density, n_inputs in ((0.001, 1), (2 / 48, 2), (0.25, 12), (1.0, 48)):
        masks = MaskedFourierFeatures(mask_density=density).fit(X).masks_
        assert set(masks.sum(axis=0)) == {n_inputs}


@pytest.mark.parametrize("mask_law", ["fixed", "beta_bernoulli"])
def test_density_is_a_share_of_all_inputs_constant_ones_too(mask_law):
    rows = RNG.normal(size=(30, 100))
    rows[:, 50:] = 1.0
    sampler = MaskedFourierFeatures(
        n_components=8_000, mask_density=0.2, mask_law=mask_law, features_per_mask=1, random_state=0
    ).fit(rows)
    # Beta-Bernoulli: pi ~ Beta(a, 1) of mean .4 for each of 50 inputs has variance .24 * .4 / 1.67.
    spread = 0 if mask_law == "fixed" else 5 * np.sqrt(50 * 0.096)
    assert abs(sampler.masks_.sum(axis=0).mean() - 20) <= spread


def test_wide_sparse_rows_give_the_features_of_dense_ones():
    rows = sp.random(40, 30_000, density=0.001, format="csr", random_state=0)
    sampler = MaskedFourierFeatures(n_components=64, gamma=1.0, random_state=0).fit(rows)
    np.testing.assert_allclose(
        sampler.transform(rows), sampler.transform(rows.toarray()), rtol=0, atol=1e-11
    )


def test_features_per_mask_does_not_change_the_cost():
    costs = {
        MaskedFourierFeatures(mask_density=0.25, features_per_mask=n).fit(X).n_macs_
        for n in (1, 7, 16, 1_000)
    }
    assert costs == {12 * 50}


def test_threads_and_copies_do_not_change_the_bits():
    rows = RNG.normal(size=(600, 48))
    sampler = MaskedFourierFeatures(random_state=0).fit(rows)
    wanted = sampler.transform(rows)
    np.testing.assert_array_equal(sampler.set_params(n_jobs=2).transform(rows), wanted)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sampler)).transform(rows), wanted)
    np.testing.assert_array_equal(MaskedFourierFeatures(random_state=0).fit_transform(rows), wanted)
    batches = [sampler.transform(rows[:24]), sampler.transform(rows[24:])]
    np.testing.assert_array_equal(np.vstack(batches), wanted)


@pytest.mark.parametrize("n_components", [16, 64, 256, 2_000])
def test_small_maps_share_masks_less_so_that_every_input_is_read(n_components):
    X = np.random.default_rng(0).normal(size=(50, 64))
    sampler = MaskedFourierFeatures(
        n_components=n_components, mask_density=0.125, random_state=0
    ).fit(X)
    n_masks = -(-sampler.n_projections_ // sampler.features_per_mask_)
    assert 1 <= sampler.features_per_mask_ <= 16
    # Masks are disjoint until every input was read once: 8 inputs each, 64 in all.
    assert sampler.masks_.any(axis=1).sum() == min(64, 8 * n_masks)
    assert 8 * n_masks >= min(64, 8 * sampler.n_projections_)


def test_only_inputs_that_vary_have_to_be_read():
    few = np.where(np.arange(48) < 8, X, 1.0)
    sampler = MaskedFourierFeatures(mask_density=2 / 48, random_state=0).fit(few)
    assert sampler.features_per_mask_ == 12  # 50 masks of 2 inputs read each of 8 inputs 12 times


def test_a_budget_below_one_projection_names_what_to_lower():
    for group_size, remedy in ((1, "lower mask_density"), (4, "mask_density or group_size")):
        with pytest.raises(ValueError, match=rf"macs=3 is not valid: .*{remedy}\.$"):
            MaskedFourierFeatures(macs=3, mask_density=0.25, group_size=group_size).fit(X)


def test_a_mask_has_no_more_projections_than_a_budget_pays_for():
    asked = {"features_per_mask": 100, "mask_density": 1e-6, "random_state": 0}
    sampler = MaskedFourierFeatures(macs=10, **asked).fit(X)
    assert sampler.features_per_mask_ == sampler.n_projections_ == sampler.n_macs_ == 10
    assert MaskedFourierFeatures(n_components=300, **asked).fit(X).features_per_mask_ == 100


def test_small_budgets_share_masks_less():
    X = np.random.default_rng(0).normal(size=(50, 64))
    shares = [
        MaskedFourierFeatures(macs=macs, mask_density=0.125, random_state=0)
        .fit(X)
        .features_per_mask_
        for macs in (32, 64, 256, 10_000)
    ]
    assert shares == [1, 1, 4, 16]
