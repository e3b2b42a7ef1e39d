r"""What a network is trained on: rows with their targets, or with those of a kernel machine.

With ``teacher="kernel"`` the targets are the scores of kernel ridge regression at the training
rows and at points on lines between them. They carry more than labels: how certain a class is,
and values between the rows. Classes are given as softmax of the scores at a temperature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.training.kernel_ridge import fit_kernel_ridge
from cerflearn.training.network import Problem
from cerflearn.training.pruning import Budget
from cerflearn.training.scores import (
    LOSSES,
    TargetKind,
    fit_inverse_temperature,
    probabilities,
    score_targets,
)

MAX_TEACHER_ROWS = 6000
"""Rows of which kernel ridge regression stores a square matrix; more have the labels as teacher."""

_SOFTENING = 0.5  # of the inverse temperature that fits held-out labels best: softer targets
_INVERSE_TEMPERATURES = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0)
_FEW_POINTS = 3000  # between rows, unless four times the rows are less or the rows are more


@dataclass(frozen=True, eq=False)
class Task:
    """Training rows with their targets, and the budget.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Scaled data.
    targets : ndarray of shape (n_samples, n_scores)
        One-hot classes (one column for two classes), 0 and 1 for each label, or standardised
        numbers.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    kind : {"binary", "multiclass", "multilabel", "regression"}
        Of the targets.
    budget : Budget
        Of the network.
    usable : ndarray of shape (n_features,), bool
        Inputs that vary.
    gamma : float
        Kernel coefficient of the frequencies that training starts with.
    """

    X: FloatArray
    targets: Float64Array
    weights: Float64Array
    kind: TargetKind
    budget: Budget
    usable: BoolArray
    gamma: float

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def classifies(self) -> bool:
        """Whether targets are classes or labels."""
        return self.kind != "regression"

    @property
    def targets_vary(self) -> bool:
        """Whether targets differ between rows."""
        return bool((self.targets != self.targets[0]).any())

    def rows(self, index: Any) -> Task:
        """Task of some rows."""
        weights = self.weights[index]
        return replace(
            self, X=self.X[index], targets=self.targets[index], weights=weights / weights.sum()
        )


def labels_problem(task: Task) -> Problem:
    """Training rows with their own targets."""
    return _single_precision_problem(task, task.X, task.targets, task.weights)


def kernel_problem(task: Task, rng: np.random.Generator) -> Problem:
    """Training rows and points between them, with the scores of kernel ridge regression.

    Numbers keep their own targets at the training rows. A point between two rows has the mean of
    their weights. Above :data:`MAX_TEACHER_ROWS` rows: the labels.

    Parameters
    ----------
    task : Task
        Training rows.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Problem
        In single precision.
    """
    if task.n_samples > MAX_TEACHER_ROWS:
        return labels_problem(task)
    model = fit_kernel_ridge(task.X, task.targets, task.weights, rng)
    points, first, second, share = points_between(task.X, rng)
    weights = share * task.weights[first] + (1.0 - share) * task.weights[second]
    at_rows, at_points = task.targets, model.scores(points)
    if task.classifies:
        kind, tuned = task.kind, task.targets[model.tuning_rows]
        factor = _SOFTENING * fit_inverse_temperature(
            score_targets(model.left_out, kind),
            tuned,
            np.full(len(tuned), 1.0 / len(tuned)),
            kind,
            _INVERSE_TEMPERATURES,
        )
        at_rows = probabilities(score_targets(model.scores(task.X), kind), factor, kind)
        at_points = probabilities(score_targets(at_points, kind), factor, kind)
    both = np.concatenate([task.weights, weights])
    return _single_precision_problem(
        task, np.vstack([task.X, points]), np.vstack([at_rows, at_points]), both / both.sum()
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
        Between the rows.
    first, second : ndarray of shape (n_points,), int64
        The rows.
    share : ndarray of shape (n_points,)
        Of the first.
    """
    n = len(X)
    n_points = min(4 * n, max(_FEW_POINTS, n))
    first, second = rng.integers(n, size=n_points), rng.integers(n, size=n_points)
    share = rng.uniform(size=n_points)
    points = share[:, None] * X[first] + (1.0 - share[:, None]) * X[second]
    return points, first, second, share


def _single_precision_problem(
    task: Task, X: FloatArray, targets: Float64Array, weights: Float64Array
) -> Problem:
    return Problem(
        np.ascontiguousarray(X, dtype=np.float32),
        np.ascontiguousarray(targets, dtype=np.float32),
        weights.astype(np.float32),
        LOSSES[task.kind],
    )
