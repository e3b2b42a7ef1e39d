"""Native loss and gradient against finite differences of the loss in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import _native
from cerflearn.training import policy
from cerflearn.training.network import padded_scores
from oracle import training as oracle
from training_samples import (
    dense_parts,
    make_network,
    make_problem,
    native_gradient,
    random_network,
)

KINDS, LOSSES = ("cosine", "relu", "table"), ("squared", "logistic", "softmax")
N_ROWS = 70
STEP = 1e-6
PENALTIES = (0.1, 0.2, 0.3, 0.05, 0.15)

UNIT = 2.0**-24


def oracle_loss(network, problem, parameters, penalties=None):
    parts = dense_parts(network, parameters)
    X, weights = problem.X.astype(float), problem.weights.astype(float)
    scores = oracle.scores(network.kind, X, weights, parts)
    value = oracle.loss(problem.loss, scores, problem.targets.astype(float), weights)
    if penalties is not None:
        value += oracle.penalty(network.kind, parts, penalties)
    return value


def error_bound(network, problem):
    """Bound of the gradient's rounding error: number of roundings times size of the terms.

    A number of the gradient is a sum over rows of products of the gradient of the scores, of
    the head or the steepest slope of a table, and of an input over the projection's deviation.
    """
    parts = dense_parts(network)
    X, weights = problem.X.astype(float), problem.weights.astype(float)
    scores = oracle.scores(network.kind, X, weights, parts)
    if problem.loss == "softmax":
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores = powers / powers.sum(axis=1, keepdims=True)
    elif problem.loss == "logistic":
        scores = 1.0 / (1.0 + np.exp(-scores))
    by_score = (weights[:, None] * np.abs(scores - problem.targets)).sum() / len(X)
    steepest = np.abs(parts["heads"]).max() * max(1.0, np.abs(parts["scales"]).max())
    if network.kind == "table":
        per_unit = (network.n_knots - 1) / (2.0 * oracle.TABLE_END)
        steepest = per_unit * np.abs(np.diff(parts["heads"], axis=1)).max()
    deviation = min(np.sqrt(oracle.normalised(X @ w, weights)[2]) for w in parts["W"].T)
    size = by_score * max(1.0, steepest) * max(1.0, np.abs(X).max()) / min(1.0, deviation)
    n_roundings = problem.n_rows + network.n_scores + 2 * network.n_features + 30
    return n_roundings * UNIT * size


def checked_parameters(network, n_each=24):
    """Some parameters of every part, without the padding of tables."""
    used = np.ones(len(network.parameters), dtype=bool)
    ends = network.ends()
    if network.kind == "table":
        heads = used[ends[2] : ends[3]].reshape(-1, padded_scores(network.n_scores))
        heads[:, network.n_scores :] = False
    rng = np.random.default_rng(0)
    parts = [np.flatnonzero(part) for part in np.split(used, ends)]
    starts = np.concatenate([[0], ends])
    chosen = [rng.permutation(part)[:n_each] + s for part, s in zip(parts, starts, strict=True)]
    return np.concatenate(chosen)


def slopes(network, problem, index, penalties=None):
    found = []
    for i in index:
        values = []
        for sign in (1.0, -1.0):
            parameters = network.parameters.astype(float)
            parameters[i] += sign * STEP
            values.append(oracle_loss(network, problem, parameters, penalties))
        found.append((values[0] - values[1]) / (2.0 * STEP))
    return np.array(found)


@pytest.mark.parametrize("n_scores", [1, 3, 7, 10, 17])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_is_the_derivative_of_the_loss_on_every_level(kind, loss, n_scores):
    network = random_network(kind, n_scores)
    problem = make_problem(loss, N_ROWS, 5, n_scores)
    index = checked_parameters(network)
    expected = slopes(network, problem, index, PENALTIES)
    value = oracle_loss(network, problem, network.parameters)
    bound = error_bound(network, problem) + 4 * UNIT * np.abs(expected).max()
    for level in _native.levels():
        with _native.use_level(level):
            found, gradient, _ = native_gradient(network, problem, penalties=PENALTIES)
        assert found == pytest.approx(value, abs=bound)
        assert gradient[index] == pytest.approx(expected, abs=bound)


@pytest.mark.parametrize("n_inputs", [1, 3, 4, 9])
@pytest.mark.parametrize("n_components", [2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_features_that_read_the_same_inputs_have_their_gradient(kind, n_components, n_inputs):
    """They are taken two at a time, unless each also reads one of its own, with weight zero."""
    shared = np.zeros((n_inputs + n_components, n_components), dtype=bool)
    shared[:n_inputs] = True
    own = shared | (
        np.arange(n_inputs + n_components)[:, None] == n_inputs + np.arange(n_components)
    )
    problem = make_problem("softmax", N_ROWS, n_inputs + n_components, 3)
    linear = np.zeros((n_inputs + n_components, 3))
    together, apart = (make_network(kind, mask, linear) for mask in (shared, own))
    entries = apart.inputs < n_inputs
    for of, into in zip(together.parts(), apart.parts(), strict=True):
        if len(of) == len(into):
            into[:] = of
    apart.parts()[0][entries] = together.parts()[0]
    apart.parts()[0][~entries] = 0.0
    bound = error_bound(together, problem)
    for level in _native.levels():
        with _native.use_level(level):
            (value, found, _), (expected, gradient, _) = (
                native_gradient(network, problem) for network in (together, apart)
            )
        assert value == pytest.approx(expected, abs=bound)
        parts = apart.parts(gradient)
        for part, other in zip(together.parts(found), [parts[0][entries], *parts[1:]], strict=True):
            assert part == pytest.approx(other, abs=bound)


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_each_penalty_shrinks_its_own_part_alone(kind, part):
    network, problem = random_network(kind, 3), make_problem("squared", N_ROWS, 5, 3)
    rates = np.zeros(5)
    rates[part] = 0.5
    _, free, _ = native_gradient(network, problem)
    _, penalised, _ = native_gradient(network, problem, penalties=rates)
    pull = network.parts(penalised.astype(float) - free)
    place = {0: 0, 1: 1, 2: 3, 3: 3, 4: 4}[part]
    for i, difference in enumerate(pull):
        if i != place:
            np.testing.assert_array_equal(difference, 0.0)
    parts = dense_parts(network)
    heads = parts["heads"]
    if part == 3 and kind != "table":
        np.testing.assert_array_equal(pull[3], 0.0)
        return
    if part == 3:
        n = network.n_knots
        second = np.eye(n)[2:] - 2.0 * np.eye(n)[1:-1] + np.eye(n)[:-2]
        expected = 0.5 * np.einsum("mn,kno->kmo", second.T @ second, heads)
    elif part == 2:
        expected = 0.5 * heads / (network.n_knots if kind == "table" else 1)
    else:
        expected = 0.5 * network.parts()[place].astype(float)
    found = pull[place]
    if kind == "table" and place == 3:
        found = found.reshape(network.n_components, network.n_knots, -1)[:, :, :3]
    size = float(np.abs(free).max() + 16 * np.abs(network.parameters).max())
    assert found == pytest.approx(expected, abs=8 * UNIT * size)


def test_offsets_and_biases_are_never_penalised():
    for kind in KINDS:
        network, problem = random_network(kind, 3), make_problem("softmax", N_ROWS, 5, 3)
        _, free, _ = native_gradient(network, problem)
        _, penalised, _ = native_gradient(network, problem, penalties=[9.0] * 5)
        before, after = network.parts(free), network.parts(penalised)
        np.testing.assert_array_equal(after[2], before[2])
        np.testing.assert_array_equal(after[5], before[5])


@pytest.mark.parametrize("n_scores", [1, 3, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_two_counts_as_two_rows(kind, n_scores):
    network = random_network(kind, n_scores)
    problem = make_problem("squared", 40, 5, n_scores)
    problem.weights[:] = 1.0
    twice = np.concatenate([np.arange(40), np.arange(11)])
    value, gradient, moments = native_gradient(network, problem, order=twice)
    problem.weights[:11] = 2.0
    other_value, other, other_moments = native_gradient(network, problem)
    # The mean is over the rows that are given: 51 and 40.
    bound = error_bound(network, problem)
    assert other_value * 40 / 51 == pytest.approx(value, abs=bound)
    assert other * (40 / 51) == pytest.approx(gradient, abs=bound)
    assert other_moments.means == pytest.approx(moments.means, abs=bound)
    assert other_moments.variances == pytest.approx(moments.variances, abs=bound)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_size_ignore_their_padding(kind, n_rows):
    # The bias is far from zero: scores of rows of zeros would have a loss.
    network, problem = random_network(kind, 3), make_problem("squared", n_rows, 5, 3)
    network.parts()[5][:] = 50.0
    value, gradient, _ = native_gradient(network, problem, moment_rate=0.0)
    X, moments = problem.X.astype(float), (np.zeros(3), np.ones(3))
    scores = oracle.scores(kind, X, problem.weights, dense_parts(network), moments)
    expected = oracle.loss("squared", scores, problem.targets.astype(float), problem.weights)
    assert value == pytest.approx(expected, rel=100 * UNIT)
    by_score = problem.weights[:, None] * (scores - problem.targets) / n_rows
    size = float(np.abs(by_score).sum())
    assert network.parts(gradient)[5] == pytest.approx(
        by_score.sum(axis=0), abs=(n_rows + 20) * UNIT * size
    )
    linear = (X.T @ by_score)[network.linear_inputs, network.scores_of_linear()]
    assert network.parts(gradient)[4] == pytest.approx(
        linear, abs=(n_rows + 20) * UNIT * 1.5 * size
    )


def test_only_the_rows_of_the_order_matter():
    network, problem = random_network("table", 3), make_problem("softmax", N_ROWS, 5, 3)
    order = np.array([5, 3, 69, 3])
    expected = native_gradient(network, problem, order=order)
    others = np.setdiff1d(np.arange(N_ROWS), order)
    problem.X[others], problem.targets[others] = 7.0, 0.5
    found = native_gradient(network, problem, order=order)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("kind", KINDS)
def test_repeated_calls_give_the_same_bits(kind):
    for n_scores in (1, 3, 10):
        network, problem = random_network(kind, n_scores), make_problem("squared", 200, 5, n_scores)
        first, second = native_gradient(network, problem), native_gradient(network, problem)
        assert first[0] == second[0]
        assert first[1].tobytes() == second[1].tobytes()


def test_huge_scores_have_a_finite_loss_and_gradient():
    for loss in ("logistic", "softmax"):
        network, problem = random_network("relu", 3), make_problem(loss, N_ROWS, 5, 3)
        network.parts()[5][:] = (1e4, -1e4, 300.0)
        value, gradient, _ = native_gradient(network, problem)
        assert value == pytest.approx(oracle_loss(network, problem, network.parameters), rel=1e-5)
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_running_moments_clamp_values_beyond_the_span_of_a_table(rate):
    network = make_network("table", [[True, False], [True, True]], np.zeros((2, 1)))
    network.means[:], network.variances[:] = (0.3, -0.1), (0.5, 2.0)
    problem = make_problem("squared", 150, 2, 1)
    problem.X[::10] *= 40.0  # far beyond three deviations
    _, _, changed = native_gradient(network, problem, moment_rate=rate)
    for k in range(2):
        z = problem.X.astype(float) @ dense_parts(network)["W"][:, k]
        mean, variance = float(network.means[k]), float(network.variances[k])
        expected = oracle.clamped_moments(z, problem.weights, mean, variance, rate)
        plain = oracle.clamped_moments(z, problem.weights, mean, 1e6, rate)
        assert changed.means[k] == pytest.approx(expected[0], abs=200 * UNIT * 5)
        assert changed.variances[k] == pytest.approx(expected[1], abs=200 * UNIT * 25)
        assert plain[1] > 2.0 * expected[1]  # clamping matters here


@pytest.mark.parametrize("kind", ["cosine", "relu", "table"])
def test_running_variances_of_nearly_constant_projections_vanish_but_for_relu(kind):
    network = make_network(kind, [[True]], np.zeros((1, 1)))
    problem = make_problem("squared", 200, 1, 1)
    problem.X[:], problem.X[:3] = 0.0, 20.0  # three rows of 200 differ
    least = policy.LEAST_CLAMPED if kind == "relu" else 0.0
    for _ in range(40):
        z = problem.X.astype(float) @ dense_parts(network)["W"][:, 0]
        mean, variance = float(network.means[0]), float(network.variances[0])
        expected = oracle.clamped_moments(z, problem.weights, mean, variance, 0.5, least=least)
        _, _, network = native_gradient(network, problem, moment_rate=0.5)
        assert network.means[0] == pytest.approx(expected[0], abs=1e-4)
        assert network.variances[0] == pytest.approx(expected[1], rel=1e-3, abs=1e-6)
    share = float(network.variances[0]) / np.average((z - z.mean()) ** 2)
    assert 0.9 * least < share < 1.2 * least if kind == "relu" else share < 1e-5
