"""Principal axes, ridge regression, canonical correlations: against other ways to solve them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from sklearn.linear_model import Ridge

from cerflearn.linalg.canonical import canonical_axes
from cerflearn.linalg.columns import N_FOLDS, HiddenColumns, fit_columns
from cerflearn.linalg.moments import cross_moments_block
from cerflearn.linalg.principal import principal_axes
from cerflearn.linalg.ridge import ridge_weights


def centred(rng, n_samples, n_columns):
    rows = rng.normal(size=(n_samples, n_columns)) @ rng.normal(size=(n_columns, n_columns))
    return rows - rows.mean(axis=0)


@pytest.mark.parametrize("n_components", [1, 3, 6])
def test_principal_axes_are_singular_vectors(n_components):
    rows = centred(np.random.default_rng(0), 40, 6)
    axes = principal_axes(rows.T @ rows, n_components)
    _, values, vectors = np.linalg.svd(rows, full_matrices=False)
    np.testing.assert_allclose(axes.energies, values[:n_components] ** 2, rtol=1e-9)
    overlap = np.abs(np.sum(axes.components * vectors[:n_components], axis=1))
    np.testing.assert_allclose(overlap, 1.0, rtol=1e-9)


def test_the_largest_entry_of_a_component_is_positive():
    rows = centred(np.random.default_rng(1), 40, 6)
    components = principal_axes(rows.T @ rows, 6).components
    assert (components[np.arange(6), np.abs(components).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.5])
def test_ridge_weights_are_those_of_scikit_learn(alpha):
    rng = np.random.default_rng(2)
    rows = centred(rng, 50, 4)
    targets = rng.normal(size=(50, 3))
    targets -= targets.mean(axis=0)
    weights = ridge_weights(rows.T @ rows / 50, rows.T @ targets / 50, alpha)
    penalty = alpha * 50 * np.square(rows).mean(axis=0).mean()
    wanted = Ridge(alpha=penalty, fit_intercept=False, solver="svd").fit(rows, targets).coef_.T
    np.testing.assert_allclose(weights, wanted, rtol=1e-9, atol=1e-12)


def test_directions_without_variance_get_no_weight():
    rng = np.random.default_rng(3)
    rows = centred(rng, 30, 2)
    doubled = np.hstack([rows, rows[:, :1]])
    target = rows @ np.array([[2.0], [-1.0]])
    weights = ridge_weights(doubled.T @ doubled, doubled.T @ target, 0.0)
    np.testing.assert_allclose(doubled @ weights, target, atol=1e-10)
    np.testing.assert_allclose(weights.ravel(), [1.0, -1.0, 1.0], atol=1e-9)  # the shortest
    np.testing.assert_array_equal(ridge_weights(np.zeros((2, 2)), np.ones((2, 1)), 0.1), 0.0)


def generalised_correlations(left, right, alpha):
    """Canonical correlations as a generalised symmetric eigenvalue problem of both views."""
    n_samples, n_left = left.shape
    n_right = right.shape[1]
    first, second = left.T @ left / n_samples, right.T @ right / n_samples
    first += alpha * np.trace(first) / n_left * np.eye(n_left)
    second += alpha * np.trace(second) / n_right * np.eye(n_right)
    cross = left.T @ right / n_samples
    products = np.block(
        [[np.zeros((n_left, n_left)), cross], [cross.T, np.zeros((n_right, n_right))]]
    )
    norms = np.block([[first, np.zeros((n_left, n_right))], [np.zeros((n_right, n_left)), second]])
    values, vectors = eigh(products, norms)
    return values[::-1], vectors[:, ::-1]


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_canonical_axes_solve_the_generalised_problem(alpha):
    rng = np.random.default_rng(4)
    shared = rng.normal(size=(60, 2))
    left = np.hstack([shared, rng.normal(size=(60, 3))]) @ rng.normal(size=(5, 5))
    right = np.hstack([shared**3, rng.normal(size=(60, 2))]) @ rng.normal(size=(4, 4))
    left, right = left - left.mean(axis=0), right - right.mean(axis=0)
    axes = canonical_axes(cross_moments_block(True, left + 3.0, right - 5.0), 3, alpha)
    values, vectors = generalised_correlations(left, right, alpha)
    np.testing.assert_allclose(axes.correlations, values[:3], rtol=1e-9)
    for index in range(3):
        angle = subspace_angles(axes.left[index][:, None], vectors[:5, index][:, None])
        np.testing.assert_allclose(angle, 0.0, atol=1e-6)
        angle = subspace_angles(axes.right[index][:, None], vectors[5:, index][:, None])
        np.testing.assert_allclose(angle, 0.0, atol=1e-6)
    assert (axes.left[np.arange(3), np.abs(axes.left).argmax(axis=1)] > 0).all()


def test_columns_are_regressed_on_the_rows_where_they_were_hidden():
    rng = np.random.default_rng(5)
    n_samples, n_copies, n_codes, n_columns = 40, 2, 3, 5
    codes = rng.normal(size=(n_copies * n_samples, n_codes))
    targets = rng.normal(size=(n_samples, n_columns))
    hidden = rng.random((n_copies * n_samples, n_columns)) < 0.4
    hidden[:, 4] = False
    alphas = np.array([0.1, 2.0])
    fits = fit_columns(HiddenColumns(codes, targets, hidden, alphas), np.arange(n_columns))
    all_targets = np.vstack([targets] * n_copies)
    folds = np.tile(np.arange(n_samples) % N_FOLDS, n_copies)
    for column in range(4):
        rows = hidden[:, column]
        values = all_targets[rows, column]
        np.testing.assert_allclose(fits.energies[column], values @ values)
        for index, alpha in enumerate(alphas):
            model = Ridge(alpha=alpha * rows.sum()).fit(codes[rows], values)
            wanted = [*model.coef_, model.intercept_]
            np.testing.assert_allclose(fits.weights[column, index], wanted, rtol=1e-6, atol=1e-8)
            error = 0.0
            for fold in range(N_FOLDS):
                train, test = rows & (folds != fold), rows & (folds == fold)
                model = Ridge(alpha=alpha * train.sum())
                model.fit(codes[train], all_targets[train, column])
                error += np.square(all_targets[test, column] - model.predict(codes[test])).sum()
            np.testing.assert_allclose(fits.errors[column, index], error, rtol=1e-6)
    np.testing.assert_array_equal(fits.weights[4], 0.0)  # hidden nowhere: predicts the mean, 0
    assert fits.energies[4] == 0.0
