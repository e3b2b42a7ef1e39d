"""CERFClassifier and CERFRegressor beside other methods, at equal total MACs.

    python benchmarks/predictors.py accuracy     # accuracy at total MACs, 5 seeds
    python benchmarks/predictors.py mnist60k     # all of MNIST, beside a dense MLP; training time
    python benchmarks/predictors.py frontier     # ten datasets, three budgets, all methods
    python benchmarks/predictors.py regression   # diabetes, Friedman 1-3, a hidden pixel column
    python benchmarks/predictors.py speed        # fit times, prediction of 10,000 rows
    python benchmarks/predictors.py all
    python benchmarks/predictors.py show         # what is there

Results are kept in benchmarks/results/predictors.json piece by piece: what is there is not measured
again (``--again`` forgets it first), so that a run can be stopped and taken up, see ``--minutes``.
Times are of one thread; nothing else should run beside ``speed`` and ``mnist60k``. Data files are
looked for in the folder that CERF_DATA names.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import _predictors_runs as runs
from _predictors_summary import summary
from selection import Store

RESULTS = Path(__file__).parent / "results" / "predictors.json"
PARTS = ("accuracy", "mnist60k", "frontier", "regression", "speed")


def pieces(part: str, arguments: argparse.Namespace) -> Iterator[runs.Piece]:
    """Pieces of a part, with their place in the results."""
    tiny, seeds, only = arguments.tiny, arguments.seeds, arguments.dataset
    methods = arguments.method
    found = {
        "accuracy": lambda: runs.accuracies(seeds, tiny),
        "mnist60k": lambda: runs.large(tiny),
        "frontier": lambda: runs.frontiers(seeds, tiny, only, methods),
        "regression": lambda: runs.regressions(seeds, tiny, only, methods),
        "speed": lambda: runs.speed(tiny),
    }[part]()
    for where, run in found:
        yield (part, *where), run


def measure(parts: tuple[str, ...], store: Store, arguments: argparse.Namespace) -> bool:
    """Measure what is missing; False if time ran out."""
    begin = time.monotonic()
    for part in parts:
        missing = [p for p in pieces(part, arguments) if store.get(p[0]) is None]
        for number, (where, run) in enumerate(missing, start=1):
            if time.monotonic() - begin > 60 * arguments.minutes:
                print("time is up: run again to go on")
                return False
            start = time.monotonic()
            store.put(where, run())
            seconds = time.monotonic() - start
            print(f"[{number}/{len(missing)}] {' / '.join(where)}: {seconds:.0f} s", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=(*PARTS, "all", "show"))
    parser.add_argument("--again", action="store_true", help="forget earlier results of the part")
    parser.add_argument("--seeds", type=int, default=5, help="splits and draws (default 5)")
    parser.add_argument("--dataset", action="append", help="of frontier and regression; repeat")
    parser.add_argument("--method", action="append", help="of frontier and regression; repeat")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no piece after these")
    parser.add_argument("--tiny", action="store_true", help="small sizes, a smoke test")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    store = Store(arguments.output)
    parts = {"all": PARTS, "show": ()}.get(arguments.part, (arguments.part,))
    if arguments.again:
        store.forget(parts)
    done = measure(parts, store, arguments)
    for part, lines in summary(store.results).items():
        if part in parts or arguments.part == "show":
            print(f"\n{part}", *lines, sep="\n  ")
    if done and parts:
        print(f"\nall there: {arguments.output}")


if __name__ == "__main__":
    main()
