"""Blocked CERF against blocked random Fourier features: section 4.1 and Table 2 of the paper.

    python benchmarks/blocked.py               # what results/blocked.json lacks, then the pages
    python benchmarks/blocked.py --fresh       # everything anew, about two hours
    python benchmarks/blocked.py --minutes 4   # stop early; the next call goes on
    python benchmarks/blocked.py --check       # fail if docs/blocked*.md do not show the JSON

What the paper leaves open is chosen on satimage by the rules of ``choices``, then used as it is on
digits-raw and digits-hog. Data: see ``datasets``. Methods that the paper leaves out are measured by
``python -m experiments run table2``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import datasets  # noqa: F401  puts the experiments on the path
from _blocked_page import PICTURE, draw_picture, pages
from _blocked_shares import shares
from _blocked_tasks import Grid, Results, all_tasks
from experiments.provenance import made_by

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "blocked.json"
PAGES = ROOT / "docs"


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
        note_commit(results, task.stage)
        save(results)
    if "shares" not in results:
        results["shares"] = shares(grid.share_seeds)
        note_commit(results, "shares")
        save(results)
    return True


def note_commit(results: Results, stage: str) -> None:
    """Name the version of the code that a stage was measured with; several, if it went on."""
    results["versions"] = made_by("experiments", "benchmarks/_blocked_tasks.py")
    commits = results.setdefault("commits", {}).setdefault(stage, [])
    if results["versions"]["commit"] not in commits:
        commits.append(results["versions"]["commit"])


def save(results: Results) -> None:
    results["grid"] = asdict(Grid())
    RESULTS.write_text(json.dumps(results, separators=(",", ":")) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin nothing afterwards")
    parser.add_argument("--check", action="store_true", help="change nothing, compare the pages")
    arguments = parser.parse_args()
    known = RESULTS.exists() and not arguments.fresh
    results: Results = json.loads(RESULTS.read_text()) if known else {}
    if arguments.check:
        for name, text in pages(results).items():
            if (PAGES / name).read_text() != text:
                sys.exit(
                    f"docs/{name} does not show blocked.json: run python benchmarks/blocked.py"
                )
        return
    if not measure(Grid(), results, time.monotonic() + 60.0 * arguments.minutes, save):
        sys.exit("Not finished: call again to go on.")
    for name, text in pages(results).items():
        (PAGES / name).write_text(text)
    draw_picture(PAGES / PICTURE)


if __name__ == "__main__":
    main()
