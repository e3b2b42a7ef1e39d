"""CVEM as printed: against a slow version of all of it, its bound, and its state of the samples."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import MaskedCERF
from cerflearn.engine.blocks import ArraySource
from cerflearn.engine.engines import SerialEngine, ThreadsEngine
from cerflearn.learning.cvem import fit_cvem
from oracle.literal import literal_cvem

PRINTED = {"solver": "admm", "e_step": "literal", "normalize": None, "tol": 0.0}


def engine(*arrays):
    return SerialEngine(ArraySource(*arrays))


def related(seed, n_samples, n_outputs, n_candidates):
    rng = np.random.default_rng(seed)
    learner = rng.normal(size=(n_samples, n_candidates))
    mixing = rng.normal(size=(n_candidates, n_outputs)) * (rng.random(n_candidates) < 0.5)[:, None]
    return learner @ mixing + 0.5 * rng.normal(size=(n_samples, n_outputs)), learner


@pytest.mark.parametrize("shape", [(40, 5, 5), (30, 9, 6), (36, 8, 8), (30, 4, 6)])
@pytest.mark.parametrize("share", [None, 0.02, 0.3])
def test_the_printed_algorithm_equals_the_slow_version(shape, share):
    teacher, learner = related(1, *shape)
    stages = []
    fit_cvem(
        SerialEngine(ArraySource(teacher, learner, block_rows=16)),
        **PRINTED,
        spectral_penalty="adaptive" if share is None else share,
        max_stages=4,
        n_closing_stages=0,
        on_stage=stages.append,
    )
    proba, rotation, scale, noise = literal_cvem(teacher, learner, n_stages=4, share=share)
    state = stages[-1].state
    np.testing.assert_allclose(state.feature_proba, proba, atol=1e-10)
    np.testing.assert_allclose(state.rotation, rotation, atol=1e-10)
    np.testing.assert_allclose([state.scale, state.noise_std], [scale, noise], atol=1e-10)


def test_samples_go_on_where_the_last_stage_left_them():
    # With rotation, scale and noise that hardly change, more stages only sweep on.
    teacher, learner = related(2, 60, 6, 6)
    bounds = fit_cvem(
        engine(teacher, learner),
        **PRINTED,
        scale=1.0,
        noise_std=1.0,
        max_stages=12,
        n_closing_stages=0,
    ).lower_bounds
    assert (np.diff(bounds[6:]) > -1e-3 * np.abs(bounds[-1])).all()


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_change_a_bit(n_threads):
    teacher, learner = related(3, 150, 7, 7)
    source = ArraySource(teacher, learner, block_rows=32)
    settings = PRINTED | {"max_stages": 5}
    wanted = fit_cvem(SerialEngine(source), **settings)
    found = fit_cvem(ThreadsEngine(source, n_threads), **settings)
    np.testing.assert_array_equal(found.rotation, wanted.rotation)
    np.testing.assert_array_equal(found.feature_proba, wanted.feature_proba)
    np.testing.assert_array_equal(found.lower_bounds, wanted.lower_bounds)


@pytest.mark.parametrize("penalty", [1.0, 1e6, -0.1])
def test_a_penalty_that_leaves_no_rotation_is_refused(penalty):
    teacher, learner = related(4, 30, 4, 4)
    with pytest.raises(ValueError, match=r"must be 'adaptive' or in \[0, 1\)"):
        fit_cvem(engine(teacher, learner), solver="admm", spectral_penalty=penalty)


def test_the_papers_setting_is_literal_on_demand():
    X = np.random.default_rng(0).normal(size=(80, 12))
    literal = MaskedCERF.paper_setting(literal=True, n_components=10, random_state=0, tol=1.0)
    assert literal.selector.e_step == "literal"
    assert literal.selector.normalize is None
    assert literal.mask_law == "beta_bernoulli"
    assert np.isfinite(literal.fit(X).lower_bounds_).all()
    usual = MaskedCERF.paper_setting(n_components=10, random_state=0, tol=1.0).fit(X)
    assert usual.selector.e_step == "orthogonal"
    assert not np.array_equal(usual.feature_proba_, literal.feature_proba_)
    with pytest.raises(ValueError, match="literal=True sets the latter"):
        MaskedCERF.paper_setting(literal=True, selector="greedy")
