"""Eq. 5 fitted directly: against all choices where they can be counted, and against exchanges."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerflearn.learning.direct import MOST_ROWS, fit_direct

quick = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def error(gram, features, weight):
    """Of all pairs of different rows; straight from the definition."""
    difference = gram - weight * features @ features.T
    np.fill_diagonal(difference, 0.0)
    return np.linalg.norm(difference) ** 2


def problem(seed, n_rows=30, n_features=9, n_inputs=3):
    """Exact rbf kernel of some rows, and cosines that approximate it."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_rows, n_inputs))
    gram = np.exp(-0.5 * np.square(inputs[:, None] - inputs[None]).sum(axis=2))
    phase = inputs @ rng.normal(size=(n_inputs, n_features)) + rng.uniform(0, 6.3, n_features)
    return gram, np.cos(phase)


def best_of_all(gram, learner, count, weight):
    return min(
        error(gram, learner[:, list(chosen)], weight)
        for chosen in combinations(range(learner.shape[1]), count)
    )


@quick
@given(seed=seeds, count=st.integers(1, 9))
def test_errors_are_those_of_the_definition_and_no_exchange_lowers_the_last(seed, count):
    gram, learner = problem(seed)
    weight = 2.0 / count
    result = fit_direct(gram, learner, count)
    chosen = result.selected.tolist()
    assert len(set(chosen)) == count
    found = error(gram, learner[:, chosen], weight)
    np.testing.assert_allclose(result.errors[-1], found, rtol=1e-9)
    for left in chosen:
        for new in set(range(9)) - set(chosen):
            other = [new if column == left else column for column in chosen]
            assert error(gram, learner[:, other], weight) >= found * (1.0 - 1e-9)


@quick
@given(seed=seeds, count=st.integers(1, 11))
def test_exchange_never_raises_the_error_from_any_start(seed, count):
    gram, learner = problem(seed, n_features=12)
    start = np.random.default_rng(seed).permutation(12)[:count]
    result = fit_direct(gram, learner, count, start=start)
    np.testing.assert_allclose(
        result.errors[0], error(gram, learner[:, start], 2.0 / count), rtol=1e-9
    )
    assert (np.diff(result.errors) < 0.0).all()


def test_the_choice_is_the_best_of_all_in_most_small_problems_and_near_it_in_the_others():
    ratios = []
    for seed in range(100):
        gram, learner = problem(seed, n_features=10)
        for count in (3, 5):
            best = best_of_all(gram, learner, count, 2.0 / count)
            ratios.append(fit_direct(gram, learner, count).errors[-1] / best)
    ratios = np.array(ratios)
    assert (ratios >= 1.0 - 1e-9).all()
    assert (ratios < 1.0 + 1e-9).mean() >= 0.98
    assert ratios.max() < 1.02


@quick
@given(seed=seeds)
def test_one_column_and_all_but_one_are_chosen_best(seed):
    """Forward selection, and the exchange of what is left out, then try everything."""
    gram, learner = problem(seed)
    for count in (1, 8):
        best = best_of_all(gram, learner, count, 2.0 / count)
        np.testing.assert_allclose(fit_direct(gram, learner, count).errors[-1], best, rtol=1e-9)


def test_columns_that_made_the_matrix_are_found():
    rng = np.random.default_rng(0)
    learner = rng.normal(size=(40, 12))
    made = np.array([0, 3, 4, 7, 10])
    gram = 0.3 * learner[:, made] @ learner[:, made].T
    result = fit_direct(gram, learner, 5, weight=0.3)
    np.testing.assert_array_equal(result.selected, made)
    assert result.errors[-1] <= 1e-12 * np.square(gram).sum()


def test_rows_are_not_compared_with_themselves():
    gram, learner = problem(0)
    other = gram + np.diag(np.random.default_rng(0).normal(size=len(gram)))
    for one, two in zip(
        vars(fit_direct(gram, learner, 4)).values(),
        vars(fit_direct(other, learner, 4)).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)


def test_cosine_and_sine_are_chosen_together():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(30, 3))
    gram = np.exp(-0.5 * np.square(inputs[:, None] - inputs[None]).sum(axis=2))
    phase = inputs @ rng.normal(size=(3, 8))
    learner = np.stack([np.cos(phase), np.sin(phase)], axis=2).reshape(30, 16)
    units = np.arange(16) // 2
    result = fit_direct(gram, learner, 6, units=units)
    pairs = result.selected.reshape(3, 2)
    np.testing.assert_array_equal(pairs[:, 0] + 1, pairs[:, 1])
    best = min(
        error(gram, learner[:, np.isin(units, chosen)], 1.0 / 3.0)
        for chosen in combinations(range(8), 3)
    )
    np.testing.assert_allclose(result.errors[-1], best, rtol=1e-9)


