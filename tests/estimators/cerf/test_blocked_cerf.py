"""BlockedCERF: blocks, centres and scales, what is selected and what it costs."""

from __future__ import annotations

import pickle
import re
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from cerflearn import BlockedCERF, FastfoodFeatures, RandomFourierFeatures, cost
from cerflearn.features.cost import fastfood_macs
from cerflearn.spectral import Cauchy, Gaussian, GaussianMixture, Product
from learned_maps import LEARNED, QUICK, learned_blocks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 16))
PRODUCT = Product(Gaussian(0.3), Gaussian(1.0))


def cosines(sampler, data):
    phases = data @ sampler.frequencies_ + sampler.offsets_
    if sampler.paired:
        phases = np.stack([phases, phases - np.pi / 2.0], axis=2).reshape(len(data), -1)
    amplitudes = np.repeat(sampler.feature_map_.amplitudes, 2 if sampler.paired else 1)
    return (np.cos(phases) * amplitudes)[:, : sampler.n_components_]


# --- blocks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", [*LEARNED, "random"])
@pytest.mark.parametrize("n_features", [3, 16, 40])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"unit": "output"},
        {"spread": 0.5, "share": ("signs",)},
        {"share": ("permutation", "scales"), "scale_spread": 0.3, "mask_density": 0.5},
        {"kernel": "cauchy", "spread": 0.5, "scale_spread": 0.3, "unit": "output"},
    ],
    ids=str,
)
def test_features_are_cosines_of_the_frequencies(selector, n_features, paired, parameters):
    if selector == "random":  # nothing is chosen
        parameters = {name: value for name, value in parameters.items() if name != "unit"}
    data = np.random.default_rng(1).normal(size=(50, n_features))
    sampler = learned_blocks(
        n_components=19, selector=selector, paired=paired, **parameters, **QUICK
    ).fit(data)
    np.testing.assert_allclose(sampler.transform(data), cosines(sampler, data), atol=1e-12)
    n = sampler.n_projections_
    assert n == (10 if paired else 19)
    np.testing.assert_allclose(sampler.feature_map_.amplitudes, np.sqrt((2 - paired) / n))


