"""Scores of the predictors as rows, budgets and inputs change a little: nothing may jump.

    python benchmarks/continuity.py [--seeds 5] [--sets electricity,diamonds]

On development sets with enough rows: 990 and 1,010, 5,950 and 6,050, 19,800 and 20,200 training
rows; a linear model's budget and twice that; ten columns of noise beside the inputs; inputs
rescaled by factors from 1e-3 to 1e3. Each line is a mean difference over seeds with its standard
error. Needs CERF_DATA; writes benchmarks/results/continuity.json, in which records of other sets
stay. One thread.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import _suite_data as data
from cerflearn import CERFClassifier, CERFRegressor

RESULTS = Path(__file__).parent / "results" / "continuity.json"
SETS = ("electricity", "diamonds", "credit_default", "protein", "kin40k")
NEIGHBOURS = ((990, 1_010), (5_950, 6_050), (19_800, 20_200))
N_TEST, USUAL_ROWS = 5_000, 2_000


def score(name: str, seed: int, n_rows: int, factor: float = 1.0, change: Any = None) -> float:
    """Fit on the first rows of a shuffle, with so many times a linear model's budget; in points."""
    dataset, facts = data.read_set(name), data.facts(name)
    order = np.random.default_rng(seed).permutation(len(dataset.X))
    X = dataset.X if change is None else change(dataset.X, np.random.default_rng(seed + 1000))
    kind: Any = CERFClassifier if facts.n_classes else CERFRegressor
    macs = int(factor * max(data.LEAST_BUDGET, facts.linear_macs))
    model = kind(macs=macs, random_state=seed, n_jobs=1)
    train, test = order[:n_rows], order[-N_TEST:]
    model.fit(X[train], dataset.y[train])
    return 100.0 * float(model.score(X[test], dataset.y[test]))


def with_noise(X: Any, rng: np.random.Generator) -> Any:
    """Add ten columns of noise."""
    return np.hstack([X, rng.normal(size=(len(X), 10))])


def rescaled(X: Any, rng: np.random.Generator) -> Any:
    """Multiply inputs by factors from 1e-3 to 1e3."""
    return X * 10.0 ** rng.uniform(-3.0, 3.0, size=X.shape[1])


def pairs(name: str) -> dict[str, tuple[Callable[[int], float], Callable[[int], float]]]:
    """Return what is compared on a dataset: before and after, as functions of the seed."""
    found = {}
    n_most = len(data.read_set(name).X) - N_TEST
    for before, after in NEIGHBOURS:
        if after <= n_most:
            found[f"{before:,} to {after:,} rows"] = (
                lambda seed, n=before: score(name, seed, n),
                lambda seed, n=after: score(name, seed, n),
            )
    n = min(USUAL_ROWS, n_most)

    def usual(seed: int) -> float:
        return score(name, seed, n)

    found["budget doubled"] = (usual, lambda seed: score(name, seed, n, 2.0))
    found["ten columns of noise"] = (usual, lambda seed: score(name, seed, n, 1.0, with_noise))
    found["inputs rescaled"] = (usual, lambda seed: score(name, seed, n, 1.0, rescaled))
    return found


def keep(record: dict[str, Any]) -> None:
    """Write a record, in place of an earlier one of the same dataset and change."""
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    key = (record["dataset"], record["change"])
    records = [r for r in records if (r["dataset"], r["change"]) != key]
    RESULTS.write_text(json.dumps([*records, record], indent=1) + "\n")


def table(records: list[dict[str, Any]]) -> list[str]:
    """Lines of a table in Markdown: a row for each change, a column for each dataset."""
    cells: dict[str, dict[str, str]] = {}
    for record in records:
        text = f"{record['difference']:+.2f} ± {record['standard_error']:.2f}"
        cells.setdefault(record["change"], {})[record["dataset"]] = text
    lines = ["| change | " + " | ".join(SETS) + " |", "|---" * (len(SETS) + 1) + "|"]
    for change, found in cells.items():
        lines.append(f"| {change} | " + " | ".join(found.get(name, "") for name in SETS) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", default=",".join(SETS))
    arguments = parser.parse_args()
    for name in arguments.sets.split(","):
        for what, (first, second) in pairs(name).items():
            values = np.array([(first(seed), second(seed)) for seed in range(arguments.seeds)])
            difference = values[:, 1] - values[:, 0]
            error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
            keep(
                {
                    "dataset": name,
                    "change": what,
                    "before": values[:, 0].tolist(),
                    "after": values[:, 1].tolist(),
                    "difference": float(difference.mean()),
                    "standard_error": error,
                }
            )
            print(f"{name}, {what}: {difference.mean():+.2f} +- {error:.2f}", flush=True)


if __name__ == "__main__":
    main()
