r"""Training of one network with given settings: its dense start, and the method for its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cerflearn._typing import BoolArray, FloatArray
from cerflearn.linalg.ridge import ridge_head
from cerflearn.training.adam import MiniBatches, train_mini_batches
from cerflearn.training.lbfgs import FullBatches, train_full_batches
from cerflearn.training.network import FeatureNetwork, Problem, Workers
from cerflearn.training.scores import score_targets
from cerflearn.training.settings import FEW_ROWS, TrainingSettings, is_small
from cerflearn.training.task import Task

_FULL_BATCH_WORK = 4 * 10**8  # rows x frequencies up to which L-BFGS is faster than Adam
_FIRST_SCORE = 4.0  # of a row's class, in the head that training starts with
_FIRST_HEAD_ROWS = 5_000  # that this head is fitted to
_HEAD_RIDGE = 1e-2  # of the head that training starts with, relative to the number of rows
_EPOCHS, _LEAST_STEPS, _MOST_STEPS, _BATCH_SIZE = 15, 1500, 6000, 256
_ADAM_RATE = 3e-3
_LARGEST_PHASE_STEP = 2.4  # a step changes all frequencies: a phase by the rate times the inputs
_CHEAP_STEPS, _CHEAP_WORK = 4000, 10**8  # steps x frequencies
_LEAST_SCREENED = 1_000  # inputs that training starts with; otherwise the square of the rows
_LONGER = 5.0  # more iterations for small networks that classify many rows


def train_network(
    task: Task,
    problem: Problem,
    settings: TrainingSettings,
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
    problem : Problem
        What to train on.
    settings : TrainingSettings
        How.
    rng : numpy.random.Generator
        Source of randomness.
    workers : Workers
        Threads.
    start : FeatureNetwork, optional
        Network whose mask is kept. None: a dense one is drawn and pruned to the budget.
    effort : float, default=1
        Share of the usual steps.
    held_out : Problem, optional
        Rows for early stopping, where mini-batches are used.
    on_progress : callable, optional
        Called with the share of the work done and the loss.

    Returns
    -------
    FeatureNetwork
        In double precision.
    """
    budget = None
    if start is None:
        budget = task.budget
        start = _draw_dense(task, settings, rng)
    alpha, share = settings.alpha, settings.last_alpha_share
    if not uses_mini_batches(problem.n_samples, start.mask.size):
        full = full_batches(alpha, effort, classes=task.classifies, last_alpha_share=share)
        network = train_full_batches(
            problem, start, full, workers, budget=budget, on_progress=on_progress
        )
    else:
        n_steps = int(effort * steps_for(problem.n_samples, start.mask.size))
        rate = min(_ADAM_RATE, _LARGEST_PHASE_STEP / task.X.shape[1])
        mini = MiniBatches(n_steps, _BATCH_SIZE, rate, alpha, share)
        network = train_mini_batches(
            problem, start, mini, rng, workers,
            budget=budget, held_out=held_out, on_progress=on_progress,
        )  # fmt: skip
    return network.without_empty().astype(np.float64)


def _draw_dense(task: Task, settings: TrainingSettings, rng: np.random.Generator) -> FeatureNetwork:
    usable = _screened(task, settings.n_components)
    mask = np.repeat(usable[:, None], settings.n_components, axis=1)
    if settings.activation == "relu":
        return draw_relu_network(mask, task.targets.shape[1], rng)
    part = task.rows(np.sort(rng.permutation(task.n_samples)[:_FIRST_HEAD_ROWS]))
    aims = part.targets
    if task.classifies:
        aims = _FIRST_SCORE * score_targets(part.targets, task.kind)
    return draw_cosine_network(part.X, aims, mask, task.gamma, rng)


