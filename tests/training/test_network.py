"""Gradient of a network, and how it is summed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn.training.network import (
    GRADIENT_BLOCK_ROWS,
    FeatureNetwork,
    Problem,
    Workers,
    loss_and_gradient,
)
from cerflearn.training.scores import cross_entropy, squared_error
from cerflearn.training.train import draw_cosine_network, draw_relu_network

RNG = np.random.default_rng(0)


def make_problem(n_samples, loss=cross_entropy):
    X = RNG.normal(size=(n_samples, 5)).astype(np.float32)
    targets = np.eye(3, dtype=np.float32)[RNG.integers(3, size=n_samples)]
    weights = RNG.uniform(0.5, 1.0, n_samples)
    return Problem(X, targets, (weights / weights.sum()).astype(np.float32), loss)


def arrays(dtype=np.float32):
    shapes = ((5, 7), (7,), (7, 3), (3,))
    return tuple(RNG.normal(size=shape).astype(dtype) for shape in shapes)


@pytest.mark.parametrize("activation", ["cosine", "relu"])
@pytest.mark.parametrize("loss", [cross_entropy, squared_error])
def test_gradient_is_the_derivative_of_the_loss(loss, activation):
    single = make_problem(40, loss)
    problem = Problem(
        *(a.astype(np.float64) for a in (single.X, single.targets, single.weights)), loss
    )
    values = arrays(np.float64)
    with Workers(1) as workers:
        gradient = loss_and_gradient(problem, values, workers, activation=activation)
        slopes = (gradient.frequencies, gradient.offsets, gradient.head, gradient.bias)
        for array, slope in zip(values, slopes, strict=True):
            for index in list(np.ndindex(array.shape))[::4]:
                kept = array[index]
                array[index] = kept + 1e-5
                up = loss_and_gradient(problem, values, workers, activation=activation).value
                array[index] = kept - 1e-5
                down = loss_and_gradient(problem, values, workers, activation=activation).value
                array[index] = kept
                assert slope[index] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-8)


def test_bits_do_not_depend_on_the_threads():
    problem, values = make_problem(3 * GRADIENT_BLOCK_ROWS + 17), arrays()
    rows = RNG.permutation(problem.n_samples)
    results = []
    for n_threads in (1, 2, 3):
        with Workers(n_threads) as workers:
            results.append(loss_and_gradient(problem, values, workers, rows))
    for other in results[1:]:
        assert other.value == results[0].value
        assert np.array_equal(other.frequencies, results[0].frequencies)
        assert np.array_equal(other.head, results[0].head)


def test_blocks_add_up_to_the_whole():
    problem, values = make_problem(2 * GRADIENT_BLOCK_ROWS + 5), arrays()
    with Workers(1) as workers:
        whole = loss_and_gradient(problem, values, workers)
        halves = [
            loss_and_gradient(problem, values, workers, rows)
            for rows in np.array_split(np.arange(problem.n_samples), 2)
        ]
    assert whole.value == pytest.approx(sum(half.value for half in halves), rel=1e-5)
    assert whole.head == pytest.approx(sum(half.head for half in halves), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("activation", ["cosine", "relu"])
def test_features_that_read_nothing_go_to_the_bias(activation):
    mask = np.ones((5, 4), dtype=bool)
    mask[:, 1] = False
    X = RNG.normal(size=(30, 5))
    network = draw_cosine_network(X, RNG.normal(size=(30, 2)), mask, 0.1, np.random.default_rng(1))
    network = replace(network, activation=activation)
    smaller = network.without_empty()
    assert smaller.head.shape == (3, 2)
    assert smaller.n_macs == 15 + 6
    assert smaller.scores(X) == pytest.approx(network.scores(X), rel=1e-12)


def test_a_network_that_reads_nothing_keeps_one_feature():
    zeros = np.zeros((5, 2))
    network = FeatureNetwork(zeros, np.ones(2), np.ones((2, 1)), np.zeros(1), zeros.astype(bool))
    smaller = network.without_empty()
    assert smaller.head.shape == (1, 1)
    assert smaller.scores(np.ones((1, 5))) == pytest.approx(network.scores(np.ones((1, 5))))


def test_relu_features_are_drawn_so_that_sizes_stay():
    rng = np.random.default_rng(2)
    mask = np.ones((50, 2000), dtype=bool)
    mask[20:, ::2] = False
    network = draw_relu_network(mask, 3, rng)
    assert network.activation == "relu"
    assert not network.frequencies[~mask].any()
    features = network.features(rng.normal(size=(2_000, 50)))
    assert (features >= 0.0).all()
    # Inputs of variance one: E max(t, 0)^2 = var(t) / 2 = 1, whatever the mask.
    assert np.square(features[:, ::2]).mean() == pytest.approx(1.0, rel=0.05)
    assert np.square(features[:, 1::2]).mean() == pytest.approx(1.0, rel=0.05)
    phases = np.ones((1, 50)) @ network.frequencies + network.offsets
    expected = np.maximum(phases, 0.0) @ network.head + network.bias
    assert network.scores(np.ones((1, 50))) == pytest.approx(expected)
