"""Accuracy and time of CERFClassifier as the training rows grow: covtype, 5,000 operations.

    python benchmarks/rows.py run [--rows 1000,5000] [--effort 1] [--mlp]
    python benchmarks/rows.py show

Needs CERF_DATA; writes benchmarks/results/rows.json, a record for each number of rows and effort.
One thread; 50,000 test rows. ``--mlp`` fits scikit-learn's MLPClassifier of equal operations to the
same rows, in the same run.
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
ROWS = (1_000, 5_000, 20_000, 100_000, 500_000)
MACS, N_TEST = 5_000, 50_000


def load() -> tuple[Any, Any, Any]:
    """Read inputs and classes, and draw a fixed order of the rows."""
    folder = os.environ.get("CERF_DATA")
    if not folder:
        raise SystemExit("set CERF_DATA to the folder of the data files")
    with np.load(Path(folder) / "covtype.npz", allow_pickle=False) as data:
        X, y = np.ascontiguousarray(data["X"]).astype(np.float32), data["y"]
    return X, y, np.random.default_rng(0).permutation(len(X))


def measure(model: Any, X: Any, y: Any, train: Any, test: Any) -> dict[str, Any]:
    """Fit, and score the test rows."""
    start = time.perf_counter()
    model.fit(X[train], y[train])
    seconds = time.perf_counter() - start
    return {"accuracy": 100.0 * model.score(X[test], y[test]), "fit_seconds": seconds}


def run(arguments: argparse.Namespace) -> None:
    """Measure what is asked for, record by record."""
    X, y, order = load()
    test = order[-N_TEST:]
    for n_rows in arguments.rows:
        train = order[:n_rows]
        model = CERFClassifier(macs=MACS, effort=arguments.effort, random_state=0)
        record = measure(model, X, y, train, test)
        counted = cost(model)
        record |= {"macs": counted.macs, "bytes": counted.n_bytes, "settings": model.settings_}
        keep({"method": "cerf", "rows": n_rows, "effort": arguments.effort, **record})
        if arguments.mlp:
            hidden = MACS // (X.shape[1] + len(np.unique(y)))
            mlp = make_pipeline(StandardScaler(), MLPClassifier((hidden,), random_state=0))
            keep({"method": "mlp", "rows": n_rows, **measure(mlp, X, y, train, test)})


def keep(record: dict[str, Any]) -> None:
    """Write a record, in place of an earlier one of the same kind."""
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    key = [record["method"], record["rows"], record.get("effort")]
    others = [r for r in records if [r["method"], r["rows"], r.get("effort")] != key]
    records = sorted([*others, record], key=lambda r: (r["method"], r["rows"], r.get("effort", 0)))
    RESULTS.write_text(json.dumps(records, indent=1) + "\n")
    print(table([record])[-1], flush=True)


def table(records: list[dict[str, Any]]) -> list[str]:
    """Lines of a table in Markdown."""
    lines = ["| method | training rows | effort | accuracy, % | fit, s |", "|---|---|---|---|---|"]
    for record in records:
        effort = f"{record['effort']:g}" if "effort" in record else ""
        lines.append(
            f"| {record['method']} | {record['rows']:,} | {effort} | {record['accuracy']:.2f} | "
            f"{record['fit_seconds']:.0f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("run", "show"))
    parser.add_argument("--rows", type=lambda text: [int(n) for n in text.split(",")], default=ROWS)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--mlp", action="store_true", help="also MLPClassifier of equal operations")
    arguments = parser.parse_args()
    if arguments.task == "run":
        run(arguments)
    elif RESULTS.exists():
        print("\n".join(table(json.loads(RESULTS.read_text()))))


if __name__ == "__main__":
    main()
