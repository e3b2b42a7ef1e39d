r"""One network by one recipe: lesson, start, and the trainer that suits the size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, FloatArray
from cerflearn.training.adam import MiniBatches, train_mini_batches
from cerflearn.training.calibration import score_targets
from cerflearn.training.distillation import (
    MOST_ROWS,
    SOFTENING,
    fit_teacher,
    points_between,
    softened,
)
from cerflearn.training.lbfgs import FullBatches, train_full_batches
from cerflearn.training.losses import Loss
from cerflearn.training.network import FeatureNetwork, draw_network, draw_rectified
from cerflearn.training.problem import Problem, Workers
from cerflearn.training.pruning import Budget

FEW_ROWS = 1_000
"""So many are few: settings are compared in several folds, and full batches are cheap."""

_FULL_BATCH_WORK = 4 * 10**8  # rows x inputs x projections up to which L-BFGS is the quicker
_SURE = 4.0  # scores that far apart are fairly sure of a class
_START_ROWS = 5_000  # for the head to start with
_ROUNDS, _LEAST_STEPS, _MOST_STEPS, _BATCH = 15, 1500, 6000, 256
_RATE, _MOST_PHASE = 3e-3, 2.4  # a step moves all frequencies: a phase by the rate times inputs
_CHEAP_STEPS, _CHEAP_WORK = 4000, 10**8  # steps x frequencies
_SMALL_WORK, _LONGER = 10**7, 5.0  # for rows x frequencies; more iterations


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be predicted from what, and for how much.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Scaled data.
    targets : ndarray of shape (n_samples, n_scores)
        One-hot classes (one column for two classes), or standardised targets.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    loss : callable
        See :mod:`cerflearn.training.losses`.
    classes : bool
        Whether targets are probabilities of classes.
    budget : Budget
        What the network may cost.
    usable : ndarray of shape (n_features,), bool
        Inputs that vary.
    gamma : float
        Kernel coefficient of the frequencies to start with.
    """

    X: FloatArray
    targets: Float64Array
    weights: Float64Array
    loss: Loss
    classes: bool
    budget: Budget
    usable: BoolArray
    gamma: float

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    def rows(self, index: Any) -> Task:
        """Task of some rows."""
        weights = self.weights[index]
        return replace(
            self, X=self.X[index], targets=self.targets[index], weights=weights / weights.sum()
        )


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Attributes
    ----------
    n_projections : int
        Features to start with.
    penalty : float
        Of frequencies and head.
    distil : bool
        Learn from a kernel machine rather than from the targets alone.
    learned_masks : bool, default=True
        Prune dense frequencies to the budget; else masks are drawn and stay.
    refined : bool, default=True
        Train frequencies, offsets and head together.
    finish : float, default=1
        Share of the penalty that is left when nothing more is to be pruned: a penalty shows which
        frequencies can go, but holds small networks back.
    rectified : bool, default=False
        Rectified features rather than cosines.
    """

    n_projections: int
    penalty: float
    distil: bool
    learned_masks: bool = True
    refined: bool = True
    finish: float = 1.0
    rectified: bool = False


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows and targets that a network is trained on, made once for several recipes."""

    X: FloatArray
    targets: Float64Array
    weights: Float64Array


def plain_lesson(task: Task) -> Lesson:
    """Return the training rows with their targets."""
    return Lesson(task.X, task.targets, task.weights)


def kernel_lesson(task: Task, rng: np.random.Generator) -> Lesson:
    """Return training rows and points between them, with what a kernel machine says of them.

    Classes are given as softened probabilities. Other targets keep their values at the training
    rows. A point between two rows weighs as much as they do on average.
    """
    if task.n_samples > MOST_ROWS:
        return plain_lesson(task)
    teacher = fit_teacher(task.X, task.targets, task.weights, rng)
    points, first, second, share = points_between(task.X, rng)
    weights = share * task.weights[first] + (1.0 - share) * task.weights[second]
    between = teacher.scores(points)
    if task.classes:
        factor = SOFTENING * teacher.sharpness
        known = softened(teacher.scores(task.X), factor)
        between = softened(between, factor)
    else:
        known = task.targets
    both = np.concatenate([task.weights, weights])
    return Lesson(np.vstack([task.X, points]), np.vstack([known, between]), both / both.sum())


