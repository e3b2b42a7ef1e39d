"""What is measured in docs/blocked.md: the grid, and every task of it in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import datasets  # noqa: F401  puts the experiments on the path
from _blocked_rules import KINDS, WEIGHTS, choices
from experiments.blocked_protocol import (
    FRACTIONS,
    MEANINGS,
    TABLE,
    Reading,
    Row,
    Side,
    problem_of,
)

STAGES = (
    "searched",
    "learned",
    "variants",
    "others",
    "cells",
    "gapless",
    "gapless_cells",
    "paper_cells",
    "literal_cells",
)

Results = dict[str, Any]


@dataclass(frozen=True)
class Grid:
    """What is tried on satimage, and how much data and how many seeds there are."""

    p2_scales: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 6.0)
    units: tuple[float, ...] = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
    searched_spreads: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)
    spreads: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
    scale_spreads: tuple[float, ...] = (0.0, 0.5)
    factors: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
    other_scales: tuple[float, ...] = (1.0, 3.0)
    other_units: tuple[float, ...] = (1 / 8, 1 / 2, 1.0)
    other_spreads: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
    gapless_spreads: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    normalizations: tuple[str | None, ...] = ("standardize", "center", None)
    searched_seeds: int = 2
    tuning_seeds: int = 3
    seeds: int = 5
    paper_seeds: int = 3
    literal_seeds: int = 1  # a fit takes about a minute
    share_seeds: int = 20
    tuning_rows: tuple[int, int] = (1000, 500)  # to train and to test
    rows: tuple[int, int] = (1000, 1000)
    meanings: tuple[str, ...] = tuple(MEANINGS)


QUICK = Grid(
    p2_scales=(2.0,),
    units=(1 / 4,),
    searched_spreads=(2.0,),
    spreads=(2.0,),
    scale_spreads=(0.0,),
    factors=(1.0,),
    other_scales=(1.0,),
    other_units=(1.0,),
    other_spreads=(1.0,),
    gapless_spreads=(1.0,),
    normalizations=("center",),
    searched_seeds=1,
    tuning_seeds=1,
    seeds=2,
    paper_seeds=2,
    literal_seeds=1,
    share_seeds=2,
    tuning_rows=(60, 40),
    rows=(60, 40),
    meanings=("median",),
)
"""For tests."""


@dataclass(frozen=True)
class Task:
    """One side on one row of the table: all fractions and seeds."""

    stage: str
    row: Row
    side: Side
    reading: Reading
    weights: tuple[str, ...]

    @property
    def key(self) -> dict[str, Any]:
        """What tells the task from others of its stage, as the file has it: lists for tuples."""
        key: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        del key["stage"]
        return key

    def run(self, grid: Grid) -> dict[str, Any]:
        """Errors of every seed, by fraction and weights."""
        n_train, n_test = grid.rows if self.stage.endswith("cells") else grid.tuning_rows
        cells = []
        for fraction in FRACTIONS:
            seeds = []
            for seed in range(n_seeds(self.stage, grid)):
                problem = problem_of(self.row, self.reading, seed, n_train, n_test)
                found = [problem.errors(self.side, fraction, weights) for weights in self.weights]
                seeds.append(merged(found))
                if self.stage in ("searched", "others"):
                    seeds[-1] = judged(seeds[-1])
            cells.append({"fraction": fraction, **listed(seeds)})
        return {**self.key, "cells": cells}


def merged(found: list[dict[str, Any]]) -> dict[str, Any]:
    """One dictionary of the errors by several weights."""
    errors = {name: by_truth for f in found for name, by_truth in f["errors"].items()}
    return {**found[0], "errors": errors}


def judged(found: dict[str, Any]) -> dict[str, Any]:
    """Only what is chosen by: searches in many readings would be most of the file."""
    errors = {w: {"teacher": e["teacher"]} for w, e in found["errors"].items() if w in WEIGHTS}
    return {"errors": errors}


def listed(seeds: list[Any]) -> Any:
    """Turn dictionaries of numbers, one a seed, into one dictionary of lists."""
    if not isinstance(seeds[0], dict):
        return seeds
    return {name: listed([seed[name] for seed in seeds]) for name in seeds[0]}


def n_seeds(stage: str, grid: Grid) -> int:
    named = {
        "searched": grid.searched_seeds,
        "paper_cells": grid.paper_seeds,
        "literal_cells": grid.literal_seeds,
    }
    return named.get(stage, grid.seeds if stage.endswith("cells") else grid.tuning_seeds)


def rows_of(stage: str) -> list[Row]:
    return [row for row in TABLE if (row.data != "satimage") == stage.endswith("cells")]


def searched_tasks(grid: Grid) -> Iterator[Task]:
    """Few laws at many scales of P1 and P2: for the unit of the parameters and the scale of P2.

    Offsets are independent here, as in the paper, whose errors are to be met.
    """
    laws = dict.fromkeys(row.law for row in rows_of("searched"))
    parameters = sorted({times * unit for unit in grid.units for times in (1.0, 2.0)})
    rows = [Row("satimage", law, parameter) for law in laws for parameter in parameters]
    for p2_scale in grid.p2_scales:
        for row in rows:
            for normalize in grid.normalizations:
                sides = [Side("cerf", normalize, spread) for spread in grid.searched_spreads]
                for side in (*sides, Side("fastfood", normalize)):
                    printed = replace(side, spaced_offsets=False)
                    yield Task("searched", row, printed, Reading(p2_scale), ("equal",))


def learned_tasks(grid: Grid, reading: Reading) -> Iterator[Task]:
    """In the chosen reading: spread, scale of a block, normalisation, width of a rival."""
    sides = []
    for normalize in grid.normalizations:
        sides += [
            Side("cerf", normalize, spread, scale_spread)
            for spread in grid.spreads
            for scale_spread in grid.scale_spreads
        ]
        sides += [Side("fastfood", normalize, factor=factor) for factor in grid.factors]
        sides.append(Side("dense", normalize))
    for row in rows_of("learned"):
        for side in sides:
            yield Task("learned", row, side, reading, WEIGHTS)


def variant_tasks(chosen: dict[str, Any]) -> Iterator[Task]:
    """Single outputs, and shared signs, beside the chosen sides."""
    reading = Reading(**chosen["reading"])
    for row in rows_of("variants"):
        for weights in WEIGHTS:
            for name in ("cerf", "fastfood"):
                side = Side(**chosen["sides"][row.law][weights][name])
                for other in (replace(side, select="outputs"), replace(side, share=("signs",))):
                    yield Task("variants", row, other, reading, (weights,))


def other_readings(grid: Grid, reading: Reading) -> list[Reading]:
    """Other scales of P2 in the same unit, and other units at the same scale."""
    scales = [replace(reading, p2_scale=s) for s in grid.other_scales if s != reading.p2_scale]
    return scales + [replace(reading, unit=u) for u in grid.other_units if u != reading.unit]


def other_tasks(grid: Grid, chosen: dict[str, Any]) -> Iterator[Task]:
    """CERF's spreads in other readings."""
    for reading in other_readings(grid, Reading(**chosen["reading"])):
        for row in rows_of("others"):
            for weights in WEIGHTS:
                side = Side(**chosen["sides"][row.law][weights]["cerf"])
                for spread in grid.other_spreads:
                    law = replace(side, spread=spread)
                    yield Task("others", row, law, reading, (weights,))


