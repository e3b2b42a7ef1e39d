"""Spectral-norm prox and l1 projection: the identities that define them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cerflearn.learning.prox import (
    clip_singular_values,
    l1_ball_threshold,
    project_to_l1_ball,
    prox_spectral_norm,
)
from oracle.cvem import prox_by_bisection

quick = settings(max_examples=60, deadline=None, derandomize=True)
numbers = st.floats(-10.0, 10.0, width=32)
vectors = arrays(np.float64, st.integers(1, 12), elements=numbers)
matrices = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=numbers)
pairs = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(*(arrays(np.float64, shape, elements=numbers) for _ in range(2)))
)
radii = st.floats(1e-3, 30.0)
# Entries reach 10, singular values 60: 1e-10 is some 1e-12 of that.
ATOL = 1e-10


@quick
@given(vectors, radii)
def test_l1_projection_lies_in_the_ball_and_is_idempotent(values, radius):
    projected = project_to_l1_ball(values, radius)
    assert np.abs(projected).sum() <= radius + 1e-14 * np.abs(values).sum()
    again = project_to_l1_ball(projected, radius)
    np.testing.assert_allclose(again, projected, rtol=0, atol=1e-13)
    if np.abs(values).sum() <= radius:
        np.testing.assert_array_equal(projected, values)


@quick
@given(vectors, vectors, radii)
def test_l1_projection_is_the_nearest_point_of_the_ball(values, direction, radius):
    projected = project_to_l1_ball(values, radius)
    other = np.resize(direction, values.shape)
    other = other * min(1.0, radius / max(np.abs(other).sum(), 1e-300))
    # A projection onto a convex set: no point of it lies beyond the supporting plane.
    assert (values - projected) @ (other - projected) <= ATOL


@quick
@given(vectors, radii)
def test_threshold_solves_its_equation(values, radius):
    level = l1_ball_threshold(values, radius)
    left = np.maximum(np.abs(values) - level, 0.0).sum()
    if level > 0.0:
        np.testing.assert_allclose(left, radius, rtol=0, atol=1e-14 * np.abs(values).sum())
    else:
        assert left <= radius


@quick
@given(matrices, radii)
def test_prox_obeys_moreau(matrix, threshold):
    prox = prox_spectral_norm(matrix, threshold)
    # The conjugate of beta |.|_2 is the indicator of the nuclear-norm ball of radius beta: what
    # the prox takes away is the projection to that ball.
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    ball = (left * project_to_l1_ball(values, threshold)) @ right
    np.testing.assert_allclose(prox + ball, matrix, rtol=0, atol=ATOL)
    assert np.linalg.norm(matrix - prox, "nuc") <= threshold + ATOL


@quick
@given(pairs, radii)
def test_prox_is_firmly_non_expansive(pair, threshold):
    first, second = pair
    moved = prox_spectral_norm(first, threshold) - prox_spectral_norm(second, threshold)
    assert np.vdot(moved, moved) <= np.vdot(moved, first - second) + ATOL


@quick
@given(pairs, radii)
def test_prox_has_the_least_objective(pair, threshold):
    matrix, other = pair

    def objective(candidate):
        return 0.5 * np.linalg.norm(candidate - matrix) ** 2 + threshold * np.linalg.norm(
            candidate, 2
        )

    best = objective(prox_spectral_norm(matrix, threshold))
    for step in (1e-3, 0.1, 1.0):
        candidate = (1.0 - step) * prox_spectral_norm(matrix, threshold) + step * other
        assert best <= objective(candidate) + ATOL


@quick
@given(matrices, radii)
def test_prox_equals_bisection_on_the_level(matrix, threshold):
    prox = prox_spectral_norm(matrix, threshold)
    np.testing.assert_allclose(prox, prox_by_bisection(matrix, threshold), rtol=0, atol=ATOL)


@quick
@given(matrices, st.floats(1e-3, 30.0))
def test_clipping_is_the_prox_for_the_threshold_it_reports(matrix, level):
    clipped, threshold = clip_singular_values(matrix, level)
    values = np.linalg.svd(matrix, compute_uv=False)
    expected = np.minimum(values, level)
    np.testing.assert_allclose(np.linalg.svd(clipped, compute_uv=False), expected, atol=ATOL)
    if threshold > 1e-6:
        np.testing.assert_allclose(prox_spectral_norm(matrix, threshold), clipped, atol=ATOL)
    else:
        np.testing.assert_allclose(clipped, matrix, atol=1e-6)


@pytest.mark.parametrize("level", [1e-9, 1e-4, 0.1, 0.9])
def test_clipping_is_accurate_for_singular_values_of_any_size(level):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(8, 8)))[0] for _ in range(2))
    values = np.logspace(-12, 0, 8)
    clipped, _ = clip_singular_values((left * values) @ right, level)
    expected = (left * np.minimum(values, level)) @ right
    # The matrix itself is rounded to 2^-52; squaring singular values of .1 costs two digits more.
    np.testing.assert_allclose(clipped, expected, rtol=0, atol=1e-13)


def test_a_large_threshold_gives_zero_and_none_changes_nothing():
    matrix = np.random.default_rng(0).normal(size=(4, 3))
    nuclear = np.linalg.norm(matrix, "nuc")
    np.testing.assert_allclose(prox_spectral_norm(matrix, 1.01 * nuclear), 0.0, atol=1e-14)
    np.testing.assert_array_equal(prox_spectral_norm(matrix, 0.0), matrix)
    np.testing.assert_array_equal(clip_singular_values(matrix, 100.0)[0], matrix)
