"""The lower bound against enumeration, and that no exact step lowers it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.learning.bound import lower_bound
from cerflearn.learning.e_step import log_odds, selection_proba, update_beta_posterior
from cerflearn.learning.m_step import ProcrustesSolver, update_noise, update_scale
from cerflearn.learning.state import VariationalState
from cerflearn.learning.stats import SufficientStats
from oracle.cvem import bound, bound_terms
from oracle.problems import SHAPES, small_problem

quick = settings(max_examples=12, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
shapes = st.sampled_from(SHAPES)


def state_of(p, orthogonal=True):
    usable = np.ones(p.learner.shape[1], dtype=bool)
    return VariationalState(
        p.rotation, p.scale, p.noise, p.tau, p.concentration, usable, orthogonal
    )


def stats_of(p):
    """Sufficient statistics of given selection probabilities, from their definitions."""
    expected = p.proba * p.learner
    entropy = -(p.proba * np.log(p.proba) + (1 - p.proba) * np.log(1 - p.proba)).sum()
    return SufficientStats(
        n_samples=len(p.teacher),
        teacher_energy=float((p.teacher**2).sum()),
        selected=p.proba.sum(axis=0),
        selected_energy=(expected * p.learner).sum(axis=0),
        alignment=(expected * (p.teacher @ p.rotation)).sum(axis=0),
        entropy=float(entropy),
        cross=p.teacher.T @ expected,
        gram=expected.T @ expected,
    )


def oracle_bound(p, state):
    return bound(
        *(p.teacher, p.learner, state.rotation, state.scale, state.noise_std),
        *(p.proba, state.beta_posterior, p.concentration),
    )


@quick
@given(seed=seeds, shape=shapes)
def test_each_term_equals_enumeration(seed, shape):
    p = small_problem(seed, 3, *shape)
    terms = bound_terms(
        p.teacher, p.learner, p.rotation, p.scale, p.noise, p.proba, p.tau, p.concentration
    )
    result = lower_bound(state_of(p), stats_of(p))
    ours = (result.likelihood, result.selector, result.proba_divergence, result.entropy)
    np.testing.assert_allclose(ours, terms, rtol=1e-11, atol=1e-11)
    assert result.total == pytest.approx(terms[0] + terms[1] - terms[2] + terms[3], abs=1e-9)


@quick
@given(seed=seeds, shape=st.sampled_from([(4, 4), (7, 4), (3, 3)]))
def test_likelihood_of_a_rotation_that_is_not_orthogonal_has_the_selectors_variance(seed, shape):
    p = small_problem(seed, 3, *shape)
    p.rotation = np.random.default_rng(seed).normal(size=shape)
    terms = bound_terms(
        p.teacher, p.learner, p.rotation, p.scale, p.noise, p.proba, p.tau, p.concentration
    )
    result = lower_bound(state_of(p, orthogonal=False), stats_of(p))
    np.testing.assert_allclose(result.likelihood, terms[0], rtol=1e-10)


def test_alignment_replaces_the_cross_matrix_for_the_rotation_of_the_pass():
    p = small_problem(5, 4, 5, 4)
    stats = stats_of(p)
    without = replace(stats, cross=None, gram=None)
    with_cross, without_cross = (lower_bound(state_of(p), s).total for s in (stats, without))
    assert without_cross == pytest.approx(with_cross, rel=1e-13)


@quick
@given(seed=seeds, shape=shapes)
def test_no_exact_step_lowers_the_bound_from_any_point(seed, shape):
    p = small_problem(seed, 3, *shape)
    state = state_of(p)
    before = oracle_bound(p, state)
    projected = p.teacher @ p.rotation
    p.proba = selection_proba(projected, p.learner, log_odds(state), p.scale, p.noise)[0]
    steps = [
        lambda state, stats: replace(
            state,
            beta_posterior=update_beta_posterior(
                stats.selected, stats.n_samples, state.prior_concentration
            ),
        ),
        lambda state, stats: replace(state, rotation=ProcrustesSolver().solve(state, stats)),
        update_scale,
        update_noise,
    ]
    stats = stats_of(p)
    bounds = [before, oracle_bound(p, state)]
    for step in steps:
        state = step(state, stats)
        bounds.append(oracle_bound(p, state))
    assert (np.diff(bounds) >= -1e-9).all()  # rounding of sums of order 1e3


@quick
@given(seed=seeds, shape=shapes, factor=st.sampled_from([0.9, 0.99, 1.01, 1.1]))
def test_scale_and_noise_are_the_best_given_the_rest(seed, shape, factor):
    p = small_problem(seed, 6, *shape)
    stats = stats_of(p)
    state = replace(state_of(p), rotation=ProcrustesSolver().solve(state_of(p), stats))
    state = update_noise(update_scale(state, stats), stats)
    best = lower_bound(state, stats).total
    assert lower_bound(replace(state, scale=state.scale * factor), stats).total < best
    assert lower_bound(replace(state, noise_std=state.noise_std * factor), stats).total < best


def test_noise_never_reaches_zero():
    p = small_problem(0, 5, 3, 3)
    p.rotation, p.scale = np.eye(3), 1.0
    p.teacher, p.proba = p.learner.copy(), np.full((5, 3), 1.0 - 1e-16)
    state = update_noise(state_of(p), replace(stats_of(p), entropy=0.0))
    assert state.noise_std == pytest.approx(1e-3 * np.sqrt((p.teacher**2).mean()))


def test_scale_is_kept_where_nothing_is_selected():
    p = small_problem(0, 5, 3, 3)
    nothing = replace(stats_of(p), selected_energy=np.zeros(3), cross=np.zeros((3, 3)))
    assert update_scale(state_of(p), nothing).scale == p.scale
