"""Picture of Figures 1 to 3: one panel a dataset, curves with error bars, labels at their ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.pictures import COLOURS, new_figure, save, spread
from experiments.verdicts import mean

PAPER = ("rff", "untrained", "cerf")
LABELS = {
    "rff": "RFF",
    "untrained": "untrained",
    "cerf": "trained CERF",
    "default": "our default",
    "greedy": "greedy",
    "orthogonal": "orthogonal",
    "nystroem": "Nyström",
    "linear": "linear PCA",
}
N_COLUMNS = 2


def draw(results: dict[str, Any], config: dict[str, Any], path: Path) -> None:
    """Write the picture of all datasets."""
    names = config["datasets"]
    n_rows = -(-len(names) // N_COLUMNS)
    figure, axes = new_figure(n_rows, min(N_COLUMNS, len(names)), width=4.8, height=3.4)
    for axis in axes.ravel()[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.ravel(), names, strict=False):
        _draw_panel(axis, results[name], config)
        axis.set_title(name)
        axis.set_xlabel("K, masked cosines of equal MACs")
        axis.set_ylabel("normalised error")
    save(figure, path)


def _draw_panel(axis: Any, seeds: dict[str, Any], config: dict[str, Any]) -> None:
    sizes = config["sizes"]
    ends = {}
    for method in config["methods"]:
        found = [mean([s[str(k)][method]["error"] for s in seeds.values()]) for k in sizes]
        main = method in (*PAPER, "default")
        axis.errorbar(
            sizes,
            [point.value for point in found],
            [0.0 if point.count == 1 else point.error for point in found],
            color=COLOURS[method],
            marker="o" if main else None,
            markersize=3.5,
            linewidth=2.0 if main else 1.2,
            linestyle="-" if main else "--",
            capsize=2,
        )
        ends[method] = found[-1].value
    linear = mean([seed["width"]["linear"]["error"] for seed in seeds.values()]).value
    axis.hlines(linear, sizes[0], sizes[-1], color=COLOURS["linear"], linestyle=":", linewidth=1.2)
    ends["linear"] = linear
    axis.grid(alpha=0.3)
    _label_ends(axis, sizes, ends)


def _label_ends(axis: Any, sizes: list[int], ends: dict[str, float]) -> None:
    """Write names beside the ends of the curves, apart from each other."""
    low, high = axis.get_ylim()
    span = sizes[-1] - sizes[0]
    least = 0.062 * (high - low)
    bounds = (low + least / 2.0, high - least / 2.0)
    places = spread([*ends.values()], least=least, bounds=bounds)
    for (method, value), place in zip(ends.items(), places, strict=True):
        axis.annotate(
            LABELS[method],
            xy=(sizes[-1], value),
            xytext=(sizes[-1] + 0.06 * span, place),
            color=COLOURS[method],
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "color": COLOURS[method], "linewidth": 0.5},
        )
    axis.set_xlim(sizes[0] - 0.05 * span, sizes[-1] + 0.42 * span)
    axis.set_ylim(low, high)
    axis.set_xticks(sizes)
