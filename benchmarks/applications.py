"""Reconstruction and completion at equal MACs, and the memory of kernel PCA.

    python benchmarks/applications.py                     # everything
    python benchmarks/applications.py reconstruction raw  # one part of one data set
    python benchmarks/applications.py memory

Writes benchmarks/results/applications.json and keeps what it does not run.

Reconstruction (section 4.2): the features of a map, their 15 principal components, ridge regression
to the inputs. Completion: the same, from the 80 % of the inputs that a random mask leaves (one mask
a seed) to the others. Errors are squared, on test rows, divided by those of the training mean.

Arms, all at most at the MACs of K cosines with masks of density .4: "rff" (dense cosines),
"untrained" (K masked cosines), "cvem" (K of K / .4 candidates, MaskedCERF.paper_setting), "default"
(MaskedFourierFeatures(macs=...)). The kernel's width is chosen once for each data set, task and
seed, by three-fold cross-validation of "rff" with 64 cosines on the training rows. An arm should
not lose to the one before it: the mean of the paired differences over five seeds is above minus its
standard error.

The width is in units of the median heuristic. "pca" is linear PCA of the inputs (D x 15 MACs), for
scale: it is no arm.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

import datasets
from cerflearn import (
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelPCA,
    cost,
)
from experiments.methods import median_gamma
from experiments.reconstruction import (
    N_CODES,
    choose_width,
    normalised,
    reconstruction_error,
)

RESULTS = Path(__file__).parent / "results" / "applications.json"
DATA: dict[str, Callable[[int], Any]] = {
    "raw": datasets.raw,
    "hog": datasets.hog,
    "mnist": datasets.mnist,
}
ARMS = ("rff", "untrained", "cvem", "default")
SIZES, SEEDS = (40, 100, 160), 5
DENSITY, MISSING = 0.4, 0.2
WIDTHS = np.logspace(-5, 1, 13)


def make_map(arm: str, size: int, n_inputs: int, gamma: float) -> Any:
    """Feature map of an arm; ``size`` is K."""
    macs = size * max(1, round(DENSITY * n_inputs))
    if arm == "rff":
        return RandomFourierFeatures(
            n_components=max(N_CODES, macs // n_inputs), gamma=gamma, paired=False
        )
    if arm == "default":
        return MaskedFourierFeatures(macs=macs, gamma=gamma)
    untrained = {"selector": "random"} if arm == "untrained" else {}
    return MaskedCERF.paper_setting(mask_law="fixed", n_components=size, gamma=gamma, **untrained)


def run_seed(task: str, name: str, seed: int) -> list[dict[str, Any]]:
    """Errors of all arms and sizes."""
    split = DATA[name](seed)
    inputs, targets = (split.X_train, split.X_test), (split.X_train, split.X_test)
    if task == "completion":
        n_inputs = split.X_train.shape[1]
        hidden = np.zeros(n_inputs, dtype=bool)
        chosen = np.random.default_rng(1000 + seed).permutation(n_inputs)
        hidden[chosen[: round(MISSING * n_inputs)]] = True
        inputs = tuple(np.ascontiguousarray(rows[:, ~hidden]) for rows in inputs)
        targets = tuple(np.ascontiguousarray(rows[:, hidden]) for rows in targets)
    n_inputs = inputs[0].shape[1]
    width = choose_width(
        lambda gamma: make_map("rff", max(SIZES), n_inputs, gamma),
        inputs[0],
        targets[0],
        WIDTHS,
        seed=seed,
        n_folds=3,
    )
    gamma = width * median_gamma(inputs[0])
    common = {"task": task, "data": name, "seed": seed, "width": width}
    mean, rows = targets[0].mean(axis=0), []
    for size in SIZES:
        for arm in ARMS:
            feature_map = make_map(arm, size, n_inputs, gamma)
            error, fitted = reconstruction_error(feature_map, inputs, targets, seed=seed)
            macs = cost(fitted).macs
            rows.append({**common, "K": size, "arm": arm, "error": error, "macs": macs})
    codes = [PCA(N_CODES, random_state=0).fit(inputs[0]).transform(part) for part in inputs]
    found = Ridge(alpha=1e-6).fit(codes[0], targets[0]).predict(codes[1])
    error = normalised(found, targets[1], mean)
    macs = n_inputs * N_CODES
    return [*rows, {**common, "K": None, "arm": "pca", "error": error, "macs": macs}]


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Points where an arm loses to the one before it by more than a standard error."""
    points, exceptions = 0, []
    names = sorted({row["data"] for row in rows})
    for name in names:
        for size in SIZES:
            errors = {
                arm: np.array(
                    [
                        r["error"]
                        for r in sorted(rows, key=lambda r: r["seed"])
                        if (r["data"], r["K"], r["arm"]) == (name, size, arm)
                    ]
                )
                for arm in ARMS
            }
            for before, after in pairwise(ARMS):
                gain = errors[before] - errors[after]
                standard_error = gain.std(ddof=1) / np.sqrt(len(gain))
                points += 1
                if gain.mean() <= -standard_error:
                    point = f"{name}, K={size}: {before} to {after}"
                    text = f"{gain.mean():+.4f} +- {standard_error:.4f}"
                    exceptions.append({"point": point, "gain": text})
    share = 1.0 - len(exceptions) / points
    return {"points": points, "share": share, "reached": share >= 0.9, "exceptions": exceptions}


