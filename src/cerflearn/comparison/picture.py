"""Scores against cost, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cerflearn._validation import check_choice

if TYPE_CHECKING:
    from cerflearn.comparison.table import Frontier

_LABELS = {
    "macs": "multiply-accumulates per prediction",
    "time": "microseconds per prediction, one thread",
}
_AXES = {"macs": "macs", "time": "microseconds"}
_ACCURACIES = (
    0,
    25,
    50,
    60,
    70,
    80,
    85,
    90,
    93,
    95,
    97,
    98,
    99,
    99.5,
)  # marked on the axis, per cent
_LEAST_ERROR = 0.1  # per cent
_STYLES = {"cerf": {"linewidth": 2.5, "color": "black", "zorder": 5}}


def draw_frontier(frontier: Frontier, path: Any, ax: Any, against: str) -> Any:
    """Draw one line for each method; see :meth:`Frontier.plot`."""
    check_choice("against", against, tuple(_LABELS))
    ax = _new_axes() if ax is None else ax
    column = _AXES[against]
    for method in dict.fromkeys(row["method"] for row in frontier.fitted):
        rows = [row for row in frontier.fitted if row["method"] == method]
        _draw_line(ax, method, rows, column, frontier.metric)
    _scale_by_factors(ax)
    ax.set_xlabel(_LABELS[against])
    ax.grid(alpha=0.3)
    if frontier.metric == "accuracy":
        _scale_by_error(ax)
    else:
        ax.set_ylabel("explained share of the variance, R²")
    _add_legend(ax, frontier)
    if path is not None:
        ax.figure.savefig(path, dpi=120)
    return ax


def _new_axes() -> Any:
    """Axes of a new figure that no window shows."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install 'cerflearn[report]'.") from error
    return Figure(figsize=(6, 4.5), layout="constrained").subplots()


def _draw_line(ax: Any, method: str, rows: list[dict[str, Any]], column: str, metric: str) -> None:
    """One method in the order of its MACs; models that several budgets share once."""
    points = list({row["macs"]: row for row in sorted(rows, key=lambda r: -r["budget"])}.values())
    points.sort(key=lambda row: row["macs"])
    names = (column, "score", "error")
    cost, score, error = (np.array([row[name] for row in points]) for name in names)
    if metric == "accuracy":
        score, error = 100 * (1 - score), 100 * error
    ax.errorbar(
        cost,
        score,
        None if np.isnan(error).any() else error,
        marker="*" if len(points) == 1 else "o",
        markersize=10 if len(points) == 1 else 5,
        capsize=2,
        label=method,
        **_STYLES.get(method, {}),
    )


def _add_legend(ax: Any, frontier: Frontier) -> None:
    """Name every method, those without a model last."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    fitted = {row["method"] for row in frontier.fitted}
    for method in dict.fromkeys(row["method"] for row in frontier.rows):
        if method not in fitted:
            handles.append(Line2D([], [], linestyle="none"))
            labels.append(f"{method} (no model)")
    if handles:
        ax.legend(handles, labels, fontsize=8)


def _scale_by_factors(ax: Any) -> None:
    """Cost on a logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _scale_by_error(ax: Any) -> None:
    """Error on a logarithmic axis, with ticks labelled by accuracy."""
    from matplotlib.ticker import NullLocator

    errors = [y for container in ax.containers for y in container.lines[0].get_ydata()]
    if min(errors, default=1.0) < _LEAST_ERROR:  # no logarithm of an error of zero
        linear_up_to = max(_LEAST_ERROR, min((e for e in errors if e > 0.0), default=0.0) / 4.0)
        ax.set_yscale("symlog", linthresh=linear_up_to)
        low, high = -0.3 * linear_up_to, 1.3 * max(*errors, linear_up_to)
    else:
        ax.set_yscale("log")
        low, high = sorted(ax.get_ylim())
    marks = [mark for mark in (*_ACCURACIES, 100) if low <= 100 - mark <= high]
    if len(marks) < 2:  # all are alike: the accuracies themselves, to two digits
        values = sorted({round(100.0 - error, 2) for error in errors})
        marks = values[:: 1 + len(values) // 5]
    ax.set_yticks([100 - mark for mark in marks], [f"{mark:g}" for mark in marks])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylim(high, low)
    ax.set_ylabel("test accuracy, %")
