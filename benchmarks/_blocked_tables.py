"""Tables of docs/blocked.md and docs/blocked_tables.md, each made from the JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from _blocked_rules import (
    PAPER,
    RIVALS,
    WEIGHTS,
    by_side,
    distance_to_paper,
    geometric_mean,
    mean_error,
    of_law,
    searched_readings,
    seed_errors,
)
from experiments.blocked_protocol import FRACTIONS, TABLE, Row

Results = dict[str, Any]
Cell = tuple[Row, float]

NAMES = {
    "cerf": "CERF",
    "fastfood": "blocked RFF",
    "dense": "dense RFF",
    "rescaled": "blocked RFF, width chosen",
}
WEIGHT_NAMES = {"equal": "equal weights", "scaled": "one factor c", "nnls": "NNLS weights"}
TRUTHS = {"teacher": "the teacher's Gram matrix", "exact": "the exact kernel"}
CELLS: list[Cell] = [(row, f) for row in TABLE if row.data != "satimage" for f in FRACTIONS]


def measured_cells(results: Results) -> list[dict[str, Any]]:
    """Return the records of the twelve cells, in all readings."""
    return [*results["cells"], *results["gapless_cells"]]


class Table2:
    """Errors of the sides in one reading."""

    def __init__(self, results: Results, reading: dict[str, Any]) -> None:
        chosen = results["chosen"]
        cases = (chosen, *chosen["others"], chosen["gapless"])
        found = (case["sides"] for case in cases if case["reading"] == reading)
        self.sides = next(found, chosen["sides"])
        self.records = [r for r in measured_cells(results) if r["reading"] == reading]

    def record(self, name: str, row: Row, weights: str) -> dict[str, Any]:
        fitted = "nnls" if weights == "nnls" else "equal"
        side = self.sides[row.law][fitted][name]
        wanted = {"data": row.data, "law": row.law, "parameter": row.parameter}
        return next(
            r
            for r in self.records
            if r["side"] == side and r["row"] == wanted and r["weights"] == [fitted]
        )

    def errors(self, name: str, cell: Cell, weights: str, truth: str) -> Any:
        row, fraction = cell
        return seed_errors(self.record(name, row, weights), fraction, weights, truth)

    def wins(
        self, weights: str, truth: str, rivals: tuple[str, ...], rival_weights: str | None = None
    ) -> int:
        """Cells in which CERF's mean is below that of every rival."""
        theirs = rival_weights or weights
        return sum(
            all(
                self.errors("cerf", cell, weights, truth).mean()
                < self.errors(name, cell, theirs, truth).mean()
                for name in rivals
            )
            for cell in CELLS
        )


def with_error(values: Any) -> str:
    if len(values) == 1:
        return f"{values[0]:.1f}"
    spread = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.1f} ± {spread:.1f}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def cell_names(cell: Cell) -> list[str]:
    row, fraction = cell
    return [row.data, row.law, f"{row.parameter:g}", f"{fraction:g}"]


def cell_table(table2: Table2, weights: str, truth: str) -> str:
    """Mean and standard error of each method, the paper's figures beside."""
    rows = []
    for cell in CELLS:
        row, fraction = cell
        errors = {name: table2.errors(name, cell, weights, truth) for name in NAMES}
        lowest = min(("cerf", *RIVALS), key=lambda name: errors[name].mean())
        shown = [with_error(errors[name]) for name in NAMES]
        shown = [f"**{s}**" if n == lowest else s for n, s in zip(NAMES, shown, strict=True)]
        difference = with_error(errors["cerf"] - errors["fastfood"])
        paper = PAPER[row.data, row.law, row.parameter][FRACTIONS.index(fraction)]
        rows.append([*cell_names(cell), *shown, difference, " / ".join(f"{p:g}" for p in paper)])
    header = ["data", "P1", "parameter", "K'/K", *NAMES.values(), "CERF - blocked RFF"]
    return table([*header, "paper: CERF / RFF"], rows)