def train(
    task: Task,
    lesson: Lesson,
    recipe: Recipe,
    rng: np.random.Generator,
    workers: Workers,
    *,
    start: FeatureNetwork | None = None,
    effort: float = 1.0,
    held_out: Problem | None = None,
    on_progress: Callable[[float, float], None] | None = None,
) -> FeatureNetwork:
    """Train a network within the budget of a task.

    Parameters
    ----------
    task : Task
        Rows and budget.
    lesson : Lesson
        What to train on.
    recipe : Recipe
        How.
    rng : numpy.random.Generator
        Source of randomness.
    workers : Workers
        Who computes.
    start : FeatureNetwork, optional
        Network whose mask is kept. None: a dense one is drawn and pruned to the budget.
    effort : float, default=1
        Share of the usual steps.
    held_out : Problem, optional
        Rows for early stopping, where mini-batches are used.
    on_progress : callable, optional
        Told the share of the work done and a number.
    """
    budget = None
    if start is None:
        budget = task.budget
        start = _draw_dense(task, recipe, rng)
    problem = as_problem(lesson, task.loss)
    if not uses_mini_batches(problem.n_samples, start.mask.size):
        options = full_batches(recipe.penalty, effort, classes=task.classes, finish=recipe.finish)
        network = train_full_batches(
            problem, start, options, workers, budget=budget, on_progress=on_progress
        )
    else:
        n_steps = int(effort * steps_for(problem.n_samples, start.mask.size))
        rate = min(_RATE, _MOST_PHASE / task.X.shape[1])
        mini = MiniBatches(n_steps, _BATCH, rate, recipe.penalty, recipe.finish)
        validate = None if held_out is None else _held_out_loss(held_out)
        network = train_mini_batches(
            problem, start, mini, rng, workers,
            budget=budget, validate=validate, on_progress=on_progress,
        )  # fmt: skip
    return network.without_idle().astype(np.float64)


def _draw_dense(task: Task, recipe: Recipe, rng: np.random.Generator) -> FeatureNetwork:
    mask = np.repeat(task.usable[:, None], recipe.n_projections, axis=1)
    if recipe.rectified:
        return draw_rectified(mask, task.targets.shape[1], rng)
    part = task.rows(np.sort(rng.permutation(task.n_samples)[:_START_ROWS]))
    aims = _SURE * score_targets(part.targets) if task.classes else part.targets
    return draw_network(part.X, aims, mask, task.gamma, rng)


def uses_mini_batches(n_samples: int, n_frequencies: int) -> bool:
    """Tell whether a lesson of so many rows is taken in mini-batches."""
    return n_samples * n_frequencies > _FULL_BATCH_WORK


def full_batches(
    penalty: float, effort: float, *, classes: bool, finish: float = 1.0
) -> FullBatches:
    """Share of the usual iterations; numbers take longer to fit than classes to tell apart."""
    usual = FullBatches(penalty=penalty, finish=finish, n_last=150 if classes else 600)
    n_between, n_last = int(usual.n_between * effort), int(usual.n_last * effort)
    return replace(usual, n_between=max(5, n_between), n_last=max(20, n_last))


def effort_for(n_samples: int, n_frequencies: int, *, classes: bool) -> float:
    """Usual iterations, several times: small networks that tell many rows apart gain from more."""
    many = classes and n_samples > FEW_ROWS
    return _LONGER if many and is_small(n_samples, n_frequencies) else 1.0


def is_small(n_samples: int, n_frequencies: int) -> bool:
    """Tell whether a network is small enough to be trained for longer, or in more ways."""
    return n_samples * n_frequencies <= _SMALL_WORK


def steps_for(n_samples: int, n_frequencies: int) -> int:
    """Mini-batches to train on: 15 rounds, but at least 1,500, and more for small networks."""
    cheap = np.clip(_CHEAP_WORK / n_frequencies, _LEAST_STEPS, _CHEAP_STEPS)
    return int(np.clip(_ROUNDS * n_samples / _BATCH, cheap, _MOST_STEPS))


def as_problem(lesson: Lesson, loss: Loss) -> Problem:
    """Lesson in single precision."""
    X = np.ascontiguousarray(lesson.X, dtype=np.float32)
    targets = np.ascontiguousarray(lesson.targets, dtype=np.float32)
    return Problem(X, targets, lesson.weights.astype(np.float32), loss)


def _held_out_loss(problem: Problem) -> Callable[[FeatureNetwork], float]:
    def validate(network: FeatureNetwork) -> float:
        scores = network.scores(problem.X)
        return problem.loss(scores, problem.targets, problem.weights)[0]

    return validate
