"""Accuracy and time of CERFClassifier on many rows: covtype as they grow, MNIST as budgets grow.

    python benchmarks/rows.py run [--rows 1000,5000] [--effort 1] [--mlp]
    python benchmarks/rows.py run --data mnist [--macs 4000,20000,100000] [--shape]
    python benchmarks/rows.py show

Needs CERF_DATA; writes benchmarks/results/rows.json, a record for each dataset, budget, number of
rows and effort. One thread; 50,000 test rows of covtype in a fixed random order, the last 10,000 of
MNIST. ``--mlp`` fits scikit-learn's MLPClassifier of equal operations to the same rows, in the same
run; ``--shape`` tells CERFClassifier that the inputs are pixels of images.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cerflearn import CERFClassifier, cost

RESULTS = Path(__file__).parent / "results" / "rows.json"
ROWS = {"covtype": (1_000, 5_000, 20_000, 100_000, 500_000), "mnist": (60_000,)}
MACS = {"covtype": (5_000,), "mnist": (4_000, 20_000, 100_000)}
SHAPES = {"mnist": (28, 28)}
N_TEST = {"covtype": 50_000, "mnist": 10_000}


def load(name: str) -> tuple[Any, Any, Any]:
    """Read inputs and classes, and an order of the rows: random, or for MNIST its own."""
    folder = os.environ.get("CERF_DATA")
    if not folder:
        raise SystemExit("set CERF_DATA to the folder of the data files")
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as data:
        X, y = np.ascontiguousarray(data["X"]).astype(np.float32), data["y"]
    order = np.arange(len(X)) if name == "mnist" else np.random.default_rng(0).permutation(len(X))
    return X, y, order


def measure(model: Any, X: Any, y: Any, train: Any, test: Any) -> dict[str, Any]:
    """Fit, and score the test rows."""
    start = time.perf_counter()
    model.fit(X[train], y[train])
    seconds = time.perf_counter() - start
    return {"accuracy": 100.0 * model.score(X[test], y[test]), "fit_seconds": seconds}


def run(arguments: argparse.Namespace) -> None:
    """Measure what is asked for, record by record."""
    name = arguments.data
    X, y, order = load(name)
    test = order[-N_TEST[name] :]
    for macs in arguments.macs or MACS[name]:
        for n_rows in arguments.rows or ROWS[name]:
            train, task = order[:n_rows], {"data": name, "budget": macs, "rows": n_rows}
            model = CERFClassifier(
                macs=macs,
                effort=arguments.effort,
                input_shape=SHAPES[name] if arguments.shape else None,
                random_state=0,
                n_jobs=1,
            )
            record = measure(model, X, y, train, test)
            counted = cost(model)
            record |= {"macs": counted.macs, "bytes": counted.n_bytes, "settings": model.settings_}
            method = "shaped" if arguments.shape else "cerf"
            keep({"method": method, **task, "effort": arguments.effort, **record})
            if arguments.mlp:
                hidden = macs // (X.shape[1] + len(np.unique(y)))
                mlp = make_pipeline(StandardScaler(), MLPClassifier((hidden,), random_state=0))
                keep({"method": "mlp", **task, **measure(mlp, X, y, train, test)})


def key_of(record: dict[str, Any]) -> tuple[Any, ...]:
    """Dataset, method, budget, rows and effort: one record each."""
    names = ("data", "method", "budget", "rows")
    return (*(record[name] for name in names), record.get("effort", 0.0))


def keep(record: dict[str, Any]) -> None:
    """Write a record, in place of an earlier one of the same kind."""
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    others = [r for r in records if key_of(r) != key_of(record)]
    RESULTS.write_text(json.dumps(sorted([*others, record], key=key_of), indent=1) + "\n")
    print(table([record])[-1], flush=True)


def table(records: list[dict[str, Any]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = [
        "| data | method | operations | training rows | effort | accuracy, % | bytes | fit, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        effort = f"{record['effort']:g}" if "effort" in record else ""
        size = f"{record['bytes']:,}" if "bytes" in record else ""
        lines.append(
            f"| {record['data']} | {record['method']} | {record['budget']:,} | "
            f"{record['rows']:,} | {effort} | {record['accuracy']:.2f} | {size} | "
            f"{record['fit_seconds']:.0f} |"
        )
    return lines


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("run", "show"))
    parser.add_argument("--data", choices=tuple(ROWS), default="covtype")
    parser.add_argument("--rows", type=_numbers, help="with commas; default: see ROWS")
    parser.add_argument("--macs", type=_numbers, help="with commas; default: see MACS")
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--shape", action="store_true", help="inputs are pixels (mnist)")
    parser.add_argument("--mlp", action="store_true", help="also MLPClassifier of equal operations")
    arguments = parser.parse_args()
    if arguments.shape and arguments.data not in SHAPES:
        parser.error(f"the inputs of {arguments.data} are not pixels")
    if arguments.task == "run":
        run(arguments)
    elif RESULTS.exists():
        print("\n".join(table(json.loads(RESULTS.read_text()))))


if __name__ == "__main__":
    main()
