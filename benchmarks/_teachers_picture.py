"""Picture of docs/teachers.md: what each teacher brings, by selector and budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from _teachers_maps import RANDOM, SELECTORS, SUPERVISED, TEACHERS, UNTRAINED
from _teachers_tables import Results, classes, mean_and_errors, numbers, untrained, values
from experiments.pictures import new_figure, save

COLOURS = {"greedy": "#9467bd", "shared": "#ff7f0e", "cvem": "#d62728", RANDOM[0]: "#1f77b4"}
OFFSETS = {"greedy": -0.22, "shared": 0.0, "cvem": 0.22, RANDOM[0]: 0.0}
GAP = 0.7  # above the teachers that read y, in rows


def _places() -> dict[str, float]:
    """Heights of the rows."""
    names = (UNTRAINED, *TEACHERS)
    return {name: i + (GAP if name in SUPERVISED else 0.0) for i, name in enumerate(names)}


def _dots(results: Results, names: list[str]) -> list[tuple[str, str, NDArray]]:
    """Row, selector, and differences to the default map: rff with the greedy selector."""
    base = values(results, names, "rff", "greedy")
    pairs = [(UNTRAINED, RANDOM[0]), *((t, s) for t in TEACHERS for s in SELECTORS)]
    return [(t, s, values(results, names, t, s) - base) for t, s in pairs]


def _panel(ax: Any, results: Results, names: list[str], budgets: list[int], title: str) -> None:
    places = _places()
    for teacher, selector, differences in _dots(results, names):
        mean, error, _ = mean_and_errors(differences[:, :, budgets])
        ax.errorbar(
            mean,
            places[teacher] + OFFSETS[selector],
            xerr=error,
            fmt="o",
            markersize=4.5,
            linewidth=1.2,
            color=COLOURS[selector],
        )
    first = places[SUPERVISED[0]]
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.axhspan(first - 0.6, max(places.values()) + 0.6, color="#f5f2fa", zorder=0)
    ax.set_title(title, fontsize=9)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8)


def draw(results: Results, path: Path) -> None:
    """Draw one panel for each budget on the sets of classes, and one for numbers."""
    some, others = classes(results), numbers(results)
    outputs = untrained(results, some, "outputs").mean(axis=(0, 1))
    figure, (axes,) = new_figure(1, len(outputs) + 1, width=2.7, height=4.6)
    for i, ax in enumerate(axes[:-1]):
        title = f"{len(some)} sets of classes\nabout {outputs[i]:.0f} outputs"
        _panel(ax, results, some, [i], title)
        ax.set_xlabel("points of accuracy", fontsize=8)
    every = list(range(len(outputs)))
    _panel(axes[-1], results, others, every, f"{len(others)} sets of numbers\nall budgets")
    axes[-1].set_xlabel("points of R2", fontsize=8)
    places = _places()
    for ax in axes:
        ax.set_ylim(max(places.values()) + 0.6, -0.6)
        ax.set_yticks([*places.values()], [*places] if ax is axes[0] else [""] * len(places))
    note = {"transform": axes[0].get_yaxis_transform(), "fontsize": 7.5, "color": "#6b5b95"}
    axes[0].text(0.97, places[SUPERVISED[0]] - 0.6, "these read y", ha="right", va="bottom", **note)
    selectors = [axes[0].plot([], [], "o", color=COLOURS[s], label=s)[0] for s in COLOURS]
    figure.legend(handles=selectors, loc="outside lower center", ncols=len(COLOURS), fontsize=8)
    title = "Maps at equal MACs, minus the default (teacher rff, selector greedy)"
    figure.suptitle(f"{title}; bars: one standard error", fontsize=10)
    save(figure, path)
