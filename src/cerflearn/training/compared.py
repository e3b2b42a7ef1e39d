"""Settings that are compared: the candidates of a search, and their neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from cerflearn._typing import Float64Array
from cerflearn.linalg.ridge import fit_ridge_path
from cerflearn.training import policy
from cerflearn.training.network import Activation
from cerflearn.training.pruning import Budget
from cerflearn.training.scores import TargetKind, score_targets
from cerflearn.training.settings import Learn, SettingsRequest, TrainingSettings
from cerflearn.training.sizes import (
    boosting_rounds_for,
    n_components_for,
    n_knots_for,
    part_of_budget,
    usual_inputs,
)
from cerflearn.training.task import Task


def candidate_settings(
    request: SettingsRequest,
    budget: Budget,
    n_usable: int,
    n_samples: int,
    n_trained: int = policy.PENALTY_ROWS,
    linear_penalty: float = policy.LINEAR_SHARE * policy.ALPHAS[0],
) -> list[TrainingSettings]:
    """List the settings of the first round, each once, the likeliest first.

    A value that is given replaces that of every candidate.

    Parameters
    ----------
    request : SettingsRequest
        What is given.
    budget : Budget
        Of the network.
    n_usable : int
        Inputs that vary.
    n_samples, n_trained : int
        Rows in all, and rows that candidates are trained on.
    linear_penalty : float
        Of the linear part alone.
    """
    if request.settings is not None:
        return [request.settings]
    activations: tuple[Activation, ...] = ("table", "cosine", "relu")
    if request.activation is not None:
        activations = (request.activation,)
    elif not request.tables or request.gamma is not None:
        activations = ("cosine", "relu") if request.gamma is None else ("cosine",)
    sizes = (budget, n_usable, n_samples, n_trained)
    found = list(_candidates(request, activations, *sizes, linear_penalty))
    return list(dict.fromkeys(_with_given(setting, request) for setting in found))


def _candidates(
    request: SettingsRequest,
    activations: tuple[Activation, ...],
    budget: Budget,
    n_usable: int,
    n_samples: int,
    n_trained: int,
    linear_penalty: float,
) -> Iterable[TrainingSettings]:
    usual = usual_inputs(n_usable, budget.n_scores)
    direct = request.linear_part and request.learn in (None, "masks")
    learn: Learn = "masks" if request.learn is None else request.learn
    n_knots = n_knots_for(min(n_samples, policy.SEARCH_ROWS))
    if direct and request.n_components in (None, 0):
        unit = policy.LINEAR_SHARE * policy.REGRESSOR_VARIANCES[activations[0]]
        linear = TrainingSettings(activations[0], 0, linear_penalty / unit, linear_part=True)
        yield linear
        if budget.macs < n_usable * budget.n_scores:
            yield replace(linear, alpha=policy.PRUNED_SHARE * linear.alpha)
    for alpha in alphas_for(n_trained):
        for n_inputs in (usual, policy.FEW_INPUTS):
            direct_too: list[TrainingSettings] = []
            for activation in activations:
                bounded = activation == "table" and budget.max_bytes is not None
                n_bins = policy.BINS_WITHIN_BYTES if bounded else None
                width = n_components_for(budget, n_inputs, n_usable, n_samples, n_bins)
                setting = TrainingSettings(
                    activation, width, alpha, learn=learn, n_bins=n_bins, n_knots=n_knots
                )
                part = None if bounded else part_of_budget(budget, n_inputs, n_usable, width)
                both = [setting] if part is None else [replace(setting, macs=part), setting]
                yield from both
                direct_too += [replace(one, linear_part=True) for one in both]
                if part is None and direct:
                    yield direct_too.pop()
            if direct:
                yield from direct_too


def alphas_for(n_trained: int) -> tuple[float, ...]:
    """Penalties that are compared by trainings on so many rows.

    Examples
    --------
    >>> alphas_for(2_000) == alphas_for(1_500) == policy.ALPHAS
    True
    >>> [round(alpha, 4) for alpha in alphas_for(150)]
    [0.03, 0.003, 0.3, 0.0003]
    """
    factor = max(1.0, policy.PENALTY_ROWS / n_trained)
    return tuple(factor * alpha for alpha in policy.ALPHAS)


def _with_given(setting: TrainingSettings, request: SettingsRequest) -> TrainingSettings:
    given = {
        name: value
        for name in ("teacher", "alpha", "n_components")
        if (value := getattr(request, name)) is not None
    }
    if request.teacher not in (None, "labels"):
        given["refit"] = 0.0  # what is asked for is the teacher's function
    if request.n_components is not None:
        given["macs"] = None  # rows do not bound what is given
    if request.n_components == 0:  # the linear part alone, whatever the features were
        given |= {"linear_part": True, "activation": request.activation or "table"}
    if request.gamma is not None:
        given |= {"gamma": request.gamma, "scaling": "none"}
    return replace(setting, **given)


def compared_teachers(task: Task) -> tuple[str, ...]:
    """Name the teachers that labels are compared with.

    None if settings are compared on a part of the rows only: what a teacher adds to labels depends
    on their number. Boosted trees where they are fitted fast enough.
    """
    if task.n_samples > policy.SEARCH_ROWS:
        return ()
    rounds = boosting_rounds_for(task.n_samples, int(task.usable.sum()), task.n_scores)
    if task.kind == "multilabel" or rounds < policy.BOOSTING_ROUNDS[0]:
        return ("kernel",)
    return ("kernel", "boosting")


def for_more_rows(settings: TrainingSettings, n_compared: int, n_samples: int) -> TrainingSettings:
    """Return settings of the last training, on more rows than settings were compared on.

    A prior weighs as much beside the sum of more losses, so alpha, beside their mean, falls with
    one over the rows; knots grow, see :data:`~cerflearn.training.policy.N_KNOTS`.
    """
    more = n_knots_for(n_samples) / n_knots_for(n_compared)
    return replace(
        settings,
        alpha=settings.alpha * n_compared / n_samples,
        n_knots=round(more * settings.n_knots),
    )


def neighbours(setting: TrainingSettings, request: SettingsRequest) -> list[TrainingSettings]:
    """List settings that differ from a good one in what the first round did not vary."""
    found = [replace(setting, draw=setting.draw + 1)] if setting.n_components > 0 else []
    if request.gamma is None and setting.n_components > 0:
        found += [replace(setting, scaling=scaling) for scaling in ("common", "robust")]
        if setting.activation == "cosine":
            found.append(replace(setting, frequency_scale=policy.HIGHER_FREQUENCIES))
        if setting.activation == "table":
            found.append(replace(setting, n_knots=2 * setting.n_knots - 1))
    if setting.n_bins is not None:
        found.append(replace(setting, n_bins=setting.n_bins // 2))
    if request.teacher is None and setting.teacher == "labels":
        found += [replace(setting, teacher=teacher) for teacher in request.teachers]
    return found


def linear_penalty(task: Task, n_trained: int) -> float:
    """Choose the penalty of a linear part without features, by leave-one-out errors.

    A path of ridge regressions costs one eigendecomposition, so that penalties of any strength are
    compared, down to constant scores: where targets are mostly noise, networks with the penalties
    that are compared by training are worse than their mean.

    Parameters
    ----------
    task : Task
        Rows that settings are compared on.
    n_trained : int
        Rows that it is trained on: as a prior, the penalty falls with one over them.

    Returns
    -------
    float
        Beside the mean loss of the task: that of the ridge regression with the least error.
    """
    widest = max(task.X.shape[1], task.n_scores)
    rows = task.evenly_spaced(min(policy.PATH_ROWS, max(2, policy.PATH_ENTRIES // widest)))
    X = np.asarray(rows.X[:], dtype=np.float64)[:, task.usable]
    targets = score_targets(rows.targets[:], task.kind)
    found = fit_ridge_path(_narrow(X), targets, rows.weights, policy.PATH_ALPHAS)
    curvature = _curvature(task.kind, task.n_scores)
    return float(curvature * found.penalty * rows.n_samples / n_trained)


def _narrow(X: Float64Array) -> Float64Array:
    """Columns with the inner products of the centred rows, at most one for each row."""
    n_rows, n_columns = X.shape
    if n_columns <= n_rows:
        return X
    centred = X - X.mean(axis=0)
    values, vectors = eigh(centred @ centred.T)
    narrow: Float64Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return narrow


def _curvature(kind: TargetKind, n_scores: int) -> float:
    """Second derivative of the loss of a row in a score, where all classes are as likely."""
    if kind == "regression":
        return 1.0
    share = 1.0 / n_scores if kind == "multiclass" else 0.5
    return share * (1.0 - share)
