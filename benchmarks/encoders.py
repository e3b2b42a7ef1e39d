"""Trained maps and encoders against chosen features, linear PCA and exact components.

    python benchmarks/encoders.py run [maps] [codes] [teacher] [--again]
    python benchmarks/encoders.py render [--check]     # docs/encoders.md

Needs CERF_DATA; writes benchmarks/results/encoders.json, a record for each part, dataset, split,
budget and method, and measures only what is missing. One thread.

- maps: accuracy of ridge regression on label-free maps of equal MACs.
- codes: error of 15 codes with a linear decoder, at fractions of the MACs of linear PCA.
- teacher: share of the variance of a teacher's 15 leading components that codes explain on test
  rows, at a twentieth of the teacher's MACs.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeClassifierCV

from _markers import fill, write_or_check
from cerflearn import (
    KernelAutoencoder,
    MaskedCERF,
    RandomFourierFeatures,
    RandomizedKernelPCA,
    cost,
)

RESULTS = Path(__file__).parent / "results" / "encoders.json"
PAGE = Path(__file__).parents[1] / "docs" / "encoders.md"
N_CODES, N_TRAIN, N_TEST, SPLITS = 15, 4_000, 5_000, 3
MAP_SETS = ("digits_hog", "digits_raw", "mnist", "satimage", "letters", "uci_letter")
MAP_MACS = (320, 640)
CODE_SETS = (
    "digits_raw", "digits_hog", "mnist", "nus:CH", "nus:CORR", "nus:EDH", "nus:CM",
    "suite/mfeat_pixel", "suite/mfeat_factors",
)  # fmt: skip
TEACHER_SETS = ("digits_raw", "digits_hog")
TEACHER_COLUMNS = 1024
Record = dict[str, Any]


def load(name: str, split: int) -> tuple[Any, Any, Any, Any]:
    """Training and test rows with their classes, in a random order of each split."""
    folder = os.environ.get("CERF_DATA")
    if not folder:
        raise SystemExit("set CERF_DATA to the folder of the data files")
    file, _, column = name.partition(":")
    file = {"nus": "nuswide_substitute_cifar10"}.get(file, file)
    with np.load(Path(folder) / f"{file}.npz", allow_pickle=False) as data:
        X, y = np.ascontiguousarray(data[column or "X"]).astype(np.float64), data["y"]
    order = np.random.default_rng(split).permutation(len(X))
    n_train = min(N_TRAIN, 4 * len(X) // 5)
    train, test = order[:n_train], order[n_train : n_train + N_TEST]
    return X[train], y[train], X[test], y[test]


def measure_maps(name: str, split: int, macs: int, method: str) -> Record:
    """Accuracy (%) of ridge regression on a map that has seen no label."""
    X, y, X_test, y_test = load(name, split)
    begin = time.perf_counter()
    model = MaskedCERF(macs=macs, selector=method, random_state=split).fit(X)
    seconds = time.perf_counter() - begin
    head = RidgeClassifierCV(alphas=np.logspace(-6, 1, 15)).fit(model.transform(X), y)
    found = {"accuracy": 100.0 * head.score(model.transform(X_test), y_test)}
    found |= {"macs": model.n_macs_, "columns": model.n_components_, "seconds": seconds}
    return found | {"chosen": getattr(model, "chosen_selector_", method)}


def measure_codes(name: str, split: int, part: int, method: str) -> Record:
    """Normalised reconstruction error at ``1 / part`` of the MACs of linear PCA."""
    X, _, X_test, _ = load(name, split)
    macs = max(N_CODES * X.shape[1] // part, N_CODES + 1)
    begin = time.perf_counter()
    if method == "pca":
        pca = PCA(N_CODES, svd_solver="full").fit(X)
        lost = np.square(X_test - pca.inverse_transform(pca.transform(X_test))).sum()
        error = float(lost / np.square(X_test - pca.mean_).sum())
        return {
            "error": error,
            "macs": N_CODES * X.shape[1],
            "seconds": time.perf_counter() - begin,
        }
    model = KernelAutoencoder(n_components=N_CODES, macs=macs, random_state=split).fit(X)
    seconds = time.perf_counter() - begin
    found = {"error": model.reconstruction_error(X_test), "macs": cost(model).macs}
    return found | {"bytes": cost(model).n_bytes, "seconds": seconds}


def measure_teacher(name: str, split: int, part: int, method: str) -> Record:  # noqa: ARG001
    """Share of the variance of a teacher's components that the codes explain on test rows."""
    X, _, X_test, _ = load(name, split)
    teacher = RandomFourierFeatures(n_components=TEACHER_COLUMNS, random_state=split).fit(X)
    pca = PCA(N_CODES, svd_solver="full").fit(teacher.transform(X))
    whole = cost(teacher).macs + TEACHER_COLUMNS * N_CODES
    begin = time.perf_counter()
    model = RandomizedKernelPCA(
        n_components=N_CODES,
        macs=whole // part,
        teacher=RandomFourierFeatures(n_components=TEACHER_COLUMNS, random_state=split),
        random_state=split,
    ).fit(X)
    seconds = time.perf_counter() - begin
    codes, exact = model.transform(X_test), pca.transform(teacher.transform(X_test))
    exact *= np.sign((codes * exact).sum(axis=0))  # of each component free
    lost = np.square(codes - exact).sum() / np.square(exact - exact.mean(axis=0)).sum()
    found = {"explained": 100.0 * (1.0 - float(lost)), "macs": cost(model).macs}
    return found | {"teacher_macs": whole, "seconds": seconds}