def test_without_learning_it_is_fastfood():
    ours = BlockedCERF(selector="random", n_components=70, random_state=3).fit(X)
    theirs = FastfoodFeatures(n_components=70, random_state=3).fit(X)
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    assert ours.n_macs_ == theirs.n_macs_


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("unit", ["block", "output"])
@pytest.mark.parametrize("paired", [False, True])
def test_the_selector_names_the_candidates_that_are_kept(selector, unit, paired):
    parameters = {
        "n_candidates": 128,
        "selector": selector,
        "unit": unit,
        "paired": paired,
        "spread": 0.7,
        **QUICK,
    }
    sampler = learned_blocks(n_components=39, **parameters).fit(X)
    everything = learned_blocks(n_components=128, **parameters).fit(X)
    assert len(sampler.selected_) == 39
    assert sampler.selected_.dtype == np.int64
    per_projection = 2 if paired else 1
    projections = np.unique(sampler.selected_ // per_projection)
    np.testing.assert_array_equal(sampler.frequencies_, everything.frequencies_[:, projections])
    kept = np.bincount(projections // 16, minlength=128 // 16 // per_projection)
    assert sampler.n_blocks_ == (kept > 0).sum()
    if unit == "block":
        assert sorted(kept[kept > 0])[1:] == [16] * (sampler.n_blocks_ - 1)
        assert sampler.n_blocks_ == -(-len(projections) // 16)


def test_candidates_are_whole_blocks():
    for paired, n_candidates in ((False, 64), (True, 64)):
        sampler = BlockedCERF(n_components=20, paired=paired, n_candidates=50).fit(X)
        assert sampler.n_candidates_ == n_candidates
    assert BlockedCERF(n_components=128, paired=False).fit(X).n_candidates_ == 320


def test_centres_come_from_the_kernels_law_and_frequencies_lie_around_them():
    data = RNG.normal(size=(20, 64))
    sampler = BlockedCERF(
        kernel=Cauchy(2.0),
        spread=0.1,
        paired=False,
        n_components=64 * 200,
        selector="random",
        random_state=0,
    ).fit(data)
    centres = sampler.feature_map_.blocks.centres
    # Median absolute value 2, of 12,800 values: standard error 2 pi / (2 sqrt(12800)) = .028.
    assert np.median(np.abs(centres)) == pytest.approx(2.0, abs=0.07)
    about = sampler.frequencies_.T.reshape(200, 64, 64) - centres[:, None]
    # Blocks have one |g| each, but their norms are drawn afresh: 12,800 norms of 64 values.
    assert about.std() == pytest.approx(0.2, rel=0.01)


def test_spread_is_in_units_of_the_laws_scale():
    data = RNG.normal(size=(20, 16))
    for law, scale in ((Gaussian(3.0), 3.0), (Product(Gaussian(2.0), Cauchy(0.5)), 1.0)):
        sampler = BlockedCERF(kernel=law, spread=0.5, n_components=16_000, selector="random")
        sampler.fit(data)
        blocks = sampler.feature_map_.blocks
        about = sampler.frequencies_.T.reshape(-1, 16, 16) - blocks.centres[:, None]
        assert about.std() == pytest.approx(0.5 * scale, rel=0.03)


def test_scales_differ_by_block():
    sampler = BlockedCERF(
        gamma=0.5, scale_spread=0.8, paired=False, n_components=16 * 500, selector="random"
    ).fit(X)
    size = np.log(np.linalg.norm(sampler.frequencies_, axis=0).reshape(500, 16)).mean(axis=1)
    # The logarithm of a norm in 16 dimensions varies by 1 / sqrt(32), its mean over 16 by less.
    assert size.std() == pytest.approx(0.8, abs=4.0 * 0.8 / np.sqrt(1_000))


# --- price ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [(), ("signs",), ("permutation", "scales")])
@pytest.mark.parametrize("spread", [None, 0.5])
def test_a_touched_block_is_paid_whole(share, spread):
    sampler = BlockedCERF(
        n_components=40,
        n_candidates=320,
        unit="output",
        share=share,
        spread=spread,
        paired=False,
        random_state=0,
    ).fit(X)
    touched = len(np.unique(sampler.selected_ // 16))
    assert touched > 3  # single outputs scatter over the blocks
    centred = 16 * touched if spread else 0
    macs = fastfood_macs(touched, 16, shared_signs="signs" in share, n_centre_inputs=centred)
    assert sampler.n_macs_ == macs == cost(sampler).macs
    whole = clone(sampler).set_params(unit="block").fit(X)
    assert whole.n_blocks_ == 3
    assert whole.n_macs_ < sampler.n_macs_


@pytest.mark.parametrize(
    ("selector", "unit"), [*product(LEARNED, ("block", "output")), ("random", "block")]
)
@pytest.mark.parametrize("share", [(), ("signs",), ("permutation", "scales")])
@pytest.mark.parametrize("spread", [None, 0.5])
def test_a_budget_holds_after_selection(selector, unit, share, spread):
    for macs in (200, 500, 901):
        sampler = learned_blocks(
            macs=macs,
            selector=selector,
            unit=unit,
            share=share,
            spread=spread,
            **QUICK,
        ).fit(X)
        each = 96 if "signs" in share else 176
        each += 16 if spread else 0
        assert macs - each < sampler.n_macs_ <= macs
        assert sampler.n_components_ == 32 * sampler.n_blocks_


@pytest.mark.parametrize("unit", ["block", "output"])
def test_a_budget_holds_with_weights_too(unit):
    sampler = learned_blocks(
        macs=600, unit=unit, weights="nnls", selected_fraction=0.2, teacher=PRODUCT, **QUICK
    ).fit(X)
    assert sampler.n_macs_ == 528
    assert sampler.n_components_ == 96


def test_weights_replace_whole_blocks_only_where_blocks_are_chosen():
    sampler = learned_blocks(
        n_components=48,
        n_candidates=320,
        paired=False,
        weights="nnls",
        teacher=PRODUCT,
        scale_spread=1.5,
        kernel=Gaussian(0.5),
        **QUICK,
    ).fit(X)
    assert sampler.n_blocks_ == 3
    assert (sampler.feature_map_.amplitudes == 0.0).any()  # paid anyway
    single = clone(sampler).set_params(unit="output").fit(X)
    assert (single.feature_map_.amplitudes > 0.0).all()


# --- bits, data, parameters -------------------------------------------------------------------


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("unit", ["block", "output"])
def test_threads_and_cache_do_not_change_a_bit(selector, unit):
    data = np.random.default_rng(1).normal(size=(2_100, 16))
    sampler = learned_blocks(
        n_components=32, selector=selector, unit=unit, weights="nnls", max_stages=3, **QUICK
    )
    wanted = clone(sampler).fit(data)
    again = [
        clone(sampler).set_params(n_jobs=2).fit(data),
        clone(sampler).set_params(selector__cache_bytes=0).fit(data),
        clone(sampler).set_params(n_jobs=2, selector__cache_bytes=10**6).fit(data),
        clone(sampler).fit(sp.csr_array(data)),
        pickle.loads(pickle.dumps(wanted)),
    ]
    for other in again:
        np.testing.assert_array_equal(other.selected_, wanted.selected_)
        np.testing.assert_array_equal(other.feature_proba_, wanted.feature_proba_)
        np.testing.assert_array_equal(other.lower_bounds_, wanted.lower_bounds_)
        np.testing.assert_array_equal(other.transform(data), wanted.transform(data))


@pytest.mark.parametrize("selector", LEARNED)
def test_single_precision_is_kept_and_learned_from_in_double(selector):
    single = X.astype(np.float32)
    sampler = learned_blocks(n_components=20, selector=selector, gamma=0.05, **QUICK)
    fitted = clone(sampler).fit(single)
    assert fitted.transform(single).dtype == np.float32
    double = clone(sampler).fit(single.astype(np.float64))
    np.testing.assert_array_equal(fitted.frequencies_, double.frequencies_)


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("unit", ["block", "output"])
def test_fewer_samples_than_candidates_work(selector, unit):
    for seed in range(5):
        sampler = learned_blocks(
            n_components=50, selector=selector, unit=unit, tol=1.0, random_state=seed
        ).fit(X[:10])
        assert np.isfinite(sampler.transform(X)).all()


@pytest.mark.parametrize("selector", LEARNED)
def test_data_that_tell_nothing_are_refused(selector):
    with pytest.raises(ValueError, match=r"one sample \(n_samples = 1\)"):
        BlockedCERF(selector=selector).fit(X[:1])
    with pytest.raises(ValueError, match="X is constant"):
        BlockedCERF(selector=selector).fit(np.ones((8, 3)))


BAD = [
    ({"n_components": 0}, "n_components=0 is not valid"),
    ({"n_candidates": 99}, "n_candidates=99 is not valid: it must be at least the number of"),
    ({"unit": "row"}, "unit='row' is not valid: it must be 'block' or 'output'."),
    (
        {"spread": 0.0},
        "spread=0.0 is not valid: it must be a positive number of at most 1e10, or None.",
    ),
    ({"scale_spread": -1.0}, "scale_spread=-1.0 is not valid: it must be a number from 0 to 10."),
    ({"share": "signs"}, "share='signs' is not valid: it must be a tuple of none, some or all of"),
    ({"share": ("sign",)}, "share=('sign',) is not valid: it must be a tuple of none, some or all"),
    (
        {"share": (1,)},
        "share=(1,) is not valid: it must be a tuple of none, some or all of 'signs'",
    ),
    (
        {"share": ("signs", "signs")},
        "share=('signs', 'signs') is not valid: it must be a tuple of none, some or all of "
        "'signs', 'permutation' and 'scales', each once.",
    ),
    ({"mask_density": 0.0}, "mask_density=0.0 is not valid: it must be a number above 0 and at"),
    ({"mask_density": "auto"}, "mask_density='auto' is not valid: it must be a number above 0"),
    ({"spaced_offsets": 1}, "spaced_offsets=1 is not valid: it must be True or False."),
    ({"kernel": "cauchy"}, "kernel='cauchy' is not valid: it must be 'rbf', 'matern32'"),
    ({"macs": 175}, "macs=175 is not valid: a Fastfood block of 16 features costs 176 MACs."),
    ({"macs": 191, "spread": 0.5}, "a Fastfood block of 16 features costs 192 MACs."),
    (
        {"kernel": GaussianMixture(np.zeros((2, 16)), 1.0), "spread": 1.0},
        "spread=1.0 is not valid: it must be None for GaussianMixture",
    ),
]


@pytest.mark.parametrize(("parameters", "message"), BAD, ids=[str(p) for p, _ in BAD])
@pytest.mark.parametrize("selector", ["greedy", "random"])
def test_bad_parameters_are_named_with_value_and_remedy(parameters, message, selector):
    if selector == "random" and "n_candidates" in parameters:
        return
    with pytest.raises(ValueError, match=re.escape(message)):
        BlockedCERF(selector=selector, **parameters).fit(X)


# --- section 4.1 ------------------------------------------------------------------------------


def kernel_error(sampler, law, data):
    features = sampler.transform(data)
    return np.abs(features @ features.T - law.kernel(data)).mean()


def test_a_law_or_its_random_features_can_teach():
    parameters = {"n_components": 64, "n_candidates": 160, "paired": False, "kernel": Gaussian(0.3)}
    dense = RandomFourierFeatures(kernel=PRODUCT, n_components=160, paired=False)
    for teacher in (PRODUCT, dense):
        sampler = BlockedCERF(teacher=teacher, random_state=0, **parameters).fit(X)
        assert sampler.n_macs_ == 4 * 176


@pytest.mark.parametrize("selector", LEARNED)
def test_weighted_blocks_are_nearer_to_an_irregular_kernel_than_drawn_ones(selector):
    data = np.random.default_rng(2).normal(size=(900, 16))
    gains = []
    for seed in range(3):
        parameters = {"kernel": Gaussian(0.3), "n_components": 64, "paired": False}
        drawn = BlockedCERF(selector="random", random_state=seed, **parameters).fit(data[:600])
        learned = learned_blocks(
            selector=selector,
            n_candidates=320,
            teacher=PRODUCT,
            weights="nnls",
            tol=1.0,
            random_state=seed,
            **parameters,
        ).fit(data[:600])
        assert learned.n_macs_ == drawn.n_macs_
        errors = [kernel_error(sampler, PRODUCT, data[600:]) for sampler in (drawn, learned)]
        gains.append(errors[1] / errors[0])
    assert np.mean(gains) < 0.9  # measured: .6 to .8
