"""Losses against their formulas and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cerflearn.training.scores import cross_entropy, logistic, squared_error


def problem(seed, loss):
    rng = np.random.default_rng(seed)
    n_scores = 1 if loss is logistic else 4
    scores = rng.normal(scale=3.0, size=(6, n_scores))
    targets = rng.uniform(size=(6, n_scores))
    if loss is cross_entropy:
        targets /= targets.sum(axis=1, keepdims=True)
    weights = rng.uniform(0.1, 1.0, 6)
    return scores, targets, weights / weights.sum()


def slow_value(loss, scores, targets, weights):
    total = 0.0
    for score, target, weight in zip(scores, targets, weights, strict=True):
        if loss is squared_error:
            total += weight * 0.5 * sum((s - t) ** 2 for s, t in zip(score, target, strict=True))
        elif loss is logistic:
            p = 1.0 / (1.0 + np.exp(-score[0]))
            total -= weight * (target[0] * np.log(p) + (1 - target[0]) * np.log(1 - p))
        else:
            p = np.exp(score) / np.exp(score).sum()
            total -= weight * sum(t * np.log(q) for t, q in zip(target, p, strict=True))
    return total


@pytest.mark.parametrize("loss", [cross_entropy, logistic, squared_error])
@given(seed=st.integers(0, 10_000))
def test_value_is_the_formula_and_gradient_its_derivative(loss, seed):
    scores, targets, weights = problem(seed, loss)
    value, gradient = loss(scores, targets, weights)
    assert value == pytest.approx(slow_value(loss, scores, targets, weights), rel=1e-9)
    step = 1e-5
    for index in np.ndindex(scores.shape):
        up, down = scores.copy(), scores.copy()
        up[index] += step
        down[index] -= step
        slope = (loss(up, targets, weights)[0] - loss(down, targets, weights)[0]) / (2 * step)
        assert gradient[index] == pytest.approx(slope, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("loss", [cross_entropy, logistic])
def test_huge_scores_neither_overflow_nor_warn(loss):
    scores, targets, weights = problem(0, loss)
    value, gradient = loss((1e4 * scores).astype(np.float32), targets.astype(np.float32), weights)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
