"""FastfoodFeatures: structure, budgets and what blocks share."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from cerflearn import FastfoodFeatures
from cerflearn.features.cost import fastfood_macs
from cerflearn.features.fastfood import SHAREABLE
from cerflearn.spectral import StudentT

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_features", [1, 5, 33, 100])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("share", [(), ("signs",), ("permutation", "scales"), SHAREABLE])
def test_features_are_cosines_of_the_materialised_frequencies(n_features, paired, share):
    X = RNG.normal(size=(30, n_features))
    sampler = FastfoodFeatures(n_components=75, paired=paired, share=share, random_state=0).fit(X)
    phases = X @ sampler.frequencies_ + sampler.offsets_
    n = sampler.n_projections_
    if paired:
        wanted = np.stack([np.cos(phases), np.sin(phases)], axis=2).reshape(30, 2 * n)[:, :75]
        wanted /= np.sqrt(n)
    else:
        wanted = np.cos(phases) * np.sqrt(2.0 / n)
    np.testing.assert_allclose(sampler.transform(X), wanted, atol=1e-12)
    assert sampler.masks_.all()


@pytest.mark.parametrize("share", [(), ("permutation", "scales"), ("signs",), SHAREABLE])
@pytest.mark.parametrize("n_blocks", [1, 2, 5])
def test_a_budget_buys_whole_blocks(share, n_blocks):
    X = RNG.normal(size=(10, 50))
    macs = fastfood_macs(n_blocks, 64, shared_signs="signs" in share)
    for budget in (macs, macs + 100):
        sampler = FastfoodFeatures(macs=budget, share=share).fit(X)
        assert sampler.n_projections_ == 64 * n_blocks
        assert sampler.n_components_ == 128 * n_blocks
        assert sampler.n_macs_ == macs


def test_the_last_block_is_counted_whole():
    X = RNG.normal(size=(10, 50))
    sampler = FastfoodFeatures(n_components=64 + 2, paired=False).fit(X)
    assert sampler.n_projections_ == 66
    assert sampler.n_macs_ == fastfood_macs(2, 64)


@pytest.mark.parametrize("name", SHAREABLE)
def test_what_is_shared_is_one_row(name):
    X = RNG.normal(size=(10, 50))
    attribute = {"scales": "row_scale"}.get(name, name)
    for share, n_rows in (((), 3), ((name,), 1)):
        sampler = FastfoodFeatures(n_components=300, share=share).fit(X)
        assert getattr(sampler.feature_map_.blocks, attribute).shape == (n_rows, 64)


def test_the_order_of_what_is_shared_does_not_matter():
    X = RNG.normal(size=(10, 50))
    first, second = (
        FastfoodFeatures(n_components=300, share=share, random_state=0).fit(X)
        for share in (SHAREABLE, list(reversed(SHAREABLE)))
    )
    np.testing.assert_array_equal(first.transform(X), second.transform(X))


def test_isotropic_laws_are_welcome():
    X = RNG.normal(size=(10, 5))
    law = StudentT(0.5, 4.0)
    sampler = FastfoodFeatures(kernel=law, n_components=80_000, random_state=0).fit(X)
    Z = sampler.transform(X)
    # 5,000 blocks of 8 rows; means of blocks lie in [-1, 1]: Hoeffding, 1e-6 a pair.
    assert np.abs(Z @ Z.T - law.kernel(X)).max() < np.sqrt(2.0 * np.log(2.0 / 1e-6) / 5_000)


def test_threads_and_copies_do_not_change_the_bits():
    X = RNG.normal(size=(600, 50))
    sampler = FastfoodFeatures(random_state=0).fit(X)
    wanted = sampler.transform(X)
    np.testing.assert_array_equal(sampler.set_params(n_jobs=2).transform(X), wanted)
    again = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(again.transform(X), wanted)
    np.testing.assert_array_equal(FastfoodFeatures(random_state=0).fit_transform(X), wanted)
