"""E-step against the posterior over all selectors, and against Eqs. 21-26 entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit, xlogy

from cerflearn.learning.e_step import (
    TILE_ROWS,
    bernoulli_from_logit,
    expected_log_proba,
    log_odds,
    selection_proba,
    sweep_selection_proba,
    update_beta_posterior,
)
from cerflearn.learning.state import VariationalState
from oracle.cvem import (
    beta_integrals,
    bound,
    parallel_sweeps,
    posterior_by_enumeration,
    sweeps_in_turn,
)
from oracle.problems import SHAPES, small_problem

quick = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def state_of(p, **changes):
    usable = np.ones(p.learner.shape[1], dtype=bool)
    values = {"usable": usable, "orthogonal": True, **changes}
    return VariationalState(p.rotation, p.scale, p.noise, p.tau, p.concentration, **values)


@quick
@given(seed=seeds, n_candidates=st.integers(1, 8), n_outputs=st.integers(1, 9))
def test_selection_proba_is_the_posterior_over_all_selectors(seed, n_candidates, n_outputs):
    p = small_problem(seed, 3, n_outputs, n_candidates)
    present, absent = expected_log_proba(p.tau)
    expected = posterior_by_enumeration(
        p.teacher, p.learner, p.rotation, p.scale, p.noise, present, absent
    )
    odds = log_odds(state_of(p))
    proba, _ = selection_proba(p.teacher @ p.rotation, p.learner, odds, p.scale, p.noise)
    # Energies up to 1e3 in the oracle's exponents, rounded in 2^-52.
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("tau", [(0.7, 3.0), (2.0, 2.0), (12.5, 1.0)])
def test_expected_log_proba_is_the_mean_of_the_logarithm(tau):
    present, absent = expected_log_proba(np.array([tau]))
    np.testing.assert_allclose([present[0], absent[0]], beta_integrals(tau)[:2], atol=1e-12)


def test_beta_posterior_counts_selections_and_adds_the_prior():
    posterior = update_beta_posterior(np.array([3.0, 0.0]), 10, prior_concentration=4.0)
    np.testing.assert_array_equal(posterior, [[5.0, 8.0], [2.0, 11.0]])


def test_beta_posterior_stays_proper_when_rounding_exceeds_the_number_of_samples():
    posterior = update_beta_posterior(np.array([10.0 + 1e-12]), 10, prior_concentration=1.0)
    assert posterior[0, 1] >= 1.0


@quick
@given(seed=seeds, shape=st.sampled_from(SHAPES), n_sweeps=st.integers(1, 4))
def test_sweeps_follow_the_equations_for_any_rotation(seed, shape, n_sweeps):
    p, start = any_rotation(seed, 3, shape)
    state = state_of(p, orthogonal=False)
    odds = log_odds(state)
    point = (p.teacher, p.learner, p.rotation, p.scale, p.noise, odds)
    expected = sweeps_in_turn(*point, start, n_sweeps)
    before = start.copy()
    proba, entropy = sweep_selection_proba(
        p.teacher @ p.rotation, p.learner, odds, state, p.rotation.T @ p.rotation, start, n_sweeps
    )
    np.testing.assert_array_equal(start, before)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-10)
    direct = -(xlogy(expected, expected) + xlogy(1.0 - expected, 1.0 - expected)).sum()
    np.testing.assert_allclose(entropy, direct, atol=1e-9)


def any_rotation(seed, n_samples, shape):
    """Problem with a rotation that is not orthogonal, and probabilities to start from."""
    rng = np.random.default_rng(seed)
    p = small_problem(seed, n_samples, *shape)
    p.rotation = rng.normal(size=shape)
    return p, rng.uniform(0.01, 0.99, size=p.learner.shape)


@quick
@given(seed=seeds, shape=st.sampled_from([s for s in SHAPES if s[0] >= s[1]]))
def test_no_sweep_lowers_the_bound_for_any_rotation(seed, shape):
    p, start = any_rotation(seed, 2, shape)
    state = state_of(p, orthogonal=False)
    arguments = (p.teacher @ p.rotation, p.learner, log_odds(state), state)
    overlap = p.rotation.T @ p.rotation
    point = (p.teacher, p.learner, p.rotation, p.scale, p.noise)
    probas = [start]
    probas += [sweep_selection_proba(*arguments, overlap, start, n)[0] for n in (1, 2, 5)]
    bounds = np.array([bound(*point, proba, p.tau, p.concentration) for proba in probas])
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])).all()


def test_one_sweep_with_an_orthogonal_rotation_is_the_exact_step():
    p = small_problem(3, 5, 6, 4)
    state = state_of(p)
    odds, projected = log_odds(state), p.teacher @ p.rotation
    exact, _ = selection_proba(projected, p.learner, odds, p.scale, p.noise)
    start = np.full_like(p.learner, 0.3)
    sweep, _ = sweep_selection_proba(projected, p.learner, odds, state, np.eye(4), start, 1)
    np.testing.assert_allclose(sweep, exact, rtol=0, atol=1e-13)


def rivals_problem(seed, noise=0.1):
    """Two candidates that each explain the whole teacher: one of them should be selected."""
    rng = np.random.default_rng(seed)
    p = small_problem(seed, 1, 2, 2)
    p.rotation = np.array([[1.0, 1.0], [0.0, 0.0]]) + noise * rng.normal(size=(2, 2))
    p.learner, p.teacher = np.ones((1, 2)), np.array([[1.0, 0.0]])
    p.scale, p.noise, p.tau = 1.0, np.sqrt(0.1), np.full((2, 2), [3.0, 7.0])
    return p


def test_parallel_updates_lower_the_bound_where_updates_in_turn_raise_it():
    for seed in range(50):
        p = rivals_problem(seed)
        odds = log_odds(state_of(p, orthogonal=False))
        point = (p.teacher, p.learner, p.rotation, p.scale, p.noise)
        start = np.full((1, 2), 0.3)
        probas = [
            start,
            parallel_sweeps(*point, odds, start, 3),
            sweeps_in_turn(*point, odds, start, 3),
        ]
        bounds = [bound(*point, proba, p.tau, p.concentration) for proba in probas]
        assert bounds[1] < bounds[0] - 0.1
        assert bounds[2] > bounds[0] + 0.1


@quick
@given(st.lists(st.floats(-700.0, 700.0), min_size=1, max_size=20))
def test_bernoulli_from_logit_is_accurate_in_both_tails(values):
    x = np.array(values)[:, None]
    proba, entropy = bernoulli_from_logit(x)
    np.testing.assert_allclose(proba, 1.0 / (1.0 + np.exp(-x)), rtol=1e-14)
    small = np.exp(-np.abs(x)) / (1.0 + np.exp(-np.abs(x)))
    direct = -xlogy(small, small) - (1.0 - small) * np.log1p(-small)
    np.testing.assert_allclose(entropy, direct.sum(), rtol=1e-14, atol=len(x) * 2.0**-51)


def test_entropy_of_the_most_rows_allowed_does_not_overflow():
    _, entropy = bernoulli_from_logit(np.zeros((TILE_ROWS, 2)))
    np.testing.assert_allclose(entropy, 2 * TILE_ROWS * np.log(2.0), rtol=1e-14)
    with pytest.raises(ValueError, match="At most 512 rows"):
        bernoulli_from_logit(np.zeros((TILE_ROWS + 1, 2)))


def test_unusable_candidates_are_never_selected_and_have_no_entropy():
    p = small_problem(0, 4, 3, 3)
    p.learner[:, 1] = 0.0
    state = state_of(p, usable=np.array([True, False, True]))
    proba, entropy = selection_proba(
        p.teacher @ p.rotation, p.learner, log_odds(state), p.scale, p.noise
    )
    assert (proba[:, 1] == 0.0).all()
    assert np.isfinite(entropy)
    assert state.feature_proba[1] == 0.0


def test_prior_odds_alone_decide_where_the_learner_is_zero():
    p = small_problem(0, 4, 3, 3)
    odds = np.array([-1.0, 0.0, 2.0])
    proba, _ = selection_proba(p.teacher @ p.rotation, np.zeros((4, 3)), odds, p.scale, p.noise)
    np.testing.assert_allclose(logit(proba), np.tile(odds, (4, 1)), atol=1e-14)
