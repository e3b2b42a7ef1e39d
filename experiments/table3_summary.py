"""Answers of Table 3: means beside the paper's, counts over its cells with exceptions by name."""

from __future__ import annotations

import numpy as np

from experiments.markdown import bullets, table
from experiments.table3_results import (
    HEADS,
    TOLERANCE,
    Cell,
    Config,
    Results,
    cells,
    judged_cells,
    maps_of,
    over_cells,
    totals,
)
from experiments.verdicts import Mean, count, is_above, mean, paired

NAMES_OF_CERF = {
    "cerf": "CERF at the paper's setting, embeddings standardised,",
    "cerf as printed": "CERF with embeddings as the paper prints them",
}


def summary(results: Results, config: Config) -> list[str]:
    """Return means of each dataset beside the paper's, and counts over its cells."""
    judged = judged_cells(config)
    lines = [" ".join(_gain_line(results, judged, head) for head in HEADS)]
    lines.append(_verdict_line(results, judged))
    lines.append(edges_line(results, config))
    lines += [_choice_line(results, judged, n) for n in NAMES_OF_CERF if n in config["maps"]]
    lines.append(" ".join(_default_line(results, judged, head) for head in HEADS))
    if "linear" in config["maps"]:
        lines.append(_linear_line(results, judged))
    if "classifier" in config["predictors"]:
        lines.append(" ".join(_classifier_lines(results, config, "")))
    return [_means(results, config), bullets(lines)]


def readings(results: Results, config: Config) -> list[str]:
    """Return the same counts for the other readings of the table."""
    lines = []
    for reading in dict.fromkeys(entry.get("reading", "") for entry in config["datasets"].values()):
        if not reading:
            continue
        other = judged_cells(config, reading)
        found = [_gain_line(results, other, "svc"), _verdict_line(results, other)]
        if "classifier" in config["predictors"]:
            found += _classifier_lines(results, config, reading)
        lines += [f"{reading}: {line}" for line in found]
    return lines


def edges_line(results: Results, config: Config) -> str:
    """Count the choices of width and C that lie on an edge of their grid."""
    counts = {key: [0, 0] for key in ("width", "C")}
    total = 0
    for dataset, chosen in results["choice"].items():
        entry = config["grid"] if config.get("full_grid") else config | config["datasets"][dataset]
        total += len(chosen)
        for key, grid in (("width", entry["widths"]), ("C", entry["C"])):
            for side, edge in enumerate((min(grid), max(grid))):
                counts[key][side] += sum(record[key] == edge for record in chosen.values())
    return (
        f"Of {total} choices of the width, {counts['width'][0]} lie on the lower and "
        f"{counts['width'][1]} on the upper edge of the grid; of C, {counts['C'][0]} and "
        f"{counts['C'][1]}."
    )


def _means(results: Results, config: Config) -> str:
    """Accuracy of each dataset, averaged over its MAC counts, the paper's beside ours."""
    rows = []
    for dataset in config["datasets"]:
        some = [cell for cell in cells(dataset, config) if cell.judged]
        row = [dataset, f"{some[0].label} to {some[-1].label}" if some[1:] else some[0].label]
        for name, method in (("paper_rff", "rff"), ("paper_cerf", "cerf")):
            row.append(f"{np.mean([getattr(cell, name) for cell in some]):.1f}")
            row.append(str(mean(over_cells(results, some, method))))
        ours = over_cells(results, some, "cerf")
        row.append(str(paired(ours, over_cells(results, some, "rff"))))
        for method in ("untrained", "default", "linear"):
            there = method in maps_of(dataset, config)
            row.append(str(mean(over_cells(results, some, method))) if there else "")
        rows.append(row)
    header = ["data", "MACs", "paper: RFF", "RFF", "paper: CERF", "CERF", "CERF - RFF"]
    text = (
        "Accuracy in per cent with the linear SVM, averaged over the MAC counts of a dataset (± "
        "standard error over seeds). CERF is at the paper's setting. The linear model reads all "
        "inputs and needs no features."
    )
    header += ["untrained masks", "our default", "linear on inputs"]
    return text + "\n\n" + table(header, rows)


def _default_line(results: Results, judged: list[Cell], head: str) -> str:
    lower = [
        _with_value(results, cell, "default", head)
        for cell in judged
        if cell.mean(results, "default", head).value <= cell.paper_cerf
    ]
    return (
        f"Our default, without labels, is above the paper's CERF in {len(judged) - len(lower)} of "
        f"{len(judged)} cells ({HEADS[head]})" + _exceptions("not", lower)
    )


