"""Scaling of the inputs that predictors are trained on: gross outliers, forms of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.blocks import from_blocks
from cerflearn.estimators.predictors import training_rows
from cerflearn.estimators.scaling import scale_inputs
from cerflearn.training import policy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(800, 4))
WEIGHTS = np.full(800, 1 / 800)


def with_outliers(value, rows=slice(3, 4), column=1):
    changed = X.copy()
    changed[rows, column] = value
    return changed


def scaling_of(rows):
    return scale_inputs(rows, WEIGHTS, by_column=True, clip_outliers=True)


def test_values_without_gross_outliers_are_scaled_as_they_are():
    most = 0.9 * policy.GROSS_DEVIATIONS
    for rows in (X, with_outliers(most), X - 1e9, 1e-9 * X):
        found = scaling_of(rows)
        assert np.isinf([found.lowest, found.highest]).all()
        np.testing.assert_allclose(found.apply(rows).std(axis=0), 1.0, rtol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_how_far_a_gross_outlier_is_changes_nothing(sign):
    one, other = (scaling_of(with_outliers(sign * far)) for far in (1e6, 1e100))
    for name in ("mean", "scale", "robust", "lowest", "highest"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    rows = with_outliers(sign * 1e6)
    scaled = one.apply(rows)
    np.testing.assert_array_equal(scaled, other.apply(with_outliers(sign * 1e100)))
    # By hand: the value is brought to 1,000 deviations by the quartiles from the median.
    low, middle, high = np.percentile(rows[:, 1], [25, 50, 75])
    clipped = rows[:, 1].copy()
    clipped[3] = middle + sign * policy.GROSS_DEVIATIONS * (high - low) / 1.349
    np.testing.assert_allclose(scaled[:, 1], (clipped - clipped.mean()) / clipped.std())
    np.testing.assert_allclose(scaled[:, 0], (X[:, 0] - X[:, 0].mean()) / X[:, 0].std())


def test_columns_whose_quartiles_are_equal_have_no_outliers():
    rows = X.copy()
    rows[:, 2] = 0.0
    rows[::100, 2] = 1e6
    assert np.isinf(scaling_of(rows).highest).all()


def test_inputs_as_they_are_are_not_clipped():
    rows = with_outliers(1e6)
    assert np.isinf(scale_inputs(rows, WEIGHTS, by_column=True).highest).all()
    labels = rows[:, 0] > 0
    model = CERFClassifier(macs=20, gamma=0.5, learn="features", effort=0.02, random_state=0)
    assert model.fit(rows, labels).score(rows, labels) > 0.5


@pytest.mark.parametrize("activation", ["cosine", "relu", "table"])
def test_a_sentinel_in_a_hundredth_of_the_rows_does_not_hide_the_other_values(activation):
    target = np.sin(2.0 * X[:, 1])
    rows = with_outliers(-999_999.0, slice(0, 8))[:600]
    model = CERFRegressor(macs=40, effort=0.1, random_state=0, activation=activation)
    assert model.fit(rows, target[:600]).score(X[600:], target[600:]) > 0.5


def test_a_gross_outlier_in_a_later_batch_does_not_hide_the_other_values():
    target = np.sin(2.0 * X[:, 1])
    model = CERFRegressor(macs=40, effort=0.1, random_state=0).fit(X[:300], target[:300])
    clean = model.score(X[600:], target[600:])
    model.partial_fit(with_outliers(1e12)[:300], target[:300])
    assert model.score(X[600:], target[600:]) > clean - 0.1


@pytest.mark.parametrize("form", ["blocks", "sparse", "sparse blocks"])
def test_the_bits_are_those_of_the_same_rows_in_memory(monkeypatch, form):
    monkeypatch.setattr(training_rows, "MEMORY_ROWS", 100)
    monkeypatch.setattr(policy, "DENSE_ENTRIES", 100)
    rows = np.where(RNG.uniform(size=X.shape) < 0.3, 0.0, X)
    rows[7, 0], rows[9, 1] = -1e7, 1e8
    labels = rows[:, 1] > 0
    table = csr_matrix(rows) if "sparse" in form else rows
    model = CERFClassifier(macs=30, effort=0.05, random_state=0)
    expected = model.fit(rows, labels).decision_function(X)
    blocks = [(table[:300], labels[:300]), (table[300:], labels[300:])]
    model.fit(*((table, labels) if form == "sparse" else (from_blocks(blocks),)))
    np.testing.assert_array_equal(model.decision_function(X), expected)
