"""A fitted predictor in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn.features.cost import Cost

_LISTED_INPUTS = 8  # of the most important ones


def input_names(names: Any, n_features: int) -> list[str]:
    """Names of the columns of X; x0, x1, ... if it had none."""
    if names is not None:
        return [str(name) for name in names]
    return [f"x{index}" for index in range(n_features)]


def counted(number: int, noun: str) -> str:
    """Write a number and a noun, in the plural unless the number is one.

    Examples
    --------
    >>> counted(1, "score"), counted(2_000, "score")
    ('1 score', '2,000 scores')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def report_lines(model: Any, cost: Cost, names: list[str]) -> list[str]:
    """Lines about a fitted predictor.

    Parameters
    ----------
    model : CERFClassifier or CERFRegressor
        Fitted.
    cost : Cost
        Of one row.
    names : list of str
        Of the inputs.

    Returns
    -------
    list of str
        Without line ends.
    """
    n_features, n_scores = len(names), len(model.head_intercept_)
    active = model.feature_map_.masks.sum(axis=0)
    n_linear = int(np.count_nonzero(model.linear_coef_))
    of_scores = len(active) * n_scores
    parts = [f"{int(active.sum()):,} for features", f"{of_scores:,} for scores"]
    if n_linear > 0:
        parts.append(f"{n_linear:,} for the linear part")
    lines = [
        f"{type(model).__name__}: {counted(cost.macs, 'MAC')} a row ({', '.join(parts)})",
        f"  {_features(model, active)}{counted(n_scores, 'score')}",
        f"  {len(model.inputs_read_):,} of {counted(n_features, 'input')} read"
        f"{_most_important(model, names)}",
        f"  {counted(cost.n_parameters, 'parameter')}, {counted(cost.n_bytes, 'byte')} stored as "
        f"{model.storage}{_operations(cost)}",
        f"  chosen: {_chosen(model)}",
    ]
    return lines + _ceiling(model, n_features)


def _features(model: Any, active: Any) -> str:
    """Write how many features there are, and how many inputs they read."""
    if len(active) == 0:
        return "no features, "
    least, most = int(active.min()), int(active.max())
    span = f"{least}" if least == most else f"{least} to {most}"
    bins = f" and {model.tables_.shape[1]} bins" if model.activation_ == "table" else ""
    inputs = "input" if most == 1 else "inputs"
    return f"{counted(len(active), f'{model.activation_} feature')} of {span} {inputs}{bins} each, "


def _operations(cost: Cost) -> str:
    """Write what a row costs beside multiply-accumulates, if anything."""
    if cost.lookups > 0:
        return f", {counted(cost.lookups, 'lookup')} a row"
    return f", {counted(cost.trig, 'cosine')} a row" if cost.trig > 0 else ""


def _most_important(model: Any, names: list[str]) -> str:
    """Name the inputs of most importance, with their shares."""
    shares = model.feature_importances_
    order = np.argsort(-shares, kind="stable")[:_LISTED_INPUTS]
    listed = [f"{names[index]} {shares[index]:.1%}" for index in order if shares[index] > 0.0]
    return f"; most important: {', '.join(listed)}" if listed else ""


def _chosen(model: Any) -> str:
    """Write the settings in the words of the constructor."""
    words = [f"learn={model.learn_!r}", f"n_components={model.n_components_}"]
    if model.learn_ != "selection":
        words.append(f"teacher={model.teacher_!r}")
        words += [f"activation={model.activation_!r}"] if model.n_components_ > 0 else []
        words.append(f"alpha={model.alpha_:g}")
    settings = model.settings_
    extra = {
        "with a linear part": settings["linear_part"],
        "inputs scaled alike": settings["scaling"] == "common",
        f"frequencies x {settings['frequency_scale']:g}": settings["frequency_scale"] != 1.0,
    }
    words += [name for name, holds in extra.items() if holds]
    return ", ".join(words)


def _ceiling(model: Any, n_features: int) -> list[str]:
    """Say why a budget is not, or cannot be, used up."""
    part = model.settings_["macs"]
    if part is not None:
        return [
            f"  macs={model.macs_:,} is not used up: {counted(part, 'MAC')} were as good or better "
            "on held-out rows"
        ]
    n_components, n_scores = model.n_components_, len(model.head_intercept_)
    linear = n_features * n_scores * model.settings_["linear_part"]
    ceiling = n_components * (n_features + n_scores) + linear
    if model.macs_ - ceiling <= n_scores:  # less than one more feature would cost
        return []
    if n_components == 0:
        return [f"  macs={model.macs_:,} is not used up: {_why_linear(model, ceiling)}"]
    why = "given" if model.n_components != "auto" else "chosen, at most 5 sqrt(n_samples)"
    return [
        f"  macs={model.macs_:,} is not used up: {counted(n_components, 'feature')} ({why}) of all "
        f"{counted(n_features, 'input')} with {counted(n_scores, 'score')} cost "
        f"{counted(ceiling, 'MAC')}"
    ]


def _why_linear(model: Any, ceiling: int) -> str:
    """Say why there are no features, and what the linear part costs at most."""
    most = f"the linear part costs at most {counted(ceiling, 'MAC')}"
    if model.n_components == 0:
        return f"n_components=0 was given, and {most}"
    if model.settings is not None:
        return f"settings have n_components=0, and {most}"
    return (
        f"the linear part alone, of at most {counted(ceiling, 'MAC')}, was as good or better on "
        "held-out rows"
    )
