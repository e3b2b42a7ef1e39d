"""Blocked CERF against blocked random Fourier features: section 4.1 and Table 2 of the paper.

    python benchmarks/blocked.py               # what results/blocked.json lacks, then the page
    python benchmarks/blocked.py --fresh       # everything anew, about 40 minutes
    python benchmarks/blocked.py --minutes 4   # stop early; the next call goes on
    python benchmarks/blocked.py --check       # fail if docs/blocked.md does not show the JSON

What the paper leaves open is chosen on satimage by the rules of ``choices``, then used as it is on
digits-raw and digits-hog. Data: see ``datasets``.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import cerflearn
import datasets  # noqa: F401  puts the experiments on the path
from _blocked_page import page
from _blocked_rules import KINDS, WEIGHTS, choices
from experiments.blocked_protocol import FRACTIONS, READINGS, TABLE, Row, Side, problem_of

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "blocked.json"
PAGE = ROOT / "docs" / "blocked.md"

STAGES = ("drawn", "learned", "variants", "scales", "cells")

Results = dict[str, Any]


@dataclass(frozen=True)
class Grid:
    """What is tried on satimage, and how much data and how many seeds there are."""

    p2_scales: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0, 4.0)
    drawn_spreads: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
    drawn_scale_spreads: tuple[float, ...] = (0.0, 0.5, 1.0)
    spreads: tuple[float, ...] = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
    scale_spreads: tuple[float, ...] = (0.0, 0.5)
    factors: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 6.0)
    other_scales: tuple[float, ...] = (1.0, 2.0)
    other_spreads: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 3.0)
    normalizations: tuple[str | None, ...] = ("standardize", "center", None)
    drawn_seeds: int = 4
    tuning_seeds: int = 2
    seeds: int = 5
    tuning_rows: tuple[int, int] = (1000, 500)  # to train and to test
    rows: tuple[int, int] = (1000, 1000)
    readings: tuple[str, ...] = tuple(READINGS)


QUICK = Grid(
    p2_scales=(2.0,),
    drawn_spreads=(2.0,),
    drawn_scale_spreads=(0.0,),
    spreads=(2.0,),
    scale_spreads=(0.0,),
    factors=(1.0,),
    other_scales=(1.0,),
    other_spreads=(1.0,),
    normalizations=("center",),
    drawn_seeds=1,
    tuning_seeds=1,
    seeds=2,
    tuning_rows=(60, 40),
    rows=(60, 40),
    readings=("median",),
)
"""For tests."""


@dataclass(frozen=True)
class Task:
    """One side on one row of the table: all fractions and seeds."""

    stage: str
    row: Row
    side: Side
    p2_scale: float
    weights: tuple[str, ...]
    reading: str = "median"

    @property
    def key(self) -> dict[str, Any]:
        """Everything that tells the task from others, as the file has it: lists for tuples."""
        return json.loads(json.dumps(asdict(self)))

    def run(self, grid: Grid) -> dict[str, Any]:
        """Errors of every seed, by fraction and weights."""
        n_train, n_test = grid.rows if self.stage == "cells" else grid.tuning_rows
        cells = []
        for fraction in FRACTIONS:
            seeds = []
            for seed in range(n_seeds(self.stage, grid)):
                problem = problem_of(self.row, self.reading, self.p2_scale, seed, n_train, n_test)
                found = [problem.errors(self.side, fraction, weights) for weights in self.weights]
                seeds.append(merged(found))
            cells.append({"fraction": fraction, **listed(seeds)})
        return {**self.key, "cells": cells}


def merged(found: list[dict[str, Any]]) -> dict[str, Any]:
    """One dictionary of the errors by several weights."""
    errors = {name: by_truth for f in found for name, by_truth in f["errors"].items()}
    return {**found[0], "errors": errors}


def listed(seeds: list[Any]) -> Any:
    """Turn dictionaries of numbers, one a seed, into one dictionary of lists."""
    if not isinstance(seeds[0], dict):
        return seeds
    return {name: listed([seed[name] for seed in seeds]) for name in seeds[0]}


def n_seeds(stage: str, grid: Grid) -> int:
    return {"drawn": grid.drawn_seeds, "cells": grid.seeds}.get(stage, grid.tuning_seeds)


def rows_of(stage: str) -> list[Row]:
    return [row for row in TABLE if (row.data != "satimage") == (stage == "cells")]


def drawn_tasks(grid: Grid) -> Iterator[Task]:
    """Laws, without any choice among candidates: for the scale of P2."""
    sides = [Side("fastfood", selector="random"), Side("dense", selector="random")]
    sides += [
        Side("cerf", spread=spread, scale_spread=scale_spread, selector="random")
        for spread in grid.drawn_spreads
        for scale_spread in grid.drawn_scale_spreads
    ]
    for p2_scale in grid.p2_scales:
        for row in rows_of("drawn"):
            for side in sides:
                yield Task("drawn", row, side, p2_scale, ("equal",))


def learned_tasks(grid: Grid, p2_scale: float) -> Iterator[Task]:
    """CVEM at the chosen scale of P2: spread, scale of a block, normalisation, width of a rival."""
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
            yield Task("learned", row, side, p2_scale, WEIGHTS)


def variant_tasks(chosen: dict[str, Any]) -> Iterator[Task]:
    """Single outputs, and shared signs, beside the chosen sides."""
    for row in rows_of("variants"):
        for weights in WEIGHTS:
            for name in ("cerf", "fastfood"):
                side = Side(**chosen["sides"][row.law][weights][name])
                for other in (replace(side, select="outputs"), replace(side, shared_signs=True)):
                    yield Task("variants", row, other, chosen["p2_scale"], (weights,))


def scale_tasks(grid: Grid, chosen: dict[str, Any]) -> Iterator[Task]:
    """CERF's spreads at other scales of P2."""
    for p2_scale in grid.other_scales:
        for row in rows_of("scales"):
            for weights in WEIGHTS:
                side = Side(**chosen["sides"][row.law][weights]["cerf"])
                for spread in grid.other_spreads:
                    for scale_spread in grid.scale_spreads:
                        law = replace(side, spread=spread, scale_spread=scale_spread)
                        yield Task("scales", row, law, p2_scale, (weights,))


