"""Feature maps against their rivals: interleaved runs, best of many, ratios from one run.

    python benchmarks/transform.py            # all cases, one thread, then two
    python benchmarks/transform.py --quick    # fewer repeats, a smoke test

Every rival transforms the same rows to the same number of outputs. The ratio is the rival's time
(scikit-learn's RBFSampler unless said otherwise) divided by ours: above 1 we are faster. xGPR is
run if it is installed (its licence is non-commercial; nothing here needs it).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from threadpoolctl import threadpool_limits

import cerflearn
from cerflearn import FastfoodFeatures, MaskedFourierFeatures, RandomFourierFeatures, _native

RESULTS = Path(__file__).parent / "results"
N_SAMPLES = 10_000
Run = Callable[[], Any]


def race(runs: dict[str, Run], repeats: int, inner: int = 1) -> dict[str, float]:
    """Best time of each run in seconds, all of them in turn in every round."""
    best = dict.fromkeys(runs, np.inf)
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(inner):
                run()
            best[name] = min(best[name], (time.perf_counter() - start) / inner)
    return best


def rivals(X: np.ndarray, n_outputs: int, everything: bool) -> dict[str, Run]:
    """Fit what users have today on the rows they transform."""
    sampler = RBFSampler(n_components=n_outputs, gamma=0.001, random_state=0).fit(X)
    runs: dict[str, Run] = {"RBFSampler": lambda: sampler.transform(X)}
    if not everything:
        return runs
    weights = np.asarray(sampler.random_weights_, dtype=X.dtype)
    offsets = np.asarray(sampler.random_offset_, dtype=X.dtype)
    runs["NumPy matmul + cos"] = lambda: np.cos(X @ weights + offsets)
    nystroem = Nystroem(n_components=n_outputs, gamma=0.001, random_state=0).fit(X[: 2 * n_outputs])
    runs["Nystroem"] = lambda: nystroem.transform(X)
    return runs


def csr_rival(X: np.ndarray, estimator: MaskedFourierFeatures) -> Run:
    """Build the masked map from SciPy's sparse product and NumPy's cosine."""
    weights = scipy.sparse.csr_matrix(estimator.frequencies_.T.astype(X.dtype))
    offsets = estimator.offsets_.astype(X.dtype)
    return lambda: np.cos((weights @ X.T).T + offsets)


def xgpr_rival(X: np.ndarray, n_outputs: int) -> Run | None:
    """Build the map of xGPR, which also uses Hadamard transforms, if it is installed."""
    try:
        from xGPR import KernelFGen
    except ImportError:
        return None
    generator = KernelFGen(
        num_rffs=n_outputs,
        hyperparams=np.array([0.03]),
        num_features=X.shape[1],
        kernel_choice="RBF",
        random_seed=0,
        verbose=False,
    )
    return lambda: generator.predict(X)


def masked(X: np.ndarray, n_outputs: int, **parameters: Any) -> MaskedFourierFeatures:
    settings = {"paired": False, "features_per_mask": 1, "gamma": 0.001, "random_state": 0}
    settings |= parameters
    return MaskedFourierFeatures(n_components=n_outputs, **settings).fit(X[:100])


def cases(n_features: int, n_outputs: int, X: np.ndarray) -> dict[str, Any]:
    """Our maps for one size."""
    dense = {"n_components": n_outputs, "gamma": 0.001, "random_state": 0}
    if n_features == 1000:
        return {
            "Fastfood": FastfoodFeatures(paired=False, **dense).fit(X[:100]),
            "Fastfood, paired": FastfoodFeatures(**dense).fit(X[:100]),
        }
    maps: dict[str, Any] = {
        "dense": RandomFourierFeatures(paired=False, **dense).fit(X[:100]),
        "dense, paired": RandomFourierFeatures(**dense).fit(X[:100]),
    }
    if n_features == 784:
        for density in (0.1, 0.2, 0.4):
            maps[f"masked {density}, independent"] = masked(X, n_outputs, mask_density=density)
            maps[f"masked {density}, 16 a mask"] = masked(
                X, n_outputs, mask_density=density, features_per_mask=16
            )
        maps["masked 0.05, 16 a mask, paired"] = masked(
            X, n_outputs, mask_density=0.05, features_per_mask=16, paired=True
        )
    return maps


# What each case must reach against RBFSampler: (float32, float64); None: no goal.
GOALS: dict[tuple[int, str], tuple[float | None, float | None]] = {
    (784, "masked 0.1, independent"): (4.5, 7.0),
    (784, "masked 0.2, independent"): (3.0, 4.5),
    (784, "masked 0.4, independent"): (1.8, 2.6),
    (784, "masked 0.1, 16 a mask"): (6.0, None),
    (784, "masked 0.2, 16 a mask"): (4.0, None),
    (784, "masked 0.4, 16 a mask"): (2.2, None),
    (784, "masked 0.05, 16 a mask, paired"): (12.0, 25.0),
    (64, "dense"): (2.0, 5.0),
    (64, "dense, paired"): (2.0, 5.0),
    (1000, "Fastfood"): (12.0, None),
}


XGPR_GOAL = 8.0  # Fastfood in float32 against xGPR's map


def batch_section(dtype: str, repeats: int) -> list[dict[str, Any]]:
    """All maps and rivals over N_SAMPLES rows, one thread."""
    rows: list[dict[str, Any]] = []
    peak = _native.fma_peak(dtype, _native.current_level())
    generator = np.random.default_rng(0)
    for n_features, n_outputs in ((784, 1024), (64, 512), (1000, 1024)):
        X = generator.standard_normal((N_SAMPLES, n_features)).astype(dtype)
        runs = rivals(X, n_outputs, everything=n_features == 784)
        ours = cases(n_features, n_outputs, X)
        runs |= {name: partial(estimator.transform, X) for name, estimator in ours.items()}
        if n_features == 784:
            runs["SciPy CSR, masked 0.1"] = csr_rival(X, ours["masked 0.1, independent"])
        xgpr = xgpr_rival(X, n_outputs) if n_features == 1000 else None
        if xgpr is not None:
            runs["xGPR"] = xgpr
        times = race(runs, repeats)
        for name, seconds in times.items():
            row = {
                "case": name,
                "dtype": dtype,
                "n_features": n_features,
                "n_outputs": n_outputs,
                "ns_per_output": seconds / N_SAMPLES / n_outputs * 1e9,
                "ratio_to_rbfsampler": times["RBFSampler"] / seconds,
            }
            if name in ours:
                macs = ours[name].n_macs_
                row["macs"] = macs
                row["goal"] = GOALS.get((n_features, name), (None, None))[dtype == "float64"]
                if "Fastfood" not in name:
                    row["share_of_peak"] = 2 * macs * N_SAMPLES / seconds / 1e9 / peak
                elif xgpr is not None:
                    row["ratio_to_xgpr"] = times["xGPR"] / seconds
                    row["xgpr_goal"] = XGPR_GOAL if dtype == "float32" else None
            rows.append(row)
    return rows


def one_row_section(repeats: int) -> list[dict[str, Any]]:
    """One row through the public transform, groups of 8 inputs, density .2."""
    X = np.random.default_rng(0).standard_normal((200, 784)).astype(np.float32)
    row = X[:1].copy()
    sampler = RBFSampler(n_components=1024, gamma=0.001, random_state=0).fit(X)
    runs: dict[str, Run] = {"RBFSampler": lambda: sampler.transform(row)}
    for name, parameters in {
        "masked 0.2, groups of 8, independent": {},
        "masked 0.2, groups of 8, 16 a mask": {"features_per_mask": 16},
        "masked 0.2, groups of 8, 16 a mask, paired": {"features_per_mask": 16, "paired": True},
    }.items():
        estimator = masked(X, 1024, mask_density=0.2, group_size=8, **parameters)
        runs[name] = lambda estimator=estimator: estimator.transform(row)
    times = race(runs, repeats=10 * repeats, inner=50)
    return [
        {
            "case": name,
            "microseconds": seconds * 1e6,
            "ratio_to_rbfsampler": times["RBFSampler"] / seconds,
            "goal": None if name == "RBFSampler" else 7.0,
        }
        for name, seconds in times.items()
    ]


def threads_section(repeats: int) -> dict[str, float]:
    """Time with one thread over time with two, per map, both in turn in every round."""
    gains = {}
    generator = np.random.default_rng(0)
    for n_features, n_outputs in ((784, 1024), (64, 512), (1000, 1024)):
        X = generator.standard_normal((N_SAMPLES, n_features)).astype(np.float32)
        for name, estimator in cases(n_features, n_outputs, X).items():
            two = clone(estimator).set_params(n_jobs=2).fit(X[:100])
            times = race(
                {"one": partial(estimator.transform, X), "two": partial(two.transform, X)}, repeats
            )
            gains[f"{name}, D={n_features}"] = times["one"] / times["two"]
    return gains


def print_batch(rows: list[dict[str, Any]]) -> None:
    print("| D | K | dtype | map | MACs | ns/output | times RBFSampler | goal | of peak |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        share = f"{100 * row['share_of_peak']:.0f} %" if "share_of_peak" in row else ""
        goal = row.get("goal") or ""
        extra = f", {row['ratio_to_xgpr']:.1f} times xGPR" if "ratio_to_xgpr" in row else ""
        macs = f"{row['macs']:,}" if "macs" in row else ""
        print(
            f"| {row['n_features']} | {row['n_outputs']} | {row['dtype']} "
            f"| {row['case']} | {macs} | {row['ns_per_output']:.2f} "
            f"| {row['ratio_to_rbfsampler']:.2f}{extra} | {goal} | {share} |"
        )


def print_one_row(rows: list[dict[str, Any]]) -> None:
    print("\n| one row, D=784, K=1024 | us | times RBFSampler | goal |\n|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['case']} | {row['microseconds']:.1f} "
            f"| {row['ratio_to_rbfsampler']:.1f} | {row['goal'] or ''} |"
        )


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def environment() -> dict[str, Any]:
    level = _native.current_level()
    return {
        "cerflearn": cerflearn.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": platform.machine(),
        "cpu": cpu_name(),
        "peers_missing": [] if find_spec("xGPR") else ["xGPR"],
        "peak_float32": _native.fma_peak("float32", level),
        "peak_float64": _native.fma_peak("float64", level),
        **_native.backend_info(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--output", type=Path, help="default: benchmarks/results/transform.json")
    arguments = parser.parse_args()
    name = "transform-quick.json" if arguments.quick else "transform.json"
    output = arguments.output or RESULTS / name
    repeats = 3 if arguments.quick else 15
    with threadpool_limits(1):
        batch = [r for dtype in ("float32", "float64") for r in batch_section(dtype, repeats)]
        single = one_row_section(repeats)
    gains = threads_section(4 * repeats)  # short runs that need both cores to themselves
    print_batch(batch)
    print_one_row(single)
    print("\n| two threads over one |  |\n|---|---|")
    for name, gain in gains.items():
        print(f"| {name} | {gain:.2f} |")
    print(f"\npeers missing: {environment()['peers_missing']}")
    output.parent.mkdir(exist_ok=True)
    output.write_text(
        json.dumps(
            {
                "environment": environment(),
                "n_samples": N_SAMPLES,
                "batch": batch,
                "one_row": single,
                "two_threads_over_one": gains,
            },
            indent=1,
        )
        + "\n"
    )
    print(f"\nwritten: {output}")


if __name__ == "__main__":
    main()
