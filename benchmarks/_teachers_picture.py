"""Picture of docs/teachers.md: what each teacher brings, by selector and budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _teachers_maps import SELECTORS, SUPERVISED, TEACHERS
from _teachers_tables import (
    Results,
    above_untrained,
    classes,
    mean_and_errors,
    numbers,
    untrained,
)
from experiments.pictures import new_figure, save

COLOURS = {"greedy": "#9467bd", "shared": "#ff7f0e", "cvem": "#d62728"}
OFFSETS = {"greedy": -0.22, "shared": 0.0, "cvem": 0.22}


def _places() -> dict[str, float]:
    """Heights of the teachers, those that read y below a gap."""
    return {name: i + (0.6 if name in SUPERVISED else 0.0) for i, name in enumerate(TEACHERS)}


def _panel(ax: Any, results: Results, names: list[str], budgets: list[int], title: str) -> None:
    places = _places()
    for selector in SELECTORS:
        for teacher, place in places.items():
            differences = above_untrained(results, names, teacher, selector)[:, :, budgets]
            mean, error, _ = mean_and_errors(differences)
            ax.errorbar(
                mean,
                place + OFFSETS[selector],
                xerr=error,
                fmt="o",
                markersize=4.5,
                linewidth=1.2,
                color=COLOURS[selector],
                label=selector if teacher == "rff" else None,
            )
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.axhspan(places["labels"] - 0.5, places["labels"] + 0.5, color="#f3eef8", zorder=0)
    ax.axhline(places["labels"] - 0.8, color="#999999", linewidth=0.6, linestyle=":")
    ax.set_title(title, fontsize=9)
    ax.grid(axis="x", color="#e6e6e6", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8)


def draw(results: Results, path: Path) -> None:
    """Draw one panel for each budget on the sets of classes, and one for numbers."""
    some, others = classes(results), numbers(results)
    outputs = untrained(results, some, "outputs").mean(axis=(0, 1))
    figure, (axes,) = new_figure(1, len(outputs) + 1, width=2.7, height=4.4)
    for i, ax in enumerate(axes[:-1]):
        _panel(
            ax, results, some, [i], f"{len(some)} sets of classes\nabout {outputs[i]:.0f} outputs"
        )
        ax.set_xlabel("points of accuracy", fontsize=8)
    every = list(range(len(outputs)))
    _panel(axes[-1], results, others, every, f"{len(others)} sets of numbers\nall budgets")
    axes[-1].set_xlabel("points of R2", fontsize=8)
    places = _places()
    for ax in axes:
        ax.set_ylim(max(places.values()) + 0.6, -0.6)
        ax.set_yticks([*places.values()], [*places] if ax is axes[0] else [""] * len(places))
    axes[0].text(
        *(0.98, places["labels"] - 0.83),
        "below: reads y",
        transform=axes[0].get_yaxis_transform(),
        ha="right",
        va="bottom",
        fontsize=7,
        color="#777777",
    )
    axes[1].legend(loc="lower right", fontsize=8, frameon=True)
    figure.suptitle("What a teacher brings: maps at equal MACs, minus untrained masks", fontsize=10)
    save(figure, path)