def _linear_line(results: Results, judged: list[Cell]) -> str:
    """Count where the inputs themselves are better than features of them."""
    counts = [
        sum(is_above(cell.gain(results, "linear", method)) for cell in judged)
        for method in ("cerf", "default")
    ]
    return (
        f"The linear SVM on the inputs is above CERF at the paper's setting in {counts[0]} and "
        f"above our default in {counts[1]} of {len(judged)} cells; it costs D MACs for each score."
    )


def _verdict_line(results: Results, judged: list[Cell]) -> str:
    found = [(cell, cell.verdict(results, "cerf", cell.paper_cerf)) for cell in judged]
    worse = [_with_value(results, cell, "cerf") for cell, text in found if text == "worse"]
    counts = count([text for _, text in found])
    return (
        f"CERF at the paper's setting is within {TOLERANCE:.0f} points (or a standard error) of "
        f"the paper's CERF in {counts['reproduced']} and above it in {counts['better']} of "
        f"{len(judged)} cells" + _exceptions("below", worse)
    )


def _exceptions(word: str, names: list[str]) -> str:
    return f"; {word}: {', '.join(names)}." if names else "."


def _with_value(results: Results, cell: Cell, method: str, head: str = "svc") -> str:
    found = cell.mean(results, method, head)
    return f"{cell.name} ({found} against {cell.paper_cerf})"


def _gain_line(results: Results, judged: list[Cell], head: str) -> str:
    gains = {cell: cell.gain(results, "cerf", "rff", head) for cell in judged}
    above = [cell for cell, gain in gains.items() if is_above(gain)]
    within = [
        f"{cell.name} ({gain})"
        for cell, gain in gains.items()
        if cell not in above and is_above(gain, errors=1.0)
    ]
    below = [
        f"{cell.name} ({gain})" for cell, gain in gains.items() if not is_above(gain, errors=1.0)
    ]
    text = (
        f"CERF at the paper's setting is above RFF at equal MACs in {len(above)} of {len(judged)} "
        f"cells ({HEADS[head]})"
    )
    text += f"; within one standard error below: {', '.join(within)}" if within else ""
    return text + _exceptions("below", below)


def _choice_line(results: Results, judged: list[Cell], method: str) -> str:
    """Return what choosing brings over masks that are drawn."""
    gains = [cell.gain(results, method, "untrained") for cell in judged]
    above = sum(is_above(gain) for gain in gains)
    clear = {
        word: sum(sign * gain.value > gain.error for gain in gains)
        for word, sign in (("above", 1.0), ("below", -1.0))
    }
    return (
        f"{NAMES_OF_CERF[method]} is above untrained masks in {above} of {len(judged)} cells (SVM; "
        f"by more than a standard error: above in {clear['above']}, below in {clear['below']}), on "
        f"average by {np.mean([gain.value for gain in gains]):+.1f} points."
    )


def _classifier_lines(results: Results, config: Config, reading: str) -> list[str]:
    """Compare CERFClassifier with the paper, our own maps and the linear model."""
    against_paper, against_maps, against_linear = [], [], []
    for total in totals(results, config):
        if config["datasets"][total.dataset].get("reading", "") != reading:
            continue
        ours = total.values(results, "classifier")
        if total.cell is not None:
            if total.cell.judged:
                against_paper.append((total.name, mean(ours - total.cell.paper_cerf)))
            theirs = total.cell.values(results, "cerf")[: len(ours)]
            against_maps.append((total.name, paired(ours, theirs)))
        linear = total.values(results, "linear model")
        if not np.isnan(linear).any():
            against_linear.append((total.name, paired(ours, linear)))
    pairs = {
        "the paper's CERF (whose scores are not counted)": against_paper,
        "our CERF at the paper's setting (likewise)": against_maps,
        "the linear model": against_linear,
    }
    return [
        _count_line(f"CERFClassifier is above {what}", found)
        for what, found in pairs.items()
        if found
    ]


def _count_line(text: str, found: list[tuple[str, Mean]]) -> str:
    below = [f"{name} ({gain})" for name, gain in found if not is_above(gain)]
    text += f" at equal total MACs in {len(found) - len(below)} of {len(found)} cells"
    return text + _exceptions("not", below)