def answer_table(table2: Table2, weights: str) -> str:
    """Errors to the teacher of the cells, the paper's figures first."""
    rows = []
    for cell in CELLS:
        row, fraction = cell
        paper = PAPER[row.data, row.law, row.parameter][FRACTIONS.index(fraction)]
        errors = {name: table2.errors(name, cell, weights, "teacher") for name in NAMES}
        shown = [with_error(errors[name]) for name in ("cerf", "fastfood")]
        difference = with_error(errors["cerf"] - errors["fastfood"])
        others = [f"{errors[name].mean():.1f}" for name in ("dense", "rescaled")]
        label = f"{row.data}, {row.law}, {row.parameter:g}, {fraction:g}"
        rows.append([label, *(f"{p:g}" for p in paper), *shown, difference, *others])
    header = ["data, P1, parameter, K'/K", "paper: CERF", "paper: RFF"]
    header += [
        "CERF",
        "blocked RFF",
        "CERF - blocked RFF",
        "dense RFF",
        "blocked RFF, width chosen",
    ]
    return table(header, rows)


def cost_table(table2: Table2) -> str:
    rows = []
    for fraction in FRACTIONS:
        shown = []
        for name in NAMES:
            cells = table2.record(name, CELLS[0][0], "equal")["cells"]
            cell = next(c for c in cells if c["fraction"] == fraction)
            shown.append(f"{cell['columns'][0]} for {cell['macs'][0]:,}")
        rows.append([f"{fraction:g}", *shown])
    return table(["K'/K: outputs for MACs", *NAMES.values()], rows)


def count_table(table2: Table2) -> str:
    """How many of the 12 cells CERF wins, by weights and truth."""
    rows = []
    for weights, name in WEIGHT_NAMES.items():
        for truth in TRUTHS:
            counts = [
                table2.wins(weights, truth, rivals)
                for rivals in (("fastfood",), RIVALS, ("rescaled",))
            ]
            rows.append([f"{name}, {truth}", *(f"{n} of {len(CELLS)}" for n in counts)])
    for truth in TRUTHS:
        counts = [
            table2.wins("nnls", truth, rivals, "equal")
            for rivals in (("fastfood",), RIVALS, ("rescaled",))
        ]
        label = f"NNLS weights against equal weights, {truth}"
        rows.append([label, *(f"{n} of {len(CELLS)}" for n in counts)])
    header = ["CERF below", "blocked RFF", "blocked and dense RFF", "blocked RFF, width chosen"]
    return table(header, rows)


def readings_of(results: Results) -> list[dict[str, Any]]:
    """Return the readings in which the cells were measured, the chosen one first."""
    found: list[dict[str, Any]] = [results["chosen"]["reading"]]
    for record in measured_cells(results):
        if record["reading"] not in found:
            found.append(record["reading"])
    return found


def other_cases(results: Results) -> str:
    """Cells won from blocked RFF in all readings."""
    rows = []
    for reading in readings_of(results):
        table2 = Table2(results, reading)
        counts = [table2.wins(w, t, ("fastfood",)) for w in WEIGHT_NAMES for t in TRUTHS]
        counts.append(table2.wins("nnls", "teacher", ("fastfood",), "equal"))
        spreads = [
            ", ".join(f"{sides[w]['cerf']['spread']:g}" for w in WEIGHTS)
            for sides in table2.sides.values()
        ]
        unit = f"{reading['unit']:g}" if reading["meaning"] == "median" else ""
        case = [reading["meaning"], unit, f"{reading['p2_scale']:g}"]
        rows.append([*case, "; ".join(spreads), *(f"{n}" for n in counts)])
    header = [f"{name}, {truth}" for name in WEIGHT_NAMES.values() for truth in TRUTHS]
    laws = "; ".join(results["chosen"]["sides"])
    spreads = f"spreads (equal, NNLS; {laws})"
    header = ["parameter", "unit", "P2", spreads, *header, "NNLS against equal, teacher"]
    return table(header, rows)


