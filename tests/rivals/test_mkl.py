"""Multiple kernel learning: optimality on the simplex, leave-one-out, the informative kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from cerflearn.rivals import MultipleKernelLearning
from cerflearn.rivals._simplex import evaluate, learn_weights
from cerflearn.rivals.mkl import _left_out_errors


def random_problem(seed: int, n_kernels: int, n_samples: int = 25, n_scores: int = 2):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_kernels, n_samples, rng.integers(2, n_samples)))
    grams = factors @ factors.transpose(0, 2, 1)
    grams /= np.einsum("mii->m", grams)[:, None, None] / n_samples
    return grams, rng.normal(size=(n_samples, n_scores))


def slow_objective(weights, grams, targets, ridge):
    matrix = sum(w * gram for w, gram in zip(weights, grams, strict=True))
    return 0.5 * np.trace(targets.T @ np.linalg.inv(matrix + ridge * np.eye(len(matrix))) @ targets)


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    n_kernels=st.integers(1, 6),
    ridge=st.sampled_from([0.01, 0.1, 1.0, 10.0]),
)
def test_weights_are_optimal_on_the_simplex(seed, n_kernels, ridge):
    grams, targets = random_problem(seed, n_kernels)
    start = np.full(n_kernels, 1.0 / n_kernels)
    dual, n_iter = learn_weights(grams, targets, ridge, start, tol=1e-6, max_iter=100)
    weights = dual.weights
    assert (weights >= 0.0).all()
    assert weights.sum() == pytest.approx(1.0)
    assert n_iter < 100
    assert dual.gap <= 1e-6
    # The conditions of Karush, Kuhn and Tucker, from scratch.
    matrix = np.tensordot(weights, grams, axes=1) + ridge * np.eye(len(targets))
    coef = np.linalg.solve(matrix, targets)
    energies = np.array([np.trace(coef.T @ gram @ coef) for gram in grams])
    assert weights @ energies >= energies.max() - 2.1e-6 * dual.value
    assert dual.value == pytest.approx(slow_objective(weights, grams, targets, ridge))


@pytest.mark.parametrize("seed", range(5))
def test_weights_match_a_general_optimiser(seed):
    grams, targets = random_problem(seed, 4)
    start = np.full(4, 0.25)
    dual, _ = learn_weights(grams, targets, 0.5, start, tol=1e-9, max_iter=100)
    slow = minimize(
        slow_objective,
        start,
        args=(grams, targets, 0.5),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda d: d.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    np.testing.assert_allclose(dual.weights, slow.x, atol=2e-3)
    assert dual.value <= slow.fun * (1 + 1e-9)


def test_the_gap_bounds_the_distance_to_the_optimum():
    grams, targets = random_problem(3, 5)
    best, _ = learn_weights(grams, targets, 0.3, np.full(5, 0.2), tol=1e-10, max_iter=200)
    for seed in range(20):
        weights = np.random.default_rng(seed).dirichlet(np.ones(5))
        here = evaluate(grams, targets, 0.3, weights)
        assert here.value - best.value <= here.gap * here.value * (1 + 1e-9)
        assert here.gap > 0.0


@pytest.mark.parametrize("informative", [0, 1, 2])
def test_the_kernel_that_made_the_labels_gets_the_weight(informative):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 3))
    y = np.sin(3.0 * X[:, informative]) > 0
    model = MultipleKernelLearning(widths=(1.0,), gamma=0.5, single_inputs=True, random_state=0)
    weights = model.fit(X, y).kernel_weights_  # of all inputs, then of each one
    assert weights[1 + informative] > 0.7
    assert weights.sum() == pytest.approx(1.0)
    assert model.duality_gap_ <= model.tol


def test_the_width_that_made_the_scores_gets_the_weight():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 1))
    y = np.sin(9.0 * X[:, 0]) > 0
    model = MultipleKernelLearning(widths=(0.01, 0.1, 20.0), gamma=1.0, random_state=0).fit(X, y)
    assert model.kernel_weights_[2] > 0.9


def test_one_kernel_is_kernel_ridge_regression_with_an_intercept():
    rng = np.random.default_rng(6)
    X, X_new = rng.normal(size=(60, 2)), rng.normal(size=(20, 2))
    y = X[:, 0] > X[:, 1] ** 2
    model = MultipleKernelLearning(widths=(1.0,), gamma=0.7, alpha=0.5).fit(X, y)
    mean, std = X.mean(axis=0), X.std(axis=0)
    kernel = rbf_kernel((X - mean) / std, gamma=0.7)
    new = rbf_kernel((X_new - mean) / std, (X - mean) / std, gamma=0.7)
    centre = np.eye(60) - 1.0 / 60
    centred = centre @ kernel @ centre
    variance = np.trace(centred) / 60
    targets = np.where(y, 1.0, -1.0)
    ridge = KernelRidge(alpha=0.5 * variance, kernel="precomputed")
    ridge.fit(centred, targets - targets.mean())
    shifted = (new - kernel.mean(axis=0)) @ centre
    expected = ridge.predict(shifted) + targets.mean()
    np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-9)


def test_left_out_errors_are_those_of_fits_without_the_row():
    rng = np.random.default_rng(7)
    factors = rng.normal(size=(30, 8))
    targets = rng.normal(size=(30, 2))
    ridge = 0.8

    def centred(gram):
        centre = np.eye(len(gram)) - 1.0 / len(gram)
        return centre @ gram @ centre

    kernel = factors @ factors.T
    dual = evaluate(centred(kernel)[None], targets - targets.mean(axis=0), ridge, np.ones(1))
    errors = _left_out_errors(dual, ridge)
    for n in range(30):
        rest = np.delete(np.arange(30), n)
        # Ridge regression on the factors, with an intercept that is not penalised.
        design = factors[rest] - factors[rest].mean(axis=0)
        aims = targets[rest] - targets[rest].mean(axis=0)
        head = np.linalg.solve(design.T @ design + ridge * np.eye(8), design.T @ aims)
        predicted = (factors[n] - factors[rest].mean(axis=0)) @ head + targets[rest].mean(axis=0)
        np.testing.assert_allclose(errors[n], targets[n] - predicted, atol=1e-9)


def test_weights_do_not_depend_on_the_rows_at_prediction():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 3))
    model = MultipleKernelLearning(single_inputs=True, random_state=0).fit(X, X[:, 0] > 0)
    together = model.decision_function(X)
    apart = np.concatenate([model.decision_function(X[n : n + 1]) for n in range(80)])
    np.testing.assert_allclose(apart, together, atol=1e-10)


def test_kernels_that_tell_no_rows_apart_are_harmless():
    X = np.column_stack([np.arange(40.0), np.zeros(40)])
    model = MultipleKernelLearning(single_inputs=True, random_state=0).fit(X, X[:, 0] > 19)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, X[:, 0] > 19) == 1.0
