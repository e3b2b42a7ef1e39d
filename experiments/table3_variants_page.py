"""Page of the readings of Table 3: masks, share chosen, width, cosine; counts over its cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.classification import LINEAR, MEDIAN
from experiments.markdown import bullets, table
from experiments.methods import MAPS
from experiments.table3_results import (
    HEADS,
    Cell,
    Config,
    Results,
    cells,
    column,
    judged_cells,
    over_cells,
)
from experiments.table3_summary import edges_line
from experiments.verdicts import is_above, mean, paired

Pair = tuple[str, str]

NAMES = {
    "rff": "RFF",
    "untrained": "untrained",
    "cerf": "CERF",
    "untrained bbp": "untrained, Beta-Bernoulli",
    "cerf bbp": "CERF, Beta-Bernoulli",
    "cerf 20 %": "CERF, 20 % chosen",
}
MASKS = ("rff", "untrained", "cerf", "untrained bbp", "cerf bbp")
MASK_GAINS: tuple[Pair, ...] = (
    ("cerf", "rff"),
    ("cerf bbp", "rff"),
    ("cerf bbp", "untrained bbp"),
    ("cerf bbp", "cerf"),
)


def name_of(method: str) -> str:
    """Name of a map in tables; endings stay."""
    base = method.removesuffix(LINEAR).removesuffix(MEDIAN)
    return NAMES[base] + method[len(base) :]


def gains_table(
    results: Results, config: Config, shown: Sequence[str], gains: Sequence[Pair]
) -> str:
    """Accuracy of each dataset with the SVM, averaged over its cells, and paired differences."""
    rows = []
    for dataset in config["datasets"]:
        some = [cell for cell in cells(dataset, config) if cell.judged]
        found = {m: over_cells(results, some, m) for m in {*shown, *(m for g in gains for m in g)}}
        row = [dataset, *(str(mean(found[method])) for method in shown)]
        rows.append([*row, *(str(paired(found[a], found[b])) for a, b in gains)])
    header = ["data", *(name_of(method) for method in shown)]
    return table([*header, *(f"{name_of(a)} - {name_of(b)}" for a, b in gains)], rows)


def gain_line(results: Results, judged: list[Cell], ours: str, other: str) -> str:
    """Count the cells in which a map is above another, with both heads."""
    parts = []
    for head, words in HEADS.items():
        gains = {cell: cell.gain(results, ours, other, head) for cell in judged}
        below = [f"{cell.name} ({gain})" for cell, gain in gains.items() if not is_above(gain)]
        named = f"; not: {', '.join(below)}" if 0 < len(below) <= 6 else ""
        average = np.mean([gain.value for gain in gains.values()])
        parts.append(
            f"in {len(judged) - len(below)} of {len(judged)} cells ({words}; {average:+.1f} points "
            f"on average{named})"
        )
    return f"{name_of(ours)} is above {name_of(other)} {' and '.join(parts)}."


def summary(results: Results, config: Config) -> list[str]:
    """Return masks beside each other, and a line on each reading."""
    judged = judged_cells(config)
    text = (
        "The paper draws masks from a Beta-Bernoulli process (Prop. 3) and states a density of "
        "40 % for all of them; both cannot hold exactly. Table 3 above has masks that read as many "
        "inputs each, here are both. Accuracy in per cent with the linear SVM at equal MACs, "
        "averaged over the MAC counts of a dataset."
    )
    lines = [gain_line(results, judged, *pair) for pair in MASK_GAINS]
    lines += readings(results, config)
    return [text, gains_table(results, config, MASKS, MASK_GAINS), bullets(lines)]


def readings(results: Results, config: Config) -> list[str]:
    """Return a line on the share chosen, the width and the cosine, of those that were run."""
    judged, there = judged_cells(config), config["maps"]
    lines = []
    if "cerf 20 %" in there:
        lines.append(gain_line(results, judged, "cerf 20 %", "cerf"))
    if f"rff{MEDIAN}" in there:
        lines += [
            gain_line(results, judged, f"{name}{MEDIAN}", f"rff{MEDIAN}")
            for name in ("cerf", "cerf bbp")
        ]
        lines.append(gain_line(results, judged, f"cerf{MEDIAN}", f"untrained{MEDIAN}"))
        lines.append(gain_line(results, judged, f"cerf{MEDIAN}", "cerf"))
    if f"rff{LINEAR}" in there:
        lines.append(_linear_line(results, judged))
    return lines


def _linear_line(results: Results, judged: list[Cell]) -> str:
    """Return how little the cosine changes, at the widths that were chosen."""
    parts = []
    for name in ("rff", "cerf"):
        gains = [cell.gain(results, name, f"{name}{LINEAR}") for cell in judged]
        within = sum(abs(gain.value) <= 1.0 for gain in gains)
        average = np.mean([gain.value for gain in gains])
        parts.append(
            f"{name_of(name)} {average:+.1f} points on average, within one point in {within} of "
            f"{len(gains)} cells"
        )
    gains = [cell.gain(results, f"cerf{LINEAR}", f"rff{LINEAR}") for cell in judged]
    return (
        "At the widths chosen, the cosine minus the projection itself (x to Wᵀx): "
        f"{'; '.join(parts)} (SVM). Without cosines CERF is above RFF in "
        f"{sum(is_above(gain) for gain in gains)} of {len(gains)} cells: more projections of fewer "
        "inputs, and not the kernel, make the difference there."
    )


def section(results: Results, config: Config) -> str:
    """Return everything in the order in which it is read."""
    maps = [name for name in config["maps"] if name in MAPS]
    parts = [_protocol(results, config), bullets(f"**{name}**: {MAPS[name]}" for name in maps)]
    parts += ["## Masks", gains_table(results, config, MASKS, MASK_GAINS)]
    if "cerf 20 %" in config["maps"]:
        parts += ["## A fifth of the candidates", *_fifth(results, config)]
    if f"rff{MEDIAN}" in config["maps"]:
        parts += ["## The width of the median heuristic", *_median(results, config)]
    if f"rff{LINEAR}" in config["maps"]:
        parts += ["## No cosine", *_no_cosine(results, config)]
    return "\n\n".join([*parts, "## All cells", _all_cells(results, config)])


def _protocol(results: Results, config: Config) -> str:
    return (
        f"The protocol of Table 3 in the cells that are judged, {config['seeds']} seeds, mean ± "
        "standard error, differences paired over seeds: width and C by 5-fold cross-validation of "
        "RFF, transferred. Tables have the linear SVM, averaged over the MAC counts of a dataset. "
        + edges_line(results, config)
    )


def _fifth(results: Results, config: Config) -> list[str]:
    rows = []
    for dataset in config["datasets"]:
        times = [column(results, dataset, m, "fit_seconds").mean() for m in ("cerf", "cerf 20 %")]
        rows.append([dataset, *(f"{value:.2f}" for value in times)])
    text = (
        "The paper gives selector densities of 40 % and 20 %, which with masks of density 40 % "
        "cost 16 % and 8 % of the MACs of a dense map with as many features as there are "
        "candidates. At equal MACs, as here, both keep as many features, and 20 % means that they "
        "are chosen from twice as many candidates."
    )
    gains = gains_table(results, config, ("cerf", "cerf 20 %"), [("cerf 20 %", "cerf")])
    header = [
        "seconds to fit beside other work, mean over MAC counts",
        "40 % chosen",
        "20 % chosen",
    ]
    return [text, gains, table(header, rows)]


def _median(results: Results, config: Config) -> list[str]:
    text = (
        "The width is one over the median squared distance of training rows for all maps, where "
        "cosines are far from linear; C is the best for RFF at that width by the same "
        "cross-validation."
    )
    shown = [f"{name}{MEDIAN}" for name in ("rff", "untrained", "cerf", "cerf bbp")]
    gains = [(shown[2], shown[0]), (shown[3], shown[0]), (shown[2], shown[1]), ("cerf", shown[2])]
    return [text, gains_table(results, config, shown, gains)]


def _no_cosine(results: Results, config: Config) -> list[str]:
    text = (
        "The same projections with the identity in place of the cosine, standardised like the "
        "features. Where both give the same, the chosen kernel is so wide that cosines are almost "
        "linear."
    )
    shown = ["rff", f"rff{LINEAR}", "cerf", f"cerf{LINEAR}"]
    gains = [("rff", shown[1]), ("cerf", shown[3]), (shown[3], shown[1])]
    return [text, gains_table(results, config, shown, gains)]


def _all_cells(results: Results, config: Config) -> str:
    rows = []
    for cell in judged_cells(config):
        macs = int(column(results, cell.dataset, "cerf bbp", "macs")[:, cell.index].mean())
        values = [
            " / ".join(f"{cell.mean(results, method, head).value:.1f}" for head in HEADS)
            for method in config["maps"]
        ]
        rows.append([cell.dataset, cell.label, f"{macs:,}", *values])
    names = [name_of(method) for method in config["maps"]]
    return table(["data; SVM / ridge", "MACs", "of CERF, Beta-Bernoulli", *names], rows)