def pair_table(table2: Table2) -> str:
    """CERF and blocked RFF by all weights, against the teacher."""
    rows = []
    for cell in CELLS:
        shown = [
            with_error(table2.errors(name, cell, weights, "teacher"))
            for weights in WEIGHT_NAMES
            for name in ("cerf", "fastfood")
        ]
        rows.append([*cell_names(cell), *shown])
    header = [f"{NAMES[n]}, {w}" for w in WEIGHT_NAMES.values() for n in ("cerf", "fastfood")]
    return table(["data", "P1", "parameter", "K'/K", *header], rows)


def distance_table(results: Results, *, with_gap: bool) -> str:
    """Distance to the paper's table by unit and scale of P2; the least in bold."""
    searched = results["searched"]
    distances = {
        r: distance_to_paper(searched, *r, with_gap=with_gap) for r in searched_readings(searched)
    }
    units, scales = (list(dict.fromkeys(r[i] for r in distances)) for i in (0, 1))
    shown = {r: f"{distance:.3f}" for r, distance in distances.items()}
    least = min(distances, key=lambda r: distances[r])
    shown[least] = f"**{shown[least]}**"
    rows = [[f"{unit:g}", *(shown[unit, scale] for scale in scales)] for unit in units]
    return table(["unit", *(f"P2 = {scale:g}" for scale in scales)], rows)


def learned_table(results: Results) -> str:
    """All settings with CVEM: geometric mean errors; the chosen ones in bold."""
    rows = []
    columns = ("kind", "normalize", "spread", "scale_spread", "factor")
    groups = by_side(results["learned"])
    for group in sorted(groups, key=lambda g: [str(g[0]["side"][c]) for c in columns]):
        side = group[0]["side"]
        ours = side["kind"] == "cerf"
        law = [f"{side[n]:g}" if ours else "" for n in ("spread", "scale_spread")]
        factor = f"{side['factor']:g}" if side["kind"] == "fastfood" else ""
        cells = []
        for weights in WEIGHT_NAMES:
            for p1, sides in results["chosen"]["sides"].items():
                error = f"{geometric_mean(of_law(group, p1), weights):.1f}"
                chosen = side in sides.get(weights, {}).values()
                cells.append(f"**{error}**" if chosen else error)
        rows.append([NAMES[side["kind"]], *law, factor, str(side["normalize"]), *cells])
    header = ["method", "spread", "scale_spread", "width", "normalize"]
    header += [f"{w}, {p1}" for w in WEIGHT_NAMES.values() for p1 in results["chosen"]["sides"]]
    return table(header, rows)


def variant_table(results: Results) -> str:
    """Whole blocks, single outputs, shared signs at the chosen settings."""
    chosen, rows = results["chosen"], []
    plain = results["learned"]
    for weights in WEIGHTS:
        for name in ("cerf", "fastfood"):
            sides = {law: by_weights[weights][name] for law, by_weights in chosen["sides"].items()}
            variants = {
                "whole blocks": (plain, {}),
                "single outputs": (results["variants"], {"select": "outputs"}),
                "shared signs": (results["variants"], {"share": ["signs"]}),
            }
            for label, (records, change) in variants.items():
                group = [
                    r
                    for r in records
                    if r["side"] == {**sides[r["row"]["law"]], **change} and weights in r["weights"]
                ]
                errors = [np.mean([mean_error(r, f, weights) for r in group]) for f in FRACTIONS]
                macs = [
                    np.mean([r["cells"][i]["macs"] for r in group]) for i in range(len(FRACTIONS))
                ]
                cells = [f"{e:.0f} for {m:,.0f}" for e, m in zip(errors, macs, strict=True)]
                rows.append([NAMES[name], WEIGHT_NAMES[weights], label, *cells])
    header = [f"K'/K = {f:g}: mean error for MACs" for f in FRACTIONS]
    return table(["method", "weights", "choice", *header], rows)
