r"""Targets of a costlier model that a network is trained on.

A teacher's scores carry more than labels: how certain a class is, and values between the rows. It
is asked at the training rows and at points on lines between random pairs of them. Classes are
given as probabilities; numbers keep their own targets at the training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.training import policy
from cerflearn.training.inputs import Inputs, LazyInputs, RowsAndPoints, between, part_of
from cerflearn.training.kernel_ridge import fit_kernel_ridge
from cerflearn.training.scores import fit_inverse_temperature, probabilities, score_targets
from cerflearn.training.task import Problem, Task, problem_of

TeacherFunction: TypeAlias = Callable[[Inputs], Float64Array]
"""Targets (n_points, n_scores) that a fitted model gives to inputs in the task's scale."""


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
    most = max(2, min(policy.KERNEL_ROWS, policy.KERNEL_ENTRIES // task.X.shape[1]))
    task = task.evenly_spaced(most)
    inputs, targets = task.X[:].astype(np.float64), task.targets[:]
    model = fit_kernel_ridge(inputs, targets, task.weights, rng)
    if not task.classifies:
        return model.scores
    kind, tuned = task.kind, targets[model.tuning_rows]
    factor = policy.SOFTENING * fit_inverse_temperature(
        score_targets(model.left_out, kind),
        tuned,
        np.full(len(tuned), 1.0 / len(tuned)),
        kind,
        policy.TEACHER_TEMPERATURES,
    )
    return lambda X: probabilities(score_targets(model.scores(X), kind), factor, kind)


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
    n = task.n_samples
    first, second, share = pairs_of_rows(n, rng)
    weights = share * task.weights[first] + (1.0 - share) * task.weights[second]
    X: Inputs
    if isinstance(task.X, LazyInputs):
        X = RowsAndPoints(task.X, first, second, share, np.arange(n + len(share)))
    else:
        X = np.vstack([task.X, between(task.X[first], task.X[second], share)])
    # Rows and points each in blocks of their own: the teacher's products then have the same bits.
    at_rows = teacher(task.X) if task.classifies else task.targets[:]
    at_points = teacher(part_of(X, np.arange(n, len(X))))
    targets, both = np.vstack([at_rows, at_points]), np.concatenate([task.weights, weights])
    return problem_of(task.kind, X, targets, both)


def pairs_of_rows(n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray, Float64Array]:
    """Pairs of n rows, and shares of the first, for points on the lines between them.

    As many as rows, or up to four times as many where rows are few.

    Parameters
    ----------
    n : int
        Number of rows.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    first, second : ndarray of shape (n_points,), int64
        The rows.
    share : ndarray of shape (n_points,)
        Of the first.
    """
    n_points = min(policy.POINTS_PER_ROW * n, max(policy.FEW_POINTS, n))
    first, second = rng.integers(n, size=n_points), rng.integers(n, size=n_points)
    return first, second, rng.uniform(size=n_points)
