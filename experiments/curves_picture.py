"""Picture of Figures 1 to 3: one panel a dataset, curves with error bars, labels at their ends.

Methods whose MACs do not follow K are level lines that name their MACs: linear PCA, and, where they
were measured, linear regression and networks trained within a budget.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.pictures import COLOURS, new_figure, save, spread
from experiments.store import path_of
from experiments.verdicts import Mean, mean

PAPER = ("rff", "untrained", "cerf")
LABELS = {
    "rff": "RFF",
    "untrained": "untrained",
    "cerf": "trained CERF",
    "default": "our default",
    "greedy": "greedy",
    "orthogonal": "orthogonal",
    "nystroem": "Nyström",
}
N_COLUMNS = 2
TRAINED_COLOURS = ("darkorange", "peru")


@dataclass(frozen=True)
class Level:
    """A method that has one budget for all K.

    Attributes
    ----------
    label : str
        Its name, with its MACs.
    error : Mean
        Over the seeds.
    colour : str
        Of the line.
    style : object
        Of the line, as matplotlib has it.
    """

    label: str
    error: Mean
    colour: str
    style: Any


def trained_beside(
    name: str, results: dict[str, Any], config: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Networks trained within a budget on datasets and seeds of a figure, and for which task.

    Parameters
    ----------
    name : str
        Of the figure.
    results, config : dict
        Of the figure.

    Returns
    -------
    trained : dict
        Results by dataset and seed; empty if there are none.
    task : str
        What was measured.
    """
    path = path_of("figures_trained", config["size"])
    content = json.loads(path.read_text()) if path.exists() else {"results": {}}
    found = {
        data: seeds
        for data, seeds in content["results"].get(name, {}).items()
        if seeds and set(seeds) <= set(results.get(data, {}))
    }
    return found, content["config"]["figures"][name]["task"] if found else ""


def levels(seeds: dict[str, Any], trained: dict[str, Any], *, predicts_inputs: bool) -> list[Level]:
    """Return the level lines of a dataset.

    Parameters
    ----------
    seeds : dict
        Results of the figure, by seed.
    trained : dict
        Results of trained networks and of the linear model beside them, by seed; may be empty.
    predicts_inputs : bool
        Whether that linear model is a regression, not linear PCA again.

    Returns
    -------
    list of Level
        Linear PCA first.
    """
    linear = [seed["width"]["linear"] for seed in seeds.values()]
    found = [_level("linear PCA", linear, COLOURS["linear"], ":")]
    methods = list(next(iter(trained.values()), {}))
    if predicts_inputs and "linear" in methods:
        records = [seed["linear"] for seed in trained.values()]
        found.append(_level("linear regression", records, "dimgrey", (0, (1, 3))))
    networks = [method for method in methods if method != "linear"]
    for method, colour in zip(networks, TRAINED_COLOURS, strict=False):
        records = [seed[method] for seed in trained.values()]
        found.append(_level("trained network", records, colour, "-."))
    return found


def _level(name: str, records: list[dict[str, Any]], colour: str, style: Any) -> Level:
    macs = mean([record["macs"] for record in records]).value
    error = mean([record["error"] for record in records])
    return Level(f"{name}, {macs:,.0f} MACs", error, colour, style)


def draw(
    results: dict[str, Any],
    config: dict[str, Any],
    path: Path,
    trained: dict[str, Any],
    *,
    predicts_inputs: bool,
) -> None:
    """Write the picture of all datasets; the last two as in :func:`levels`, by dataset."""
    names = config["datasets"]
    n_rows = -(-len(names) // N_COLUMNS)
    figure, axes = new_figure(n_rows, min(N_COLUMNS, len(names)), width=5.8, height=3.8)
    for axis in axes.ravel()[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.ravel(), names, strict=False):
        seeds = results[name]
        lines = levels(seeds, trained.get(name, {}), predicts_inputs=predicts_inputs)
        _draw_panel(axis, seeds, config, lines)
        axis.set_title(name)
        axis.set_xlabel(f"K, masked cosines of equal MACs ({_macs_range(seeds, config)})")
        axis.set_ylabel("normalised error")
    save(figure, path)


def _macs_range(seeds: dict[str, Any], config: dict[str, Any]) -> str:
    first = next(iter(seeds.values()))
    low, high = (first[str(config["sizes"][i])]["cerf"]["macs"] for i in (0, -1))
    return f"{low:,} to {high:,}"


def _draw_panel(
    axis: Any, seeds: dict[str, Any], config: dict[str, Any], lines: list[Level]
) -> None:
    sizes = config["sizes"]
    ends = []
    for method in config["methods"]:
        found = [mean([s[str(k)][method]["error"] for s in seeds.values()]) for k in sizes]
        main = method in (*PAPER, "default")
        axis.errorbar(
            sizes,
            [point.value for point in found],
            [_bar(point) for point in found],
            color=COLOURS[method],
            marker="o" if main else None,
            markersize=3.5,
            linewidth=2.0 if main else 1.2,
            linestyle="-" if main else "--",
            capsize=2,
        )
        ends.append((LABELS[method], found[-1].value, COLOURS[method]))
    for line in lines:
        axis.errorbar(
            sizes,
            np.full(len(sizes), line.error.value),
            np.full(len(sizes), _bar(line.error)),
            color=line.colour,
            linewidth=1.4,
            linestyle=line.style,
            capsize=2,
        )
        ends.append((line.label, line.error.value, line.colour))
    axis.grid(alpha=0.3)
    _label_ends(axis, sizes, ends)


def _bar(point: Mean) -> float:
    return 0.0 if point.count == 1 else point.error


def _label_ends(axis: Any, sizes: list[int], ends: list[tuple[str, float, str]]) -> None:
    """Write names beside the ends of the curves, apart from each other."""
    low, high = axis.get_ylim()
    span = sizes[-1] - sizes[0]
    least = 0.062 * (high - low)
    bounds = (low + least / 2.0, high - least / 2.0)
    places = spread([value for _, value, _ in ends], least=least, bounds=bounds)
    for (label, value, colour), place in zip(ends, places, strict=True):
        axis.annotate(
            label,
            xy=(sizes[-1], value),
            xytext=(sizes[-1] + 0.12 * span, place),
            color=colour,
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0, 0.5)},
        )
    axis.set_xlim(sizes[0] - 0.05 * span, sizes[-1] + 0.92 * span)
    axis.set_ylim(low, high)
    axis.set_xticks(sizes)
