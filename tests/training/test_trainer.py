"""Training of one network: it learns, is pruned on the way, stops early, and repeats itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn.training import policy
from cerflearn.training.inputs import column_deviations
from cerflearn.training.pruning import Budget, input_importances
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.start import set_moments
from cerflearn.training.task import problem_of
from cerflearn.training.trainer import (
    learning_rates,
    penalties_of,
    pruning_schedule,
    train_network,
)
from training_samples import make_problem, native_gradient

SETTINGS = TrainingSettings("table", 4, 3e-3)
BUDGET = Budget(16, 1)


def step_problem(n_rows=1000, n_features=11, seed=0):
    """The sign of one of eleven inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return problem_of("regression", X, np.sign(X[:, 3:4]), np.ones(n_rows))


def train(problem, settings=SETTINGS, budget=BUDGET, n_steps=600, seed=0, usable=None, **options):
    n_features, n_scores = problem.X.shape[1], problem.targets.shape[1]
    usable = np.ones(n_features, dtype=bool) if usable is None else usable
    rng = np.random.default_rng(seed)
    bias = np.zeros(n_scores)
    return train_network(problem, settings, budget, usable, bias, n_steps, rng, **options)


def r2(network, problem):
    error = np.square(network.scores(problem.X) - problem.targets).mean()
    return 1.0 - error / problem.targets.var()


def test_a_step_of_one_input_among_noise_is_found_within_few_operations():
    network = train(step_problem())
    assert network.n_macs <= 16
    assert 3 in network.inputs
    # The best linear model has 2 / pi = .64.
    assert r2(network, step_problem(seed=1)) > 0.85


@pytest.mark.parametrize(("macs", "most"), [(None, 16), (9, 9), (50, 16)])
def test_a_network_may_use_a_part_of_the_budget_only(macs, most):
    problem = make_problem("squared", n_rows=200, n_features=12, n_scores=1)
    network = train(problem, replace(SETTINGS, macs=macs), n_steps=60)
    assert most - 1 <= network.n_macs <= most


@pytest.mark.parametrize("kind", ["cosine", "relu", "table"])
def test_a_product_of_two_inputs_among_noise_is_learned_within_the_budget(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 12))
    y = (X[:, 3] * X[:, 7] > 0).astype(float)[:, None]
    problem = problem_of("binary", X, y, np.ones(1500))
    settings = TrainingSettings(kind, 12, 1e-3)
    network = train(problem, settings, Budget(40, 1), n_steps=1500)
    assert network.n_macs <= 40
    shares = input_importances(network, problem.X, column_deviations(problem.X))
    assert shares[[3, 7]].sum() > 0.8
    assert ((network.scores(problem.X) > 0.0) == (y > 0.5)).mean() > 0.9


@pytest.mark.parametrize(("group_size", "features_per_mask"), [(4, 1), (1, 2), (2, 2)])
def test_blocks_of_inputs_stay_whole(group_size, features_per_mask):
    budget = Budget(40, 1, group_size, features_per_mask)
    network = train(step_problem(), TrainingSettings("relu", 8, 1e-3), budget, 300)
    assert network.n_macs <= 40
    mask = network.weight_matrix().toarray() != 0.0
    for start in range(0, 11, group_size):
        block = mask[start : start + group_size]
        assert (block.all(axis=0) | ~block.any(axis=0)).all()
    for first in range(0, mask.shape[1], features_per_mask):
        shared = mask[:, first : first + features_per_mask]
        assert (shared == shared[:, :1]).all()


def test_inputs_that_may_not_be_read_are_not_read():
    usable = np.arange(11) != 3
    settings = replace(SETTINGS, linear_part=True)
    network = train(step_problem(), settings, n_steps=100, usable=usable)
    assert 3 not in network.inputs
    assert 3 not in network.linear_inputs


def test_operations_fall_by_equal_ratios_and_end_at_the_budget():
    marks, costs = pruning_schedule(1000, 10, 1200)
    assert marks == sorted(marks)
    assert marks[0] == pytest.approx(1200 * policy.PRUNING_SPAN[0], abs=1)
    assert marks[-1] < 1200 * policy.PRUNING_SPAN[1]
    assert costs[-1] == 10
    assert len(costs) == len(marks) == policy.N_PRUNINGS
    ratios = np.array(costs) / np.array([1000, *costs[:-1]])
    assert ratios == pytest.approx(100 ** (-1 / policy.N_PRUNINGS), abs=0.06)
    assert pruning_schedule(10, 10, 1200) == ([], [])
    assert pruning_schedule(9, 10, 1200) == ([], [])


