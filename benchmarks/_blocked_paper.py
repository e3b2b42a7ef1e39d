"""Tables of docs/blocked*.md: the reading nearest without the gap, the paper's setting, shares."""

from __future__ import annotations

from typing import Any

import numpy as np

import _blocked_tables as tables
from _blocked_rules import (
    KINDS,
    PAPER,
    best_group,
    by_side,
    errors_of,
    laws_of,
    of_law,
    seed_errors,
)
from _blocked_tables import (
    WEIGHT_NAMES,
    Cell,
    Results,
    Table2,
    cell_names,
    table,
    with_error,
)
from experiments.blocked_protocol import FRACTIONS, Row

SETTINGS = {
    "paper": "CERF, paper's setting",
    "paper_rff": "blocked RFF, paper's setting",
    "literal": "CERF, as printed",
}


def searched_wins(results: Results, reading: dict[str, Any]) -> tuple[int, int]:
    """Cells of the search on satimage in which CERF is below blocked RFF, and all of them."""
    below = total = 0
    searched = results["searched"]
    for law in laws_of(searched):
        places = (reading["unit"], 2.0 * reading["unit"])
        here = [
            r
            for r in of_law(searched, law)
            if r["reading"]["p2_scale"] == reading["p2_scale"] and r["row"]["parameter"] in places
        ]
        ours, theirs = (
            errors_of(best_group(by_side(here), "equal", KINDS[kind]), "equal")
            for kind in ("cerf", "fastfood")
        )
        below += sum(ours[cell] < theirs[cell] for cell in ours)
        total += len(ours)
    return below, total


class GaplessSatimage:
    """Errors on satimage in the reading that is nearest without the gap."""

    def __init__(self, results: Results) -> None:
        self._records = results["gapless"]
        self._sides = results["chosen"]["gapless"]["sides"]
        rows = dict.fromkeys(Row(**record["row"]) for record in self._records)
        self.cells: list[Cell] = [(row, fraction) for row in rows for fraction in FRACTIONS]

    def errors(self, name: str, cell: Cell, weights: str) -> Any:
        """Errors of a side to the teacher, one a seed."""
        row, fraction = cell
        fitted = "nnls" if weights == "nnls" else "equal"
        side = self._sides[row.law][fitted][name]
        wanted = {"data": row.data, "law": row.law, "parameter": row.parameter}
        record = next(
            r
            for r in self._records
            if r["side"] == side and r["row"] == wanted and r["weights"] == [fitted]
        )
        return seed_errors(record, fraction, weights, "teacher")

    def wins(self, weights: str) -> int:
        """Cells in which CERF's mean is below blocked RFF's."""
        means = [
            [self.errors(name, cell, weights).mean() for name in ("cerf", "fastfood")]
            for cell in self.cells
        ]
        return sum(ours < theirs for ours, theirs in means)

    def table(self) -> str:
        """CERF and blocked RFF by all weights."""
        rows = [
            [
                *cell_names(cell),
                *(
                    with_error(self.errors(name, cell, weights))
                    for weights in WEIGHT_NAMES
                    for name in ("cerf", "fastfood")
                ),
            ]
            for cell in self.cells
        ]
        header = [f"{n}, {w}" for w in WEIGHT_NAMES.values() for n in ("CERF", "blocked RFF")]
        return table(["data", "P1", "parameter", "K'/K", *header], rows)


def cell_of(results: Results, kind: str, cell: Cell) -> dict[str, Any]:
    """Cell of a side in the paper's setting."""
    row, fraction = cell
    wanted = {"data": row.data, "law": row.law, "parameter": row.parameter}
    records = [*results["paper_cells"], *results["literal_cells"]]
    record = next(r for r in records if r["side"]["kind"] == kind and r["row"] == wanted)
    found: dict[str, Any] = next(c for c in record["cells"] if c["fraction"] == fraction)
    return found


def paper_errors(results: Results, kind: str, cell: Cell, weights: str = "equal") -> Any:
    """Errors to the teacher of a side in the paper's setting, one a seed."""
    return np.array(cell_of(results, kind, cell)["errors"][weights]["teacher"])


def paper_wins(results: Results, kind: str, rival: str, weights: str = "equal") -> int:
    """Cells in which a side in the paper's setting is below a rival, on the same folds."""
    table2 = Table2(results, results["chosen"]["reading"])
    below = 0
    for cell in tables.CELLS:
        ours = paper_errors(results, kind, cell, weights)
        if rival in SETTINGS:
            theirs = paper_errors(results, rival, cell, weights)
        else:
            theirs = table2.errors(rival, cell, weights, "teacher")
        below += ours.mean() < theirs[: len(ours)].mean()
    return int(below)


def paper_macs(results: Results, kind: str, fraction: float) -> int:
    """MACs of a side in the paper's setting, the same in all rows of the table."""
    return int(cell_of(results, kind, (tables.CELLS[0][0], fraction))["macs"][0])


def paper_table(results: Results) -> str:
    """Errors in the paper's setting beside those of the table, the paper's own first."""
    table2, rows = Table2(results, results["chosen"]["reading"]), []
    for cell in tables.CELLS:
        row, fraction = cell
        printed = PAPER[row.data, row.law, row.parameter][FRACTIONS.index(fraction)]
        errors = {kind: paper_errors(results, kind, cell) for kind in SETTINGS}
        n_folds = len(errors["paper"])
        known = [
            table2.errors(name, cell, "equal", "teacher")[:n_folds] for name in ("cerf", "fastfood")
        ]
        rows.append(
            [
                *cell_names(cell),
                " / ".join(f"{p:g}" for p in printed),
                *(with_error(values) for values in (*errors.values(), *known)),
                with_error(errors["paper"] - known[1]),
            ]
        )
    header = ["data", "P1", "parameter", "K'/K", "paper: CERF / RFF", *SETTINGS.values()]
    header += ["CERF", "blocked RFF", "CERF, paper's setting - blocked RFF"]
    return table(header, rows)


def paper_cost_table(results: Results) -> str:
    """MACs of the sides in the paper's setting."""
    rows = [
        [f"{f:g}", *(f"{paper_macs(results, kind, f):,}" for kind in SETTINGS)] for f in FRACTIONS
    ]
    return table(["K'/K: MACs", *SETTINGS.values()], rows)


def share_table(results: Results) -> str:
    """Kernel error by what blocks share."""
    records = results["shares"]
    labels = list(records[0]["errors"])
    rows = []
    for label in labels:
        shown = []
        for record in records:
            values = np.array(record["errors"][label])
            spread = values.std(ddof=1) / np.sqrt(len(values))
            shown.append(f"{values.mean():.4f} ± {spread:.4f}")
        rows.append([label, *shown])
    return table(["shared by all blocks", *(record["data"] for record in records)], rows)


def commit_list(results: Results) -> str:
    """Versions of the code by stage."""
    stages: dict[str, list[str]] = {}
    for stage, commits in results["commits"].items():
        stages.setdefault(", ".join(commits), []).append(stage)
    return "; ".join(f"{', '.join(names)}: {commit}" for commit, names in stages.items())
