"""Which networks to try for a budget."""

from __future__ import annotations

import numpy as np

from cerflearn.supervised.distillation import MOST_ROWS
from cerflearn.supervised.pruning import Budget
from cerflearn.supervised.training import Recipe

_LARGE = 20_000  # rows from which on one recipe is as good as another, and trying takes long
_SMALL = 1_000
_PENALTY_OF_MANY = 1e-4


def least_macs(budget: Budget, n_features: int) -> int:
    """MACs of the smallest network: one block of inputs, and its projections' scores."""
    return budget.features_per_mask * (min(budget.group_size, n_features) + budget.n_scores)


def default_macs(n_features: int, n_scores: int) -> int:
    """Budget if none is given: that of a linear model, or of 32 small features if that is more."""
    return max(n_features * n_scores, 32 * (min(n_features, 8) + n_scores))


def n_projections_for(budget: Budget, n_features: int, n_samples: int, crowd: float = 1.0) -> int:
    r"""Projections to share a budget: of about :math:`\sqrt{D C} / 3` inputs each.

    D inputs, C scores. No more than :math:`5 \sqrt N` for N rows; ``crowd`` times as many.
    """
    n_inputs = np.clip(np.sqrt(n_features * budget.n_scores) / 3.0, min(n_features, 4), n_features)
    fitting = budget.macs / (max(n_inputs, budget.group_size) + budget.n_scores)
    most = max(1, budget.macs // (budget.group_size + budget.n_scores))
    return int(np.clip(min(crowd * fitting, 5.0 * np.sqrt(n_samples)), 1, most))


def make_recipes(budget: Budget, n_features: int, n_samples: int, teacher: str) -> list[Recipe]:
    """Recipes to compare, the likeliest first.

    Parameters
    ----------
    budget : Budget
        What the network may cost.
    n_features, n_samples : int
        Size of the training data.
    teacher : {"auto", "labels", "kernel"}
        Whether to learn from a kernel machine; ``"auto"`` tries both.
    """
    n_projections = n_projections_for(budget, n_features, n_samples)
    teachers = {"auto": (True, False), "labels": (False,), "kernel": (True,)}[teacher]
    if n_samples > _LARGE:
        return [Recipe(n_projections, _PENALTY_OF_MANY, False)]
    if n_samples > MOST_ROWS:
        return [Recipe(n_projections, penalty, False) for penalty in (1e-3, 1e-4, 1e-2)]
    recipes = [Recipe(n_projections, penalty, teachers[0]) for penalty in (3e-3, 1e-2, 1e-3)]
    if n_samples <= _SMALL:
        recipes.append(Recipe(n_projections, 1e-1, teachers[0]))
    if len(teachers) > 1:
        fewer = n_projections_for(budget, n_features, n_samples, crowd=0.75)
        recipes += [Recipe(n_projections, 3e-3, False), Recipe(fewer, 1e-2, False)]
    return recipes
