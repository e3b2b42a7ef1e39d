"""Data in mini-batches: accuracy, time and memory of ``partial_fit`` beside ``fit``.

    python benchmarks/stream.py           # MNIST-60k in 50 mini-batches; 20 minutes
    python benchmarks/stream.py --tiny    # the digits of scikit-learn, a smoke test
    python benchmarks/stream.py --table   # print the tables of docs/theory.md from the results

Both choose from the same candidates: the inputs are pixels that vary in the first rows, too, and
gamma is a number. Needs CERF_DATA. Results go to benchmarks/results/stream.json; docs/theory.md has
the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeClassifier

from cerflearn import CVEM, MaskedCERF, Shared
from datasets import Split, bundled, mnist  # puts experiments on the path
from experiments.provenance import made_by
from experiments.store import plain, write_json

RESULTS = Path(__file__).parent / "results" / "stream.json"
SELECTORS = {"cvem": CVEM, "shared": Shared}
N_BATCHES = 50
ALPHA = 1e-2  # of the ridge head
SIZES = {
    "full": {
        "gamma": 0.02,
        "n_components": 160,
        "n_candidates": 400,
        "seeds": 5,
        "rows": (10_000, 30_000, 60_000),
    },
    "tiny": {
        "gamma": 0.05,
        "n_components": 8,
        "n_candidates": 16,
        "seeds": 2,
        "rows": (400, 800),
    },
}

Rows = NDArray[np.float32]


def load(size: str) -> Split:
    """Training and test rows; only inputs that at least 2 % of the training rows have."""
    split = bundled(0) if size == "tiny" else mnist(0, n_train=60_000)
    kept = (split.X_train != 0.0).mean(axis=0) > 0.02
    X_train, X_test = (
        np.ascontiguousarray(X[:, kept], np.float32) for X in (split.X_train, split.X_test)
    )
    return Split(X_train, split.y_train, X_test, split.y_test)


def make(selector: str, size: str, seed: int) -> MaskedCERF:
    setting = SIZES[size]
    names = ("gamma", "n_components", "n_candidates")
    parameters = {name: setting[name] for name in names}
    if selector == "random":  # masks of as many projections as are chosen
        del parameters["n_candidates"]
        return MaskedCERF(selector="random", features_per_mask=2, random_state=seed, **parameters)
    return MaskedCERF(selector=SELECTORS[selector](), random_state=seed, **parameters)


def stream(model: MaskedCERF, X: Rows, seed: int) -> MaskedCERF:
    order = np.random.default_rng(seed).permutation(len(X))
    for part in np.array_split(order, N_BATCHES):
        model.partial_fit(X[part])
    return model


def accuracy(size: str, seed: int, split: Split) -> dict[str, Any]:
    """Test accuracy (%) of a ridge head, seconds of learning and MACs, in batch and in a stream."""
    result: dict[str, Any] = {}
    for selector in ("cvem", "shared", "random"):
        for way in ("batch", "stream") if selector != "random" else ("batch",):
            model = make(selector, size, seed)
            start = time.monotonic()
            fitted = (
                model.fit(split.X_train) if way == "batch" else stream(model, split.X_train, seed)
            )
            seconds = time.monotonic() - start
            head = RidgeClassifier(alpha=ALPHA).fit(fitted.transform(split.X_train), split.y_train)
            score = 100.0 * head.score(fitted.transform(split.X_test), split.y_test)
            result[f"{selector}, {way}"] = {
                "accuracy": score,
                "seconds": seconds,
                "macs": fitted.n_macs_,
            }
            print(f"seed {seed}: {selector}, {way}: {score:.2f} % in {seconds:.0f} s", flush=True)
    return result


def high_water() -> float:
    """Most memory of this process so far, in MiB; ru_maxrss would count that of its parent."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


