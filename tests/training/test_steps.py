"""Native steps of Adam, scores, and refusals, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn import _native
from oracle import training as oracle
from training_samples import (
    dense_parts,
    make_problem,
    native_gradient,
    native_options,
    random_network,
)

KINDS = ("cosine", "relu", "table")
UNIT = 2.0**-24


@pytest.mark.parametrize("decay", [0.99, 0.7])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_those_of_adam(kind, decay):
    network, problem = random_network(kind, 3), make_problem("softmax", 64, 5, 3)
    options = {"penalties": [0.1, 0.2, 0.3, 0.05, 0.15], "decay": decay, "moment_rate": 0.5}
    trained = network.copy()
    first = second = np.zeros(len(network.parameters))
    for count, rate in enumerate((0.02, 0.05, 0.01), start=1):
        _, gradient, after = native_gradient(trained, problem, **options)
        expected, first, second = oracle.adam_step(
            trained.parameters.astype(float), gradient, first, second, count, rate, (0.9, decay)
        )
        rates = np.array([rate], dtype=np.float32)
        native = trained.native()
        native.run_steps(**native_options(problem, np.arange(64), rates, **options))
        assert native.n_steps == count
        trained.n_steps = native.n_steps
        # A ratio of two moments of a few roundings each, in steps of at most twice the rate.
        size = np.abs(expected).max() + 2.0 * rate
        assert trained.parameters == pytest.approx(expected, abs=20 * UNIT * float(size))
        assert trained.first == pytest.approx(first, abs=20 * UNIT * float(np.abs(first).max()))
        assert trained.second == pytest.approx(second, abs=20 * UNIT * float(second.max()))
        np.testing.assert_array_equal(trained.means, after.means)


def test_steps_of_one_call_are_those_of_several():
    network, problem = random_network("table", 3), make_problem("softmax", 90, 5, 3)
    order = np.random.default_rng(0).permuted(np.tile(np.arange(90), (6, 1)), axis=1)[:, :70]
    rates = np.linspace(0.02, 0.01, 6).astype(np.float32)
    at_once, cut = network.copy(), network.copy()
    native = at_once.native()
    mean = native.run_steps(**native_options(problem, order, rates, moment_rate=0.1))
    losses = []
    for part in (slice(0, 2), slice(2, 2), slice(2, 3), slice(3, 6)):
        native = cut.native()
        loss = native.run_steps(**native_options(problem, order[part], rates[part], 0.1))
        losses.append(loss * (part.stop - part.start))
        cut.n_steps = native.n_steps
    assert cut.n_steps == 6
    for name in ("parameters", "first", "second", "means", "variances"):
        assert getattr(cut, name).tobytes() == getattr(at_once, name).tobytes()
    assert sum(losses) / 6 == pytest.approx(mean, rel=1e-12)


def test_the_loss_of_steps_is_their_mean_before_each_step_without_penalties():
    network, problem = random_network("cosine", 2), make_problem("logistic", 50, 5, 2)
    values, changed = [], network.copy()
    for _ in range(2):
        value, _, _ = native_gradient(changed, problem, penalties=[1.0] * 5)
        values.append(value)
        native = changed.native()
        native.run_steps(**native_options(problem, np.arange(50), penalties=[1.0] * 5))
        changed.n_steps = native.n_steps
    twice = network.copy().native()
    order = np.tile(np.arange(50), (2, 1))
    found = twice.run_steps(**native_options(problem, order, penalties=[1.0] * 5))
    assert found == pytest.approx(np.mean(values), rel=1e-12)
    assert native_gradient(network, problem)[0] == values[0]


def test_without_a_gradient_heavy_penalties_leave_offsets_and_biases_alone():
    network, problem = random_network("relu", 3), make_problem("squared", 64, 5, 3)
    weights, _, offsets, heads, direct, bias = network.parts()
    heads[:], direct[:] = 0.0, 0.0
    problem.targets[:] = bias  # nothing is left to learn
    before = [part.copy() for part in (weights, offsets, bias)]
    native = network.native()
    order = np.tile(np.arange(64), (20, 1))
    native.run_steps(**native_options(problem, order, penalties=[1.0] * 5))
    np.testing.assert_array_equal(offsets, before[1])
    np.testing.assert_array_equal(bias, before[2])
    assert (np.abs(weights) < np.abs(before[0])).all()


@pytest.mark.parametrize("n_scores", [1, 3, 7, 17])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_formula_on_every_level(kind, n_scores):
    network = random_network(kind, n_scores)
    rng = np.random.default_rng(1)
    network.means[:], network.variances[:] = rng.normal(size=3), rng.uniform(0.5, 2.0, size=3)
    parts, moments = dense_parts(network), (network.means.astype(float), network.variances)
    for n_rows in (1, 64, 255, 256, 257, 600):
        X = rng.normal(scale=2.0, size=(n_rows, 5)).astype(np.float32)
        expected = oracle.scores(kind, X.astype(float), None, parts, moments)
        # Errors of a projection count with the slope of its feature.
        size = sum(np.abs(part).sum() for part in parts.values()) * np.abs(X).max() * 8
        for level in _native.levels():
            with _native.use_level(level):
                found = network.scores(X)
            assert found == pytest.approx(expected, abs=8 * UNIT * float(size))


def test_scores_change_no_moments_and_accept_columns_of_a_larger_array():
    network = random_network("cosine", 2)
    before = network.means.copy(), network.variances.copy()
    X = np.random.default_rng(0).normal(size=(30, 10)).astype(np.float32)
    np.testing.assert_array_equal(network.scores(X[:, ::2]), network.scores(X[:, ::2].copy()))
    np.testing.assert_array_equal(network.means, before[0])
    np.testing.assert_array_equal(network.variances, before[1])


def test_a_network_without_features_is_linear():
    network = random_network("table", 3, n_components=1)
    linear = network.pruned(
        np.zeros(len(network.inputs), dtype=bool), np.ones(len(network.linear_inputs), dtype=bool)
    )
    assert linear.n_components == 0
    X = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    parts = dense_parts(linear)
    assert linear.scores(X) == pytest.approx(X @ parts["linear"] + parts["bias"], abs=1e-5)
    problem = make_problem("squared", 9, 5, 3)
    assert np.isfinite(linear.native().run_steps(**native_options(problem, np.arange(9))))


NETWORK_REFUSALS = [
    ("kind", "sine", "kind must be"),
    ("n_scores", 0, "linear_pointers"),
    ("n_scores", 2**31 - 1, "linear_pointers"),
    ("n_knots", 2, "three knots"),
    ("pointers", np.array([], dtype=np.int64), "pointers"),
    ("pointers", np.array([0, 2, 1, 3]), "pointers must rise"),
    ("pointers", np.array([1, 2, 3, 4]), "pointers must rise"),
    ("linear_pointers", np.array([0, 1]), "linear_pointers"),
    ("parameters", np.zeros(3, dtype=np.float32), "another length"),
    ("first", np.zeros(3, dtype=np.float32), "another length"),
    ("second", np.zeros(3, dtype=np.float32), "another length"),
    ("means", np.zeros(4, dtype=np.float32), "one number a feature"),
    ("variances", np.zeros(2, dtype=np.float32), "one number a feature"),
    ("level", "v9", "cannot run"),
]


def native_arguments(network):
    names = (
        "kind", "n_features", "n_scores", "n_knots", "pointers", "inputs", "linear_pointers",
        "linear_inputs", "parameters", "first", "second", "means", "variances", "n_steps",
    )  # fmt: skip
    return {name: getattr(network, name) for name in names} | {"level": "baseline"}


@pytest.mark.parametrize(("name", "value", "message"), NETWORK_REFUSALS)
def test_arrays_that_do_not_fit_the_network_are_refused(name, value, message):
    arguments = native_arguments(random_network("table", 3))
    _native.TrainingNetwork(**arguments)
    with pytest.raises(ValueError, match=message):
        _native.TrainingNetwork(**arguments | {name: value})


@pytest.mark.parametrize("name", ["inputs", "linear_inputs"])
@pytest.mark.parametrize("value", [-1, 5])
def test_inputs_that_do_not_exist_are_refused(name, value):
    arguments = native_arguments(random_network("table", 3))
    arguments[name] = arguments[name].copy()
    arguments[name][-1] = value
    with pytest.raises(ValueError, match="not among the features"):
        _native.TrainingNetwork(**arguments)


CALL_REFUSALS = [
    ("X", np.zeros((9, 4), dtype=np.float32), "do not fit"),
    ("targets", np.zeros((9, 2), dtype=np.float32), "do not fit"),
    ("weights", np.zeros(8, dtype=np.float32), "do not fit"),
    ("loss", "hinge", "loss must be"),
    ("order", np.array([[0, 9]], dtype=np.int32), "not among the rows"),
    ("order", np.array([[-1, 3]], dtype=np.int32), "not among the rows"),
    ("order", np.zeros((1, 0), dtype=np.int32), "1 to"),
    ("rates", np.zeros(2, dtype=np.float32), "one row a step"),
    ("penalties", np.zeros(4, dtype=np.float32), "five"),
]


@pytest.mark.parametrize(("name", "value", "message"), CALL_REFUSALS)
def test_rows_that_do_not_fit_are_refused(name, value, message):
    network, problem = random_network("table", 3), make_problem("squared", 9, 5, 3)
    options = native_options(problem, np.arange(9)) | {name: value}
    with pytest.raises(ValueError, match=message):
        network.native().run_steps(**options)
    with pytest.raises(ValueError, match=message):
        network.native().gradient(**options, out=np.empty_like(network.parameters))


def test_outputs_of_another_shape_are_refused():
    network, problem = random_network("table", 3), make_problem("squared", 9, 5, 3)
    with pytest.raises(ValueError, match="another length"):
        network.native().gradient(
            **native_options(problem, np.arange(9)), out=np.empty(3, dtype=np.float32)
        )
    for X, out in ((np.zeros((9, 4)), np.zeros((9, 3))), (np.zeros((9, 5)), np.zeros((8, 3)))):
        with pytest.raises(ValueError, match="another"):
            network.native().scores(X=X.astype(np.float32), out=out.astype(np.float32))
