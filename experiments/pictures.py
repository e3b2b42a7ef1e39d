"""Pictures of the page: one palette, one size, the same bytes for the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

COLOURS = {
    "rff": "#2ca02c",
    "untrained": "#1f77b4",
    "cerf": "#d62728",
    "cerf as printed": "#f4a582",
    "cerf bbp": "#8b0000",
    "untrained bbp": "#0b3d6b",
    "default": "#000000",
    "greedy": "#9467bd",
    "greedy labels": "#e377c2",
    "orthogonal": "#8fd18f",
    "nystroem": "#bcbd22",
    "linear": "#7f7f7f",
    "mlp": "#ff7f0e",
    "classifier": "#8c564b",
    "paper's CERF": "#f2a6a6",
    "paper's RFF": "#b8e0b8",
}
"""Green RFF, blue untrained, red trained as in the paper's Figure 2; others ours."""


def new_figure(rows: int, columns: int, *, width: float = 3.4, height: float = 2.6) -> Any:
    """Return a figure and its axes, an array (rows, columns), each of the size in inches."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, path: Path) -> None:
    """Write a picture whose bytes depend on the results alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "cerflearn", "svg.fonttype": "path"}):
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, dpi=120, metadata=metadata)


def spread(values: list[float], *, least: float, bounds: tuple[float, float]) -> list[float]:
    """Places near the values, in their order, at least ``least`` apart where there is room."""
    order = np.argsort(values, kind="stable")
    places = np.array(values)[order]
    steps = least * np.arange(len(places))
    level = places - steps
    pushed_up = np.maximum.accumulate(level)
    pushed_down = np.minimum.accumulate(level[::-1])[::-1]
    places = (pushed_up + pushed_down) / 2.0 + steps
    places = np.maximum(places, bounds[0] + steps)
    places = np.minimum(places, bounds[1] - steps[::-1])
    found = np.empty(len(values))
    found[order] = places
    return found.tolist()