def table(rows: list[dict[str, Any]], task: str) -> str:
    lines = [f"| {task} | K | MACs | " + " | ".join(ARMS) + " | linear PCA |", "|---" * 8 + "|"]
    for name in DATA:
        for size in SIZES:
            cells = []
            for arm in (*ARMS, "pca"):
                key = (name, None if arm == "pca" else size, arm)
                errors = [r["error"] for r in rows if (r["data"], r["K"], r["arm"]) == key]
                cells.append(f"{np.mean(errors):.3f}" if errors else "")
            macs = [r["macs"] for r in rows if r["data"] == name and r["K"] == size]
            lines.append(
                f"| {name} | {size} | {max(macs, default=0):,} | " + " | ".join(cells) + " |"
            )
    return "\n".join(lines)


def measure_memory() -> dict[str, Any]:
    """Peak of fit and transform above the input, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "memory-child"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def resident_kib() -> int:
    """Memory in use now, not its peak so far (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def memory_child() -> None:
    X = np.random.default_rng(0).standard_normal((200_000, 64), dtype=np.float32)
    model = RandomizedKernelPCA(
        n_components=15, feature_map=MaskedFourierFeatures(n_components=512), random_state=0
    )
    model.fit(X[:2000]).transform(X[:2000])  # what the libraries need once
    before = resident_kib()
    start = time.perf_counter()
    model.fit(X).transform(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    report = {
        "rows": len(X),
        "inputs": X.shape[1],
        "outputs": 512,
        "peak_above_input_MiB": peak / 1024,
        "features_would_be_MiB": len(X) * 512 * 4 / 2**20,
        "seconds": seconds,
        "reached": peak / 1024 < 1024,
    }
    print(json.dumps(report))


def load() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"rows": []}


def main(arguments: list[str]) -> None:
    if arguments == ["memory-child"]:
        memory_child()
        return
    tasks = [a for a in arguments if a in ("reconstruction", "completion")]
    names = [a for a in arguments if a in DATA] or list(DATA)
    everything = not arguments
    report = load()
    warnings.filterwarnings("ignore", message="CVEM did not converge")
    for task in tasks or (["reconstruction", "completion"] if everything else []):
        for name in names:
            kept = [r for r in report["rows"] if (r["task"], r["data"]) != (task, name)]
            new = [row for seed in range(SEEDS) for row in run_seed(task, name, seed)]
            report["rows"] = kept + new
            RESULTS.write_text(json.dumps(report, indent=1) + "\n")
            print(f"done: {task} of {name}", file=sys.stderr)
    if everything or "memory" in arguments:
        report["memory"] = measure_memory()
    for task in ("reconstruction", "completion"):
        rows = [r for r in report["rows"] if r["task"] == task]
        if {r["data"] for r in rows} == set(DATA):
            report[f"{task}_verdict"] = verdict(rows)
            print(table(rows, task), json.dumps(report[f"{task}_verdict"], indent=1), sep="\n\n")
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report.get("memory", {})))


if __name__ == "__main__":
    main(sys.argv[1:])
