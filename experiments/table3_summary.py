"""What Table 3 says as a whole: counts over its cells, with exceptions by name."""

from __future__ import annotations

import numpy as np

from experiments.table3_results import (
    HEADS,
    TOLERANCE,
    Cell,
    Config,
    Results,
    judged_cells,
    totals,
)
from experiments.verdicts import Mean, count, is_above, mean, paired

NAMES_OF_CERF = {
    "cerf": "CERF at the paper's setting, embeddings standardised,",
    "cerf as printed": "CERF with embeddings as the paper prints them",
}


def summary(results: Results, config: Config) -> list[str]:
    """Return counts over all cells that can be judged, with exceptions by name."""
    judged = judged_cells(config)
    lines = [_gain_line(results, judged, head) for head in HEADS]
    lines += [_choice_line(results, judged, n) for n in NAMES_OF_CERF if n in config["maps"]]
    lines.append(_verdict_line(results, judged))
    for head, words in HEADS.items():
        lower = [
            _with_value(results, cell, "default", head)
            for cell in judged
            if cell.mean(results, "default", head).value <= cell.paper_cerf
        ]
        lines.append(
            f"our default, without labels ({words}): above the paper's CERF in "
            f"{len(judged) - len(lower)} of {len(judged)} cells" + _exceptions("not", lower)
        )
    if "classifier" in config["predictors"]:
        lines += _classifier_lines(results, config, "")
    readings = dict.fromkeys(entry.get("reading", "") for entry in config["datasets"].values())
    for reading in filter(None, readings):
        other = judged_cells(config, reading)
        lines.append(f"{reading}: {_gain_line(results, other, 'svc')}")
        lines.append(f"{reading}: {_verdict_line(results, other)}")
        if "classifier" in config["predictors"]:
            lines += [f"{reading}: {line}" for line in _classifier_lines(results, config, reading)]
    return lines


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
