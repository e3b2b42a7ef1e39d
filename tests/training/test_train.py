"""One network with given settings: its training rows, and steps that suit the inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cerflearn.training import train
from cerflearn.training.network import Workers
from cerflearn.training.pruning import Budget
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Task, kernel_problem, labels_problem
from cerflearn.training.train import effort_for, train_network


def blobs(n_samples, n_features, seed, n_classes=20, n_causes=8):
    """Classes around centres; inputs go together, as pixels do; weights vary."""
    fixed = np.random.default_rng(99)
    centres = fixed.normal(size=(n_classes, n_causes))
    loads = fixed.normal(size=(n_causes, n_features)) / np.sqrt(n_causes)
    rng = np.random.default_rng(seed)
    classes = rng.integers(n_classes, size=n_samples)
    X = (centres[classes] + 0.3 * rng.normal(size=(n_samples, n_causes))) @ loads
    weights = rng.uniform(0.5, 1.5, size=n_samples)
    return Task(
        X, np.eye(n_classes)[classes], weights / weights.sum(), "multiclass",
        Budget(60 * n_classes * 4, n_classes), np.ones(n_features, dtype=bool), 0.2 / n_features,
    )  # fmt: skip


@pytest.mark.parametrize("n_features", [40, 4_000])
def test_mini_batches_learn_from_few_inputs_and_from_thousands(n_features, monkeypatch):
    # A step of one rate for all would turn the phases of 4,000 inputs by whole turns.
    monkeypatch.setattr(train, "_FULL_BATCH_WORK", 0)
    task, test = blobs(300, n_features, 0), blobs(200, n_features, 1)
    with Workers(1) as workers:
        network = train_network(
            task,
            labels_problem(task),
            TrainingSettings(30, 1e-3, "labels"),
            np.random.default_rng(0),
            workers,
            effort=0.3,
        )
    right = network.scores(test.X).argmax(axis=1) == test.targets.argmax(axis=1)
    assert right.mean() > 0.95


def test_points_between_rows_weigh_as_much_as_the_rows_do_on_average():
    task = blobs(100, 6, 0)
    problem = kernel_problem(task, np.random.default_rng(0))
    assert problem.weights.sum() == pytest.approx(1.0)
    assert len(problem.X) == 5 * 100
    rows, points = problem.weights[:100], problem.weights[100:]
    assert np.allclose(rows / rows.sum(), task.weights)
    assert points.min() >= rows.min()
    assert points.max() <= rows.max()
    assert points.mean() == pytest.approx(rows.mean(), rel=0.1)


def test_a_kernel_machine_gives_probabilities_of_classes():
    problem = kernel_problem(blobs(100, 6, 0), np.random.default_rng(0))
    assert np.allclose(problem.targets.sum(axis=1), 1.0)
    assert problem.targets.min() >= 0.0


def test_only_small_networks_that_classify_many_rows_train_longer():
    assert effort_for(4_000, 1_000, classes=True) > 1.0
    assert effort_for(1_000, 1_000, classes=True) == 1.0
    assert effort_for(4_000, 10_000, classes=True) == 1.0
    assert effort_for(4_000, 1_000, classes=False) == 1.0


@pytest.mark.parametrize("group_size", [1, 4])
def test_training_starts_with_the_inputs_that_vary_with_the_targets(group_size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3_000)), np.arange(12) % 2
    X[:, [7, 500, 2_999]] += 5.0 * y[:, None]
    usable = np.ones(3_000, dtype=bool)
    usable[100:120] = False
    targets, weights = y[:, None].astype(float), np.full(12, 1 / 12)
    budget = Budget(40, 1, group_size)
    task = Task(X, targets, weights, "binary", budget, usable, 1e-3)
    settings = TrainingSettings(6, 1e-3, "labels")
    network = train._draw_dense(task, settings, np.random.default_rng(0))
    reads = network.mask.any(axis=1)
    assert 1_000 <= reads.sum() < 1_000 + group_size
    assert reads[[7, 500, 2_999]].all()
    assert not reads[100:120].any()
    groups = reads[:100].reshape(-1, group_size)
    assert (groups.any(axis=1) == groups.all(axis=1)).all()
    # Where the budget can read more, or inputs are not very many, all are there.
    for other in (replace(task, budget=Budget(10**6, 1, group_size)), narrow(task, 800)):
        network = train._draw_dense(other, settings, np.random.default_rng(0))
        assert np.array_equal(network.mask.any(axis=1), other.usable)


def narrow(task, n_features):
    return replace(task, X=task.X[:, :n_features], usable=task.usable[:n_features])