PARTS: dict[str, tuple[Callable[..., Record], tuple[str, ...], tuple[int, ...], tuple[str, ...]]]
PARTS = {
    "maps": (measure_maps, MAP_SETS, MAP_MACS, ("greedy", "trained", "auto")),
    "codes": (measure_codes, CODE_SETS, (4, 16), ("pca", "trained")),
    "teacher": (measure_teacher, TEACHER_SETS, (20,), ("trained",)),
}


def plan(parts: list[str]) -> Iterator[tuple[str, str, int, int, str]]:
    """Everything to measure: all datasets in one split before the next."""
    for split in range(SPLITS):
        for part in parts:
            _, names, budgets, methods = PARTS[part]
            for name in names:
                for budget in budgets:
                    for method in methods:
                        yield part, name, split, budget, method


def run(arguments: argparse.Namespace) -> None:
    """Measure what is missing, record by record."""
    records: list[Record] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    parts = arguments.parts or list(PARTS)
    if arguments.again:
        records = [record for record in records if record["part"] not in parts]
    keys = ("part", "dataset", "split", "budget", "method")
    there = {tuple(record[key] for key in keys) for record in records}
    for job in plan(parts):
        if job in there:
            continue
        part, name, split, budget, method = job
        found = PARTS[part][0](name, split, budget, method)
        records.append(dict(zip(keys, job, strict=True)) | found)
        RESULTS.write_text(json.dumps(records, indent=1) + "\n")
        print(records[-1], flush=True)


def _mean(values: list[float], digits: int = 2) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def tables(records: list[Record]) -> str:
    """Markdown tables of all parts."""

    def values(part: str, name: str, budget: int, method: str, key: str) -> list[float]:
        return [
            record[key]
            for record in records
            if (record["part"], record["dataset"], record["budget"], record["method"])
            == (part, name, budget, method)
        ]

    lines = ["| data | MACs | greedy | trained | auto | trained minus greedy |", "|" + "---|" * 6]
    for name in MAP_SETS:
        for macs in MAP_MACS:
            found = [values("maps", name, macs, m, "accuracy") for m in PARTS["maps"][3]]
            n = min(map(len, found))
            if n:
                gain = [b - a for a, b in zip(found[0], found[1], strict=False)]
                cells = [_mean(each) for each in (*found, gain)]
                lines.append(f"| {name} | {macs} | {' | '.join(cells)} |")
    lines += [
        "",
        "| data | linear PCA | MACs | 1/4 of them | over PCA's | 1/16 of them | over PCA's |",
    ]
    lines.append("|" + "---|" * 7)
    for name in CODE_SETS:
        exact = values("codes", name, 4, "pca", "error")
        if not exact:
            continue
        cells = [_mean(exact, 4), f"{values('codes', name, 4, 'pca', 'macs')[0]:,}"]
        for part in (4, 16):
            own = values("codes", name, part, "trained", "error")
            over = [100.0 * (a / b - 1.0) for a, b in zip(own, exact, strict=False)]
            cells += [_mean(own, 4), f"{_mean(over)} %"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "| data | teacher's MACs | MACs | variance explained, % |", "|" + "---|" * 4]
    for name in TEACHER_SETS:
        explained = values("teacher", name, 20, "trained", "explained")
        if explained:
            macs = [values("teacher", name, 20, "trained", k)[0] for k in ("teacher_macs", "macs")]
            lines.append(f"| {name} | {macs[0]:,} | {macs[1]:,} | {_mean(explained)} |")
    return "\n".join(lines)


def main() -> None:
    """Run, or fill the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "render"))
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)} (all of them)")
    parser.add_argument("--again", action="store_true", help="forget earlier results of the parts")
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    if arguments.command == "run":
        run(arguments)
        return
    text = tables(json.loads(RESULTS.read_text()))
    wanted = fill(PAGE.read_text(), {"encoders": text}, PAGE.name)
    write_or_check(PAGE, wanted, "encoders.py render", check=arguments.check)


if __name__ == "__main__":
    main()
