"""CERFRegressor: budgets, several targets, and rivals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression

from cerflearn import CERFRegressor, cost

X, Y = make_friedman1(n_samples=800, noise=0.5, random_state=0)
TRAIN, TEST = slice(0, 400), slice(400, None)


@pytest.mark.parametrize("macs", [5, 40, 300])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_map_and_head_together_are_within_the_budget(macs, n_targets):
    targets = Y[TRAIN] if n_targets == 1 else np.column_stack([Y, X[:, 0], X[:, 1] ** 2])[TRAIN]
    model = CERFRegressor(macs=macs, effort=0.1, random_state=0).fit(X[TRAIN], targets)
    assert model.n_macs_ <= macs
    assert cost(model).macs == model.n_macs_
    assert model.predict(X[TEST]).shape == ((400,) if n_targets == 1 else (400, 3))


def test_it_is_far_above_a_linear_model():
    model = CERFRegressor(macs=300, random_state=0).fit(X[TRAIN], Y[TRAIN])
    linear = LinearRegression().fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[TEST], Y[TEST]) > 0.95  # measured .98
    assert linear.score(X[TEST], Y[TEST]) < 0.8


def test_relu_features_predict_numbers_too():
    model = CERFRegressor(macs=300, activation="relu", n_components=30, random_state=0).fit(
        X[TRAIN], Y[TRAIN]
    )
    phases = X[TEST] @ model.feature_map_.frequencies + model.feature_map_.offsets
    expected = np.maximum(phases, 0.0) @ model.head_coef_.T + model.head_intercept_
    expected += X[TEST] @ model.linear_coef_.T
    assert model.predict(X[TEST]) == pytest.approx(expected.ravel(), rel=1e-9)
    assert model.score(X[TEST], Y[TEST]) > 0.9
    assert cost(model).trig == 0


@pytest.mark.parametrize(
    ("learn", "head"),
    [(learn, head) for learn in ("masks", "features") for head in ("trained", "ridge")]
    + [("selection", "trained")],
)
def test_every_kind_of_fit_predicts(learn, head):
    effort = 1.0 if learn == "selection" else 0.3
    model = CERFRegressor(macs=200, head=head, learn=learn, effort=effort, random_state=0)
    assert model.fit(X[TRAIN], Y[TRAIN]).score(X[TEST], Y[TEST]) > 0.8


@pytest.mark.parametrize("parameters", [{"learn": "features"}, {"learn": "selection"}])
def test_drawn_masks_read_inputs_together(parameters):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1.0, 1.0, size=(600, 6))
    product = inputs[:, 0] * inputs[:, 1]
    model = CERFRegressor(macs=200, random_state=0, **parameters).fit(inputs[:400], product[:400])
    assert model.score(inputs[400:], product[400:]) > 0.9  # features of one input each: -.03


def test_targets_of_any_scale_are_fine():
    small = CERFRegressor(macs=100, effort=0.1, random_state=0).fit(X[TRAIN], Y[TRAIN])
    large = CERFRegressor(macs=100, effort=0.1, random_state=0).fit(X[TRAIN], 1e6 * Y[TRAIN] - 1e9)
    expected = 1e6 * small.predict(X[TEST]) - 1e9
    assert large.predict(X[TEST]) == pytest.approx(expected, rel=1e-3)


def test_weights_are_repetitions():
    weights = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    weighted = CERFRegressor(macs=60, effort=0.1, random_state=0)
    weighted.fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    rows = np.repeat(np.arange(400), weights.astype(int))
    repeated = CERFRegressor(macs=60, effort=0.1, random_state=0).fit(X[rows], Y[rows])
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


def test_a_constant_target_is_predicted():
    model = CERFRegressor(macs=60, effort=0.1, random_state=0).fit(X[:100], np.full(100, 7.0))
    assert model.predict(X[:10]) == pytest.approx(7.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e200, -1e300, 3.7, 1e-300])
def test_a_constant_target_of_any_size_is_predicted(value):
    both = np.c_[np.full(100, value), Y[:100]]
    alone = CERFRegressor(macs=60, effort=0.1, random_state=0).fit(X[:100], both[:, 0])
    assert alone.predict(X[:10]) == pytest.approx(value)
    model = CERFRegressor(macs=60, effort=0.1, random_state=0).fit(X[:100], both)
    assert model.predict(X[:10])[:, 0] == pytest.approx(value)
    assert np.corrcoef(model.predict(X[:100])[:, 1], Y[:100])[0, 1] > 0.5


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"macs": 1}, Y[:50], "macs=2 or more"),
        ({"head": "svm"}, Y[:50], "head='svm'"),
        ({}, np.where(Y[:50] > 15, np.nan, Y[:50]), "NaN"),
        ({}, None, "requires y"),
        ({}, ["low", "high"] * 25, "y must hold numbers for a regressor.* CERFClassifier"),
        ({}, Y[:40], "X and y must have as many rows"),
        ({}, np.c_[Y[:50], 1e-200 * Y[:50]], r"y\[:, 1\] varies too little.* scale y"),
        ({}, np.c_[1e200 * Y[:50], Y[:50]], r"y\[:, 0\] varies too much.* scale y"),
        ({"learn": "none"}, Y[:50], "learn='none'"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(parameters, y, message):
    with pytest.raises(ValueError, match=message):
        CERFRegressor(**parameters).fit(X[:50], y)


@pytest.mark.parametrize("n_rows", [1, 40])
def test_rows_far_away_get_no_prediction_beyond_the_targets_and_a_tenth(n_rows):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(200, 3))
    targets = inputs @ [[1.0, 0.0], [2.0, 0.0], [0.0, -3.0]]
    model = CERFRegressor(n_components=0, random_state=0).fit(inputs, targets)
    low, high = targets.min(axis=0), targets.max(axis=0)
    widened = np.array([low, high]) + 0.1 * (high - low) * np.array([[-1.0], [1.0]])
    assert model.prediction_range_ == pytest.approx(widened)
    far = np.tile([[1e6, 1e6, 1e6]], (n_rows, 1))
    for rows, expected in (
        (far, [widened[1, 0], widened[0, 1]]),
        (-far, [widened[0, 0], widened[1, 1]]),
    ):
        for dtype in (np.float32, np.float64):
            assert model.predict(rows.astype(dtype)) == pytest.approx(
                np.tile(expected, (n_rows, 1)), rel=1e-6
            )
    near = 0.5 * inputs[:50]
    assert model.predict(near) == pytest.approx(near @ model.linear_coef_.T + model.head_intercept_)


def test_a_row_without_weight_does_not_count_in_the_range():
    targets = np.where(np.arange(100) == 7, 1e4, Y[:100])
    weights = (np.arange(100) != 7).astype(float)
    model = CERFRegressor(macs=30, effort=0.05, random_state=0).fit(X[:100], targets, weights)
    assert model.prediction_range_.max() < 100.0
