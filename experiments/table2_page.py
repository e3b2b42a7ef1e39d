"""Section of Table 2: cells in which CERF is below RFF, the paper's order, all sides, a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator

from experiments import paper
from experiments.blocked_protocol import published
from experiments.markdown import bullets, table
from experiments.pictures import COLOURS, new_figure, save
from experiments.verdicts import Mean, count, is_above, mean, paired

Results = dict[str, Any]
Config = dict[str, Any]
Cell = tuple[str, str]
"""Row of the table and fraction K'/K."""

PICTURE = "table2.svg"
TRUTHS = {"teacher": "the teacher's Gram matrix", "exact": "the exact kernel"}
WEIGHTS = {"equal": "equal weights", "scaled": "one factor for all", "nnls": "NNLS weights"}
MEANING = {
    "cerf": "CERF, blocks around centres of P0, chosen by CVEM",
    "fastfood": "blocked RFF: blocks of P0, chosen by CVEM",
    "dense": "dense RFF of P0 of equal MACs, chosen by CVEM",
    "rescaled": "blocked RFF whose width was chosen on satimage too",
    "untrained": "CERF's blocks as drawn",
    "greedy": "CERF's blocks, chosen by greedy pursuit",
    "default": "CERF's blocks with cosine and sine of each projection, greedy: our defaults",
    "orthogonal": "dense orthogonal features of P0 (Gauss only), not chosen",
    "nystroem": "Nyström with the exact kernel in closed form, which no other side knows",
}
CLAIMS = (
    ("equal", "equal"),
    ("scaled", "scaled"),
    ("nnls", "nnls"),
    ("nnls", "equal"),
)
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


def cell_verdict(difference: Mean, cell: Cell) -> str:
    """Compare the order of CERF and RFF with the paper's: the unit of its errors is unknown."""
    theirs = printed(cell)
    if theirs is None:
        return "cannot be judged: not in the paper"
    ours_below, theirs_below = is_above(difference), theirs[0] < theirs[1]
    if ours_below == theirs_below:
        return "reproduced"
    return "better" if ours_below else "worse"


def section(results: Results, config: Config, folder: Path) -> str:
    """Return everything in the order in which it is read."""
    _draw(results, folder / PICTURE)
    parts = [_protocol(config), _counts(results, config)]
    for truth, words in TRUTHS.items():
        parts += [f"### Equal weights, against {words}", _beside_the_paper(results, truth)]
    parts.append(f"![Errors of the cells, equal and NNLS weights](reproduction/{PICTURE})")
    parts += ["### All sides", bullets(f"{s}: {MEANING[s]}" for s in config["sides"])]
    parts += [_all_sides(results, config, weights) for weights in ("equal", "nnls")]
    parts.append(_costs(results, config))
    return "\n\n".join(parts)


def summary(results: Results, config: Config) -> list[str]:
    """Return the counts over all cells."""
    del config
    n = len(cells(results))
    verdicts = [
        cell_verdict(gain(results, cell, "teacher", "fastfood", ("equal", "equal")), cell)
        for cell in cells(results)
    ]
    theirs = [pair for pair in map(printed, cells(results)) if pair]
    same = count(verdicts)["reproduced"]
    below = {
        (a, b, truth): won(results, truth, "fastfood", (a, b))
        for a, b in CLAIMS
        for truth in TRUTHS
    }
    return [
        f"equal weights: CERF is below blocked RFF in {below['equal', 'equal', 'teacher']} of {n} "
        f"cells against the teacher, in {below['equal', 'equal', 'exact']} against the exact "
        f"kernel (the paper: {sum(a < b for a, b in theirs)} of {len(theirs)}; the same order in "
        f"{same}).",
        f"CERF with NNLS weights is below RFF with equal weights, as the paper has it, in "
        f"{below['nnls', 'equal', 'teacher']} and {below['nnls', 'equal', 'exact']} of {n}; below "
        f"RFF with NNLS weights in {below['nnls', 'nnls', 'teacher']} and "
        f"{below['nnls', 'nnls', 'exact']}.",
    ]


