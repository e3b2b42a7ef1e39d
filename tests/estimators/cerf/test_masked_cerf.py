"""MaskedCERF with a teacher: which candidates are kept, at what price, with which bits."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone

from cerflearn import CVEM, MaskedCERF, MaskedFourierFeatures
from learned_maps import LEARNED, QUICK, learned

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 12))
X[:, 5] = 1.0
Y = np.arange(80) % 3


def learned_attributes(sampler):
    names = ("selected_", "feature_proba_", "lower_bounds_", "rotation_", "scale_", "errors_")
    values = {name: getattr(sampler, name) for name in names if hasattr(sampler, name)}
    arrays = sampler.feature_map_.to_arrays()
    return values | arrays


def assert_same_bits(first, second):
    ours, theirs = learned_attributes(first), learned_attributes(second)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


# --- what is kept -----------------------------------------------------------------------------


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("n_components", [1, 9, 10])
@pytest.mark.parametrize("features_per_mask", [1, 3])
def test_the_selector_names_the_candidates_that_are_kept(
    selector, paired, n_components, features_per_mask
):
    parameters = {
        "n_candidates": 30,
        "selector": selector,
        "paired": paired,
        "mask_density": 0.4,
        "features_per_mask": features_per_mask,
        **QUICK,
    }
    sampler = learned(n_components=n_components, **parameters).fit(X)
    everything = learned(n_components=30, **parameters).fit(X)  # the same candidates, all kept
    chosen = sampler.selected_
    assert chosen.dtype == np.int64
    assert len(chosen) == n_components == sampler.transform(X).shape[1]
    assert (np.diff(chosen) > 0).all()
    projections = np.unique(chosen // 2) if paired else chosen
    np.testing.assert_array_equal(sampler.frequencies_, everything.frequencies_[:, projections])
    np.testing.assert_array_equal(sampler.offsets_, everything.offsets_[projections])
    # Equal weights belong to the number that is kept.
    factor = np.sqrt(everything.n_projections_ / len(projections))
    wanted = factor * everything.transform(X)[:, chosen]
    np.testing.assert_allclose(sampler.transform(X), wanted, atol=1e-12)
    assert sampler.feature_proba_.shape == (30,) == (sampler.n_candidates_,)


@pytest.mark.parametrize("selector", LEARNED)
def test_whole_masks_are_kept_but_for_the_last(selector):
    sampler = learned(
        n_components=40, n_candidates=96, features_per_mask=6, selector=selector, **QUICK
    ).fit(X)
    kept = np.bincount(np.unique(sampler.selected_ // 2) // 6, minlength=8)
    assert sorted(kept) == [0, 0, 0, 0, 2, 6, 6, 6]


@pytest.mark.parametrize("selector", [*LEARNED, "random"])
def test_few_features_share_a_mask_where_they_are_chosen(selector):
    sampler = learned(n_components=200, mask_density=0.5, selector=selector, **QUICK).fit(X)
    assert sampler.features_per_mask_ == (16 if selector == "random" else 2)


@pytest.mark.parametrize("paired", [False, True])
def test_cvem_keeps_the_most_probable_pairs(paired):
    sampler = learned(
        n_components=10, selector="cvem", features_per_mask=1, paired=paired, **QUICK
    ).fit(X)
    score = sampler.feature_proba_.reshape(-1, 2 if paired else 1).mean(axis=1)
    kept = np.unique(sampler.selected_ // (2 if paired else 1))
    assert score[kept].min() >= np.delete(score, kept).max()


def test_cvem_leaves_what_it_learned():
    sampler = learned(n_components=10, n_candidates=24, selector="cvem", random_state=0).fit(X)
    rotation = sampler.rotation_
    assert rotation.shape == (24, 24)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(24), atol=1e-10)
    assert sampler.n_iter_ == len(sampler.lower_bounds_)
    assert (np.diff(sampler.lower_bounds_) > -1e-8 * np.abs(sampler.lower_bounds_[1:])).all()
    assert sampler.scale_ > 0.0
    assert not hasattr(sampler, "errors_")
    labels = clone(sampler).set_params(teacher="labels").fit(X, Y)
    assert labels.rotation_.shape == (3, 24)


@pytest.mark.parametrize("selector", ["shared", "greedy"])
def test_other_selectors_decide_for_all_samples(selector):
    sampler = learned(n_components=10, n_candidates=24, selector=selector).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(sampler.feature_proba_), sampler.selected_)
    assert set(sampler.feature_proba_) == {0.0, 1.0}
    assert sampler.n_iter_ == len(sampler.errors_) == len(sampler.lower_bounds_)
    assert ((sampler.errors_ >= 0.0) & (sampler.errors_ <= 1.0)).all()
    assert not hasattr(sampler, "rotation_")
    assert hasattr(sampler, "scale_") == (selector == "shared")


def test_fitting_anew_forgets_what_another_selector_learned():
    sampler = learned(n_components=4, selector="cvem", **QUICK).fit(X)
    sampler.set_params(selector="random").fit(X)
    for name in ("rotation_", "scale_", "lower_bounds_", "n_iter_", "errors_"):
        assert not hasattr(sampler, name)
    np.testing.assert_array_equal(sampler.selected_, np.arange(4))


class Untouchable(TransformerMixin, BaseEstimator):
    """A teacher that must not be asked."""

    def fit(self, X, y=None):
        raise AssertionError("fitted")

    transform = fit


def test_random_selection_draws_what_is_needed_and_asks_no_teacher():
    sampler = learned(n_components=9, selector="random", random_state=0).fit(X)
    assert sampler.n_candidates_ == 9
    drawn = MaskedFourierFeatures(n_components=9, random_state=0).fit(X)
    np.testing.assert_array_equal(sampler.transform(X), drawn.transform(X))
    sampler.set_params(teacher=Untouchable())
    with pytest.raises(ValueError, match=r"teacher=Untouchable\(\) has no effect with selector='r"):
        sampler.fit(X)
    with pytest.raises(AssertionError, match="fitted"):
        sampler.set_params(selector="greedy").fit(X)


@pytest.mark.parametrize(
    ("parameters", "n_candidates"),
    [
        ({}, 26),  # 10 / .4 = 25, as pairs
        ({"paired": False}, 25),
        ({"selected_fraction": 0.1}, 100),
        ({"selected_fraction": 1.0}, 10),
        ({"n_candidates": 11}, 12),
        ({"n_candidates": 11, "paired": False}, 11),
        ({"n_candidates": 10}, 10),
    ],
    ids=str,
)
def test_the_number_of_candidates_follows_the_parameters(parameters, n_candidates):
    assert learned(n_components=10, **parameters).fit(X).n_candidates_ == n_candidates


def test_the_papers_setting_is_one_call():
    sampler = MaskedCERF.paper_setting(n_components=10, tol=1.0, random_state=0)
    wanted = {
        "mask_density": 0.4,
        "mask_law": "beta_bernoulli",
        "selected_fraction": 0.4,
        "paired": False,
        "features_per_mask": 1,
        "weights": "equal",
        "selector__e_step": "orthogonal",
        "selector__normalize": "standardize",
        "selector__solver": "admm",
        "n_components": 10,
    }
    assert isinstance(sampler.selector, CVEM)
    assert wanted.items() <= sampler.get_params().items()
    assert sampler.fit(X).n_candidates_ == 25
    assert len(set(sampler.masks_.sum(axis=0))) > 1
    equal = MaskedCERF.paper_setting(
        n_components=10, mask_law="fixed", tol=1.0, random_state=0
    ).fit(X)
    assert set(equal.masks_.sum(axis=0)) == {5}
    other = MaskedCERF.paper_setting(n_components=10, n_candidates=40, mask_density=0.2, tol=1.0)
    assert other.fit(X).n_candidates_ == 40


def test_the_papers_setting_sends_keywords_of_cvem_to_the_selector():
    sampler = MaskedCERF.paper_setting(macs=60, solver="procrustes", normalize=None, tol=0.5)
    assert sampler.selector.get_params() == CVEM(normalize=None, tol=0.5).get_params()
    assert sampler.macs == 60
    with pytest.raises(ValueError, match=r"selector='greedy' and tol, solver are not valid togeth"):
        MaskedCERF.paper_setting(selector="greedy", tol=0.5, solver="admm")


def test_the_papers_setting_untrained_is_drawn_and_has_no_candidates():
    sampler = MaskedCERF.paper_setting(n_components=10, selector="random", random_state=0).fit(X)
    drawn = MaskedFourierFeatures(
        n_components=10,
        mask_law="beta_bernoulli",
        mask_density=0.4,
        features_per_mask=1,
        paired=False,
        random_state=0,
    ).fit(X)
    np.testing.assert_array_equal(sampler.transform(X), drawn.transform(X))
    assert sampler.n_candidates_ == 10
    greedy = MaskedCERF.paper_setting(n_components=10, selector="greedy", random_state=0).fit(X)
    assert greedy.n_candidates_ == 25


# --- price ------------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("mask_law", ["fixed", "beta_bernoulli"])
@pytest.mark.parametrize("weights", ["equal", "nnls"])
@pytest.mark.parametrize("features_per_mask", [1, 4])
def test_a_budget_holds_after_selection(selector, mask_law, weights, features_per_mask):
    for seed, macs in enumerate((12, 60, 300)):
        sampler = learned(
            macs=macs,
            mask_law=mask_law,
            mask_density=0.35,
            selector=selector,
            weights=weights,
            features_per_mask=features_per_mask,
            tol=1.0,
            random_state=seed,
        ).fit(X)
        assert sampler.n_macs_ == sampler.masks_.sum() <= macs
        assert sampler.n_candidates_ > sampler.n_components_ == len(sampler.selected_)
        if mask_law == "fixed":
            assert sampler.n_macs_ > macs - 12


def test_a_budget_gives_as_many_outputs_as_without_learning():
    counts = {
        learned(macs=700, mask_density=0.3, selector=selector, **QUICK).fit(X).n_components_
        for selector in (*LEARNED, "random")
    }
    assert len(counts) == 1


# --- bits -------------------------------------------------------------------------------------

ROWS = np.random.default_rng(1).normal(size=(2_500, 10))  # three blocks


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("teacher", ["rff", "nystroem", "labels"])
def test_threads_and_cache_do_not_change_a_bit(selector, teacher):
    y = ROWS[:, 0] * ROWS[:, 1]
    sampler = learned(
        n_components=12, selector=selector, teacher=teacher, weights="nnls", max_stages=4, **QUICK
    )
    wanted = clone(sampler).fit(ROWS, y)
    # Some blocks kept, all recomputed, threads, and all of it.
    for change in ({"selector__cache_bytes": 600_000}, {"selector__cache_bytes": 0}, {"n_jobs": 2}):
        assert_same_bits(clone(sampler).set_params(**change).fit(ROWS, y), wanted)
    assert_same_bits(
        clone(sampler).set_params(selector__cache_bytes=0, n_jobs=2).fit(ROWS, y), wanted
    )
    assert_same_bits(pickle.loads(pickle.dumps(wanted)), wanted)


@pytest.mark.parametrize("selector", LEARNED)
def test_weights_are_of_use_where_no_two_rows_are_alike_to_the_teacher(selector):
    rows = X[:30]
    sampler = learned(n_components=8, selector=selector, teacher="labels", weights="nnls", **QUICK)
    features = sampler.fit(rows, np.arange(30)).transform(rows)
    assert np.isfinite(features).all()
    assert np.abs(features).max() > 1e-2


@pytest.mark.parametrize("selector", LEARNED)
def test_layout_and_container_do_not_change_a_bit(selector):
    rows = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.3, ROWS, 0.0)[:1_030]
    sampler = learned(n_components=8, selector=selector, gamma=0.1, max_stages=4, **QUICK)
    wanted = clone(sampler).fit(rows)
    for other in (np.asfortranarray(rows), sp.csr_array(rows), sp.csc_matrix(rows)):
        assert_same_bits(clone(sampler).fit(other), wanted)


@pytest.mark.parametrize("selector", LEARNED)
def test_single_precision_is_learned_from_in_double(selector):
    single = X.astype(np.float32)
    sampler = learned(n_components=8, selector=selector, gamma=0.1, **QUICK)
    fitted = clone(sampler).fit(single)
    assert fitted.transform(single).dtype == np.float32
    assert_same_bits(fitted, clone(sampler).fit(single.astype(np.float64)))


def test_a_last_block_of_one_row_is_computed_like_the_others():
    sampler = learned(n_components=8, random_state=0)
    assert clone(sampler).fit(ROWS[:1_025]).n_components_ == 8


# --- data and parameters ----------------------------------------------------------------------


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("features_per_mask", [1, 5])
@pytest.mark.parametrize("n_samples", [2, 3, 20])
def test_fewer_samples_than_candidates_work(selector, features_per_mask, n_samples):
    for seed in range(5):
        sampler = learned(
            n_components=44,
            selector=selector,
            features_per_mask=features_per_mask,
            tol=1.0,
            random_state=seed,
        ).fit(X[:n_samples])
        assert sampler.n_candidates_ == 110
        assert np.isfinite(sampler.transform(X)).all()


@pytest.mark.parametrize("selector", LEARNED)
def test_one_sample_is_refused(selector):
    with pytest.raises(ValueError, match=r"X has one sample \(n_samples = 1\): selector="):
        learned(selector=selector).fit(X[:1])
    assert learned(selector="random").fit(X[:1]).n_components_ == 100


@pytest.mark.parametrize("selector", LEARNED)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_constant_data_are_refused(selector, container):
    with pytest.raises(ValueError, match="X is constant, all its rows are equal"):
        learned(selector=selector).fit(container(np.ones((9, 4))))


BAD = [
    ({"n_components": 0}, "n_components=0 is not valid: it must be a positive integer"),
    ({"n_candidates": 0}, "n_candidates=0 is not valid: it must be a positive integer of at"),
    ({"n_candidates": 9}, "n_candidates=9 is not valid: it must be at least the number of outp"),
    ({"n_candidates": 20, "selected_fraction": 0.5}, "are not valid together"),
    ({"selected_fraction": 0.0}, "selected_fraction=0.0 is not valid: it must be a number above"),
    ({"selected_fraction": 1.5}, "selected_fraction=1.5 is not valid"),
    ({"selector": "best"}, "selector='best' is not valid: it must be 'greedy', 'shared', 'cvem'"),
    (
        {"selector": "cvem", "solver": "svd"},
        "solver='svd' is not valid: it must be 'procrustes' or 'admm'",
    ),
    ({"normalize": "l2"}, "normalize='l2' is not valid: it must be 'standardize' or None"),
    ({"normalize": "center"}, "does not affect a regression"),
    ({"selector": "shared", "normalize": "l2"}, "must be 'standardize', 'center' or None"),
    (
        {"selector": "cvem", "spectral_penalty": -1.0},
        "spectral_penalty=-1.0 is not valid: it must be 'adaptive', or a number from 0 to below 1",
    ),
    ({"selector": "cvem", "spectral_penalty": "auto"}, "spectral_penalty='auto' is not valid"),
    ({"weights": "free"}, "weights='free' is not valid: it must be 'equal' or 'nnls'"),
    (
        {"weights": "nnls", "selector": "random"},
        "weights='nnls' has no effect with selector='random': only features that are chosen",
    ),
    (
        {"selector": "shared", "max_stages": 1},
        "max_stages=1 is not valid: it must be an integer from 2",
    ),
    (
        {"selector": "cvem", "max_stages": 0},
        "max_stages=0 is not valid: it must be a positive integer",
    ),
    (
        {"selector": "cvem", "tol": -1e-3},
        "tol=-0.001 is not valid: it must be a number that is not negative",
    ),
    ({"cache_bytes": -1}, "cache_bytes=-1 is not valid: it must be a number of bytes"),
    ({"verbose": "much"}, "verbose='much' is not valid"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD, ids=[str(p) for p, _ in BAD])
def test_bad_parameters_are_named_with_value_and_remedy(parameters, message):
    with pytest.raises(ValueError, match=message):
        learned(**({"n_components": 10} | parameters)).fit(X)


@pytest.mark.parametrize("solver", ["procrustes", "admm"])
@pytest.mark.parametrize("normalize", ["standardize", "center", None])
@pytest.mark.parametrize("spectral_penalty", ["adaptive", 0.5])
def test_every_way_of_learning_learns(solver, normalize, spectral_penalty):
    sampler = learned(
        n_components=6,
        selector="cvem",
        solver=solver,
        normalize=normalize,
        spectral_penalty=spectral_penalty,
        **QUICK,
    )
    if solver == "procrustes" and spectral_penalty != "adaptive":
        with pytest.raises(
            ValueError, match=r"spectral_penalty=0.5 has no effect with solver='pro"
        ):
            sampler.fit(X)
    else:
        assert np.isfinite(sampler.fit(X).lower_bounds_).all()
