"""Scores of tables against scores of cosines of equal MACs, in the native core, one thread.

    python benchmarks/tables.py            # writes benchmarks/results/tables.json
    python benchmarks/tables.py --quick    # fewer repeats, a smoke test

256 features of 12 of 54 inputs, for one and for seven scores: a cosine feature costs its inputs and
a multiply-add a score, a table its inputs and an addition a score. Both run in turn in every round,
over a batch of 10,000 rows and over 500 rows one by one; the ratio is the tables' time divided by
the cosines': above 1 tables are slower.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cerflearn import _native
from transform import environment, race

RESULTS = Path(__file__).parent / "results" / "tables.json"
N_SAMPLES, N_ONE_BY_ONE = 10_000, 500
N_FEATURES, N_PROJECTIONS, N_ACTIVE = 54, 256, 12


def masks(rng: np.random.Generator) -> dict[str, Any]:
    """Draw the inputs of each projection, as both kinds of model take them."""
    drawn = [np.sort(rng.permutation(N_FEATURES)[:N_ACTIVE]) for _ in range(N_PROJECTIONS)]
    return {
        "n_features": N_FEATURES,
        "mask_pointers": N_ACTIVE * np.arange(N_PROJECTIONS + 1),
        "mask_inputs": np.concatenate(drawn).astype(np.int32),
    }


def table_model(n_bins: int, n_scores: int, dtype: str) -> _native.TableModel:
    """Tables whose bins cover three standard deviations to both sides; no linear part."""
    rng = np.random.default_rng(0)
    return _native.table_model(
        **masks(rng),
        values=rng.standard_normal(N_PROJECTIONS * N_ACTIVE) / np.sqrt(N_ACTIVE) * n_bins / 6,
        offsets=np.full(N_PROJECTIONS, n_bins / 2),
        tables=rng.standard_normal((N_PROJECTIONS, n_bins, n_scores)),
        linear_pointers=np.zeros(n_scores + 1, np.int64),
        linear_inputs=np.zeros(0, np.int32),
        linear_values=np.zeros(0),
        intercept=rng.standard_normal(n_scores),
        dtype=dtype,
        level=_native.current_level(),
    )


def cosine_model(dtype: str) -> _native.Model:
    rng = np.random.default_rng(0)
    return _native.masked_model(
        **masks(rng),
        projection_pointers=np.arange(N_PROJECTIONS + 1),
        values=rng.standard_normal(N_PROJECTIONS * N_ACTIVE) / np.sqrt(N_ACTIVE),
        group_size=1,
        offsets=rng.uniform(0, 2 * np.pi, N_PROJECTIONS),
        amplitudes=np.ones(N_PROJECTIONS),
        n_outputs=N_PROJECTIONS,
        paired=False,
        dtype=dtype,
        level=_native.current_level(),
    )


def one_by_one(run: Any, rows: list[np.ndarray]) -> None:
    for row in rows:
        run(row)


def section(n_scores: int, dtype: str, repeats: int) -> list[dict[str, Any]]:
    """Measure one number of scores in one type."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_SAMPLES, N_FEATURES)).astype(dtype)
    out, out_row = np.empty((N_SAMPLES, n_scores), dtype), np.empty((1, n_scores), dtype)
    rows = [X[i : i + 1] for i in range(N_ONE_BY_ONE)]
    cosines = cosine_model(dtype)
    head = (np.ones((n_scores, N_PROJECTIONS), dtype), np.ones(n_scores, dtype))
    batch = {"cosines": lambda: cosines.scores(X, *head, out, 1)}
    single = {
        "cosines": partial(one_by_one, lambda row: cosines.scores(row, *head, out_row, 1), rows)
    }
    for n_bins in (64, 128, 256):
        model = table_model(n_bins, n_scores, dtype)
        name = f"{n_bins} bins"
        batch[name] = lambda model=model: model.scores(X, out, 1)
        single[name] = partial(
            one_by_one, lambda row, model=model: model.scores(row, out_row, 1), rows
        )
    batch_times, single_times = race(batch, repeats), race(single, repeats)
    return [
        {
            "case": name,
            "n_scores": n_scores,
            "dtype": dtype,
            "batch_ns": batch_times[name] / N_SAMPLES * 1e9,
            "batch_ratio": batch_times[name] / batch_times["cosines"],
            "one_row_ns": single_times[name] / N_ONE_BY_ONE * 1e9,
            "one_row_ratio": single_times[name] / single_times["cosines"],
        }
        for name in batch
    ]


def table(results: dict[str, Any]) -> str:
    """Markdown: a line for each number of scores and of bins."""
    lines = [
        "| scores | | float32: ns/row | of cosines | float64: ns/row | of cosines "
        "| one row, float32: ns | of cosines |",
        "|---|---|---|---|---|---|---|---|",
    ]
    by_case = {(r["n_scores"], r["case"], r["dtype"]): r for r in results["rows"]}
    for (n_scores, case, dtype), single in by_case.items():
        if dtype == "float64":
            continue
        double = by_case[n_scores, case, "float64"]
        lines.append(
            f"| {n_scores} | {case} | {single['batch_ns']:.0f} | {single['batch_ratio']:.2f} "
            f"| {double['batch_ns']:.0f} | {double['batch_ratio']:.2f} "
            f"| {single['one_row_ns']:.0f} | {single['one_row_ratio']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, nothing written")
    quick = parser.parse_args().quick
    rows = [
        row
        for n_scores in (1, 7)
        for dtype in ("float32", "float64")
        for row in section(n_scores, dtype, 2 if quick else 60)
    ]
    results = {"environment": environment(), "rows": rows}
    print(table(results))
    if not quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