def _protocol(config: Config) -> str:
    n_train, n_test = config["rows"]
    return (
        "1,000 times the mean absolute difference of Gram matrices of held-out rows "
        f"({n_train:,} training and at most {n_test:,} test rows, 16 principal components, "
        f"{config['seeds']} folds, ± standard error), K = 320 candidates. The paper's errors "
        f"({paper.numbers('table2')['source']}). What it leaves open was chosen on satimage: the "
        "scale of P2 and the unit of the parameters, at which errors there are nearest to the "
        "printed ones, and, for Gauss and Cauchy apart, spread of the blocks and normalisation. "
        "[blocked.md](blocked.md) has all that was tried, what was known before, and the cells in "
        "other readings. The scale of P2 carries the result with NNLS weights: with equal (NNLS) "
        "weights on both sides and spreads chosen there, CERF is below blocked RFF in "
        f"{_at_scales()} cells; at scale 1 the target is as wide as P0."
    )


def _at_scales() -> str:
    """Cells that CERF wins from blocked RFF at each scale of P2, from ``benchmarks/blocked.py``."""
    chosen = published()["chosen"]
    won_at: dict[float, list[int]] = {}
    for settings in (chosen, *chosen["others"]):
        if settings["reading"]["unit"] == chosen["reading"]["unit"]:
            won_at[settings["reading"]["p2_scale"]] = [
                _published_wins(settings, weights) for weights in ("equal", "nnls")
            ]
    n_cells = len(_published_errors(chosen, "cerf", "equal"))
    return ", ".join(
        f"{equal} ({nnls}) of {n_cells} at scale {scale:g}"
        for scale, (equal, nnls) in sorted(won_at.items())
    )


def _published_wins(settings: dict[str, Any], weights: str) -> int:
    """Cells of one reading in which CERF's mean error to the teacher is below blocked RFF's."""
    ours, theirs = (_published_errors(settings, side, weights) for side in ("cerf", "fastfood"))
    return sum(ours[cell] < theirs[cell] for cell in ours)


def _published_errors(
    settings: dict[str, Any], side: str, weights: str
) -> dict[tuple[str, float], float]:
    """Mean errors to the teacher in each published cell of one reading."""
    wanted = {"reading": settings["reading"], "weights": [weights]}
    return {
        (str(record["row"]), cell["fraction"]): float(np.mean(cell["errors"][weights]["teacher"]))
        for record in published()["cells"]
        if all(record[key] == value for key, value in wanted.items())
        and record["side"] == settings["sides"][record["row"]["law"]][weights][side]
        for cell in record["cells"]
    }


def _counts(results: Results, config: Config) -> str:
    n = len(cells(results))
    rivals = [side for side in ("fastfood", "dense", "rescaled") if side in config["sides"]]
    rows = []
    for truth, words in TRUTHS.items():
        for weights in CLAIMS:
            name = WEIGHTS[weights[0]]
            if weights[0] != weights[1]:
                name += f" against {WEIGHTS[weights[1]]}"
            found = [f"{won(results, truth, rival, weights)} of {n}" for rival in rivals]
            rows.append([name, words, *found])
    header = ["CERF below", "error to", *(MEANING[r].split(",")[0].split(":")[0] for r in rivals)]
    return table(header, rows)


def _beside_the_paper(results: Results, truth: str) -> str:
    rows = []
    for cell in cells(results):
        difference = gain(results, cell, truth, "fastfood", ("equal", "equal"))
        ours = [str(mean(values(results, cell, s, "equal", truth))) for s in ("cerf", "fastfood")]
        theirs = printed(cell)
        shown = ["", ""] if theirs is None else [f"{value:g}" for value in theirs]
        rows.append([*cell, *ours, str(difference), *shown, cell_verdict(difference, cell)])
    header = ["data, P1, parameter", "K'/K", "CERF", "blocked RFF", "RFF - CERF"]
    return table([*header, "paper: CERF", "paper: RFF", "verdict, by order"], rows)


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
    header = ["K'/K", "side", "outputs", "MACs", "microseconds a row", "seconds to fit and judge"]
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


def _draw(results: Results, path: Path) -> None:
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