def peak(size: str, way: str, path: str, n_rows: int, width: int) -> None:
    """Learn from the first rows of a file, and print the growth of memory, in MiB."""
    before = high_water()
    model = make("cvem", size, 0)
    n_batch = -(-SIZES[size]["rows"][-1] // N_BATCHES)
    with open(path, "rb") as file:
        if way == "batch":
            model.fit(np.fromfile(file, np.float32, n_rows * width).reshape(-1, width))
        else:
            for start in range(0, n_rows, n_batch):
                count = min(n_batch, n_rows - start) * width
                model.partial_fit(np.fromfile(file, np.float32, count).reshape(-1, width))
    print(json.dumps(high_water() - before))


def memory(size: str, split: Split) -> dict[str, Any]:
    """Growth of memory (MiB) while learning, by rows, each in a process of its own."""
    result: dict[str, Any] = {"batch": {}, "stream": {}}
    order = np.random.default_rng(0).permutation(len(split.X_train))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        split.X_train[order].tofile(path)
        for way in result:
            for n_rows in SIZES[size]["rows"]:
                width = split.X_train.shape[1]
                arguments = ["--peak", size, way, str(path), str(n_rows), str(width)]
                command = [sys.executable, __file__, *arguments]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                result[way][n_rows] = json.loads(done.stdout.splitlines()[-1])
                print(f"memory, {way}, {n_rows} rows: {result[way][n_rows]:.0f} MiB", flush=True)
    return result


def mean_and_error(values: list[float]) -> str:
    """Mean, and its standard error over the seeds."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.2f} +- {error:.2f}"


def tables(results: dict[str, Any]) -> str:
    """Tables of the page: accuracy and time by selector, memory by rows."""
    seeds = list(results["accuracy"].values())
    lines = [
        "| | accuracy of `fit` | of `partial_fit` | difference, paired | seconds of both | MACs |",
        "|---|---|---|---|---|---|",
    ]
    for selector in (*SELECTORS, "random"):
        runs = [[seed.get(f"{selector}, {way}") for seed in seeds] for way in ("batch", "stream")]
        batch, stream_ = ([run["accuracy"] for run in own if run] for own in runs)
        times = [f"{np.mean([run['seconds'] for run in own]):.0f}" for own in runs if own[0]]
        gains = [after - before for before, after in zip(batch, stream_, strict=False)]
        cells = [
            f"`{selector}`",
            mean_and_error(batch),
            mean_and_error(stream_) if stream_ else "",
            mean_and_error(gains) if gains else "",
            ", ".join(times),
            f"{np.mean([run['macs'] for run in runs[0]]):.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    memory_ = results["memory"]
    lines += ["", "| MiB with rows | " + " | ".join(f"{int(n):,}" for n in memory_["batch"]) + " |"]
    lines.append("|---" * (1 + len(memory_["batch"])) + "|")
    for way, name in (("batch", "`fit`"), ("stream", "`partial_fit`")):
        lines.append(f"| {name} | " + " | ".join(f"{v:.0f}" for v in memory_[way].values()) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="small data, a smoke test")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--peak", nargs=5, help=argparse.SUPPRESS)  # of a process of its own
    parser.add_argument("--table", action="store_true", help="print the tables of the page")
    arguments = parser.parse_args()
    if arguments.table:
        print(tables(json.loads(arguments.output.read_text())))
        return
    if arguments.peak:
        size, way, path, n_rows, width = arguments.peak
        peak(size, way, path, int(n_rows), int(width))
        return
    size = "tiny" if arguments.tiny else "full"
    split = load(size)
    results: dict[str, Any] = {"setting": SIZES[size] | {"n_batches": N_BATCHES, "alpha": ALPHA}}
    results["versions"] = made_by("benchmarks/stream.py", "benchmarks/datasets.py")
    results["memory"] = memory(size, split)
    results["accuracy"] = {}
    for seed in range(SIZES[size]["seeds"]):
        results["accuracy"][seed] = accuracy(size, seed, split)
        write_json(arguments.output, plain(results))


if __name__ == "__main__":
    main()
