"""Top of the page: whether CERF still wins in other readings of the paper's setting (Table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.classification import LINEAR, MEDIAN
from experiments.markdown import table
from experiments.table3_results import Config, Results, cells, judged_cells, over_cells
from experiments.verdicts import is_above, paired

SHORT, WIDE = "table3_variants", "table3_full_grid"
EQUAL, PROCESS = "masks of equal size", "Beta-Bernoulli masks"


@dataclass(frozen=True)
class Reading:
    """One reading: the experiment that has it, in words, and its maps."""

    experiment: str
    words: str
    cerf: str
    rff: str = "rff"
    untrained: str = ""  # none was run if empty


READINGS = (
    Reading(SHORT, f"short grid, {EQUAL}", "cerf", untrained="untrained"),
    Reading(SHORT, f"short grid, {PROCESS}", "cerf bbp", untrained="untrained bbp"),
    Reading(WIDE, f"the paper's grid, {EQUAL}", "cerf", untrained="untrained"),
    Reading(WIDE, f"the paper's grid, {PROCESS}", "cerf bbp", untrained="untrained bbp"),
    Reading(
        SHORT,
        f"width of the median heuristic, {EQUAL}",
        f"cerf{MEDIAN}",
        f"rff{MEDIAN}",
        f"untrained{MEDIAN}",
    ),
    Reading(
        SHORT, f"width of the median heuristic, {PROCESS}", f"cerf bbp{MEDIAN}", f"rff{MEDIAN}"
    ),
    Reading(SHORT, f"short grid, {EQUAL}, no cosine", f"cerf{LINEAR}", f"rff{LINEAR}"),
)


def headline(found: dict[str, tuple[Results, Config]]) -> str:
    """Return a table of the readings whose experiment is complete; nothing without any.

    ``found`` has results and configuration of complete experiments by name.
    """
    rows = [_row(r, *found[r.experiment]) for r in READINGS if _is_there(r, found)]
    if not rows:
        return ""
    header = ["reading of Table 3", "CERF above RFF", "on average", "CERF above untrained masks"]
    header += ["on average", "data where choosing gains no more than a standard error"]
    text = (
        "Cells of Table 3 at equal MACs (linear SVM) in which CERF wins, and by how many points. "
        "Untrained masks are of the same law, drawn and not chosen."
    )
    return f"{text}\n\n{table(header, rows)}"


def _is_there(reading: Reading, found: dict[str, tuple[Results, Config]]) -> bool:
    names = {reading.cerf, reading.rff, reading.untrained} - {""}
    return reading.experiment in found and names <= {*found[reading.experiment][1]["maps"]}


def _row(reading: Reading, results: Results, config: Config) -> list[str]:
    row = [reading.words, *_count(results, config, reading.cerf, reading.rff)]
    if not reading.untrained:
        return [*row, "", "", ""]
    row += _count(results, config, reading.cerf, reading.untrained)
    return [*row, ", ".join(_no_gain(results, config, reading)) or "none"]


def _count(results: Results, config: Config, ours: str, other: str) -> list[str]:
    gains = [cell.gain(results, ours, other) for cell in judged_cells(config)]
    above = sum(is_above(gain) for gain in gains)
    return [f"{above} of {len(gains)}", f"{np.mean([gain.value for gain in gains]):+.1f}"]


def _no_gain(results: Results, config: Config, reading: Reading) -> list[str]:
    """Name the datasets on which the mean over cells is within a standard error, or below."""
    names = []
    for dataset in config["datasets"]:
        some: Any = [cell for cell in cells(dataset, config) if cell.judged]
        pair = [over_cells(results, some, name) for name in (reading.cerf, reading.untrained)]
        gain = paired(*pair)
        if not gain.value > (0.0 if np.isnan(gain.error) else gain.error):
            names.append(f"{dataset} ({gain})")
    return names