def gapless_tasks(grid: Grid, chosen: dict[str, Any]) -> Iterator[Task]:
    """On satimage in the reading that is nearest without the gap between CERF and blocked RFF.

    With equal weights the normalisation of both is chosen there too: errors depend on it.
    """
    reading = Reading(**chosen["gapless"]["reading"])
    for row in rows_of("gapless"):
        for weights in WEIGHTS:
            ours, theirs = (
                Side(**chosen["sides"][row.law][weights][name]) for name in ("cerf", "fastfood")
            )
            sides = [replace(ours, spread=spread) for spread in grid.gapless_spreads] + [theirs]
            if weights == "equal":
                sides = [replace(s, normalize=n) for n in grid.normalizations for s in sides]
            for side in sides:
                yield Task("gapless", row, side, reading, (weights,))


def gapless_cell_tasks(chosen: dict[str, Any]) -> Iterator[Task]:
    """Table 2 in that reading."""
    gapless = chosen["gapless"]
    for row in rows_of("gapless_cells"):
        for weights in WEIGHTS:
            for name in ("cerf", "fastfood"):
                side = Side(**gapless["sides"][row.law][weights][name])
                yield Task("gapless_cells", row, side, Reading(**gapless["reading"]), (weights,))


def paper_tasks(chosen: dict[str, Any]) -> Iterator[Task]:
    """Table 2 in the paper's setting, with the spreads of CERF and equal weights."""
    stages = {"paper": "paper_cells", "paper_rff": "paper_cells", "literal": "literal_cells"}
    for kind, stage in stages.items():
        for row in rows_of(stage):
            side = paper_side(kind, chosen, row)
            yield Task(stage, row, side, Reading(**chosen["reading"]), ("equal",))


def paper_side(kind: str, case: dict[str, Any], row: Row) -> Side:
    """Side in the paper's setting: CERF's spread, for which the paper gives no number."""
    spread = 1.0 if kind == "paper_rff" else case["sides"][row.law]["equal"]["cerf"]["spread"]
    return Side(kind, "standardize" if kind != "literal" else None, spread)


def cell_tasks(grid: Grid, chosen: dict[str, Any]) -> Iterator[Task]:
    """Table 2; CERF and blocked RFF in other readings, too."""
    pair = ("cerf", "fastfood")
    reading = Reading(**chosen["reading"])
    cases = [(reading, chosen, tuple(KINDS))]
    cases += [(Reading(**other["reading"]), other, pair) for other in chosen["others"]]
    as_printed = [replace(reading, meaning=m, unit=1.0) for m in grid.meanings if m != "median"]
    cases += [(printed, chosen, pair) for printed in as_printed]
    for case, settings, names in cases:
        for row in rows_of("cells"):
            for weights in WEIGHTS:
                for name in names:
                    side = Side(**settings["sides"][row.law][weights][name])
                    yield Task("cells", row, side, case, (weights,))


def all_tasks(grid: Grid, results: Results) -> Iterator[Task]:
    """Tasks in order; later ones follow from what the earlier ones left in ``results``."""
    yield from searched_tasks(grid)
    yield from learned_tasks(grid, Reading(**choices(results)["reading"]))
    results["chosen"] = choices(results)
    yield from variant_tasks(results["chosen"])
    yield from other_tasks(grid, results["chosen"])
    results["chosen"] = choices(results)
    yield from cell_tasks(grid, results["chosen"])
    yield from gapless_tasks(grid, results["chosen"])
    results["chosen"] = choices(results)
    yield from gapless_cell_tasks(results["chosen"])
    yield from paper_tasks(results["chosen"])
