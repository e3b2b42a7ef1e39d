"""Measured error of the native core beside the promised bound, for every level and dtype.

    python benchmarks/accuracy.py    # prints a table, writes benchmarks/results/accuracy.json

The reference is long double. Cosine: the error of cos(2 pi t) of a stored phase, |t| up to so many
turns; promised (i) 3e-7 in float32, 2e-15 in float64. Map: the error of a dense map of 784 inputs
whose largest phase has so many turns before an offset of up to one turn, in batches and row by
row; promised per output (ii) = (i) + 2 pi u (m + 2) (sum |w x| + |b|), u = 2^-24 or 2^-53, phases
in turns. The table shows the largest (ii); "used" is the largest share of its own bound that an
output uses.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cerflearn
from cerflearn import _native

RESULTS = Path(__file__).parent / "results"
TWO_PI = np.longdouble("6.283185307179586476925286766559005768")
UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
COSINE_BOUND = {"float32": 3e-7, "float64": 2e-15}
TURNS = (1, 10, 100, 1000)
N_FEATURES, N_PROJECTIONS, N_SAMPLES = 784, 256, 64


def exact_cosine(turns: NDArray) -> NDArray:
    turns = turns.astype(np.longdouble)
    return np.cos(TWO_PI * (turns - np.rint(turns)))


def cosine_error(dtype: str, level: str, turns: float) -> float:
    rng = np.random.default_rng(0)
    phases = np.concatenate(
        [np.linspace(-turns, turns, 400_001), rng.uniform(-turns, turns, 400_000)]
    )
    phases = phases.astype(dtype)
    return float(np.abs(_native.cosine_turns(phases, level) - exact_cosine(phases)).max())


def draw_map(dtype: str, turns: float) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Draw X, frequencies and offsets (radians), and work out exact phases and sizes in turns."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_SAMPLES, N_FEATURES)).astype(dtype)
    frequencies = rng.standard_normal((N_FEATURES, N_PROJECTIONS))
    frequencies *= float(TWO_PI) * turns / np.abs(X.astype(float) @ frequencies).max()
    offsets = rng.uniform(0, 2 * np.pi, N_PROJECTIONS)
    inputs, weights = X.astype(np.longdouble), frequencies.astype(np.longdouble)
    phases = (inputs @ weights + offsets) / TWO_PI
    sizes = (np.abs(inputs) @ np.abs(weights) + np.abs(offsets)) / TWO_PI
    return X, frequencies, offsets, phases, sizes


def map_errors(dtype: str, turns: float) -> dict[str, Any]:
    """Largest promised and, level by level, largest measured error of the dense map."""
    X, frequencies, offsets, phases, sizes = draw_map(dtype, turns)
    exact = exact_cosine(phases)
    bound = COSINE_BOUND[dtype] + TWO_PI * UNIT[dtype] * (N_FEATURES + 2) * sizes
    result: dict[str, Any] = {"promised": float(bound.max()), "measured": {}, "used": {}}
    for level in _native.levels():
        model = _native.dense_model(
            frequencies=frequencies,
            offsets=offsets,
            amplitudes=np.ones(N_PROJECTIONS),
            n_outputs=N_PROJECTIONS,
            paired=False,
            dtype=dtype,
            level=level,
        )
        batch, rows = (np.empty(exact.shape, dtype) for _ in range(2))
        assert model.transform(X, batch, 1)
        for i in range(N_SAMPLES):
            assert model.transform(X[i : i + 1], rows[i : i + 1], 1)
        error = np.maximum(np.abs(batch - exact), np.abs(rows - exact))
        result["measured"][level] = float(error.max())
        result["used"][level] = float((error / bound).max())
    return result


def measure() -> list[dict[str, Any]]:
    cases = []
    for dtype in UNIT:
        for turns in TURNS:
            cosine = {level: cosine_error(dtype, level, turns) for level in _native.levels()}
            cases.append(
                {
                    "dtype": dtype,
                    "turns": turns,
                    "cosine": {"promised": COSINE_BOUND[dtype], "measured": cosine},
                    "map": map_errors(dtype, turns),
                }
            )
    return cases


def markdown_table(cases: list[dict[str, Any]]) -> str:
    levels = _native.levels()
    header = ["dtype", "turns", "cosine promised", *(f"cosine {level}" for level in levels)]
    header += ["map promised", *(f"map {level}" for level in levels), "used"]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for case in cases:
        cells = [case["dtype"], f"{case['turns']:,}"]
        for part in (case["cosine"], case["map"]):
            cells.append(f"{part['promised']:.1e}")
            cells += [f"{part['measured'][level]:.1e}" for level in levels]
        cells.append(f"{max(case['map']['used'].values()):.1%}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    cases = measure()
    for case in cases:
        assert max(case["cosine"]["measured"].values()) <= case["cosine"]["promised"]
        assert max(case["map"]["used"].values()) <= 1
    RESULTS.mkdir(exist_ok=True)
    report = {
        "cerflearn": cerflearn.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "compiler": _native.backend_info()["compiler"],
        "cases": cases,
    }
    (RESULTS / "accuracy.json").write_text(json.dumps(report, indent=1) + "\n")
    print(markdown_table(cases))


if __name__ == "__main__":
    main()
