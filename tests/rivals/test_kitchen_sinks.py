"""Random kitchen sinks: convergence of the Gram matrix, the bound, scikit-learn's ridge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from cerflearn.rivals import RandomKitchenSinks
from cerflearn.rivals.kitchen_sinks import bounded_ridge

X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 2.0, 0.5]
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def gram_error(n_components: int, seed: int) -> float:
    model = RandomKitchenSinks(n_components=n_components, gamma=0.3, random_state=seed).fit(X, Y)
    features = model.feature_map_.transform(X)
    kernel = rbf_kernel((X - X.mean(axis=0)) / X.std(axis=0), gamma=0.3)
    return float(np.sqrt(np.square(2.0 / n_components * features @ features.T - kernel).mean()))


def test_gram_converges_to_the_gaussian_kernel_at_the_monte_carlo_rate():
    few = np.mean([gram_error(16, seed) for seed in range(20)])
    many = np.mean([gram_error(400, seed) for seed in range(20)])
    # An entry is a mean of terms 2 cos(.) cos(.) = cos(difference) + cos(sum): variance below 2.
    assert many < np.sqrt(2.0 / 400)
    assert 4.0 < few / many < 6.0  # the square root of 25 is expected


def test_weights_are_those_of_ridge_regression():
    data, y = load_breast_cancer(return_X_y=True)
    model = RandomKitchenSinks(n_components=50, gamma=0.01, alpha=1e-2, random_state=0)
    features = model.fit(data, y).feature_map_.transform(data)
    penalty = 1e-2 * len(y) * features.var(axis=0).mean()
    ridge = Ridge(alpha=penalty).fit(features, 2.0 * y - 1.0)
    np.testing.assert_allclose(model.head_coef_[0], ridge.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.head_intercept_, ridge.intercept_, atol=1e-7)
    assert model.alpha_ == 1e-2


@pytest.mark.parametrize("bound", [0.5, 5.0, 50.0])
def test_bounded_weights_keep_the_bound_of_the_source(bound):
    model = RandomKitchenSinks(n_components=30, bound=bound, random_state=0).fit(X, Y)
    assert np.abs(model.head_coef_).max() <= bound / 30 * (1 + 1e-12)
    free = RandomKitchenSinks(n_components=30, random_state=0).fit(X, Y)
    if bound < 30 * np.abs(free.head_coef_).max():
        assert np.abs(model.head_coef_).max() == pytest.approx(bound / 30)


def test_a_bound_that_does_not_bind_changes_nothing():
    free = RandomKitchenSinks(n_components=30, random_state=0).fit(X, Y)
    loose = RandomKitchenSinks(n_components=30, random_state=0, bound=1e6).fit(X, Y)
    np.testing.assert_allclose(loose.head_coef_, free.head_coef_, atol=1e-6)


@pytest.mark.parametrize("most", [0.01, 0.1, 1.0])
def test_bounded_ridge_matches_bounded_least_squares(most):
    rng = np.random.default_rng(1)
    features, targets = rng.normal(size=(60, 12)) + 3.0, rng.normal(size=(60, 2))
    penalty = 0.05
    head, bias = bounded_ridge(features, targets, penalty, most, np.zeros((12, 2)))
    centred = features - features.mean(axis=0)
    rows = np.vstack([centred, np.sqrt(penalty * 60) * np.eye(12)])
    for c in range(2):
        aim = np.append(targets[:, c] - targets[:, c].mean(), np.zeros(12))
        expected = lsq_linear(rows, aim, bounds=(-most, most), tol=1e-14).x
        np.testing.assert_allclose(head[:, c], expected, atol=1e-6)
        assert bias[c] == pytest.approx(targets[:, c].mean() - features.mean(axis=0) @ head[:, c])


def test_more_components_approach_the_kernel_machine():
    rng = np.random.default_rng(2)
    data = rng.normal(size=(400, 2))
    y = (np.sin(3.0 * data[:, 0]) * data[:, 1] > 0).astype(int)
    scores = [
        np.mean(
            [
                RandomKitchenSinks(n_components=n, random_state=seed)
                .fit(data[:200], y[:200])
                .score(data[200:], y[200:])
                for seed in range(5)
            ]
        )
        for n in (4, 300)
    ]
    assert scores[0] < 0.75
    assert scores[1] > 0.88
