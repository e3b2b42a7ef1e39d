"""The pruned perceptron: right gradients, budgets kept, better than a dense one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from cerflearn.comparison import pruned_mlp
from cerflearn.comparison.relu import ReluNetwork, random_relu_network, relu_loss_and_gradient
from cerflearn.comparison.training_set import TrainingSet
from cerflearn.training.network import Problem
from cerflearn.training.scores import cross_entropy, logistic, squared_error


def digits(n_samples, seed=0):
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = (X[order].astype(np.float32) - 4.9) / 6.0, y[order]
    return TrainingSet(X[:n_samples], y[:n_samples], 10, seed), X[n_samples:], y[n_samples:]


def accuracy(network, X, y):
    return float(np.mean(network.scores(X).argmax(axis=1) == y))


@pytest.mark.parametrize(
    ("loss", "n_scores"), [(cross_entropy, 3), (logistic, 1), (squared_error, 2)]
)
def test_gradient_is_that_of_differences(loss, n_scores):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(20, 5)), rng.dirichlet(np.ones(20))
    targets = rng.dirichlet(np.ones(3), size=20)[:, :n_scores]
    problem = Problem(X, targets, weights, loss)
    network = random_relu_network(np.ones((5, 7), dtype=bool), n_scores, rng)
    parameters = tuple(a + 0.1 * rng.normal(size=a.shape) for a in network.parameters)
    value, gradient = relu_loss_and_gradient(problem, parameters)
    assert value == pytest.approx(
        loss(ReluNetwork(*parameters, None).scores(X), targets, weights)[0]
    )
    step = 1e-6
    for values, slopes in zip(parameters, gradient, strict=True):
        for index in np.ndindex(values.shape):
            kept = values[index]
            values[index] = kept + step
            above = relu_loss_and_gradient(problem, parameters)[0]
            values[index] = kept - step
            below = relu_loss_and_gradient(problem, parameters)[0]
            values[index] = kept
            # Second differences: step^2 of error, and rounding / step.
            assert slopes[index] == pytest.approx((above - below) / (2 * step), abs=1e-8)


@given(
    macs=st.integers(4, 300),
    n_features=st.integers(1, 12),
    n_classes=st.integers(2, 4),
    width_factor=st.sampled_from([1.0, 1.3, 2.0]),
    full=st.booleans(),
)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_budget_is_never_exceeded(macs, n_features, n_classes, width_factor, full):
    rng = np.random.default_rng(macs)
    X = rng.normal(size=(40, n_features)).astype(np.float32)
    y = np.arange(40) % n_classes
    training = TrainingSet(X, y, n_classes, seed=0)
    macs = max(macs, 1 + training.n_scores)
    with pytest.MonkeyPatch.context() as patch:
        if not full:
            patch.setattr(pruned_mlp, "uses_mini_batches", lambda *_: True)
            patch.setattr(pruned_mlp, "steps_for", lambda *_: 40)
        setting = pruned_mlp.PrunedMLPSetting(penalty=1e-2, width_factor=width_factor)
        network = pruned_mlp.train_pruned_mlp(training, macs, setting, effort=0.1)
    assert 0 < network.cost().macs <= macs
    assert np.all(network.weights[~network.mask] == 0.0)
    # The count is that of the products that matter.
    assert network.cost().macs >= np.count_nonzero(network.weights) + network.head.size


def test_features_that_read_nothing_become_bias():
    rng = np.random.default_rng(0)
    mask = rng.random((6, 5)) < 0.5
    mask[:, 2] = False
    network = random_relu_network(mask, 3, rng)
    network = ReluNetwork(
        network.weights, rng.normal(size=5) + 1.0, network.head, network.bias, mask
    )
    X = rng.normal(size=(10, 6))
    smaller = network.without_unused_units()
    assert smaller.head.shape == (4, 3)
    np.testing.assert_allclose(smaller.scores(X), network.scores(X), rtol=1e-12)


def test_minimising_lowers_the_loss_and_keeps_the_mask():
    training, *_ = digits(100)
    problem = pruned_mlp._problem(training)
    rng = np.random.default_rng(0)
    start = random_relu_network(rng.random((64, 12)) < 0.3, 10, rng)
    end = pruned_mlp.minimise_relu_network(problem, start, 30, 1e-3)
    before, after = (relu_loss_and_gradient(problem, n.parameters)[0] for n in (start, end))
    assert after < 0.2 * before
    assert np.all(end.weights[~start.mask] == 0.0)


@pytest.mark.parametrize("full", [True, False])
def test_pruned_network_beats_a_dense_one_of_equal_cost_on_digits(full, monkeypatch):
    if not full:  # mini-batches, as for many rows
        monkeypatch.setattr(pruned_mlp, "uses_mini_batches", lambda *_: True)
    training, X_test, y_test = digits(900)
    network = pruned_mlp.train_pruned_mlp(
        training, 300, pruned_mlp.PrunedMLPSetting(penalty=1e-3, width_factor=1.0)
    )
    assert network.cost().macs <= 300
    dense = MLPClassifier((300 // 74,), solver="lbfgs", alpha=1.0, max_iter=400, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense.fit(training.X, training.y)
    found = accuracy(network, X_test, y_test)
    assert found > 0.9
    assert found > dense.score(X_test, y_test)


def test_settings_are_chosen_on_held_out_rows():
    training, X_test, y_test = digits(200)
    network = pruned_mlp.fit_pruned_mlp(training, 300)
    assert accuracy(network, X_test, y_test) > 0.8
    again = pruned_mlp.fit_pruned_mlp(training, 300)
    np.testing.assert_array_equal(network.weights, again.weights)
    assert len(pruned_mlp.settings_for(300)) == 5
    assert len(pruned_mlp.settings_for(5_000)) == 4


def test_numbers_are_fitted():
    X, y = make_friedman1(n_samples=400, random_state=0)
    X, y = (X.astype(np.float32) - 0.5) * 3.4, (y - y.mean()) / y.std()
    training = TrainingSet(X[:300], y[:300], 0, seed=0)
    network = pruned_mlp.fit_pruned_mlp(training, 150)
    assert training.score(training.predict_from_scores(network.scores(X[300:])), y[300:]) > 0.9
