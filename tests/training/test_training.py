"""One network by one recipe: what it is taught, and steps that suit the number of inputs."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.training import training
from cerflearn.training.losses import cross_entropy
from cerflearn.training.problem import Workers
from cerflearn.training.pruning import Budget
from cerflearn.training.training import (
    Recipe,
    Task,
    effort_for,
    kernel_lesson,
    plain_lesson,
    train,
)


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
        X, np.eye(n_classes)[classes], weights / weights.sum(), cross_entropy, True,
        Budget(60 * n_classes * 4, n_classes), np.ones(n_features, dtype=bool), 0.2 / n_features,
    )  # fmt: skip


@pytest.mark.parametrize("n_features", [40, 4_000])
def test_mini_batches_learn_from_few_inputs_and_from_thousands(n_features, monkeypatch):
    # A step of one rate for all would turn the phases of 4,000 inputs by whole turns.
    monkeypatch.setattr(training, "_FULL_BATCH_WORK", 0)
    task, test = blobs(300, n_features, 0), blobs(200, n_features, 1)
    with Workers(1) as workers:
        network = train(
            task, plain_lesson(task), Recipe(30, 1e-3, False), np.random.default_rng(0), workers,
            effort=0.3,
        )  # fmt: skip
    right = network.scores(test.X).argmax(axis=1) == test.targets.argmax(axis=1)
    assert right.mean() > 0.95


def test_points_between_rows_weigh_as_much_as_the_rows_do_on_average():
    task = blobs(100, 6, 0)
    lesson = kernel_lesson(task, np.random.default_rng(0))
    assert lesson.weights.sum() == pytest.approx(1.0)
    assert len(lesson.X) == 5 * 100
    rows, points = lesson.weights[:100], lesson.weights[100:]
    assert np.allclose(rows / rows.sum(), task.weights)
    assert points.min() >= rows.min()
    assert points.max() <= rows.max()
    assert points.mean() == pytest.approx(rows.mean(), rel=0.1)


def test_a_lesson_gives_probabilities_of_classes():
    lesson = kernel_lesson(blobs(100, 6, 0), np.random.default_rng(0))
    assert np.allclose(lesson.targets.sum(axis=1), 1.0)
    assert lesson.targets.min() >= 0.0


def test_only_small_networks_that_tell_many_rows_apart_train_longer():
    assert effort_for(4_000, 1_000, classes=True) > 1.0
    assert effort_for(1_000, 1_000, classes=True) == 1.0
    assert effort_for(4_000, 10_000, classes=True) == 1.0
    assert effort_for(4_000, 1_000, classes=False) == 1.0