def cell_tasks(grid: Grid, chosen: dict[str, Any]) -> Iterator[Task]:
    """Table 2; CERF and blocked RFF at other scales of P2 and in other readings, too."""
    pair = ("cerf", "fastfood")
    cases = [("median", chosen, tuple(KINDS))]
    cases += [("median", other, pair) for other in chosen["other_scales"]]
    cases += [(reading, chosen, pair) for reading in grid.readings if reading != "median"]
    for reading, case, names in cases:
        for row in rows_of("cells"):
            for weights in WEIGHTS:
                for name in names:
                    side = Side(**case["sides"][row.law][weights][name])
                    yield Task("cells", row, side, case["p2_scale"], (weights,), reading)


def all_tasks(grid: Grid, results: Results) -> Iterator[Task]:
    """Tasks in order; later ones follow from what the earlier ones left in ``results``."""
    yield from drawn_tasks(grid)
    yield from learned_tasks(grid, choices(results)["p2_scale"])
    results["chosen"] = choices(results)
    yield from variant_tasks(results["chosen"])
    yield from scale_tasks(grid, results["chosen"])
    results["chosen"] = choices(results)
    yield from cell_tasks(grid, results["chosen"])


def measure(grid: Grid, results: Results, stop: float, save: Any) -> bool:
    """Run the tasks that ``results`` lacks until the time ``stop``; tell whether all are done."""
    for task in all_tasks(grid, results):
        records = results.setdefault(task.stage, [])
        key = task.key
        if any(all(record[name] == key[name] for name in key) for record in records):
            continue
        if time.monotonic() > stop:
            return False
        records.append(task.run(grid))
        save(results)
    return True


def environment() -> dict[str, str]:
    return {
        "cerflearn": cerflearn.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def save(results: Results) -> None:
    results |= {"environment": environment(), "grid": asdict(Grid())}
    RESULTS.write_text(json.dumps(results, separators=(",", ":")) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin nothing afterwards")
    parser.add_argument("--check", action="store_true", help="change nothing, compare the page")
    arguments = parser.parse_args()
    known = RESULTS.exists() and not arguments.fresh
    results: Results = json.loads(RESULTS.read_text()) if known else {}
    if arguments.check:
        if PAGE.read_text() != page(results):
            sys.exit("docs/blocked.md does not show blocked.json: run python benchmarks/blocked.py")
        return
    if not measure(Grid(), results, time.monotonic() + 60.0 * arguments.minutes, save):
        sys.exit("Not finished: call again to go on.")
    save(results)
    PAGE.write_text(page(results))


if __name__ == "__main__":
    main()
