"""Tables of the methods that Table 2 leaves out, for docs/blocked_tables.md, and its picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator

from experiments import paper
from experiments.markdown import bullets, table
from experiments.pictures import COLOURS, new_figure, save
from experiments.verdicts import Mean, is_above, mean, paired

Results = dict[str, Any]
Config = dict[str, Any]
Cell = tuple[str, str]
"""Row of the table and fraction K'/K."""

TRUTHS = {"teacher": "the teacher's Gram matrix", "exact": "the exact kernel"}
WEIGHTS = {"equal": "Equal weights", "nnls": "NNLS weights"}
MEANING = {
    "cerf": "CERF, blocks around centres of P0, chosen by CVEM",
    "fastfood": "blocked RFF: blocks of P0, chosen by CVEM",
    "dense": "dense RFF of P0 of equal MACs, chosen by CVEM",
    "rescaled": "blocked RFF whose width was chosen on satimage too",
    "untrained": "CERF's blocks as drawn",
    "greedy": "CERF's blocks, chosen by greedy pursuit",
    "default": "CERF's blocks with cosine and sine of each projection, greedy: our defaults",
    "orthogonal": "dense orthogonal features of P0 (Gauss only), not chosen",
    "nystroem": "Nyström with the exact kernel in closed form, which no other method uses",
}
CLAIMS = (("equal", "equal"), ("nnls", "nnls"))
"""Weights of CERF and of its rival."""


def cells(results: Results) -> list[Cell]:
    """All cells, in the order of the paper."""
    return [(label, f) for label in results for f in next(iter(results[label].values()))]


def values(results: Results, cell: Cell, side: str, weights: str, truth: str) -> list[float]:
    """Errors of a side, one a seed; empty if there is none."""
    label, fraction = cell
    fitted = "equal" if weights == "scaled" else weights
    seeds = results[label]
    found = [seeds[s][fraction].get(side, {}).get(fitted) for s in sorted(seeds, key=int)]
    return [record["errors"][weights][truth] for record in found if record]


def gain(results: Results, cell: Cell, truth: str, rival: str, weights: tuple[str, str]) -> Mean:
    """Error of a rival minus CERF's, paired."""
    theirs = values(results, cell, rival, weights[1], truth)
    return paired(theirs, values(results, cell, "cerf", weights[0], truth))


def won(results: Results, truth: str, rival: str, weights: tuple[str, str]) -> int:
    """Cells in which CERF's mean error is below a rival's."""
    return sum(is_above(gain(results, c, truth, rival, weights)) for c in cells(results))


def printed(cell: Cell) -> tuple[float, float] | None:
    """Errors of CERF and RFF in the paper."""
    numbers = paper.numbers("table2")
    if cell[0] not in numbers["CERF"]:
        return None
    place = numbers["fractions"].index(float(cell[1]))
    return numbers["CERF"][cell[0]][place], numbers["RFF"][cell[0]][place]


def same_order(difference: Mean, cell: Cell) -> bool:
    """Tell whether CERF is below RFF where the paper's is: the unit of its errors is unknown."""
    theirs = printed(cell)
    return theirs is not None and is_above(difference) == (theirs[0] < theirs[1])


def section(results: Results, config: Config) -> str:
    """Return what each method is, its errors, and size and time."""
    parts = [bullets(f"{s}: {MEANING[s]}" for s in config["sides"])]
    parts += [_all_sides(results, config, weights) for weights in ("equal", "nnls")]
    parts += ["### Size and time", _costs(results, config)]
    return "\n\n".join(parts)


