"""Weights of features: optimality conditions, and that they do lower the error."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.learning.weights import kernel_weights, pair_block

quick = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def residual(features, teacher, weights):
    """Of all pairs of different rows; straight from the definition."""
    difference = teacher @ teacher.T - (features * weights) @ features.T
    np.fill_diagonal(difference, 0.0)
    return difference


def error(features, teacher, weights):
    return np.linalg.norm(residual(features, teacher, weights)) ** 2


def solve(features, teacher, **parameters):
    sums = pair_block(None, teacher, features)
    return kernel_weights(*sums.normal_equations(), **parameters)


@quick
@given(seed=seeds, n_rows=st.integers(2, 30), n_features=st.integers(1, 12))
def test_weights_meet_the_optimality_conditions(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_rows, n_features))
    teacher = rng.normal(size=(n_rows, 4))
    weights = solve(features, teacher)
    assert (weights >= 0.0).all()
    # Of the objective: zero where a weight is positive, not negative where it is zero.
    left = residual(features, teacher, weights)
    gradient = -2.0 * np.einsum("ik,ij,jk->k", features, left, features)
    size = np.linalg.norm(teacher @ teacher.T) * (features**2).sum(axis=0)
    assert (gradient >= -1e-8 * size).all()
    assert (np.abs(gradient[weights > 0.0]) <= 1e-8 * size[weights > 0.0]).all()


@quick
@given(seed=seeds)
def test_paired_columns_share_the_best_common_weight(seed):
    rng = np.random.default_rng(seed)
    phase = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 4))
    features = np.hstack([np.cos(phase), np.sin(phase)])
    units = np.tile(np.arange(4), 2)
    teacher = np.hstack([np.cos(phase[:, :2]), np.sin(phase[:, :2])])
    weights = solve(features, teacher, units=units)
    np.testing.assert_array_equal(weights[:4], weights[4:])
    best = error(features, teacher, weights)
    for step in 1e-3 * rng.normal(size=(50, 4)):
        other = np.maximum(weights + np.tile(step, 2), 0.0)
        assert best <= error(features, teacher, other) + 1e-10


def test_sums_of_blocks_merge_to_those_of_all_rows():
    rng = np.random.default_rng(0)
    features, teacher = rng.normal(size=(20, 5)), rng.normal(size=(20, 7))
    parts = [pair_block(None, teacher[rows], features[rows]) for rows in (slice(8), slice(8, 20))]
    merged = parts[0].merge(parts[1]).normal_equations()
    whole = pair_block(None, teacher, features).normal_equations()
    for found, expected in zip(merged, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_are_not_compared_with_themselves():
    """Features that tell rows apart but see nothing alike get no weight, unlike with a diagonal."""
    features, teacher = np.eye(6)[:, :3], np.eye(6)
    sums = pair_block(None, teacher, features)
    np.testing.assert_array_equal(kernel_weights(*sums.normal_equations()), 0.0)
    own = sums.with_themselves().normal_equations()
    np.testing.assert_allclose(kernel_weights(*own), 1.0, rtol=1e-12)


def test_features_of_one_row_get_no_weight_from_rounding():
    features, teacher = np.zeros((3, 2)), np.array([[0.3, 0.7], [0.1, 0.9], [0.2, 0.4]])
    features[0, 0], features[1, 1] = 0.1, 1e3
    np.testing.assert_array_equal(solve(features, teacher), 0.0)


def test_weights_from_few_rows_fit_new_rows_better_without_the_diagonal():
    rng = np.random.default_rng(0)
    frequencies, offsets = rng.normal(size=(2, 8, 60)), rng.uniform(0.0, 2.0 * np.pi, (2, 60))
    old, new = rng.normal(size=(80, 8)), rng.normal(size=(400, 8))

    def cosines(X, which):
        return np.cos(X @ frequencies[which] + offsets[which]) * np.sqrt(2.0 / 60)

    sums = pair_block(None, cosines(old, 0), cosines(old, 1))
    errors = [
        error(cosines(new, 1), cosines(new, 0), kernel_weights(*equations))
        for equations in (sums.normal_equations(), sums.with_themselves().normal_equations())
    ]
    assert errors[0] < 0.9 * errors[1]


def test_weights_beat_equal_ones_and_drop_a_feature_that_only_harms():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(60, 2))
    kernel = np.exp(-0.5 * ((inputs[:, None] - inputs[None]) ** 2).sum(axis=2))
    teacher = np.linalg.cholesky(kernel + 1e-9 * np.eye(60))
    frequencies = rng.normal(size=(2, 30))
    frequencies[:, 0] = 40.0
    phase = inputs @ frequencies + rng.uniform(0, 2 * np.pi, 30)
    features = np.cos(phase)
    weights = solve(features, teacher)
    assert error(features, teacher, weights) < 0.8 * error(features, teacher, np.full(30, 2 / 30))
    assert 0 < (weights == 0.0).sum() < 30


def test_zero_and_duplicate_columns_are_no_trouble():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20, 4))
    features = np.hstack([features, features[:, :1], np.zeros((20, 1))])
    teacher = features * np.sqrt([1.0, 2.0, 3.0, 4.0, 0.0, 0.0])
    weights = solve(features, teacher)
    assert error(features, teacher, weights) < 1e-12 * ((teacher @ teacher.T) ** 2).sum()
    assert weights[5] == 0.0