def test_too_many_bytes_are_pruned_though_operations_fit():
    def count_bytes(n_entries, n_components, n_linear, n_bins):
        return n_entries + n_components * (n_bins or 1)

    budget = Budget(1000, 1, max_bytes=50, count_bytes=count_bytes)
    settings = replace(SETTINGS, n_bins=16)
    network = train(step_problem(), settings, budget, 100)
    assert count_bytes(len(network.inputs), network.n_components, 0, 16) <= 50


class RecordedLoss:
    """Gives prepared losses, and keeps the networks it was asked about."""

    def __init__(self, values):
        self.values, self.seen, self.bits = list(values), [], []

    def __call__(self, network):
        self.seen.append(network)
        self.bits.append(network.parameters.tobytes())
        return self.values[len(self.seen) - 1]


@pytest.mark.parametrize("best", [0, 2, 7])
def test_early_stopping_returns_the_network_with_the_least_loss(best):
    values = [5.0, 4.0, 6.0, 3.0, 9.0, 8.0, 7.0, 3.5]
    values[best] = 1.0
    loss = RecordedLoss(values)
    network = train(step_problem(), n_steps=200, held_out_loss=loss)
    assert len(loss.seen) == policy.EARLY_STOPPING_CHECKS == 8
    assert network is loss.seen[best]
    # It has not been trained on since.
    assert network.parameters.tobytes() == loss.bits[best]
    assert len(set(loss.bits)) == 8


def test_networks_that_are_compared_are_pruned_and_normalised():
    problem, loss = step_problem(), RecordedLoss(np.arange(8.0))
    train(problem, n_steps=200, held_out_loss=loss)
    for network in loss.seen:
        assert network.n_macs <= 16
        again = network.copy()
        set_moments(again, problem.X, problem.weights)
        np.testing.assert_array_equal(again.means, network.means)
    assert [network.n_steps for network in loss.seen] == sorted({n.n_steps for n in loss.seen})
    assert loss.seen[-1].n_steps == 200


def test_the_last_network_is_that_of_training_without_checks():
    loss = RecordedLoss([*range(8, 1, -1), 0.5])
    checked = train(step_problem(), n_steps=200, held_out_loss=loss)
    plain = train(step_problem(), n_steps=200)
    assert checked.parameters.tobytes() == plain.parameters.tobytes()
    assert checked.means.tobytes() == plain.means.tobytes()


def test_losses_that_are_not_numbers_never_win_and_some_network_is_returned():
    loss = RecordedLoss([np.nan, 4.0, np.nan, 5.0, *[np.nan] * 4])
    assert train(step_problem(), n_steps=200, held_out_loss=loss) is loss.seen[1]
    loss = RecordedLoss([np.nan] * 8)
    network = train(step_problem(), n_steps=200, held_out_loss=loss)
    assert network is loss.seen[-1]


def test_few_steps_can_be_checked_too():
    network = train(step_problem(), n_steps=3, held_out_loss=RecordedLoss(range(8)))
    assert network.n_macs <= 16


def test_training_on_keeps_the_mask_and_takes_fewer_steps():
    start = train(step_problem(), n_steps=300)
    before = start.parameters.copy()
    network = train(step_problem(seed=2), n_steps=300, start=start)
    np.testing.assert_array_equal(network.inputs, start.inputs)
    np.testing.assert_array_equal(network.pointers, start.pointers)
    assert network.n_steps == 100
    assert (network.parameters != before).any()
    np.testing.assert_array_equal(start.parameters, before)
    other = train(step_problem(seed=2), n_steps=300, start=start, seed=1)
    assert other.parameters.tobytes() != network.parameters.tobytes()


def test_a_start_with_early_stopping_is_compared():
    start = train(step_problem(), n_steps=300)
    loss = RecordedLoss(np.arange(8.0)[::-1])
    network = train(step_problem(), n_steps=300, start=start, held_out_loss=loss)
    assert network is loss.seen[-1]
    np.testing.assert_array_equal(network.inputs, start.inputs)


