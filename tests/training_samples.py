"""Small networks and tasks that tests of training share."""

from __future__ import annotations

import numpy as np

from cerflearn.training import policy, search
from cerflearn.training.network import TrainableNetwork, padded_scores
from cerflearn.training.pruning import Budget
from cerflearn.training.search import Search
from cerflearn.training.search_options import SearchOptions
from cerflearn.training.settings import SettingsRequest, TrainingSettings
from cerflearn.training.task import Problem, Task

TABLE, RELU = TrainingSettings("table", 4, 1e-3), TrainingSettings("relu", 4, 1e-3)

NO_PENALTIES = np.zeros(5, dtype=np.float32)


def pointers_of(counts):
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def inputs_of(mask):
    """Rows that are marked, column by column."""
    return np.nonzero(np.asarray(mask).T)[1].astype(np.int32)


def make_network(kind, mask, linear_mask, n_knots=9, seed=0, scale=0.7):
    """Network with these masks, (n_features, n_components) and (n_features, n_scores)."""
    rng = np.random.default_rng(seed)
    mask, linear_mask = np.asarray(mask, dtype=bool), np.asarray(linear_mask, dtype=bool)
    (n_features, K), n_scores = mask.shape, linear_mask.shape[1]
    weights = scale * rng.normal(size=mask.sum())
    scales, offsets = rng.uniform(0.5, 1.5, size=K), rng.normal(size=K)
    heads = scale * rng.normal(size=(K, n_scores))
    if kind == "table":
        heads = np.zeros((K, n_knots, padded_scores(n_scores)))
        heads[:, :, :n_scores] = scale * rng.normal(size=(K, n_knots, n_scores))
        offsets[:] = 0.0
    direct, bias = scale * rng.normal(size=linear_mask.sum()), rng.normal(size=n_scores)
    parts = [weights, scales, offsets, heads.ravel(), direct, bias]
    parameters = np.concatenate(parts).astype(np.float32)
    return TrainableNetwork(
        kind=kind,
        n_features=n_features,
        n_scores=n_scores,
        n_knots=n_knots,
        pointers=pointers_of(mask.sum(axis=0)),
        inputs=inputs_of(mask),
        linear_pointers=pointers_of(linear_mask.sum(axis=0)),
        linear_inputs=inputs_of(linear_mask),
        parameters=parameters,
        first=np.zeros_like(parameters),
        second=np.zeros_like(parameters),
        means=np.zeros(K, dtype=np.float32),
        variances=np.ones(K, dtype=np.float32),
    )


