"""Targets of a teacher: probabilities of classes, softened; numbers at and between the rows."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.training import distillation, policy
from cerflearn.training.distillation import (
    distilled_problem,
    fit_kernel_teacher,
    pairs_of_rows,
)
from cerflearn.training.inputs import between
from cerflearn.training.kernel_ridge import fit_kernel_ridge
from training_samples import make_task

RNG = np.random.default_rng(0)
CLASSES = ("binary", "multiclass", "multilabel")


def teacher_of(task, seed=0):
    return fit_kernel_teacher(task, np.random.default_rng(seed))


def separable(kind, n_samples=200):
    """Classes far apart: a kernel machine is certain of them."""
    task = make_task(kind, n_samples)
    task.X[:, 0] = 6.0 * task.strata
    task.X[:, 1:] *= 0.1
    return task


def test_points_between_rows_lie_between_them():
    X = RNG.normal(size=(40, 3))
    first, second, share = pairs_of_rows(40, np.random.default_rng(0))
    points = between(X[first], X[second], share)
    assert len(points) == 160
    expected = share[:, None] * X[first] + (1 - share)[:, None] * X[second]
    assert points == pytest.approx(expected)
    assert share.min() >= 0.0
    assert share.max() <= 1.0
    assert len(pairs_of_rows(2000, np.random.default_rng(0))[0]) == 3000
    assert len(pairs_of_rows(3500, np.random.default_rng(0))[0]) == 3500
    many = RNG.normal(size=(5, 1)).astype(np.float32)
    assert between(many, many, np.full(5, 0.5)).dtype == np.float32


@pytest.mark.parametrize("kind", CLASSES)
def test_targets_are_probabilities(kind):
    task = make_task(kind)
    problem = distilled_problem(task, teacher_of(task), np.random.default_rng(0))
    assert problem.n_rows == 5 * task.n_samples
    assert problem.targets.min() >= 0.0
    assert problem.targets.max() <= 1.0
    if kind == "multiclass":
        assert problem.targets.sum(axis=1) == pytest.approx(np.ones(problem.n_rows), abs=1e-5)
    labels = task.problem()
    assert problem.loss == labels.loss
    np.testing.assert_array_equal(problem.X[: task.n_samples], labels.X)
    # They are not the labels, but say mostly the same.
    at_rows = problem.targets[: task.n_samples]
    assert 0.01 < np.abs(at_rows - labels.targets).mean() < 0.4
    if kind == "multiclass":
        assert (at_rows.argmax(axis=1) == task.strata).mean() > 0.8
    else:
        assert ((at_rows > 0.5) == (labels.targets > 0.5)).mean() > 0.8


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_probabilities_of_certain_classes_are_soft_but_not_flat(kind):
    task = separable(kind)
    found = teacher_of(task)(task.X)
    certain = (
        np.maximum(found, 1.0 - found).mean() if kind == "binary" else found.max(axis=1).mean()
    )
    # Half of the largest inverse temperature of the grid, 24, on scores one or two apart.
    odds = np.exp(12.0 * (2.0 if kind == "binary" else 1.0))
    others = 1 if kind == "binary" else 2
    assert 0.99 < certain < 1.0
    assert certain == pytest.approx(odds / (odds + others), abs=1e-3)


def test_targets_have_half_the_inverse_temperature_that_fits_left_out_labels():
    task = make_task("multiclass", n_samples=300)
    found = teacher_of(task, seed=4)(task.X)
    model = fit_kernel_ridge(
        task.X.astype(float), task.targets, task.weights, np.random.default_rng(4)
    )

    def log_loss(factor):
        powers = np.exp(factor * model.left_out)
        proba = powers / powers.sum(axis=1, keepdims=True)
        return -np.log((proba * task.targets[model.tuning_rows]).sum(axis=1)).mean()

    grid = np.array([2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0])
    best = grid[np.argmin([log_loss(factor) for factor in grid])]
    assert 2.0 < best < 24.0  # inside the grid: it is the best of all
    # Differences of logarithms are the factor times differences of scores.
    scores = model.scores(task.X.astype(float))
    logs = np.log(found)
    ratio = (logs[:, 0] - logs[:, 1]) / (scores[:, 0] - scores[:, 1])
    assert ratio == pytest.approx(np.full(300, 0.5 * best), rel=1e-6)


def test_numbers_keep_their_own_targets_at_the_rows():
    task = make_task()
    teacher = teacher_of(task)
    problem = distilled_problem(task, teacher, np.random.default_rng(0))
    np.testing.assert_array_equal(problem.targets[:120], task.targets.astype(np.float32))
    assert problem.targets[120:] == pytest.approx(teacher(problem.X[120:]), abs=1e-5)
    assert np.abs(teacher(task.X) - task.targets).max() > 0.01


def test_a_point_between_two_rows_has_the_mean_of_their_weights():
    task = make_task()
    task.weights[:] = RNG.dirichlet(np.ones(120))
    problem = distilled_problem(task, teacher_of(task), np.random.default_rng(3))
    first, second, share = pairs_of_rows(task.n_samples, np.random.default_rng(3))
    expected = share * task.weights[first] + (1.0 - share) * task.weights[second]
    both = np.concatenate([task.weights, expected])
    assert problem.weights == pytest.approx(both / both.mean(), rel=1e-5)


def test_the_teacher_is_kernel_ridge_regression():
    task = make_task()
    model = fit_kernel_ridge(
        task.X.astype(float), task.targets, task.weights, np.random.default_rng(0)
    )
    expected = model.scores(task.X[:9].astype(float))
    assert teacher_of(task)(task.X[:9]) == pytest.approx(expected, abs=1e-9)


def test_a_teacher_of_many_rows_is_fitted_to_evenly_spaced_ones(monkeypatch):
    monkeypatch.setattr(policy, "KERNEL_ROWS", 50)
    task = make_task(n_samples=400)
    seen = []

    def recorded(X, targets, weights, rng):
        seen.append(X)
        return fit_kernel_ridge(X, targets, weights, rng)

    monkeypatch.setattr(distillation, "fit_kernel_ridge", recorded)
    teacher = teacher_of(task)
    assert len(seen[0]) == 50
    rows = np.linspace(0, 399, 50).astype(int)
    np.testing.assert_array_equal(seen[0], task.X[rows].astype(float))
    assert teacher(task.X).shape == (400, 1)
