"""Which teacher the features should imitate; docs/teachers.md is made from the results.

    python benchmarks/teachers.py --jobs 2       # about 10 minutes of a core, needs CERF_DATA
    python benchmarks/render_teachers.py         # tables and picture of docs/teachers.md

Results are kept in benchmarks/results/teachers.json, one record for each dataset, teacher and seed:
what is there is not measured again (``--again`` forgets it first), so that a run can be stopped and
taken up, see ``--minutes``. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from _teachers_data import DATASETS, TINY, split_of
from _teachers_maps import TEACHERS, UNTRAINED, measure
from _teachers_penalty import PENALTY_TEACHERS, measure_penalty
from experiments.provenance import made_by
from experiments.store import look_up, write_json

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "teachers.json"
MEASURED = ("benchmarks/_teachers_data.py", "benchmarks/_teachers_maps.py")
"""What the results depend on."""

Cell = tuple[str, str, str, int]
"""Part of the results ("results" or "penalty"), dataset, teacher, seed."""


def measure_cell(cell: Cell, deadline: float) -> dict[str, Any] | None:
    """Measure all selectors and budgets of a cell, or penalties; None after the deadline."""
    if time.time() > deadline:
        return None
    part, name, teacher, seed = cell
    dataset = (DATASETS | TINY)[name]
    split = split_of(dataset, seed)
    if part == "penalty":
        return measure_penalty(teacher, split, dataset.macs[-1], seed)
    return measure(teacher, split, dataset.macs, seed)


def cells(arguments: argparse.Namespace) -> Iterator[Cell]:
    """All seeds of all datasets and teachers, the first seed of all first."""
    names = arguments.dataset or [*(TINY if arguments.tiny else DATASETS)]
    for seed in range(arguments.seeds):
        for name in names:
            for teacher in (UNTRAINED, *TEACHERS):
                yield "results", name, teacher, seed
            for teacher in PENALTY_TEACHERS:
                yield "penalty", name, teacher, seed


def keep(content: dict[str, Any], cell: Cell, record: dict[str, Any], path: Path) -> None:
    """Add a record and write the file."""
    part, name, teacher, seed = cell
    records = content.setdefault(part, {}).setdefault(name, {})
    records.setdefault(teacher, {})[str(seed)] = record
    write_json(path, content)


def run(arguments: argparse.Namespace) -> None:
    path: Path = arguments.output
    known = path.exists() and not arguments.again
    code = made_by(*MEASURED)
    content = json.loads(path.read_text()) if known else {"versions": code, "results": {}}
    todo = [
        cell for cell in cells(arguments) if look_up(content, (*cell[:3], str(cell[3]))) is None
    ]
    if todo and content["versions"] != code:
        raise SystemExit(
            f"{path.name} was made by {content['versions']}, this is {code}: measure with that, "
            "or everything anew with --again"
        )
    deadline = time.time() + 60.0 * arguments.minutes
    with ProcessPoolExecutor(arguments.jobs) as pool:
        futures = {pool.submit(measure_cell, cell, deadline): cell for cell in todo}
        for future in as_completed(futures):
            record = future.result()
            if record is not None:
                keep(content, futures[future], record, path)
                print(" / ".join(map(str, futures[future])), flush=True)
    print("all there" if time.time() < deadline else "time is up: run again to go on", path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--dataset", action="append", choices=[*DATASETS, *TINY], help="repeat")
    parser.add_argument("--seeds", type=int, default=5, help="splits (default 5)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no cell after these")
    parser.add_argument("--tiny", action="store_true", help="small sets, a smoke test")
    parser.add_argument("--output", type=Path, default=RESULTS)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
