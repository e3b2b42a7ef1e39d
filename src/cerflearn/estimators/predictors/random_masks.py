r"""Networks with random masks: features drawn, chosen by the targets, and a ridge head."""

from __future__ import annotations

import numpy as np

from cerflearn.estimators.cerf.masked_cerf import MaskedCERF
from cerflearn.linalg.ridge_path import fit_ridge_path
from cerflearn.training.calibration import score_targets
from cerflearn.training.network import FeatureNetwork
from cerflearn.training.training import Task

_WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0)  # of gamma, times that of the task
_MOST_ROWS = 5_000  # on which widths are compared
_MOST_FEATURES = 256


def draw_with_random_masks(
    task: Task, n_projections: int, rng: np.random.Generator, *, choose_width: bool
) -> FeatureNetwork:
    """Network whose features are chosen greedily for the targets from 2.5 times as many.

    Where targets do not vary, as in a part of few rows, nothing can be chosen: all are drawn.

    Parameters
    ----------
    task : Task
        Rows, budget, and gamma.
    n_projections : int
        Features.
    rng : numpy.random.Generator
        Source of randomness.
    choose_width : bool
        Take the multiple of gamma with the least leave-one-out error of ridge regression.
    """
    factor = _best_width(task, n_projections, rng) if choose_width else 1.0
    seed = int(rng.integers(2**31))
    targets_vary = bool((task.targets != task.targets[0]).any())
    selector = "greedy" if targets_vary else "random"
    sampler = _sampler(task, n_projections, factor * task.gamma, seed, selector=selector)
    sampler.fit(task.X, task.targets if targets_vary else None)
    features = sampler.transform(task.X) / sampler.feature_map_.amplitudes
    aims = score_targets(task.targets) if task.classes else task.targets
    fit = fit_ridge_path(features.astype(np.float64), aims, task.weights)
    drawn = sampler.feature_map_
    return FeatureNetwork(
        drawn.frequencies.copy(), drawn.offsets.copy(), fit.head, fit.bias, drawn.masks.copy()
    )


def _sampler(
    task: Task, n_projections: int, gamma: float, seed: int, *, selector: str
) -> MaskedCERF:
    budget = task.budget
    n_inputs = budget.entries_for(n_projections) // n_projections
    # Whole groups, rounded down: the budget is never exceeded.
    n_groups = -(-task.X.shape[1] // budget.group_size)
    n_read = max(1, n_inputs // budget.group_size)
    return MaskedCERF(
        gamma=gamma,
        n_components=n_projections,
        paired=False,
        mask_density=min(1.0, n_read / n_groups),
        group_size=budget.group_size,
        features_per_mask=budget.features_per_mask,
        teacher="rff" if selector == "random" else "labels",
        selector=selector,
        random_state=seed,
    )


def _best_width(task: Task, n_projections: int, rng: np.random.Generator) -> float:
    """Multiple of gamma: all widths share one draw, and all penalties one eigendecomposition."""
    rows = np.sort(rng.permutation(task.n_samples)[:_MOST_ROWS])
    part = task.rows(rows)
    n_features = min(n_projections, _MOST_FEATURES)
    sampler = _sampler(part, n_features, part.gamma, int(rng.integers(2**31)), selector="random")
    sampler.fit(part.X)
    phases = part.X @ sampler.frequencies_
    errors = {
        width: fit_ridge_path(
            np.cos(np.sqrt(width) * phases + sampler.offsets_), part.targets, part.weights
        ).error
        for width in _WIDTHS
    }
    return min(errors, key=lambda width: errors[width])
