"""Which networks to try for a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cerflearn.training.distillation import MOST_ROWS
from cerflearn.training.pruning import Budget
from cerflearn.training.training import FEW_ROWS, Recipe, is_small

_LARGE = 20_000  # rows, above which there are very many
_FEWER, _MORE, _MANY = 0.6, 1.4, 2.0  # features, of more or fewer inputs each
_WEAKER = 0.03  # of the penalty, once a small network is pruned
_NARROW = 32  # inputs below which a kernel machine of few rows knows no more than the labels


class _Setting(NamedTuple):
    """Penalty, kernel machine as teacher, crowd, penalty's share at the end, kind of features."""

    penalty: float
    distil: bool = False
    crowd: float = 1.0
    finish: float = 1.0
    rectified: bool = False


_SETTINGS = {
    "few rows, wide": (
        _Setting(1e-3, distil=True),
        _Setting(3e-3, distil=True),
        _Setting(3e-3),
        _Setting(1e-2),
        _Setting(5e-4),
        _Setting(3e-3, crowd=_FEWER),
    ),
    "few rows, narrow": (
        _Setting(1e-2),
        _Setting(3e-3),
        _Setting(1e-3),
        _Setting(3e-4),
        _Setting(3e-4, crowd=_FEWER),
    ),
    "many rows": (
        _Setting(3e-3),
        _Setting(1e-3),
        _Setting(3e-4),
        _Setting(3e-4, finish=_WEAKER),
        _Setting(1e-3, crowd=_FEWER),
        _Setting(3e-4, crowd=_MORE),
    ),
    "numbers, few rows": tuple(
        _Setting(penalty, crowd=_MANY) for penalty in (2e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
    ),
    "numbers, many rows": (
        _Setting(1e-3),
        _Setting(3e-3),
        _Setting(1e-4),
        _Setting(1e-3, distil=True),
    ),
    "more rows": (
        _Setting(3e-4),
        _Setting(1e-3),
        _Setting(1e-4),
        _Setting(3e-4, crowd=_FEWER),
    ),
    "very many rows": (_Setting(1e-4),),  # one is as good as another, and trying takes long
}
"""What to try for each kind of data.

The order counts where both kinds of lessons are tried, and where numbers are predicted, see
:mod:`cerflearn.training.judging`. Small budgets want small penalties.
"""

_RECTIFIED = (_Setting(3e-3, rectified=True), _Setting(1e-3, rectified=True))
"""Few cosines fit many rows less well than few rectified features do; many fit them better."""


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


def make_recipes(
    budget: Budget,
    n_features: int,
    n_samples: int,
    teacher: str,
    *,
    classes: bool,
    activation: str = "auto",
) -> list[Recipe]:
    """Recipes to compare, in the order of :data:`_SETTINGS`.

    Parameters
    ----------
    budget : Budget
        What the network may cost.
    n_features, n_samples : int
        Size of the training data.
    teacher : {"auto", "labels", "kernel"}
        Whether to learn from a kernel machine; ``"auto"`` tries both where that may help.
    classes : bool
        Whether classes are predicted, or numbers.
    activation : {"auto", "cosine", "relu"}
        Features to try; ``"auto"`` tries rectified ones beside cosines in small networks that tell
        many rows apart.
    """
    kind = _kind(n_features, n_samples, classes=classes)
    settings = _SETTINGS[kind]
    if activation == "relu":
        settings = tuple(setting._replace(rectified=True) for setting in settings)
    elif activation == "auto" and kind == "many rows":
        n_frequencies = n_features * n_projections_for(budget, n_features, n_samples)
        if is_small(n_samples, n_frequencies):
            settings += _RECTIFIED
    recipes = [
        Recipe(
            n_projections_for(budget, n_features, n_samples, setting.crowd),
            setting.penalty,
            setting.distil,
            finish=setting.finish,
            rectified=setting.rectified,
        )
        for setting in settings
    ]
    if teacher != "auto" and n_samples <= MOST_ROWS:
        recipes = [replace(recipe, distil=teacher == "kernel") for recipe in recipes]
    return list(dict.fromkeys(recipes))


def drawn(recipe: Recipe, budget: Budget, n_features: int, n_samples: int) -> Recipe:
    """Recipe with masks that are drawn: without pruning, a crowd of features reads too little."""
    most = n_projections_for(budget, n_features, n_samples)
    return replace(recipe, learned_masks=False, n_projections=min(recipe.n_projections, most))


def _kind(n_features: int, n_samples: int, *, classes: bool) -> str:
    """Key of :data:`_SETTINGS`."""
    if n_samples > MOST_ROWS:
        return "very many rows" if n_samples > _LARGE else "more rows"
    few = n_samples <= FEW_ROWS
    if not classes:
        return "numbers, few rows" if few else "numbers, many rows"
    if not few:
        return "many rows"
    return "few rows, narrow" if n_features < _NARROW else "few rows, wide"
