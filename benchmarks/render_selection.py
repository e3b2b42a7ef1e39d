"""Put the results of benchmarks/selection.py into docs/selection.md, between its markers.

python benchmarks/render_selection.py            # from benchmarks/results/selection.json
python benchmarks/render_selection.py --check    # fail if the page does not show what was measured
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import _selection_tables as tables
from _markers import fill, write_or_check
from _selection_accuracy import DEFAULT, PAPER

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "selection.json"
PAGE = ROOT / "docs" / "selection.md"

Figure = tuple[str, str]
"""What was measured, and the figure."""


def gains(results: dict[str, Any]) -> list[Figure]:
    """Trained minus untrained, on average and at the budget where it is least."""
    found = []
    for dataset in results["accuracy"]:
        for head in tables.HEADS:
            samples = tables.gain(results, "accuracy", dataset, head)
            mean, error = tables.mean_and_error(samples)
            worst = int(np.argmin(mean))
            whole = tables.signed(*tables.mean_and_error(samples.mean(axis=1)))
            least = tables.signed(mean[worst], error[worst])
            found.append(
                (
                    f"{dataset}, {head}: `paper_setting` minus untrained masks, points",
                    f"{whole} on average; least {least}, at budget {worst + 1}",
                )
            )
    return found


def beside_the_paper(results: dict[str, Any]) -> list[Figure]:
    """Our accuracy minus that of the paper's CERF, over the budgets."""
    found = []
    for method, head in ((tables.TRAINED, "svm"), (DEFAULT, "ridge")):
        for dataset, printed in PAPER.items():
            ours = tables.values(results, "accuracy", dataset, method, head)
            difference = ours - np.array(printed["CERF"])
            whole = tables.signed(*tables.mean_and_error(difference.mean(axis=1)))
            found.append(
                (
                    f"{dataset}, {head}: {method} minus the paper's CERF, points",
                    f"{whole} on average; least {difference.mean(axis=0).min():+.1f}",
                )
            )
    return found


def large_map(results: dict[str, Any]) -> list[Figure]:
    """Default masks against the dense map and RBFSampler."""
    part = results["mnist"]
    score, macs = (
        {
            name: np.array([seed[key] for seed in part[name].values()])
            for name in ("dense", "masked, default")
        }
        for key in ("accuracy", "macs")
    )
    saving = macs["dense"].mean() / macs["masked, default"].mean()
    mean, error = tables.mean_and_error(score["masked, default"] - score["dense"])
    times = part["milliseconds"]
    speed = times["RBFSampler"] / times["masked, default"]
    return [
        (
            f"MNIST-60k: default masks minus the dense map, at 1/{saving:.1f} of its MACs, points",
            f"{mean:+.2f} ± {error:.2f}",
        ),
        ("`transform`: time of RBFSampler over that of default masks, float32", f"{speed:.1f}"),
    ]


def training(results: dict[str, Any]) -> list[Figure]:
    """Time and memory of CVEM at the largest size."""
    part = results["time"]
    n_candidates = max(part["cvem"], key=int)
    sizes = part["cvem"][n_candidates]
    n_samples = max(sizes, key=int)
    largest = sizes[n_samples]
    growth = largest["seconds"] / sizes[str(int(n_samples) // 2)]["seconds"]
    size = f"CVEM, N = {int(n_samples):,}, K = {int(n_candidates):,}, 20 stages"
    found = [
        (f"{size}: time over that of the matrix products alone", f"{largest['ratio']:.2f}"),
        (f"{size}: time over that of half the rows", f"{growth:.2f}"),
    ]
    for cache, row in part["memory"][n_candidates][n_samples].items():
        name = "with the cache" if int(cache) else "without a cache"
        found.append(
            (f"{size}: peak memory above the input, {name}", f"{row['megabytes']:,.0f} MB")
        )
    return found


def summary(results: dict[str, Any]) -> str:
    """Return the main figures of all sections."""
    found = [
        *gains(results),
        *beside_the_paper(results),
        *large_map(results),
        *training(results),
    ]
    return tables.table(["measured", "result"], [list(pair) for pair in found])


def versions(results: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + "."


PIECES = {
    "summary": summary,
    "versions": versions,
    "accuracy": tables.accuracy,
    "gains": tables.gains,
    "widths": tables.widths,
    "wide": tables.wide,
    "mnist": tables.mnist,
    "seconds": tables.seconds,
    "solvers": tables.solvers,
    "memory": tables.memory,
    "defaults": tables.defaults,
}


def filled(page: str, results: dict[str, Any]) -> str:
    """Page with every piece made anew; each stands between its two markers."""
    return fill(page, {name: make(results) for name, make in PIECES.items()}, PAGE.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, compare")
    check = parser.parse_args().check
    wanted = filled(PAGE.read_text(), json.loads(RESULTS.read_text()))
    write_or_check(PAGE, wanted, "render_selection.py", check=check)


if __name__ == "__main__":
    main()
