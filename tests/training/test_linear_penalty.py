"""Penalty of the linear part alone: leave-one-out errors counted one by one, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.training import policy
from cerflearn.training.compared import linear_penalty
from cerflearn.training.pruning import Budget
from cerflearn.training.task import Task

RNG = np.random.default_rng(0)


def task_of(X, targets, kind="regression", weights=None):
    n_rows, n_features = X.shape
    weights = np.full(n_rows, 1.0 / n_rows) if weights is None else weights / weights.sum()
    usable, strata = np.ones(n_features, bool), np.zeros(n_rows, int)
    budget = Budget(100, targets.shape[1])
    return Task(X.astype(np.float32), targets, weights, strata, kind, budget, usable, {})


def left_out_error(X, targets, weights, penalty):
    """Weighted squared error of rows, each predicted by a ridge regression on the others."""
    total = 0.0
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        # The penalty stays beside the sum over all rows: the weights are not divided anew.
        share, rows = weights[others], X[others]
        mean = share @ rows / share.sum()
        target_mean = share @ targets[others] / share.sum()
        centred = rows - mean
        gram = (centred * share[:, None]).T @ centred + penalty * np.eye(X.shape[1])
        head = np.linalg.solve(gram, (centred * share[:, None]).T @ (targets[others] - target_mean))
        predicted = (X[row] - mean) @ head + target_mean
        total += weights[row] * float(np.square(predicted - targets[row]).sum())
    return total


@pytest.mark.parametrize("n_features", [3, 30])
@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_the_penalty_has_the_least_leave_one_out_error(n_features, noise):
    X = RNG.normal(size=(25, n_features)).astype(np.float32).astype(float)
    targets = X[:, :1] - X[:, 1:2] + noise * RNG.normal(size=(25, 2))
    weights = RNG.uniform(0.5, 1.5, size=25)
    weights /= weights.sum()
    found = linear_penalty(task_of(X, targets, weights=weights), 25)
    variance = weights @ np.square(X - weights @ X)
    compared = np.array(policy.PATH_ALPHAS) * variance.sum() / min(25, n_features)
    errors = [left_out_error(X, targets, weights, penalty) for penalty in compared]
    assert found == pytest.approx(compared[np.argmin(errors)], rel=1e-5)


def test_the_penalty_falls_with_the_rows_and_is_that_of_the_loss():
    X = RNG.normal(size=(60, 5))
    y = (X[:, :1] + RNG.normal(size=(60, 1)) > 0).astype(float)
    numbers = linear_penalty(task_of(X, 2.0 * y - 1.0), 60)
    assert linear_penalty(task_of(X, 2.0 * y - 1.0), 600) == pytest.approx(numbers / 10)
    # The logistic loss has a quarter of the curvature of the squared error.
    assert linear_penalty(task_of(X, y, "binary"), 60) == pytest.approx(numbers / 4)
    one_hot = np.hstack([y, 1.0 - y])
    assert linear_penalty(task_of(X, one_hot, "multiclass"), 60) == pytest.approx(numbers / 4)


def test_targets_that_inputs_do_not_tell_get_the_strongest_penalty():
    X = RNG.normal(size=(40, 4))
    constant = task_of(X, np.zeros((40, 1)))
    unit = np.square(X - X.mean(axis=0)).mean()
    assert linear_penalty(constant, 40) == pytest.approx(max(policy.PATH_ALPHAS) * unit, rel=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize(("n_rows", "n_features"), [(100, 50), (300, 60)])
def test_a_fit_to_noise_is_hardly_worse_than_the_mean(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows + 1000, n_features)), rng.normal(size=n_rows + 1000)
    model = CERFRegressor(macs=n_features, effort=0.2, random_state=0)
    assert model.fit(X[:n_rows], y[:n_rows]).score(X[n_rows:], y[n_rows:]) > -0.15


def test_a_fit_to_random_labels_is_as_sure_as_their_shares():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 40)), rng.uniform(size=1200) < 0.8
    proba = CERFClassifier(macs=40, effort=0.2, random_state=0).fit(X[:200], y[:200])
    loss = -np.log(proba.predict_proba(X[200:])[np.arange(1000), y[200:].astype(int)]).mean()
    assert loss < -(0.8 * np.log(0.8) + 0.2 * np.log(0.2)) + 0.1