def random_network(kind, n_scores, n_features=5, n_components=3, n_knots=9, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.uniform(size=(n_features, n_components)) < 0.6
    mask[0] = True
    linear_mask = rng.uniform(size=(n_features, n_scores)) < 0.5
    return make_network(kind, mask, linear_mask, n_knots, seed)


def dense_parts(network, parameters=None):
    """Parts of a network in double precision, as the oracle reads them."""
    values = network.parameters if parameters is None else parameters
    weights, scales, offsets, heads, direct, bias = network.parts(np.asarray(values, dtype=float))
    W = np.zeros((network.n_features, network.n_components))
    W[network.inputs, network.features_of_entries()] = weights
    linear = np.zeros((network.n_features, network.n_scores))
    linear[network.linear_inputs, network.scores_of_linear()] = direct
    if network.kind == "table":
        shape = (network.n_components, network.n_knots, padded_scores(network.n_scores))
        heads = heads.reshape(shape)[:, :, : network.n_scores]
    return {
        "W": W, "scales": scales, "offsets": offsets,
        "heads": heads, "linear": linear, "bias": bias,
    }  # fmt: skip


def make_problem(loss, n_rows, n_features, n_scores, seed=0):
    """Uniform inputs: sums of them stay within three deviations."""
    rng = np.random.default_rng([seed, n_rows, n_scores])
    X = rng.uniform(-1.5, 1.5, size=(n_rows, n_features))
    if loss == "softmax":
        targets = rng.dirichlet(np.ones(n_scores), size=n_rows)
    elif loss == "logistic":
        targets = rng.uniform(size=(n_rows, n_scores)).round(1)
    else:
        targets = rng.normal(size=(n_rows, n_scores))
    weights = rng.uniform(0.5, 1.5, size=n_rows)
    return Problem(*(a.astype(np.float32) for a in (X, targets, weights)), loss)


def native_options(problem, order, rates=None, moment_rate=1.0, decay=0.99, penalties=None):
    """Keywords of native calls."""
    order = np.atleast_2d(np.asarray(order, dtype=np.int32))
    return {
        "X": problem.X,
        "targets": problem.targets,
        "weights": problem.weights,
        "loss": problem.loss,
        "order": order,
        "rates": np.full(len(order), 0.01, dtype=np.float32) if rates is None else rates,
        "moment_rate": moment_rate,
        "second_decay": decay,
        "penalties": NO_PENALTIES if penalties is None else np.asarray(penalties, dtype=np.float32),
    }


def native_gradient(network, problem, order=None, **options):
    """Loss and gradient of one batch; a copy of the network keeps the moments."""
    rows = np.arange(problem.n_rows) if order is None else order
    out = np.empty_like(network.parameters)
    changed = network.copy()
    value = changed.native().gradient(**native_options(problem, rows, **options), out=out)
    return value, out, changed


def make_task(kind="regression", n_samples=120, n_features=6, macs=40, n_classes=3, seed=0, **more):
    """Task whose first two inputs matter."""
    rng = np.random.default_rng([seed, n_samples])
    X = rng.normal(size=(n_samples, n_features)).astype(np.float32)
    signal = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n_samples)
    strata = np.zeros(n_samples, dtype=np.int64)
    targets = ((signal - signal.mean()) / signal.std())[:, None]
    if kind == "binary":
        strata = (signal > 0.0).astype(np.int64)
        targets = strata[:, None].astype(float)
    elif kind == "multiclass":
        strata = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
        targets = np.eye(n_classes)[strata]
    elif kind == "multilabel":
        targets = np.stack([signal > 0.0, X[:, 1] > 0.0], axis=1).astype(float)
    budget = Budget(macs, targets.shape[1], **more)
    weights = np.full(n_samples, 1.0 / n_samples)
    usable = np.ones(n_features, dtype=bool)
    return Task(X, targets, weights, strata, kind, budget, usable, {})


def run_search(task, needs_held_out=False, seed=0, **options):
    request = options.pop("request", SettingsRequest(teacher="labels"))
    chosen = SearchOptions(request, **options)
    return Search(task, chosen, np.random.SeedSequence(seed)).run(needs_held_out=needs_held_out)


def numbered(kind="regression", n_samples=120, **options):
    """Task whose first input is the number of the row, exactly."""
    task = make_task(kind, n_samples, **options)
    task.X[:, 0] = np.arange(n_samples)
    return task


def numbers(X):
    return frozenset(X[:, 0].astype(int).tolist())


def by_kind(relu, table):
    """Constant scores that depend on the kind of features alone."""

    def score(settings, rows):
        return table if settings.activation == "table" else relu

    return score


class Trainings:
    """Stands for ``train_network``: keeps what it is called with, and gives constant scores."""

    def __init__(self):
        self.score, self.calls = by_kind(0.0, 0.0), []

    def __call__(self, problem, settings, budget, usable, bias, n_steps, rng, **options):
        rows = numbers(problem.X)
        n_features, n_scores = problem.X.shape[1], len(bias)
        network = make_network("relu", np.zeros((n_features, 0)), np.zeros((n_features, n_scores)))
        network.parts()[5][:] = self.score(settings, rows)
        network.trained_on = rows
        self.calls.append({"settings": settings, "rows": rows, "network": network} | options)
        return network


def compare_two(monkeypatch):
    """Let a search compare relu and tables, both of which reach the finals, in one start."""
    monkeypatch.setattr(search, "candidate_settings", lambda *_: [RELU, TABLE])
    monkeypatch.setattr(search, "neighbours", lambda *_: [])
    monkeypatch.setattr(policy, "N_DRAWS", 1)
    monkeypatch.setattr(policy, "SURVIVORS", 1.0)
    one_start(monkeypatch)


def one_start(monkeypatch):
    """Let every training have one start."""
    for name in ("FOLD_STARTS", "LAST_STARTS"):
        monkeypatch.setattr(policy, name, (0.0, 1))
