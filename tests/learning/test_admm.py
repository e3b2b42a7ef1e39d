"""ADMM against an independent solver of the same problem, and against its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.learning.admm import admm
from cerflearn.learning.m_step import AdmmSolver
from cerflearn.learning.orthogonal import project_to_orthogonal
from cerflearn.learning.state import VariationalState
from cerflearn.learning.stats import SufficientStats
from oracle.cvem import spectral_penalised_regression
from oracle.orthogonality import orthogonality_defect
from oracle.problems import small_problem

quick = settings(max_examples=15, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
shapes = st.sampled_from([(4, 4), (6, 3), (2, 5)])


def solve(p, penalty, **options):
    expected = p.proba * p.learner
    return admm(
        p.scale * p.teacher.T @ expected,
        p.scale**2 * expected.T @ expected,
        spectral_penalty=penalty,
        rotation=p.rotation,
        **{"max_iter": 20000, "tol": 1e-12, **options},
    )


def negative_gradient(p, rotation):
    design = p.scale * p.proba * p.learner
    return (p.teacher - design @ rotation.T).T @ design


@quick
@given(seed=seeds, shape=shapes, share=st.floats(0.05, 0.9))
def test_admm_finds_the_minimiser_that_proximal_gradient_finds(seed, shape, share):
    p = small_problem(seed, 30, *shape)
    # Beyond this penalty the minimiser is zero.
    penalty = share * np.linalg.norm(negative_gradient(p, np.zeros(shape)), "nuc")
    result = solve(p, penalty)
    assert result.converged
    expected = spectral_penalised_regression(p.teacher, p.proba * p.learner, p.scale, penalty)
    # Both stop at steps of 1e-12 relative to sizes of order 1; contraction is above 1e-3.
    np.testing.assert_allclose(result.rotation, expected, rtol=0, atol=1e-8)


@quick
@given(seed=seeds, shape=shapes, share=st.floats(0.05, 0.9))
def test_solution_meets_the_optimality_conditions(seed, shape, share):
    p = small_problem(seed, 30, *shape)
    penalty = share * np.linalg.norm(negative_gradient(p, np.zeros(shape)), "nuc")
    result = solve(p, penalty)
    # The negative gradient is a subgradient of alpha |W|_2: nuclear norm alpha, aligned with W.
    gradient = negative_gradient(p, result.rotation)
    np.testing.assert_allclose(np.linalg.norm(gradient, "nuc"), penalty, rtol=1e-8)
    aligned = np.vdot(gradient, result.rotation)
    np.testing.assert_allclose(aligned, penalty * np.linalg.norm(result.rotation, 2), rtol=1e-8)
    np.testing.assert_allclose(result.dual, -gradient, atol=1e-7)


@quick
@given(seed=seeds, shape=shapes)
def test_adaptive_penalty_gives_unit_spectral_norm_and_is_the_multiplier(seed, shape):
    p = small_problem(seed, 30, *shape)
    p.teacher *= 50.0  # an unconstrained solution far outside the unit ball
    adaptive = solve(p, "adaptive")
    assert abs(np.linalg.norm(adaptive.rotation, 2) - 1.0) < 1e-10
    assert adaptive.spectral_penalty > 0.0
    fixed = solve(p, adaptive.spectral_penalty)
    np.testing.assert_allclose(fixed.rotation, adaptive.rotation, atol=1e-7)


def test_adaptive_penalty_vanishes_where_the_constraint_does_not_bind():
    p = small_problem(0, 30, 4, 4)
    p.teacher *= 1e-3
    result = solve(p, "adaptive")
    assert result.spectral_penalty == 0.0
    design = p.scale * p.proba * p.learner
    unconstrained = np.linalg.lstsq(design, p.teacher, rcond=None)[0].T
    np.testing.assert_allclose(result.rotation, unconstrained, atol=1e-10)


def test_penalty_zero_is_least_squares():
    p = small_problem(0, 30, 4, 4)
    design = p.scale * p.proba * p.learner
    unconstrained = np.linalg.lstsq(design, p.teacher, rcond=None)[0].T
    np.testing.assert_allclose(solve(p, 0.0).rotation, unconstrained, atol=1e-8)


def test_warm_start_takes_fewer_iterations():
    p = small_problem(0, 60, 5, 5)
    cold = solve(p, 3.0, tol=1e-6)
    warm = admm(
        p.scale * p.teacher.T @ (p.proba * p.learner),
        p.scale**2 * (p.proba * p.learner).T @ (p.proba * p.learner),
        spectral_penalty=3.0,
        rotation=cold.rotation,
        dual=cold.dual,
        max_iter=100,
        tol=1e-6,
    )
    assert warm.n_iter <= 2 < cold.n_iter


@pytest.mark.parametrize("penalty", [20.0, "adaptive"])
def test_over_relaxation_has_the_same_limit_in_fewer_iterations(penalty):
    fewer = []
    for seed in range(10):
        p = small_problem(seed, 200, 8, 8)
        p.learner = p.learner @ np.random.default_rng(seed).normal(size=(8, 8))  # correlated
        p.teacher = 3.0 * p.learner @ p.rotation.T + p.teacher
        relaxed = solve(p, penalty, tol=1e-9)
        plain = solve(p, penalty, tol=1e-9, relaxation=1.0)
        np.testing.assert_allclose(relaxed.rotation, plain.rotation, atol=1e-6)
        fewer.append(relaxed.n_iter / plain.n_iter)
    assert np.median(fewer) < 0.8, fewer


def solver_problem(shape=(5, 4)):
    """A state and statistics for the solver, the minimiser it should approach, and the share."""
    p = small_problem(3, 40, *shape)
    expected = p.proba * p.learner
    zeros = np.zeros(shape[1])
    cross, gram = p.teacher.T @ expected, expected.T @ expected
    stats = SufficientStats(40, 1.0, zeros, zeros, zeros, 0.0, cross=cross, gram=gram)
    usable = np.ones(shape[1], dtype=bool)
    state = VariationalState(p.rotation, p.scale, p.noise, p.tau, p.concentration, usable)
    minimiser = spectral_penalised_regression(p.teacher, expected, p.scale, 2.0)
    return state, stats, minimiser, 2.0 / np.linalg.norm(p.scale * cross, "nuc")


def test_solver_approaches_the_minimiser_from_stage_to_stage():
    state, stats, minimiser, share = solver_problem()
    solver = AdmmSolver(share, orthogonal=False)
    errors = [np.abs(solver.solve(state, stats) - minimiser).max() for _ in range(8)]
    # Stopped at a relative change of 1e-3 each time, it goes on where it stopped.
    assert errors[0] < 0.05
    assert errors[-1] < min(1e-4, errors[0])


def test_solver_projects_to_the_orthogonal_group_by_default():
    state, stats, minimiser, share = solver_problem()
    solver = AdmmSolver(share)
    for _ in range(8):
        rotation = solver.solve(state, stats)
    assert orthogonality_defect(rotation) < 1e-14 * 10
    np.testing.assert_allclose(rotation, project_to_orthogonal(minimiser), atol=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, "adaptive"])
def test_the_unit_of_the_penalty_does_not_depend_on_the_number_of_rows(share):
    state, stats, _, _ = solver_problem()
    once = AdmmSolver(share, orthogonal=False).solve(state, stats)
    twice = AdmmSolver(share, orthogonal=False).solve(state, stats.merge(stats))
    np.testing.assert_allclose(twice, once, atol=1e-12)


def test_from_the_largest_penalty_on_the_rotation_is_zero():
    p = small_problem(2, 40, 4, 4)
    largest = np.linalg.norm(p.scale * p.teacher.T @ (p.proba * p.learner), "nuc")
    assert np.abs(solve(p, 0.999 * largest).rotation).max() > 1e-6
    np.testing.assert_allclose(solve(p, 1.001 * largest).rotation, 0.0, atol=1e-9)


def test_iterations_are_limited_and_reported():
    result = solve(small_problem(0, 30, 4, 4), 3.0, max_iter=2)
    assert result.n_iter == 2
    assert not result.converged


def test_nothing_selected_is_an_error():
    with pytest.raises(ValueError, match="no feature is selected"):
        admm(np.zeros((2, 2)), np.zeros((2, 2)), spectral_penalty=1.0, rotation=np.eye(2))
