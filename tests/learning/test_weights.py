"""Weights of features: optimality conditions, and that they do lower the error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.learning.weights import fixed_rows, kernel_target, kernel_weights, teacher_target

quick = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def error(features, kernel, weights):
    return np.linalg.norm(kernel - (features * weights) @ features.T) ** 2


@quick
@given(seed=seeds, n_rows=st.integers(2, 30), n_features=st.integers(1, 12))
def test_weights_meet_the_optimality_conditions(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_rows, n_features))
    teacher = rng.normal(size=(n_rows, 4))
    kernel = teacher @ teacher.T
    weights = kernel_weights(features.T @ features, kernel_target(features, kernel))
    assert (weights >= 0.0).all()
    residual = kernel - (features * weights) @ features.T
    # Of the objective: zero where a weight is positive, not negative where it is zero.
    gradient = -2.0 * np.einsum("ik,ij,jk->k", features, residual, features)
    size = np.linalg.norm(kernel) * (features**2).sum(axis=0)
    assert (gradient >= -1e-8 * size).all()
    assert (np.abs(gradient[weights > 0.0]) <= 1e-8 * size[weights > 0.0]).all()


@quick
@given(seed=seeds)
def test_paired_columns_share_the_best_common_weight(seed):
    rng = np.random.default_rng(seed)
    phase = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 4))
    features = np.hstack([np.cos(phase), np.sin(phase)])
    units = np.tile(np.arange(4), 2)
    kernel = np.exp(-((phase[:, None, :2] - phase[None, :, :2]) ** 2).sum(axis=2))
    weights = kernel_weights(features.T @ features, kernel_target(features, kernel), units=units)
    np.testing.assert_array_equal(weights[:4], weights[4:])
    best = error(features, kernel, weights)
    for step in 1e-3 * rng.normal(size=(50, 4)):
        other = np.maximum(weights + np.tile(step, 2), 0.0)
        assert best <= error(features, kernel, other) + 1e-10


def test_teacher_target_is_the_kernel_target_of_its_gram_matrix():
    rng = np.random.default_rng(0)
    features, teacher = rng.normal(size=(20, 5)), rng.normal(size=(20, 7))
    expected = kernel_target(features, teacher @ teacher.T)
    np.testing.assert_allclose(teacher_target(teacher.T @ features), expected, rtol=1e-12)


def test_weights_beat_equal_ones_and_drop_a_feature_that_only_harms():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(60, 2))
    kernel = np.exp(-0.5 * ((inputs[:, None] - inputs[None]) ** 2).sum(axis=2))
    frequencies = rng.normal(size=(2, 30))
    frequencies[:, 0] = 40.0
    phase = inputs @ frequencies + rng.uniform(0, 2 * np.pi, 30)
    features = np.cos(phase)
    weights = kernel_weights(features.T @ features, kernel_target(features, kernel))
    assert error(features, kernel, weights) < 0.8 * error(features, kernel, np.full(30, 2 / 30))
    assert 0 < (weights == 0.0).sum() < 30


def test_zero_and_duplicate_columns_are_no_trouble():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20, 4))
    features = np.hstack([features, features[:, :1], np.zeros((20, 1))])
    kernel = (features * [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]) @ features.T
    weights = kernel_weights(features.T @ features, kernel_target(features, kernel))
    assert error(features, kernel, weights) < 1e-12 * (kernel**2).sum()
    assert weights[5] == 0.0


@pytest.mark.parametrize(("n_samples", "n_rows"), [(10, 3), (3, 10), (1000, 7)])
def test_fixed_rows_are_distinct_spread_and_in_range(n_samples, n_rows):
    rows = fixed_rows(n_samples, n_rows)
    assert len(set(rows.tolist())) == min(n_samples, n_rows)
    assert rows[0] == 0
    assert n_samples - rows[-1] <= n_samples / len(rows) + 1