def test_on_new_rows_the_choice_is_nearer_to_the_kernel_than_a_random_one():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(400, 6))
    gram = np.exp(-0.1 * np.square(inputs[:, None] - inputs[None]).sum(axis=2))
    phase = inputs @ (np.sqrt(0.2) * rng.normal(size=(6, 100))) + rng.uniform(0, 6.3, 100)
    learner = np.cos(phase)
    old, new = slice(200), slice(200, 400)
    chosen = fit_direct(gram[old, old], learner[old], 40).selected
    found = error(gram[new, new], learner[new][:, chosen], 2.0 / 40)
    drawn = error(gram[new, new], learner[new, :40], 2.0 / 40)
    assert found < 0.6 * drawn


def test_bad_input_is_refused():
    gram, learner = problem(0)
    many = np.zeros((MOST_ROWS + 1, 2))
    with pytest.raises(ValueError, match=r"5001 rows have 2.5e\+07 pairs.* at most 5000 rows"):
        fit_direct(np.zeros((1, 1)), many, 1)
    with pytest.raises(ValueError, match=r"gram of shape \(30, 29\) must be \(30, 30\)"):
        fit_direct(gram[:, :29], learner, 3)
    with pytest.raises(ValueError, match="n_components=10 must be between 1 and 9"):
        fit_direct(gram, learner, 10)
    units = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    with pytest.raises(ValueError, match="n_components=4 must be a multiple of 3"):
        fit_direct(gram, learner, 4, units=units)
    with pytest.raises(ValueError, match="as many columns each"):
        fit_direct(gram, learner, 3, units=np.array([0, 0, 0, 0, 1, 1, 2, 2, 2]))
    for start in ([0, 1, 1], [0, 1, 3], [0, 1]):
        with pytest.raises(ValueError, match="start must have n_components different columns"):
            fit_direct(gram, learner, 3, units=units, start=np.array(start))


NOT_FINITE = [np.nan, np.inf]


@pytest.mark.parametrize("value", NOT_FINITE)
def test_values_that_are_not_finite_are_refused(value):
    gram, learner = problem(0)
    spoiled = gram.copy()
    spoiled[0, 1] = spoiled[1, 0] = value
    with pytest.raises(ValueError, match="gram contains NaN or infinity"):
        fit_direct(spoiled, learner, 3)
    with pytest.raises(ValueError, match="learner contains NaN or infinity"):
        fit_direct(gram, np.where(np.eye(30, 9) > 0, value, learner), 3)
    with pytest.raises(ValueError, match="weight"):
        fit_direct(gram, learner, 3, weight=value)


def test_values_whose_products_overflow_are_refused():
    gram, learner = problem(0)
    with pytest.raises(ValueError, match="too large"):
        fit_direct(gram * 1e200, learner * 1e100, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": 0.0}, "weight=0.0 is not valid"),
        ({"weight": -1.0}, "weight=-1.0 is not valid"),
        ({"n_components": 2.5}, "n_components=2.5"),
        ({"units": [0, 0, 1]}, r"units of shape \(3,\) must be \(9,\)"),
        ({"units": np.full(9, -1)}, "units must be numbered from 0"),
        ({"units": np.full(9, 0.5)}, "units must be integers"),
        ({"start": [0, 1, 9]}, "start must have columns from 0 to 8"),
        ({"start": [0, 1, -1]}, "start must have columns from 0 to 8"),
        ({"start": [0.0, 1.0, 2.5]}, "start must be integers"),
        ({"learner": np.zeros(30)}, "learner of shape"),
        ({"learner": np.zeros((1, 9)), "gram": np.ones((1, 1))}, "two rows"),
    ],
)
def test_odd_arguments_are_refused(changes, message):
    gram, learner = problem(0)
    arguments = {"gram": gram, "learner": learner, "n_components": 3} | changes
    with pytest.raises(ValueError, match=message):
        fit_direct(**arguments)


def test_a_matrix_that_is_not_symmetric_is_refused():
    gram, learner = problem(0)
    gram[0, 1] += 0.5
    with pytest.raises(ValueError, match="symmetric"):
        fit_direct(gram, learner, 3)


def test_lists_are_taken():
    gram, learner = problem(0)
    units = np.arange(9) // 3
    found = fit_direct(gram.tolist(), learner.tolist(), 3, units=units.tolist())
    assert found.selected.tolist() == fit_direct(gram, learner, 3, units=units).selected.tolist()