def summary(results: Results, config: Config) -> list[str]:
    """Return the counts over all cells."""
    del config
    n = len(cells(results))
    same = sum(
        same_order(gain(results, cell, "teacher", "fastfood", ("equal", "equal")), cell)
        for cell in cells(results)
    )
    theirs = [pair for pair in map(printed, cells(results)) if pair]
    below = {
        (a, b, truth): won(results, truth, "fastfood", (a, b))
        for a, b in CLAIMS
        for truth in TRUTHS
    }
    return [
        f"With equal weights CERF is below blocked RFF in {below['equal', 'equal', 'teacher']} of "
        f"{n} cells against the teacher, in {below['equal', 'equal', 'exact']} against the exact "
        f"kernel (the paper: {sum(a < b for a, b in theirs)} of {len(theirs)}; the same order in "
        f"{same}). With NNLS weights on both sides it is below in "
        f"{below['nnls', 'nnls', 'teacher']} and {below['nnls', 'nnls', 'exact']}. This holds in "
        "one reading of the paper's parameters, of several that [blocked.md](blocked.md) compares."
    ]


def _all_sides(results: Results, config: Config, weights: str) -> str:
    sides = [
        s for s in config["sides"] if any(_cell(results, c, s, weights) for c in cells(results))
    ]
    rows = [
        [*cell, *(_cell(results, cell, side, weights) for side in sides)] for cell in cells(results)
    ]
    text = f"{WEIGHTS[weights]}; error to the teacher / to the exact kernel:"
    return text + "\n\n" + table(["data, P1, parameter", "K'/K", *sides], rows)


def _cell(results: Results, cell: Cell, side: str, weights: str) -> str:
    found = [values(results, cell, side, weights, truth) for truth in TRUTHS]
    return " / ".join(f"{np.mean(errors):.1f}" for errors in found) if found[0] else ""


def _costs(results: Results, config: Config) -> str:
    label = next(iter(results))
    rows = [
        row
        for fraction in next(iter(results[label].values()))
        for side in config["sides"]
        if (row := _cost_row(results[label], fraction, side))
    ]
    header = ["K'/K", "method", "outputs", "MACs", "microseconds a row", "seconds to fit and test"]
    return f"Size and time in the first row of the table ({label}):\n\n" + table(header, rows)


def _cost_row(seeds: Results, fraction: str, side: str) -> list[str]:
    """Size and time of a side, of NNLS weights where there are such; empty without the side."""
    kinds = [seed[fraction][side] for seed in seeds.values()]
    records = [found for kind in kinds if (found := kind.get("nnls") or kind.get("equal"))]
    if not records:
        return []
    found = {key: np.mean([r[key] for r in records]) for key in ("columns", "macs", "seconds")}
    times = [record["microseconds"] for record in records if "microseconds" in record]
    shown = f"{np.mean(times):.2f}" if times else ""
    sizes = [f"{found['columns']:.0f}", f"{found['macs']:,.0f}"]
    return [fraction, side, *sizes, shown, f"{found['seconds']:.2f}"]


def draw(results: Results, path: Path) -> None:
    """Draw the errors of CERF and of blocked RFF in all cells."""
    figure, axes = new_figure(1, 2, width=6.0, height=4.4)
    places = np.arange(len(cells(results)))
    styles = {
        ("cerf", "equal"): (COLOURS["cerf"], "o", "CERF, equal weights"),
        ("fastfood", "equal"): (COLOURS["rff"], "o", "RFF, equal weights"),
        ("cerf", "nnls"): (COLOURS["cerf"], "^", "CERF, NNLS weights"),
        ("fastfood", "nnls"): (COLOURS["rff"], "^", "RFF, NNLS weights"),
    }
    for axis, (truth, words) in zip(axes.ravel(), TRUTHS.items(), strict=True):
        for (side, weights), (colour, marker, name) in styles.items():
            found = [mean(values(results, cell, side, weights, truth)) for cell in cells(results)]
            axis.errorbar(
                places + (0.12 if side == "fastfood" else -0.12),
                [point.value for point in found],
                [0.0 if point.count == 1 else point.error for point in found],
                color=colour,
                marker=marker,
                markersize=5,
                linestyle="none",
                capsize=2,
                label=name,
            )
        axis.set_yscale("log")
        axis.set_yticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_title(f"error to {words}")
        names = [f"{label}, {fraction}" for label, fraction in cells(results)]
        axis.set_xticks(places, names, rotation=60, ha="right", fontsize=7)
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("1,000 x mean absolute error")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, fontsize=8)
    save(figure, path)
