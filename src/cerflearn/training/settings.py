"""Settings of a network: which ones are compared for data of a given size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from cerflearn.training.network import Activation
from cerflearn.training.pruning import Budget
from cerflearn.training.task import MAX_TEACHER_ROWS, Task

Learn: TypeAlias = Literal["masks", "features", "selection"]
"""What is learned: masks, frequencies and scores; the latter two; a selection, and scores."""

TeacherName: TypeAlias = Literal["labels", "kernel"]
"""What the network is trained on."""

FEW_ROWS = 1_000
"""Most rows for which settings are compared in several folds."""

_MANY_ROWS = 20_000  # above, one setting is as good as another, and comparing takes long
_SMALL_WORK = 10**7  # rows x weights of a network that is cheap to train
_SCORES_PER_INPUT = 4  # above, scores rather than frequencies determine the work
_FEWER, _MORE, _TWICE = 0.6, 1.4, 2.0  # features, times the usual number
_WEAKER = 0.03  # share of alpha that is left after pruning: small networks fit closer
_NARROW = 32  # inputs below which kernel ridge regression adds nothing to labels of few rows
_SELECTION_ROWS = (30, 20_000)  # between which features without training are compared too


@dataclass(frozen=True)
class TrainingSettings:
    """How one network is trained, in the words of the estimators' parameters.

    Attributes
    ----------
    n_components : int
        Features that training starts with.
    alpha : float
        Penalty of frequencies and head.
    teacher : {"labels", "kernel"}
        Whose scores are the targets.
    learn : {"masks", "features", "selection"}, default="masks"
        Prune dense frequencies to the budget; draw masks and train the rest; or draw features,
        select among them and fit the head.
    activation : {"cosine", "relu"}, default="cosine"
        Of the features.
    last_alpha_share : float, default=1
        Share of alpha that is left when nothing more is pruned: a penalty shows which frequencies
        can go, but keeps small networks from fitting closely.
    """

    n_components: int
    alpha: float
    teacher: TeacherName
    learn: Learn = "masks"
    activation: Activation = "cosine"
    last_alpha_share: float = 1.0

    @property
    def trains(self) -> bool:
        """Whether frequencies are trained."""
        return self.learn != "selection"

    def __str__(self) -> str:
        words = f"learn={self.learn!r}, n_components={self.n_components}"
        if not self.trains:
            return words
        words += f", teacher={self.teacher!r}, activation={self.activation!r}, alpha={self.alpha:g}"
        return words + (f" (at last {self._last_alpha:g})" if self.last_alpha_share < 1.0 else "")

    @property
    def _last_alpha(self) -> float:
        return self.alpha * self.last_alpha_share


@dataclass(frozen=True)
class SettingsRequest:
    """Settings that the user gives; None stands for "auto".

    Attributes
    ----------
    learn : {"masks", "features", "selection"} or None
        See :class:`TrainingSettings`.
    teacher : {"labels", "kernel"} or None
        Likewise.
    activation : {"cosine", "relu"} or None
        Likewise.
    alpha : float or None
        Likewise.
    n_components : int or None
        Likewise.
    """

    learn: Learn | None = None
    teacher: TeacherName | None = None
    activation: Activation | None = None
    alpha: float | None = None
    n_components: int | None = None


class _TableRow(NamedTuple):
    """Row of the table: settings, with the number of features relative to the usual one."""

    alpha: float
    teacher: TeacherName = "labels"
    features: float = 1.0
    last_alpha_share: float = 1.0
    activation: Activation = "cosine"


_TABLE: dict[str, tuple[_TableRow, ...]] = {
    "few rows, wide": (
        _TableRow(1e-3, teacher="kernel"),
        _TableRow(3e-3, teacher="kernel"),
        _TableRow(3e-3),
        _TableRow(1e-2),
        _TableRow(5e-4),
        _TableRow(3e-3, features=_FEWER),
    ),
    "few rows, narrow": (
        _TableRow(1e-2),
        _TableRow(3e-3),
        _TableRow(1e-3),
        _TableRow(3e-4),
        _TableRow(3e-4, features=_FEWER),
    ),
    "many rows": (
        _TableRow(3e-3),
        _TableRow(1e-3),
        _TableRow(3e-4),
        _TableRow(3e-4, last_alpha_share=_WEAKER),
        _TableRow(1e-3, features=_FEWER),
        _TableRow(3e-4, features=_MORE),
    ),
    "regression, few rows": tuple(
        _TableRow(alpha, features=_TWICE) for alpha in (2e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
    ),
    "regression, many rows": (
        _TableRow(1e-3),
        _TableRow(3e-3),
        _TableRow(1e-4),
        _TableRow(1e-3, teacher="kernel"),
    ),
    "more rows": (
        _TableRow(3e-4),
        _TableRow(1e-3),
        _TableRow(1e-4),
        _TableRow(3e-4, features=_FEWER),
    ),
    "very many rows": (_TableRow(1e-4),),
}
"""Settings to compare for each size of data.

