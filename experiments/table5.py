"""Table 5: reconstruction with masks of groups of consecutive inputs, section 4.3."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from experiments import table5_page
from experiments.datasets import split_of
from experiments.methods import (
    feature_map,
    fit_quietly,
    median_gamma,
    microseconds,
    n_landmarks,
    n_macs,
)
from experiments.pieces import Piece
from experiments.reconstruction import N_CODES, choose_width, reconstruction_error

TITLE = "Table 5: groups of inputs in a mask"
SINGLE_ROWS = 200  # one after the other, of which the fastest counts


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """For each dataset and seed: the width, each group size, and maps without groups."""
    for name, dataset in config["datasets"].items():
        for seed in range(config["seeds"]):
            common = {"split": dataset["split"], "seed": seed}
            chosen = ("choice", name, str(seed))
            n_dense = max(dataset["dense"])
            arguments = common | {"n_dense": n_dense, "widths": config["widths"]}
            yield Piece(chosen, choose, arguments)
            runs = [(m, g) for m in config["grouped"] for g in config["group_sizes"]]
            for method, group_size in [*runs, *((m, 1) for m in config["others"])]:
                arguments = {"method": method, "group_size": group_size, "dense": dataset["dense"]}
                key = ("errors", name, method, str(group_size), str(seed))
                yield Piece(key, measure, common | arguments, needs=chosen)


def choose(*, split: str, seed: int, n_dense: int, widths: Sequence[float]) -> dict[str, Any]:
    """Width of the kernel, for dense features at one MAC count, by 5-fold cross-validation."""
    X = split_of(split, seed).X_train
    setting = {"macs": n_dense * X.shape[1], "n_inputs": X.shape[1], "seed": 1000 + seed}
    width = choose_width(
        lambda gamma: feature_map("rff", gamma=gamma, **setting), X, X, widths, seed=seed
    )
    return {"width": width, "gamma": width * median_gamma(X), "n_inputs": X.shape[1]}


def measure(
    *,
    split: str,
    seed: int,
    method: str,
    group_size: int,
    dense: Sequence[int],
    given: dict[str, Any],
) -> dict[str, Any]:
    """Error, MACs and time of a map at the MACs of each number of dense features."""
    data = split_of(split, seed)
    rows = (data.X_train, data.X_test)
    n_inputs = data.X_train.shape[1]
    if method == "linear":
        return _linear(rows)
    records = []
    for n_dense in dense:
        setting: dict[str, Any] = {"macs": n_dense * n_inputs, "n_inputs": n_inputs, "seed": seed}
        if group_size > 1:
            setting["group_size"] = group_size
        sampler = feature_map(method, gamma=given["gamma"], **setting)
        n_codes = min(N_CODES, _n_outputs(method, n_dense, n_inputs))
        error, sampler = reconstruction_error(sampler, rows, rows, seed=seed, n_codes=n_codes)
        records.append({"error": error, "codes": n_codes, **_cost(sampler, data.X_test)})
    return {key: [record[key] for record in records] for key in records[0]}


def _n_outputs(method: str, n_dense: int, n_inputs: int) -> int:
    """Return the outputs of maps that have few, dense ones; others have enough for all codes."""
    if method == "nystroem":
        return n_landmarks(n_dense * n_inputs, n_inputs)
    return n_dense if method in ("rff", "orthogonal") else N_CODES


def _cost(sampler: Any, X: Any) -> dict[str, Any]:
    single = np.inf
    rows = np.ascontiguousarray(X[:1], dtype=np.float32)
    for _ in range(SINGLE_ROWS):
        begin = time.perf_counter()
        sampler.transform(rows)
        single = min(single, time.perf_counter() - begin)
    return {
        "macs": n_macs(sampler),
        "microseconds": microseconds(sampler.transform, X),
        "microseconds_alone": 1e6 * single,
    }


def _linear(rows: Any) -> dict[str, Any]:
    """Principal components of the inputs, for scale: D MACs for each code."""
    pca = fit_quietly(PCA(N_CODES, svd_solver="full"), rows[0])
    found = pca.inverse_transform(pca.transform(rows[1]))
    error = np.square(found - rows[1]).sum() / np.square(rows[0].mean(axis=0) - rows[1]).sum()
    return {"error": [error], "macs": [rows[0].shape[1] * N_CODES]}


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the table of each dataset and the picture of all."""
    return table5_page.section(results, config, folder)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return what the whole table says."""
    return table5_page.summary(results, config)