def draw_cosine_network(
    X: FloatArray,
    targets: FloatArray,
    mask: BoolArray,
    gamma: float,
    rng: np.random.Generator,
) -> FeatureNetwork:
    r"""Draw Gaussian frequencies of the kernel :math:`\exp(-\gamma d^2)` and fit a ridge head.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training data, scaled.
    targets : ndarray of shape (n_samples, n_scores)
        Targets of the scores.
    mask : ndarray of shape (n_features, n_components), bool
        Inputs to read; frequencies grow with :math:`\sqrt{D / |\epsilon|}`.
    gamma : float
        Coefficient of the kernel.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    FeatureNetwork
        In double precision.
    """
    n_features, n_components = mask.shape
    active = np.maximum(mask.sum(axis=0), 1)
    frequencies = rng.normal(size=mask.shape) * np.sqrt(2.0 * gamma * n_features / active) * mask
    offsets = rng.uniform(0.0, 2.0 * np.pi, size=(n_components,))
    features = np.cos(X @ frequencies + offsets)
    head, bias = ridge_head(features, targets, _HEAD_RIDGE * len(features))
    return FeatureNetwork(frequencies, offsets, head, bias, mask)


def draw_relu_network(mask: BoolArray, n_scores: int, rng: np.random.Generator) -> FeatureNetwork:
    r"""Draw frequencies of variance 2 / D for D inputs: features keep the size of the inputs.

    Parameters
    ----------
    mask : ndarray of shape (n_features, n_components), bool
        Inputs to read, of variance one on average.
    n_scores : int
        Scores of the head, whose weights have variance 1 / n_components.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    FeatureNetwork
        In double precision.

    References
    ----------
    He, Zhang, Ren and Sun, "Delving Deep into Rectifiers", ICCV 2015.
    """
    n_components = mask.shape[1]
    active = np.maximum(mask.sum(axis=0), 1)
    frequencies = rng.normal(size=mask.shape) * np.sqrt(2.0 / active) * mask
    head = rng.normal(size=(n_components, n_scores)) / np.sqrt(n_components)
    return FeatureNetwork(
        frequencies, np.zeros(n_components), head, np.zeros(n_scores), mask, activation="relu"
    )


def _screened(task: Task, n_components: int) -> BoolArray:
    """Mark the inputs to start with: of very many, those with most covariance with the targets.

    They are at least as many as the budget can read.
    """
    budget = task.budget
    n_read = -(-budget.entries_for(n_components) // n_components)
    most = max(_LEAST_SCREENED, task.n_samples**2, n_read)
    if int(task.usable.sum()) <= most:
        return task.usable
    centred = task.targets - task.weights @ task.targets
    covariance = task.X.T @ (task.weights[:, None] * centred)
    relevance = np.where(task.usable, np.square(covariance).sum(axis=1), -1.0)
    starts = np.arange(0, len(relevance), budget.group_size)
    order = np.argsort(-np.add.reduceat(relevance, starts), kind="stable")
    groups = np.zeros(len(starts), dtype=np.bool_)
    groups[order[: -(-most // budget.group_size)]] = True
    return np.repeat(groups, budget.group_size)[: len(relevance)] & task.usable


def uses_mini_batches(n_samples: int, n_frequencies: int) -> bool:
    """Return whether a network of so many frequencies is trained by mini-batches."""
    return n_samples * n_frequencies > _FULL_BATCH_WORK


def full_batches(
    alpha: float, effort: float, *, classes: bool, last_alpha_share: float = 1.0
) -> FullBatches:
    """Share of the usual iterations: regressions take longer than classifications."""
    n_last = 150 if classes else 600
    usual = FullBatches(alpha=alpha, last_alpha_share=last_alpha_share, n_last=n_last)
    n_between, n_last = int(usual.n_between * effort), int(usual.n_last * effort)
    return replace(usual, n_between=max(5, n_between), n_last=max(20, n_last))


def effort_for(n_samples: int, n_weights: int, *, classes: bool) -> float:
    """Factor of the usual iterations: small networks that classify many rows gain from more."""
    many = classes and n_samples > FEW_ROWS
    return _LONGER if many and is_small(n_samples, n_weights) else 1.0


def steps_for(n_samples: int, n_frequencies: int) -> int:
    """Mini-batches to train on: 15 epochs, but at least 1,500, and more for small networks."""
    cheap = np.clip(_CHEAP_WORK / n_frequencies, _LEAST_STEPS, _CHEAP_STEPS)
    return int(np.clip(_EPOCHS * n_samples / _BATCH_SIZE, cheap, _MOST_STEPS))
