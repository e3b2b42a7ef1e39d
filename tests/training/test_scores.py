"""Temperature scaling and probabilities of scores."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.training.scores import (
    LOSSES,
    fit_inverse_temperature,
    log_probabilities,
    losses_of_rows,
    probabilities,
    score_bounds,
    score_targets,
    smoothed_targets,
)

RNG = np.random.default_rng(0)


def test_scores_become_probabilities_and_a_low_temperature_makes_them_certain():
    scores = RNG.uniform(size=(20, 5))
    soft, sharp = (probabilities(scores, factor, "multiclass") for factor in (1.0, 10.0))
    assert soft.sum(axis=1) == pytest.approx(1.0)
    assert (soft.max(axis=1) < sharp.max(axis=1)).all()
    assert np.array_equal(soft.argmax(axis=1), scores.argmax(axis=1))
    odds = score_targets(np.array([[0.0], [0.5], [1.0]]), "binary")
    single = probabilities(odds, 4.0, "binary").ravel()
    assert single == pytest.approx([1 / (1 + np.e**4), 0.5, 1 / (1 + np.e**-4)])


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel"])
def test_logarithms_are_those_of_the_probabilities_and_finite(kind):
    scores = 5.0 * RNG.normal(size=(30, 1 if kind == "binary" else 4))
    expected = np.log(probabilities(scores, 2.0, kind))
    assert log_probabilities(scores, 2.0, kind) == pytest.approx(expected, rel=1e-9)
    assert np.isfinite(log_probabilities(1e5 * scores, 1.0, kind)).all()
    assert np.isfinite(probabilities(1e5 * scores, 1.0, kind)).all()


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel"])
def test_the_temperature_of_scores_that_are_too_small_is_found(kind):
    rng = np.random.default_rng(1)
    logits = rng.normal(scale=2.0, size=(4_000, 1 if kind == "binary" else 4))
    if kind == "multiclass":
        gumbel = rng.gumbel(size=logits.shape)
        targets = np.eye(4)[(logits + gumbel).argmax(axis=1)]
    else:
        targets = (rng.uniform(size=logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    weights = np.full(4_000, 1 / 4_000)
    found = fit_inverse_temperature(logits / 3.0, targets, weights, kind)
    assert found == pytest.approx(3.0, rel=0.1)
    grid = (0.5, 2.0, 3.0, 4.5)
    assert fit_inverse_temperature(logits / 3.0, targets, weights, kind, grid) == 3.0


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel", "regression"])
def test_losses_of_rows_have_the_weighted_loss_as_their_mean(kind):
    n_scores = 1 if kind == "binary" else 3
    scores = RNG.normal(size=(40, n_scores))
    targets = RNG.integers(2, size=(40, n_scores)).astype(float)
    if kind == "multiclass":
        targets = np.eye(3)[RNG.integers(3, size=40)]
    weights = RNG.uniform(0.5, 1.5, size=40)
    weights /= weights.sum()
    expected = LOSSES[kind](scores, targets, weights)[0]
    assert weights @ losses_of_rows(scores, targets, kind) == pytest.approx(expected)


def test_bounds_are_the_range_and_a_tenth_and_constants_bound_nothing():
    targets = np.array([[0.0, 5.0, -1e308], [10.0, 5.0, 1e308], [4.0, 5.0, 0.0]])
    low, high = score_bounds(targets)
    np.testing.assert_array_equal(low, [-1.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(high, [11.0, np.inf, np.inf])


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_no_error_among_few_rows_does_not_make_probabilities_certain(kind):
    n_rows, n_classes = 20, 2 if kind == "binary" else 4
    classes = np.arange(n_rows) % n_classes
    targets = classes[:, None] * 1.0 if kind == "binary" else np.eye(n_classes)[classes]
    weights = np.full(n_rows, 1 / n_rows)
    scores = 2.0 * targets - 1.0  # all right, all equally sure
    factor = fit_inverse_temperature(scores, smoothed_targets(targets, kind), weights, kind)
    proba = probabilities(scores, factor, kind)
    expected = (n_rows + 1) / (n_rows + n_classes)
    assert proba.max() == pytest.approx(expected, rel=1e-3)
    assert fit_inverse_temperature(scores, targets, weights, kind) > 3.0 * factor
