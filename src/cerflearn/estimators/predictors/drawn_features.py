r"""Networks with random masks: features drawn, selected by the targets, and a ridge head."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.estimators.input import varying_inputs
from cerflearn.estimators.targets import one_hot
from cerflearn.features.base import equal_amplitudes
from cerflearn.features.masked import MaskedMap
from cerflearn.features.masked_sampler import MaskedSampler
from cerflearn.learning.greedy import pursue
from cerflearn.linalg.ridge import fit_ridge_path
from cerflearn.spectral import law_from_kernel
from cerflearn.training import policy
from cerflearn.training.deployed import FeatureNetwork
from cerflearn.training.scores import score_targets
from cerflearn.training.task import Task


def draw_selected_network(
    task: Task,
    n_components: int,
    gamma: float,
    rng: np.random.Generator,
) -> FeatureNetwork:
    """Draw 2.5 times as many features as asked for, and select greedily those for the targets.

    Where targets do not vary, as in a fold of few rows, nothing can be selected: exactly as many
    as asked for are drawn.

    Parameters
    ----------
    task : Task
        Rows and budget.
    n_components : int
        Features.
    gamma : float
        Coefficient of the kernel.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    FeatureNetwork
        Of cosines.
    """
    n_drawn = max(
        n_components, min(int(np.ceil(n_components / policy.SELECTED_SHARE)), policy.MOST_DRAWN)
    )
    task = _dense(
        task.evenly_spaced(max(2, policy.FEATURE_ENTRIES // max(n_drawn, task.X.shape[1])))
    )
    sampler = _sampler(task, n_components, gamma)
    seeded = np.random.default_rng(int(rng.integers(2**31)))
    plan = sampler.plan(varying_inputs(task.X))
    if task.targets_vary:
        candidates, groups, _ = sampler.draw_candidates(plan, lambda _: n_drawn, seeded)
        chosen = _select(candidates, groups, task, n_components)
        selected = candidates.select(chosen, n_components)
        drawn = selected.with_amplitudes(equal_amplitudes(n_components, paired=False))
    else:
        drawn = sampler.draw(plan, seeded)
    return _with_ridge_head(drawn, task)


def _select(
    candidates: MaskedMap, groups: IntArray | None, task: Task, n_components: int
) -> IntArray:
    """Sorted candidates that explain the targets best together, by greedy pursuit."""
    learner = candidates.transform(np.asarray(task.X, dtype=np.float64))
    learner -= learner.mean(axis=0)
    teacher = _teacher(task)
    teacher -= teacher.mean(axis=0)
    energy = float(np.square(teacher).sum())
    found = pursue(learner.T @ learner, teacher.T @ learner, energy, n_components, groups=groups)
    return np.sort(found.ranking[:n_components])


def _with_ridge_head(drawn: MaskedMap, task: Task) -> FeatureNetwork:
    """Network of features of amplitude one."""
    features = drawn.transform(np.asarray(task.X, dtype=np.float64)) / drawn.amplitudes
    aims = score_targets(task.targets[:], task.kind)
    fit = fit_ridge_path(features.astype(np.float64), aims, task.weights)
    n_features, n_scores = task.X.shape[1], aims.shape[1]
    return FeatureNetwork(
        frequencies=drawn.frequencies.copy(),
        offsets=drawn.offsets.copy(),
        head=fit.head,
        bias=fit.bias,
        mask=drawn.masks.copy(),
        activation="cosine",
        linear=np.zeros((n_features, n_scores)),
        tables=np.zeros((0, 2, n_scores)),
    )


def _teacher(task: Task) -> Float64Array:
    """Return what the features are selected for: one-hot classes, or the targets."""
    if task.kind == "binary":
        return one_hot(task.targets[:][:, 0].astype(np.int64), 2)
    return task.targets[:].copy()


def _dense(task: Task) -> Task:
    """Task with inputs and targets as arrays."""
    return replace(task, X=task.X[:], targets=task.targets[:])


def _sampler(task: Task, n_components: int, gamma: float) -> MaskedSampler:
    budget = task.budget
    n_inputs = budget.entries_for(n_components) // n_components
    # Whole groups, rounded down: the budget is never exceeded.
    n_groups = -(-task.X.shape[1] // budget.group_size)
    n_read = max(1, n_inputs // budget.group_size)
    return MaskedSampler(
        law=law_from_kernel("rbf", gamma),
        n_outputs=n_components,
        paired=False,
        mask_density=min(1.0, n_read / n_groups),
        group_size=budget.group_size,
        features_per_mask=budget.features_per_mask,
    )


def best_gamma_factor(
    task: Task, n_components: int, gamma: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Multiple of gamma with the least leave-one-out error of ridge regression, and that error.

    All multiples share one draw.

    Parameters
    ----------
    task : Task
        Rows and budget.
    n_components : int
        Features; at most 256 are drawn.
    gamma : float
        Coefficient of the kernel.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    factor : float
        The multiple.
    error : float
        Of ridge regression on features that are drawn.
    """
    rows = np.sort(rng.permutation(task.n_samples)[: policy.FACTOR_ROWS])
    part = _dense(task.rows(rows))
    sampler = _sampler(part, min(n_components, policy.FACTOR_FEATURES), gamma)
    seeded = np.random.default_rng(int(rng.integers(2**31)))
    drawn = sampler.draw(sampler.plan(varying_inputs(part.X)), seeded)
    phases = part.X[:] @ drawn.frequencies
    errors = {
        factor: fit_ridge_path(
            np.cos(np.sqrt(factor) * phases + drawn.offsets), part.targets[:], part.weights
        ).error
        for factor in policy.DRAWN_GAMMA_FACTORS
    }
    best = min(errors, key=lambda factor: errors[factor])
    return best, errors[best]