The order counts where both teachers are compared, and in regressions, see
:mod:`cerflearn.training.model_selection`. Small budgets need a small alpha.
"""

_RELU_ROWS = (_TableRow(3e-3, activation="relu"), _TableRow(1e-3, activation="relu"))
"""Few cosines fit many rows less well than few relu features do; many fit them better."""


def least_macs(budget: Budget, n_features: int) -> int:
    """MACs of the smallest network: one block of inputs, and the scores of its features."""
    return budget.features_per_mask * (min(budget.group_size, n_features) + budget.n_scores)


def default_macs(n_features: int, n_scores: int) -> int:
    """Budget if none is given: that of a linear model, or of 32 small features if that is more."""
    return max(n_features * n_scores, 32 * (min(n_features, 8) + n_scores))


def n_components_for(budget: Budget, n_features: int, n_samples: int, factor: float = 1.0) -> int:
    r"""Features that share a budget: of about :math:`\sqrt{D C} / 3` inputs each.

    D inputs, C scores. No more than :math:`5 \sqrt N` for N rows; ``factor`` times as many.
    """
    n_inputs = np.clip(np.sqrt(n_features * budget.n_scores) / 3.0, min(n_features, 4), n_features)
    fitting = budget.macs / (max(n_inputs, budget.group_size) + budget.n_scores)
    most = max(1, budget.macs // (budget.group_size + budget.n_scores))
    return int(np.clip(min(factor * fitting, 5.0 * np.sqrt(n_samples)), 1, most))


def n_weights_of(n_features: int, n_components: int, n_scores: int) -> int:
    """Weights that measure the work of training: frequencies, or a share of very many scores."""
    return n_components * max(n_features, n_scores // _SCORES_PER_INPUT)


def is_small(n_samples: int, n_weights: int) -> bool:
    """Return whether a network is small enough to be trained for longer, or in more ways."""
    return n_samples * n_weights <= _SMALL_WORK


def candidate_settings(task: Task, request: SettingsRequest) -> list[TrainingSettings]:
    """List the settings to compare, each once, in the order of the table.

    A value that is given replaces that of every candidate. Where both alpha and n_components are
    given and candidates have both, only these are left: so values that a search has reported give
    the same network again.

    Parameters
    ----------
    task : Task
        Training rows and budget.
    request : SettingsRequest
        What is given.

    Returns
    -------
    list of TrainingSettings
        At least one.
    """
    usual = n_components_for(task.budget, int(task.usable.sum()), task.n_samples)
    found = _unique(_from_table(task, request))
    if request.learn in ("features", "selection"):
        # Masks that are drawn are not pruned: more features than usual would read too little.
        found = [
            replace(setting, learn="features", n_components=min(setting.n_components, usual))
            for setting in found
        ]
    if request.learn == "selection" or _tries_selection(task, request):
        first = found[0]
        n_components = min(first.n_components, usual)
        selection = TrainingSettings(n_components, first.alpha, "labels", "selection")
        found = [selection] if request.learn == "selection" else [*found, selection]
    return _unique(_with_given(found, request))


def _unique(settings: Iterable[TrainingSettings]) -> list[TrainingSettings]:
    return list(dict.fromkeys(settings))


def _with_given(
    settings: list[TrainingSettings], request: SettingsRequest
) -> list[TrainingSettings]:
    """Set the alpha and n_components that are given."""
    alpha, n_components = request.alpha, request.n_components
    if alpha is not None and n_components is not None:
        given = (alpha, n_components)
        exact = [s for s in settings if not s.trains or (s.alpha, s.n_components) == given]
        settings = exact if any(setting.trains for setting in exact) else settings
    if alpha is not None:
        settings = [replace(setting, alpha=alpha) for setting in settings]
    if n_components is not None:
        settings = [replace(setting, n_components=n_components) for setting in settings]
    return settings


def _from_table(task: Task, request: SettingsRequest) -> Iterable[TrainingSettings]:
    budget, n_features, n_samples = task.budget, int(task.usable.sum()), task.n_samples
    size = _size(n_features, n_samples, classifies=task.classifies)
    rows = _TABLE[size]
    if request.activation == "relu":
        rows = tuple(row._replace(activation="relu") for row in rows)
    elif request.activation is None and size == "many rows" and request.learn in (None, "masks"):
        usual = n_components_for(budget, n_features, n_samples)
        if is_small(n_samples, n_weights_of(n_features, usual, budget.n_scores)):
            rows += _RELU_ROWS
    for row in rows:
        teacher = row.teacher
        if request.teacher is not None and n_samples <= MAX_TEACHER_ROWS:
            teacher = request.teacher
        n_components = n_components_for(budget, n_features, n_samples, row.features)
        yield TrainingSettings(
            n_components,
            row.alpha,
            teacher,
            activation=row.activation,
            last_alpha_share=row.last_alpha_share,
        )


def _tries_selection(task: Task, request: SettingsRequest) -> bool:
    """Return whether features that are only selected are compared with trained ones."""
    least, most = _SELECTION_ROWS
    wanted = request.learn is None and request.activation != "relu"
    return wanted and least <= task.n_samples <= most and task.targets_vary


def _size(n_features: int, n_samples: int, *, classifies: bool) -> str:
    """Key of the table."""
    if n_samples > MAX_TEACHER_ROWS:
        return "very many rows" if n_samples > _MANY_ROWS else "more rows"
    few = n_samples <= FEW_ROWS
    if not classifies:
        return "regression, few rows" if few else "regression, many rows"
    if not few:
        return "many rows"
    return "few rows, narrow" if n_features < _NARROW else "few rows, wide"