def test_the_same_seed_gives_the_same_bits():
    first, second = (train(step_problem(), n_steps=150) for _ in range(2))
    other = train(step_problem(), n_steps=150, seed=1)
    for name in ("parameters", "means", "variances", "inputs"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    assert other.parameters.tobytes() != first.parameters.tobytes()


def test_moments_at_the_end_are_those_of_all_rows():
    problem = step_problem()
    network = train(problem, n_steps=150)
    again = network.copy()
    set_moments(again, problem.X, problem.weights)
    np.testing.assert_array_equal(network.means, again.means)
    np.testing.assert_array_equal(network.variances, again.variances)


def test_progress_is_reported_up_to_the_end():
    told = []
    train(step_problem(), n_steps=150, on_progress=lambda share, loss: told.append((share, loss)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) == policy.N_PRUNINGS + 1
    assert told[-1][1] < told[0][1]


def test_rates_rise_to_the_highest_and_fall_to_zero():
    rates = learning_rates(1000, 0.02)
    assert rates.max() == pytest.approx(0.02, rel=0.01)
    assert rates.argmax() in range(15, 25)
    assert rates[0] == pytest.approx(0.02 / 20, rel=0.01)
    assert rates[-1] < 1e-3 * 0.02
    assert (np.diff(rates[25:]) < 0.0).all()
    assert (learning_rates(1, 0.02) > 0.0).all()


def test_deviations_are_those_of_each_input():
    X = make_problem("squared", 500, 4, 1).X * np.array([1, 10, 100, 0], dtype=np.float32)
    assert column_deviations(X) == pytest.approx(X.astype(float).std(axis=0), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "variance"), [("cosine", 0.5), ("relu", 0.5 - 0.5 / np.pi), ("table", 1.0)]
)
def test_penalties_are_alpha_in_units_of_a_features_variance(kind, variance):
    settings = TrainingSettings(kind, 4, 0.01)
    weights, scales, heads, curvature, linear = penalties_of(settings, 1000)
    assert heads == pytest.approx(0.01 * variance, rel=0.01)
    assert weights == pytest.approx(policy.WEIGHT_ROWS / 1000 * heads, rel=1e-6)
    # Its share falls with the rows, as that of a prior.
    assert penalties_of(settings, 4000)[0] == pytest.approx(weights / 4, rel=1e-6)
    assert 0.0 < linear < heads
    assert (scales > 0.0) == (kind == "cosine")
    assert (curvature > 0.0) == (kind == "table")


def test_a_linear_model_is_trained_to_ridge_regression():
    problem = make_problem("squared", 200, 6, 2)
    problem.weights[:] /= problem.weights.mean()
    alpha = 0.5
    settings = TrainingSettings("table", 0, alpha, linear_part=True)
    network = train(problem, settings, Budget(12, 2), n_steps=1500)
    X, w = problem.X.astype(float), problem.weights.astype(float) / 200
    Xc, tc = X - w @ X, problem.targets - w @ problem.targets
    gram, cross = (Xc.T * w) @ Xc, (Xc.T * w) @ tc
    ridge = policy.LINEAR_SHARE * alpha
    expected = np.linalg.solve(gram + ridge * np.eye(6), cross)
    found = network.parts()[4].reshape(2, 6).T
    size = np.abs(expected).max()
    assert found == pytest.approx(expected, abs=0.01 * size)
    # A penalty that is half or twice as large gives something else.
    for factor in (0.5, 2.0):
        other = np.linalg.solve(gram + factor * ridge * np.eye(6), cross)
        assert np.abs(other - expected).max() > 0.01 * size


@pytest.mark.parametrize(("kind", "variance"), [("cosine", 0.5), ("relu", 0.34), ("table", 1.0)])
def test_the_loss_and_the_penalty_of_the_heads_pull_equally_at_the_end(kind, variance):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, size=(200, 3))
    problem = problem_of("regression", X, np.sin(3.0 * X[:, :1]) + X[:, :1], np.ones(200))
    alpha = 0.1
    network = train(problem, TrainingSettings(kind, 3, alpha), Budget(100, 1), n_steps=4000)
    heads = network.parts()[3].astype(float)
    pull = -network.parts(native_gradient(network, problem, moment_rate=0.0)[1])[3].astype(float)
    if kind == "table":
        # The penalty of second differences does not pull at slopes.
        knots = np.linspace(-1.0, 1.0, network.n_knots)
        pull, heads = network.n_knots * (pull @ knots), heads @ knots
    rate = float((pull * heads).sum() / (heads * heads).sum())
    assert rate == pytest.approx(variance * alpha, rel=0.1)
