"""Kernel ridge regression against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from cerflearn.training.kernel_ridge import fit_kernel_ridge, tune_kernel

RNG = np.random.default_rng(0)


def test_the_fit_is_kernel_ridge_regression():
    X, targets = RNG.normal(size=(50, 4)), RNG.normal(size=(50, 2))
    weights = RNG.uniform(0.5, 2.0, 50)
    weights /= weights.mean()
    fitted = fit_kernel_ridge(X, targets, weights, np.random.default_rng(0))
    mean = weights @ targets / 50
    tuned = tune_kernel(X, targets - mean, weights)
    model = KernelRidge(kernel="rbf", gamma=fitted.gamma, alpha=tuned.ridge)
    model.fit(X, targets - mean, sample_weight=weights)
    assert fitted.gamma == pytest.approx(tuned.gamma)
    assert fitted.scores(X[:9]) == pytest.approx(model.predict(X[:9]) + mean, abs=1e-8)


def test_tuning_leaves_rows_out():
    X, targets, weights = RNG.normal(size=(30, 3)), RNG.normal(size=(30, 1)), np.ones(30)
    tuned = tune_kernel(X, targets, weights)
    for row in (0, 13):
        others = np.arange(30) != row
        model = KernelRidge(kernel="rbf", gamma=tuned.gamma, alpha=tuned.ridge)
        model.fit(X[others], targets[others])
        expected = model.predict(X[row : row + 1])[0]
        assert tuned.left_out[row] == pytest.approx(expected, abs=1e-8)
