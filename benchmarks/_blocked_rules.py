"""What is chosen on satimage, and who wins a cell: rules over the records of ``blocked``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Record = dict[str, Any]

WEIGHTS = ("equal", "nnls")
RIVALS = ("fastfood", "dense")
"""Rivals of equal cost whose frequencies have P0's parameter."""


def seed_errors(record: Record, fraction: float, weights: str, truth: str) -> NDArray:
    """Errors of a record in a cell, one a seed."""
    cell = next(cell for cell in record["cells"] if cell["fraction"] == fraction)
    return np.array(cell["errors"][weights][truth])


def mean_error(record: Record, fraction: float, weights: str, truth: str = "teacher") -> float:
    return float(seed_errors(record, fraction, weights, truth).mean())


def by_side(records: Iterable[Record]) -> list[list[Record]]:
    """Sort records into lists, one for each side (and scale of P2)."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(f"{record['p2_scale']} {record['side']}", []).append(record)
    return list(groups.values())


def errors_of(group: list[Record], weights: str) -> dict[tuple[str, float, float], float]:
    """Mean error of a side in every cell: law, parameter, fraction."""
    return {
        (r["row"]["law"], r["row"]["parameter"], cell["fraction"]): mean_error(
            r, cell["fraction"], weights
        )
        for r in group
        for cell in r["cells"]
    }


def geometric_mean(group: list[Record], weights: str) -> float:
    return float(np.exp(np.mean(np.log(list(errors_of(group, weights).values())))))


def best(groups: list[list[Record]], weights: str, wanted: Callable[[Record], bool]) -> Record:
    """Side, among those wanted, with the smallest geometric mean error over the cells."""
    fitting = [g for g in groups if wanted(g[0]["side"])]
    side: Record = min(fitting, key=lambda g: geometric_mean(g, weights))[0]["side"]
    return side


def cells_won(group: list[Record], rivals: list[list[Record]], weights: str) -> int:
    """Cells in which a side's mean error is below that of every rival."""
    theirs = [errors_of(rival, weights) for rival in rivals]
    return sum(
        all(error < other[cell] for other in theirs)
        for cell, error in errors_of(group, weights).items()
    )


def drawn_wins(drawn: list[Record], p2_scale: float) -> list[tuple[Record, int]]:
    """Each law of CERF as drawn, and the cells it wins from all rivals."""
    groups = by_side(r for r in drawn if r["p2_scale"] == p2_scale)
    rivals = [g for g in groups if g[0]["side"]["kind"] in RIVALS]
    ours = [g for g in groups if g[0]["side"]["kind"] == "cerf"]
    return [(g[0]["side"], cells_won(g, rivals, "equal")) for g in ours]


def choose_p2_scale(drawn: list[Record]) -> float:
    """Smallest scale of P2 at which one law of CERF wins as many cells as at any scale."""
    scales = sorted({r["p2_scale"] for r in drawn})
    most = {scale: max(n for _, n in drawn_wins(drawn, scale)) for scale in scales}
    return float(next(scale for scale in scales if most[scale] == max(most.values())))


KINDS: dict[str, Callable[[Record], bool]] = {
    "cerf": lambda side: side["kind"] == "cerf",
    "fastfood": lambda side: side["kind"] == "fastfood" and side["factor"] == 1.0,
    "dense": lambda side: side["kind"] == "dense",
    "rescaled": lambda side: side["kind"] == "fastfood",
}
"""Sides; "fastfood" keeps P0's parameter, "rescaled" has the width that is best for it."""


def choices(results: Record) -> Record:
    """Scale of P2, and the settings of every side for each law of P1 and kind of weights."""
    chosen: Record = {"p2_scale": choose_p2_scale(results["drawn"])}
    learned = results.get("learned", [])
    if learned:
        chosen["sides"] = {law: best_sides(of_law(learned, law)) for law in laws_of(learned)}
        chosen["other_scales"] = other_scales(results.get("scales", []), chosen["sides"])
    return chosen


def laws_of(records: list[Record]) -> list[str]:
    return sorted({r["row"]["law"] for r in records})


def of_law(records: list[Record], law: str) -> list[Record]:
    return [r for r in records if r["row"]["law"] == law]


def best_sides(records: list[Record]) -> Record:
    """Best setting of each side, by weights."""
    groups = by_side(records)
    return {
        weights: {name: best(groups, weights, wanted) for name, wanted in KINDS.items()}
        for weights in WEIGHTS
    }


def other_scales(records: list[Record], sides: Record) -> list[Record]:
    """Sides at other scales of P2: as chosen, but for CERF's spreads, which are chosen there."""
    found = []
    for p2_scale in sorted({r["p2_scale"] for r in records}):
        there: Record = {}
        for law in laws_of(records):
            for weights in WEIGHTS:
                own = [
                    r
                    for r in of_law(records, law)
                    if r["p2_scale"] == p2_scale and weights in r["weights"]
                ]
                if own:  # measured yet
                    spread = best(by_side(own), weights, lambda _: True)
                    pair = {"cerf": spread, "fastfood": sides[law][weights]["fastfood"]}
                    there.setdefault(law, {})[weights] = pair
        found.append({"p2_scale": p2_scale, "sides": there})
    return found
