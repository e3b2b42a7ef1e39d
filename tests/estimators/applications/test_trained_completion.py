"""KernelImputer with ``macs``: one pattern, completed by a trained network."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from cerflearn import KernelImputer, cost

DIGITS = load_digits().data / 16.0
TRAIN, TEST = DIGITS[:1200], DIGITS[1200:]
PATTERN = np.zeros(64, dtype=bool)
PATTERN[np.random.default_rng(0).permutation(64)[:24]] = True


def with_pattern(X):
    return np.where(PATTERN, np.nan, X)


def error(completed):
    lost = np.square((completed - TEST)[:, PATTERN]).sum()
    return lost / np.square((TEST - TRAIN.mean(axis=0))[:, PATTERN]).sum()


def linear_error():
    ridge = Ridge(1.0).fit(TRAIN[:, ~PATTERN], TRAIN[:, PATTERN])
    completed = TEST.copy()
    completed[:, PATTERN] = ridge.predict(TEST[:, ~PATTERN])
    return error(completed)


@pytest.fixture(scope="module")
def half():
    """Imputer of half the operations of linear regression, which has 40 x 24."""
    return KernelImputer(macs=480, patterns=PATTERN, random_state=0).fit(TRAIN)


def test_half_the_operations_of_linear_regression_have_a_lower_error(half):
    assert cost(half).macs <= 480
    assert error(half.transform(with_pattern(TEST))) < linear_error()


def test_observed_values_are_returned_as_they_are(half):
    completed = half.transform(with_pattern(TEST))
    np.testing.assert_array_equal(completed[:, ~PATTERN], TEST[:, ~PATTERN])
    assert np.isfinite(completed).all()


def test_hidden_values_are_never_read(half):
    other = with_pattern(TEST)
    some = TEST.copy()
    some[:, np.flatnonzero(PATTERN)[1:]] = 7.0  # known values of the pattern
    some[:, np.flatnonzero(PATTERN)[0]] = np.nan
    first = np.flatnonzero(PATTERN)[0]
    np.testing.assert_array_equal(half.transform(some)[:, first], half.transform(other)[:, first])


def test_few_operations_are_shared_by_codes_and_decoder():
    model = KernelImputer(macs=120, n_components=3, patterns=PATTERN, random_state=0).fit(TRAIN)
    (stage,) = model.stages_
    assert stage.encoder.n_codes == 3
    assert stage.weights.shape == (24, 4)
    assert cost(model).macs <= 120
    assert error(model.transform(with_pattern(TEST))) < 0.8


def test_bits_do_not_depend_on_threads():
    found = [
        KernelImputer(macs=100, patterns=PATTERN, n_jobs=n_jobs, random_state=1)
        .fit(TRAIN[:500])
        .transform(with_pattern(TEST))
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*found)


def test_rows_that_miss_values_of_the_pattern_are_left_out():
    gaps = TRAIN.copy()
    gaps[600:] = with_pattern(gaps[600:])
    model = KernelImputer(macs=200, patterns=PATTERN, random_state=0).fit(gaps)
    assert error(model.transform(with_pattern(TEST))) < 0.7
    with pytest.raises(ValueError, match="X has 3 rows with values in all columns"):
        KernelImputer(macs=200, patterns=PATTERN).fit(np.vstack([gaps[:3], gaps[600:]]))


def test_noise_is_completed_by_the_means():
    X = np.random.default_rng(0).normal(size=(80, 6))
    pattern = np.array([True, False, False, False, False, False])
    model = KernelImputer(macs=10, patterns=pattern, random_state=0).fit(X)
    completed = model.transform(np.where(pattern, np.nan, X))
    if model.n_iter_ == 0:
        assert completed[:, 0] == pytest.approx(np.full(80, X[:, 0].mean()))
    assert np.abs(completed[:, 0] - X[:, 0].mean()).max() < 3.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"macs": 24, "patterns": PATTERN}, "macs=24 is not valid.*Pass macs=25 or more"),
        ({"macs": 99}, "macs=99 needs patterns= of one pattern"),
        ({"macs": 99, "patterns": 0.2}, "macs=99 needs patterns= of one pattern"),
        ({"macs": 99, "patterns": np.stack([PATTERN, ~PATTERN])}, "needs patterns= of one"),
        ({"macs": 99, "patterns": np.ones(64, dtype=bool)}, "misses all columns"),
        ({"macs": 99, "patterns": PATTERN, "n_components": 25}, "n_components=25 .* at most 24"),
        ({"macs": 50, "patterns": PATTERN, "n_components": 4}, "macs=50 is not valid"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelImputer(**parameters).fit(TRAIN[:100])


def test_constant_observed_columns_are_refused():
    X = np.ones((20, 3))
    X[:, 0] = np.arange(20)
    with pytest.raises(ValueError, match="observed columns of X are constant"):
        KernelImputer(macs=20, patterns=[True, False, False]).fit(X)


def test_columns_that_hardly_ever_vary_do_not_rule_the_error():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(800, 6))
    related = known @ rng.normal(size=(6, 3))
    rare = np.where(rng.random((800, 12)) < 0.004, 1.0, 0.0)  # of deviation .06: unpredictable
    X = np.hstack([known, related, rare])
    pattern = np.arange(21) >= 6
    model = KernelImputer(macs=60, patterns=pattern, random_state=0).fit(X[:600])
    found = model.transform(np.where(pattern, np.nan, X[600:]))[:, 6:9]
    lost = np.square(found - X[600:, 6:9]).sum(axis=0)
    assert (lost < 0.02 * np.square(X[600:, 6:9]).sum(axis=0)).all()


@pytest.mark.parametrize("place", range(0, 60, 7))
def test_rare_values_may_be_in_any_row(place):
    rng = np.random.default_rng(0)
    X = np.c_[np.zeros(60), rng.normal(size=(60, 3))]
    X[place, 0] = 1.0
    for pattern in ([True, False, False, False], [False, True, True, True]):
        model = KernelImputer(macs=30, patterns=pattern, random_state=0).fit(X)
        assert np.isfinite(model.transform(np.where(pattern, np.nan, X))).all()


def test_a_constant_column_is_completed_by_its_value():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 0] = 1.0
    pattern = np.array([True, False, False])
    model = KernelImputer(macs=30, patterns=pattern).fit(X)
    assert model.n_iter_ == 0
    assert (model.transform(np.where(pattern, np.nan, X)) == X).all()
