"""Ridge paths against brute force, and kernel teachers against theirs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from cerflearn.linalg.ridge_path import fit_ridge_path
from cerflearn.training.probabilities import fit_inverse_temperature
from cerflearn.training.distillation import (
    choose_kernel,
    fit_teacher,
    points_between,
    softened,
)

RNG = np.random.default_rng(0)


def test_leave_one_out_predictions_are_those_of_fits_without_the_row():
    features, targets = RNG.normal(size=(25, 6)), RNG.normal(size=(25, 2))
    weights = RNG.integers(1, 4, 25).astype(float)
    share = weights / weights.sum()
    fit = fit_ridge_path(features, targets, share, (0.1,))
    for row in (0, 7, 24):
        others = np.arange(25) != row
        # The penalty stays what it was for all rows.
        model = Ridge(alpha=fit.penalty).fit(
            features[others], targets[others], sample_weight=share[others]
        )
        expected = model.predict(features[row : row + 1])[0]
        assert fit.left_out[row] == pytest.approx(expected, rel=1e-8)


def test_the_path_takes_the_penalty_of_the_least_error():
    features = RNG.normal(size=(60, 30))
    targets = features[:, :1] + 2.0 * RNG.normal(size=(60, 1))
    weights = np.full(60, 1 / 60)
    best = fit_ridge_path(features, targets, weights)
    ridges = (1e-5, 1e-3, 1e-1, 1.0, 10.0)
    assert best.error <= min(fit_ridge_path(features, targets, weights, (r,)).error for r in ridges)
    model = Ridge(alpha=best.penalty * 60).fit(features, targets)
    assert best.head == pytest.approx(model.coef_.reshape(best.head.shape), rel=1e-8)


def test_the_teacher_is_kernel_ridge_regression():
    X, targets = RNG.normal(size=(50, 4)), RNG.normal(size=(50, 2))
    weights = RNG.uniform(0.5, 2.0, 50)
    weights /= weights.mean()
    teacher = fit_teacher(X, targets, weights, np.random.default_rng(0))
    mean = weights @ targets / 50
    choice = choose_kernel(X, targets - mean, weights)
    model = KernelRidge(kernel="rbf", gamma=teacher.gamma, alpha=choice.ridge)
    model.fit(X, targets - mean, sample_weight=weights)
    assert teacher.gamma == pytest.approx(choice.gamma)
    assert teacher.scores(X[:9]) == pytest.approx(model.predict(X[:9]) + mean, abs=1e-8)


def test_kernel_choice_leaves_rows_out():
    X, targets, weights = RNG.normal(size=(30, 3)), RNG.normal(size=(30, 1)), np.ones(30)
    choice = choose_kernel(X, targets, weights)
    for row in (0, 13):
        others = np.arange(30) != row
        model = KernelRidge(kernel="rbf", gamma=choice.gamma, alpha=choice.ridge)
        model.fit(X[others], targets[others])
        expected = model.predict(X[row : row + 1])[0]
        assert choice.left_out[row] == pytest.approx(expected, abs=1e-8)


def test_points_between_rows_lie_between_them():
    X = RNG.normal(size=(40, 3))
    points, first, second, share = points_between(X, np.random.default_rng(0))
    assert len(points) == 160
    expected = share[:, None] * X[first] + (1 - share)[:, None] * X[second]
    assert points == pytest.approx(expected)


def test_softened_scores_are_probabilities_and_softer_ones_less_sure():
    scores = RNG.uniform(size=(20, 5))
    soft, sharp = softened(scores, 1.0), softened(scores, 10.0)
    assert soft.sum(axis=1) == pytest.approx(1.0)
    assert (soft.max(axis=1) < sharp.max(axis=1)).all()
    assert np.array_equal(soft.argmax(axis=1), scores.argmax(axis=1))
    single = softened(np.array([[0.0], [0.5], [1.0]]), 4.0).ravel()
    assert single == pytest.approx([1 / (1 + np.e**4), 0.5, 1 / (1 + np.e**-4)])


@pytest.mark.parametrize("n_scores", [1, 4])
def test_sharpness_makes_probabilities_honest(n_scores):
    rng = np.random.default_rng(1)
    logits = rng.normal(scale=2.0, size=(4_000, n_scores))
    if n_scores == 1:
        targets = (rng.uniform(size=(4_000, 1)) < 1 / (1 + np.exp(-logits))).astype(float)
    else:
        gumbel = rng.gumbel(size=logits.shape)
        targets = np.eye(n_scores)[(logits + gumbel).argmax(axis=1)]
    weights = np.full(4_000, 1 / 4_000)
    assert best_sharpness(logits / 3.0, targets, weights) == pytest.approx(3.0, rel=0.1)
