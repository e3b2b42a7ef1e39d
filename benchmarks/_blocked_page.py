"""The pages docs/blocked.md, with the answers, and docs/blocked_tables.md, made from JSON."""

from __future__ import annotations

from pathlib import Path

import _blocked_paper as setting
import _blocked_tables as tables
from _blocked_rules import RIVALS, WEIGHTS
from _blocked_tables import TRUTHS, WEIGHT_NAMES, Results, Table2, readings_of
from _blocked_text import (
    ANSWERS,
    BACKGROUND,
    CELLS_TITLE,
    FURTHER,
    GAPLESS,
    HEADING,
    PAPER_SETTING,
    SEARCH,
    SHARES,
    TABLES_HEADING,
)
from experiments import table2_page
from experiments.blocked_protocol import FRACTIONS, MEANINGS
from experiments.page import provenance
from experiments.store import Store, path_of

PICTURE = "blocked.svg"
"""In the folder of the pages."""


def draw_picture(path: Path) -> None:
    """Draw the errors of all cells, as the experiments have them."""
    table2_page.draw(Store(path_of("table2", "full")).results, path)


def conclusion(results: Results, table2: Table2) -> str:
    """Text with the counts of the tables in it."""
    chosen, gapless = (results["chosen"]["reading"], results["chosen"]["gapless"]["reading"])
    readings = []
    for reading in readings_of(results)[1:]:
        if reading == gapless:
            continue
        there = Table2(results, reading)
        won, weighted = (there.wins(w, "teacher", ("fastfood",)) for w in WEIGHTS)
        if reading["meaning"] != chosen["meaning"]:
            name = f"parameters as printed, read as {reading['meaning']}"
        else:
            name = f"unit {reading['unit']:g}, P2 = {reading['p2_scale']:g}"
        readings.append(f"  | {name} | {won} | {weighted} |")
    satimage, nearest = setting.GaplessSatimage(results), Table2(results, gapless)
    return ANSWERS.format(
        gapless_unit=gapless["unit"],
        gapless_p2=gapless["p2_scale"],
        searched=setting.searched_wins(results, chosen)[0],
        searched_gapless=setting.searched_wins(results, gapless)[0],
        satimage_cells=len(satimage.cells),
        satimage_equal=satimage.wins("equal"),
        satimage_nnls=satimage.wins("nnls"),
        gapless_equal=nearest.wins("equal", "teacher", ("fastfood",)),
        gapless_nnls=nearest.wins("nnls", "teacher", ("fastfood",)),
        paper=setting.paper_wins(results, "paper", "fastfood"),
        paper_scaled=setting.paper_wins(results, "paper", "fastfood", "scaled"),
        paper_own=setting.paper_wins(results, "paper", "paper_rff"),
        paper_own_scaled=setting.paper_wins(results, "paper", "paper_rff", "scaled"),
        paper_cerf=setting.paper_wins(results, "paper", "cerf"),
        paper_macs=setting.paper_macs(results, "paper", FRACTIONS[0]),
        paper_rff_macs=setting.paper_macs(results, "paper_rff", FRACTIONS[0]),
        literal=setting.paper_wins(results, "literal", "fastfood"),
        literal_paper=setting.paper_wins(results, "literal", "paper"),
        readings="\n".join(readings),
        cells=len(tables.CELLS),
        **chosen,
        equal=table2.wins("equal", "teacher", ("fastfood",)),
        equal_exact=table2.wins("equal", "exact", ("fastfood",)),
        both=table2.wins("equal", "teacher", RIVALS),
        both_nnls=table2.wins("nnls", "teacher", RIVALS),
        rescaled=table2.wins("equal", "teacher", ("rescaled",)),
        rescaled_nnls=table2.wins("nnls", "teacher", ("rescaled",)),
        scaled=table2.wins("scaled", "teacher", ("fastfood",)),
        nnls=table2.wins("nnls", "teacher", ("fastfood",)),
        nnls_exact=table2.wins("nnls", "exact", ("fastfood",)),
        nnls_equal=table2.wins("nnls", "teacher", ("fastfood",), "equal"),
    )


def pages(results: Results) -> dict[str, str]:
    """Markdown of both pages by their names."""
    found = {"blocked.md": _answers(results), "blocked_tables.md": _tables(results)}
    return {
        name: "\n\n".join(part.strip("\n") for part in parts) + "\n"
        for name, parts in found.items()
    }


def _answers(results: Results) -> list[str]:
    table2 = Table2(results, results["chosen"]["reading"])
    parts = [HEADING, "## Results", conclusion(results, table2), tables.count_table(table2)]
    parts.append(f"![Errors of the cells, equal and NNLS weights]({PICTURE})")
    for weights in WEIGHTS:
        name = WEIGHT_NAMES[weights]
        parts.append(f"### {name[0].upper()}{name[1:]}, errors to the teacher's Gram matrix")
        parts.append(tables.answer_table(table2, weights))
    return [*parts, BACKGROUND]


def _tables(results: Results) -> list[str]:
    chosen = results["chosen"]
    table2 = Table2(results, chosen["reading"])
    parts = [TABLES_HEADING, CELLS_TITLE, tables.cost_table(table2)]
    for weights, name in WEIGHT_NAMES.items():
        for truth in TRUTHS:
            title = f"### {name[0].upper()}{name[1:]}, against {TRUTHS[truth]}"
            parts += [title, tables.cell_table(table2, weights, truth)]
    parts += [PAPER_SETTING, setting.paper_cost_table(results), setting.paper_table(results)]
    experiment = Store(path_of("table2", "full"))
    parts += [FURTHER, table2_page.section(experiment.results, experiment.config)]
    parts.append(provenance("table2", experiment))
    parts += [*_readings(results), SEARCH, "### Distance to the paper's table"]
    parts += ["With the gap between CERF and RFF:", tables.distance_table(results, with_gap=True)]
    parts += ["Without it:", tables.distance_table(results, with_gap=False)]
    parts += ["### With CVEM", tables.learned_table(results)]
    parts += ["### Whole blocks, single outputs, shared signs", tables.variant_table(results)]
    parts += [SHARES, setting.share_table(results)]
    versions = ", ".join(f"{name} {value}" for name, value in results["versions"].items())
    made = f"Made by `make bench-blocked` with {versions}. Commit of each stage: "
    return [*parts, made + setting.commit_list(results) + "."]


def _readings(results: Results) -> list[str]:
    """Table 2 in other readings."""
    chosen, parts = results["chosen"], ["## Other readings of the parameters"]
    for case in (chosen["gapless"], *chosen["others"]):
        reading = case["reading"]
        title = f"### Unit {reading['unit']:g}, P2 of scale {reading['p2_scale']:g}"
        parts += [f"{title}, against the teacher's Gram matrix"]
        if case is chosen["gapless"]:
            parts += [GAPLESS, setting.GaplessSatimage(results).table()]
        parts += [tables.pair_table(Table2(results, reading))]
    lines = [f"- {name}: {text}." for name, text in MEANINGS.items()]
    parts += ["### Cells in which CERF is below blocked RFF, in all readings", "\n".join(lines)]
    return [*parts, tables.other_cases(results)]
