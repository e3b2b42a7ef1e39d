"""Methods of ``frontier`` on the development suite: 38 datasets, three budgets, five splits.

    python benchmarks/suite.py run                                 # what is missing, all methods
    python benchmarks/suite.py run --methods cerf,linear --sets tuning --splits 2 --jobs 2
    python benchmarks/suite.py run --methods cerf --again cerf     # measure cerf anew
    python benchmarks/suite.py show                                # summary, as Markdown
    python benchmarks/suite.py merge one.json other.json --out both.json

Results are kept in benchmarks/results/suite.json, one record for each dataset, split, budget and
method: what is there is not measured again, so that a run can be stopped and taken up. All
datasets get the first split before any gets the next. Budgets are a quarter, one and four times
the MACs of a linear model; ``trees_bytes`` has the bytes of the ``cerf`` model of the same point,
whose record must be there or be measured in the same run. Data files are looked for in the folder
``suite`` of CERF_DATA. Times are of one thread.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import _suite_data as data
import _suite_runs as runs
import cerflearn
from _suite_summary import summary

RESULTS = Path(__file__).parent / "results" / "suite.json"


class Store:
    """Records in a JSON file, one a line, written whole after each task."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[runs.Record] = json.loads(path.read_text()) if path.exists() else []

    def add(self, records: list[runs.Record]) -> None:
        """Keep records, in place of those of the same dataset, split, budget and method."""
        there = {runs.key_of(record): record for record in self.records}
        there |= {runs.key_of(record): record for record in records}
        self.records = list(there.values())
        self._write()

    def forget(self, methods: list[str], names: list[str]) -> None:
        """Drop the records of some methods on some datasets."""
        self.records = [
            r for r in self.records if not (r["method"] in methods and r["dataset"] in names)
        ]
        self._write()

    def _write(self) -> None:
        """Replace the file at once: a stop in between leaves the old one."""
        lines = ",\n".join(json.dumps(record) for record in sorted(self.records, key=runs.key_of))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(f".{os.getpid()}.new")
        fresh.write_text(f"[\n{lines}\n]\n")
        fresh.replace(self.path)


def version() -> str:
    """Version of the package, with the commit if there is one."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    here = Path(__file__).parent
    try:
        found = subprocess.run(command, cwd=here, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return cerflearn.__version__
    return f"{cerflearn.__version__}+{found.stdout.strip()}"


def measured(
    tasks: list[runs.Task], n_jobs: int, label: str
) -> Iterator[tuple[runs.Task, list[runs.Record]]]:
    """Tasks with their records, as they are done."""
    if n_jobs == 1:
        for task in tasks:
            yield task, runs.measure(task, label)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=context) as pool:
        started = {pool.submit(runs.measure, task, label): task for task in tasks}
        try:
            for done in as_completed(started):
                yield started[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def run(arguments: argparse.Namespace) -> None:
    store, names = Store(arguments.out), data.names(arguments.sets)
    methods = runs.ALL_METHODS if arguments.methods == "all" else arguments.methods.split(",")
    again = [method for method in arguments.again.split(",") if method]
    unknown = [method for method in (*methods, *again) if method not in runs.ALL_METHODS]
    if unknown:
        raise SystemExit(f"no method: {', '.join(unknown)}; of {', '.join(runs.ALL_METHODS)}")
    kept, notes = runs.valid_methods(methods)
    for method, note in notes.items():
        print(f"{method} is left out: {note}", file=sys.stderr)
    if again:
        store.forget(again, names)
    tasks = list(runs.tasks(names, arguments.splits, kept, store.records))
    start = time.monotonic()
    for count, (task, records) in enumerate(measured(tasks, arguments.jobs, version()), start=1):
        store.add(records)
        seconds = time.monotonic() - start
        line = f"[{count}/{len(tasks)}] {seconds:.0f} s  {task.name}, split {task.split}"
        print(line, *map(_shown, records), sep="; ", file=sys.stderr, flush=True)


def _shown(record: runs.Record) -> str:
    score = record["score"]
    said = record["note"] if score is None else f"{score:.1f} in {record['fit_seconds']:.1f} s"
    return f"{record['method']} {record['budget']}: {said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run", help="measure what is missing")
    command.add_argument("--methods", default="all", help=",".join(runs.ALL_METHODS))
    command.add_argument("--sets", default="all", help="all, tuning or names with commas")
    command.add_argument("--splits", type=int, default=5)
    command.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    command.add_argument("--again", default="", help="methods whose records are dropped first")
    command.add_argument("--out", type=Path, default=RESULTS)
    command = commands.add_parser("show", help="print the summary as Markdown")
    command.add_argument("--out", type=Path, default=RESULTS)
    command = commands.add_parser("merge", help="put files together; of equals the last is kept")
    command.add_argument("files", type=Path, nargs="+")
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments)
    elif arguments.command == "merge":
        store = Store(arguments.out)
        store.add([record for path in arguments.files for record in Store(path).records])
    else:
        print("\n".join(summary(Store(arguments.out).records, data.CONSTRUCTED)))


if __name__ == "__main__":
    main()
