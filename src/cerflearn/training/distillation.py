r"""Targets that a network is trained on: the labels, or those of a costlier model.

A teacher's scores carry more than labels: how certain a class is, and values between the rows. It
is asked at the training rows and at points on lines between random pairs of them. Classes are
given as probabilities; numbers keep their own targets at the training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn.training.kernel_ridge import fit_kernel_ridge
from cerflearn.training.network import Float32Array
from cerflearn.training.scores import fit_inverse_temperature, probabilities, score_targets
from cerflearn.training.task import Problem, Task, problem_of

TeacherFunction: TypeAlias = Callable[[Float32Array], Float64Array]
"""Targets (n_points, n_scores) that a fitted model gives to inputs in the task's scale."""

KERNEL_ROWS = 4_000
"""Rows that the kernel machine is fitted to, of which it stores a square matrix; of more, evenly
spaced ones."""

_SOFTENING = 0.5  # of the inverse temperature that fits held-out labels best: softer targets
_INVERSE_TEMPERATURES = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0)
_FEW_POINTS = 3000  # between rows, unless four times the rows are less or the rows are more


def labels_problem(task: Task) -> Problem:
    """Training rows with their own targets."""
    return problem_of(task.kind, task.X, task.targets, task.weights)


def fit_kernel_teacher(task: Task, rng: np.random.Generator) -> TeacherFunction:
    """Kernel ridge regression of the task; of more than 4,000 rows, fitted to a part.

    Parameters
    ----------
    task : Task
        Training rows.
    rng : numpy.random.Generator
        Picks rows on which width and penalty are chosen.

    Returns
    -------
    callable
        Probabilities of classes or labels, or numbers.
    """
    if task.n_samples > KERNEL_ROWS:
        task = task.rows(np.linspace(0, task.n_samples - 1, KERNEL_ROWS).astype(np.int64))
    model = fit_kernel_ridge(task.X.astype(np.float64), task.targets, task.weights, rng)
    if not task.classifies:
        return lambda X: model.scores(X.astype(np.float64))
    kind, tuned = task.kind, task.targets[model.tuning_rows]
    factor = _SOFTENING * fit_inverse_temperature(
        score_targets(model.left_out, kind),
        tuned,
        np.full(len(tuned), 1.0 / len(tuned)),
        kind,
        _INVERSE_TEMPERATURES,
    )
    return lambda X: probabilities(
        score_targets(model.scores(X.astype(np.float64)), kind), factor, kind
    )


def distilled_problem(task: Task, teacher: TeacherFunction, rng: np.random.Generator) -> Problem:
    """Training rows and points between them, with the teacher's targets.

    A point between two rows has the mean of their weights.

    Parameters
    ----------
    task : Task
        Training rows.
    teacher : callable
        See :data:`TeacherFunction`.
    rng : numpy.random.Generator
        Draws the points.

    Returns
    -------
    Problem
        In single precision.
    """
    points, first, second, share = points_between(task.X, rng)
    weights = share * task.weights[first] + (1.0 - share) * task.weights[second]
    at_rows = teacher(task.X) if task.classifies else task.targets
    return problem_of(
        task.kind,
        np.vstack([task.X, points]),
        np.vstack([at_rows, teacher(points)]),
        np.concatenate([task.weights, weights]),
    )


def points_between(
    X: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, IntArray, IntArray, Float64Array]:
    """Points on lines between random pairs of rows, and the pairs with their shares.

    As many as rows, or up to four times as many where rows are few.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    points : ndarray of shape (n_points, n_features)
        Between the rows, in their dtype.
    first, second : ndarray of shape (n_points,), int64
        The rows.
    share : ndarray of shape (n_points,)
        Of the first.
    """
    n = len(X)
    n_points = min(4 * n, max(_FEW_POINTS, n))
    first, second = rng.integers(n, size=n_points), rng.integers(n, size=n_points)
    share = rng.uniform(size=n_points)
    part = share[:, None].astype(X.dtype)
    points = part * X[first] + (1 - part) * X[second]
    return points, first, second, share
