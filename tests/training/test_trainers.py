"""L-BFGS and mini-batches: they learn, prune to the budget, and repeat themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from cerflearn.training.adam import MiniBatches, train_mini_batches
from cerflearn.training.lbfgs import (
    FREQUENCY_SHARE,
    FullBatches,
    minimise_lbfgs,
    train_full_batches,
)
from cerflearn.training.network import Problem, Workers, loss_and_gradient
from cerflearn.training.pruning import Budget
from cerflearn.training.scores import cross_entropy, logistic
from cerflearn.training.train import draw_cosine_network, draw_relu_network


def product_problem(n_samples=600, seed=0):
    """Twelve inputs, of which the sign of a product of two matters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 12))
    y = (X[:, 3] * X[:, 7] > 0).astype(np.float64)[:, None]
    weights = np.full(n_samples, 1.0 / n_samples, dtype=np.float32)
    problem = Problem(X.astype(np.float32), y.astype(np.float32), weights, logistic)
    mask = np.ones((12, 20), dtype=bool)
    return problem, draw_cosine_network(X, 2.0 * y - 1.0, mask, 0.02, np.random.default_rng(seed))


def accuracy(network, seed=1):
    problem, _ = product_problem(seed=seed)
    return float(((network.scores(problem.X) > 0) == (problem.targets > 0.5)).mean())


def lbfgs(problem, start, workers, budget, share=1.0):
    options = FullBatches(alpha=1e-3, last_alpha_share=share)
    return train_full_batches(problem, start, options, workers, budget=budget)


def adam(problem, start, workers, budget, share=1.0):
    options = MiniBatches(n_steps=800, batch_size=128, learning_rate=1e-2, last_alpha_share=share)
    return train_mini_batches(
        problem, start, options, np.random.default_rng(0), workers, budget=budget
    )


TRAINERS = {"lbfgs": lbfgs, "adam": adam}


@pytest.mark.parametrize("activation", ["cosine", "relu"])
@pytest.mark.parametrize("name", TRAINERS)
def test_pruned_networks_stay_within_budget_and_find_the_inputs_that_matter(name, activation):
    problem, start = product_problem()
    if activation == "relu":
        start = draw_relu_network(start.mask, 1, np.random.default_rng(0))
    budget = Budget(macs=80, n_scores=1)
    with Workers(1) as workers:
        network = TRAINERS[name](problem, start, workers, budget)
    assert network.activation == activation
    assert network.without_empty().n_macs <= 80
    assert not network.frequencies[~network.mask].any()
    assert accuracy(network) > 0.9  # the dense network that it starts from is at chance
    assert set(np.argsort(network.mask.sum(axis=1))[-2:]) == {3, 7}


@pytest.mark.parametrize("name", TRAINERS)
def test_a_mask_is_kept_without_a_budget(name):
    problem, start = product_problem()
    mask = np.random.default_rng(3).uniform(size=start.mask.shape) < 0.4
    start = draw_cosine_network(
        problem.X.astype(np.float64), problem.targets, mask, 0.02, np.random.default_rng(0)
    )
    with Workers(1) as workers:
        network = TRAINERS[name](problem, start, workers, None)
    assert np.array_equal(network.mask, mask)
    assert not network.frequencies[~mask].any()


@pytest.mark.parametrize("name", TRAINERS)
def test_bits_do_not_depend_on_threads(name):
    problem, start = product_problem(n_samples=2_500)
    found = []
    for n_threads in (1, 2):
        with Workers(n_threads) as workers:
            found.append(TRAINERS[name](problem, start, workers, Budget(80, 1)))
    assert np.array_equal(found[0].frequencies, found[1].frequencies)
    assert np.array_equal(found[0].head, found[1].head)


@pytest.mark.parametrize("name", TRAINERS)
def test_a_smaller_alpha_at_the_end_fits_closer_with_the_same_mask(name):
    problem, start = product_problem()
    with Workers(1) as workers:
        usual, closer = (
            TRAINERS[name](problem, start, workers, Budget(80, 1), share) for share in (1.0, 0.03)
        )
    assert np.array_equal(usual.mask, closer.mask)
    losses = [
        problem.loss(network.scores(problem.X), problem.targets, problem.weights)[0]
        for network in (usual, closer)
    ]
    assert losses[1] < losses[0]


def test_lbfgs_minimises_loss_plus_penalties():
    problem, start = product_problem(200)
    alpha = 1e-2
    with Workers(1) as workers:
        network, value = minimise_lbfgs(problem, start, 2_000, alpha, workers)

        def objective(network):
            parameters = tuple(
                np.asarray(a, dtype=np.float32)
                for a in (network.frequencies, network.offsets, network.head, network.bias)
            )
            loss = loss_and_gradient(problem, parameters, workers)
            squares = (network.head**2).sum() + FREQUENCY_SHARE * (network.frequencies**2).sum()
            by_head = loss.head + alpha * network.head
            by_frequencies = loss.frequencies + FREQUENCY_SHARE * alpha * network.frequencies
            return loss.value + 0.5 * alpha * squares, by_head, by_frequencies

        before, after = objective(start), objective(network)
    assert after[0] < before[0]
    assert value == pytest.approx(after[0], rel=1e-5)
    assert np.abs(after[1]).max() < 2e-3  # single precision; at the start .1 and more
    assert np.abs(after[2]).max() < 2e-3
    assert np.abs(before[1]).max() > 1e-2


def test_early_stopping_returns_the_best_network_seen():
    problem, start = product_problem()
    losses, kept = [], []

    def loss(scores, targets, weights):
        del targets, weights
        losses.append(-len(losses) if len(losses) < 3 else 5.0)
        kept.append(scores.copy())
        return float(losses[-1]), scores

    held_out = Problem(problem.X[:50], problem.targets[:50], problem.weights[:50], loss)
    with Workers(1) as workers:
        network = train_mini_batches(
            problem,
            start,
            MiniBatches(n_steps=200),
            np.random.default_rng(0),
            workers,
            budget=Budget(80, 1),
            held_out=held_out,
        )
    assert len(losses) > 4
    assert np.array_equal(network.scores(held_out.X), kept[2])


def test_cross_entropy_of_a_batch_is_that_of_its_rows():
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(size=(4, 3)), np.eye(3)[[0, 1, 2, 0]]
    error = check_grad(
        lambda s: cross_entropy(s.reshape(4, 3), targets, np.full(4, 0.25))[0],
        lambda s: cross_entropy(s.reshape(4, 3), targets, np.full(4, 0.25))[1].ravel(),
        scores.ravel(),
    )
    assert error < 1e-6
