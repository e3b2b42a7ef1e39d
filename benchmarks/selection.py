"""What the choice of features brings and costs; docs/selection.md is made from the results.

    python benchmarks/selection.py accuracy    # all selectors at the MACs of Table 3, 40 minutes
    python benchmarks/selection.py mnist       # MNIST-60k with 1,024 outputs, 10 minutes
    python benchmarks/selection.py time        # training time and memory, 15 minutes
    python benchmarks/selection.py defaults    # which selector should be the default, 15 minutes
    python benchmarks/selection.py all
    python benchmarks/render_selection.py      # fills the tables of docs/selection.md

Results are kept in benchmarks/results/selection.json piece by piece: what is there is not measured
again (``--again`` forgets it first), so that a run can be stopped and taken up, see ``--minutes``.
Times are of one thread; nothing else should run beside ``time`` and ``mnist``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy
import sklearn

import _selection_accuracy as quality
import _selection_defaults as choice
import _selection_mnist as large
import _selection_time as duration
import cerflearn
from datasets import SPLITS  # puts experiments on the path
from experiments.store import look_up, write_json

RESULTS = Path(__file__).parent / "results" / "selection.json"
PARTS = ("accuracy", "mnist", "time", "defaults")
ACCURACY_TABLES = ("accuracy", "wide", "widths", "linear")

Piece = tuple[tuple[str, ...], Callable[[], Any]]
"""Where in the results a piece belongs, and how it is measured."""


class Store:
    """Results in a JSON file, written after each piece."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def get(self, where: tuple[str, ...]) -> Any:
        """Piece, or None if it has not been measured."""
        return look_up(self.results, where)

    def forget(self, parts: tuple[str, ...]) -> None:
        """Drop all pieces of some parts."""
        names = {n for part in parts for n in ACCURACY_TABLES if part == "accuracy"} | {*parts}
        self.results = {k: v for k, v in self.results.items() if k not in names}
        self._write()

    def put(self, where: tuple[str, ...], piece: Any) -> None:
        """Keep a piece, and the versions that made it."""
        if self.path.exists():  # another part may be running
            self.results = json.loads(self.path.read_text())
        node = self.results
        for key in where[:-1]:
            node = node.setdefault(key, {})
        node[where[-1]] = piece
        self.results["versions"] = versions()
        self._write()

    def _write(self) -> None:
        write_json(self.path, self.results)


def versions() -> dict[str, str]:
    return {
        "cerflearn": cerflearn.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def accuracy_pieces(store: Store, arguments: argparse.Namespace) -> Iterator[Piece]:
    """All splits of all datasets; the C of the first table serves the width table too."""
    names = arguments.dataset or (["few digits"] if arguments.tiny else [*quality.PAPER])
    sizes = (4, 8) if arguments.tiny else quality.DENSE_FEATURES
    for seed in range(arguments.seeds):
        for name in names:
            key = str(seed)

            def split(name: str = name, seed: int = seed) -> Any:
                return SPLITS[name](seed)

            yield ("accuracy", name, key), lambda s=split, n=seed: quality.accuracy(s(), n, sizes)
            yield ("wide", name, key), lambda s=split, n=seed: quality.wide(s(), n, sizes)
            C = store.get(("accuracy", name, key, "C"))
            yield ("widths", name, key), lambda s=split, n=seed, C=C: quality.widths(s(), n, C)
            yield ("linear", name, key), lambda s=split, C=C: quality.linear(s(), C)


def pieces(part: str, store: Store, arguments: argparse.Namespace) -> Iterator[Piece]:
    if part == "accuracy":
        yield from accuracy_pieces(store, arguments)
    elif part == "mnist":
        for where, run in large.pieces(lambda key: store.get(("mnist", key)), tiny=arguments.tiny):
            yield ("mnist", *where), run
    else:
        module = {"time": duration, "defaults": choice}[part]
        for where, run in module.pieces(tiny=arguments.tiny):
            yield (part, *where), run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=(*PARTS, "all"))
    parser.add_argument("--again", action="store_true", help="forget earlier results of the part")
    parser.add_argument("--dataset", action="append", choices=SPLITS, help="of accuracy; repeat")
    parser.add_argument("--seeds", type=int, default=10, help="splits of accuracy (default 10)")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start no piece after these")
    parser.add_argument("--tiny", action="store_true", help="small sizes, a smoke test")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    store = Store(arguments.output)
    parts = PARTS if arguments.part == "all" else (arguments.part,)
    if arguments.again:
        store.forget(parts)
    begin = time.monotonic()
    for part in parts:
        for where, run in pieces(part, store, arguments):
            if store.get(where) is not None:
                continue
            if time.monotonic() - begin > 60 * arguments.minutes:
                print("time is up: run again to go on")
                return
            start = time.monotonic()
            store.put(where, run())
            print(f"{' / '.join(where)}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"all there: {arguments.output}")


if __name__ == "__main__":
    main()
