"""Measurements of Figures 1 to 3: errors of reconstruction and completion over K, at equal MACs.

Completion reconstructs the inputs that a random mask hides (one mask a seed) from those it leaves.
All methods have the kernel whose width is best for dense features, by cross-validation on the
training rows, and at most the MACs of K masked cosines. Where these allow fewer dense features
than codes are wanted, there are as many codes as features, and "rff, 15 features" shows dense
features that are enough, at more MACs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

from experiments.datasets import split_of
from experiments.methods import feature_map, median_gamma, microseconds, n_macs
from experiments.pieces import Piece
from experiments.reconstruction import (
    N_CODES,
    Rows,
    choose_width,
    normalised,
    reconstruction_error,
)

MISSING = 0.2  # share of the inputs that completion hides
PAPER_MAPS = ("untrained", "cerf", "untrained bbp", "cerf bbp", "greedy")  # of the paper's density
STANDARDISED = ", standardised"  # ending of a dataset's name, which the others do not have
ENOUGH = f"rff, {N_CODES} features"


def pieces(config: dict[str, Any], task: str) -> Iterator[Piece]:
    """For each dataset and seed: the width, then all methods at each K."""
    grid = config["grid"] if config.get("full_grid") else config
    plan = [(data, config["sizes"]) for data in config["datasets"]]
    plan += [(data, config["also_sizes"]) for data in config.get("also", [])]
    for data, sizes in plan:
        for seed in range(config["seeds"]):
            where = (data, str(seed))
            common = {
                "data": data,
                "task": task,
                "seed": seed,
                "density": config["mask_density"],
                "most_rows": config["most_rows"],
                "standardise": data in config["standardised"] or data.endswith(STANDARDISED),
            }
            choice = {"size": max(config["sizes"]), "widths": grid["widths"]}
            yield Piece((*where, "width"), choose, common | choice)
            for size in sizes:
                arguments = common | {"size": size, "methods": config["methods"]}
                yield Piece((*where, str(size)), measure, arguments, needs=(*where, "width"))


def problem(
    data: str, task: str, seed: int, most_rows: Sequence[int], standardise: bool
) -> tuple[Rows, Rows]:
    """Return inputs and targets, each of training and test rows."""
    split = split_of(data.removesuffix(STANDARDISED), seed)
    rows = [
        part[:most] for part, most in zip((split.X_train, split.X_test), most_rows, strict=True)
    ]
    if standardise:
        scaler = StandardScaler().fit(rows[0])
        rows = [scaler.transform(part) for part in rows]
    if task == "reconstruction":
        return (rows[0], rows[1]), (rows[0], rows[1])
    n_inputs = rows[0].shape[1]
    hidden = np.zeros(n_inputs, dtype=bool)
    chosen = np.random.default_rng(1000 + seed).permutation(n_inputs)
    hidden[chosen[: round(MISSING * n_inputs)]] = True
    kept, missing = (
        tuple(np.ascontiguousarray(part[:, columns]) for part in rows)
        for columns in (~hidden, hidden)
    )
    return (kept[0], kept[1]), (missing[0], missing[1])


def make_map(
    name: str, *, size: int, density: float, n_inputs: int, gamma: float, seed: int
) -> Any:
    """Feature map of a method at the MACs of ``size`` masked cosines."""
    macs = macs_of(size, density, n_inputs)
    if name == ENOUGH:
        name, macs = "rff", N_CODES * n_inputs
    parameters = {"mask_density": density} if name in PAPER_MAPS else {}
    found = feature_map(name, macs=macs, n_inputs=n_inputs, gamma=gamma, seed=seed, **parameters)
    return found.set_params(gamma=gamma)


def macs_of(size: int, density: float, n_inputs: int) -> int:
    """MACs of as many masked cosines."""
    return size * max(1, round(density * n_inputs))


def choose(
    *,
    data: str,
    task: str,
    seed: int,
    size: int,
    density: float,
    widths: Sequence[float],
    most_rows: Sequence[int],
    standardise: bool,
) -> dict[str, Any]:
    """Width for dense features, by cross-validation, and the error of linear PCA."""
    inputs, targets = problem(data, task, seed, most_rows, standardise)
    n_inputs = inputs[0].shape[1]
    setting = {"size": size, "density": density, "n_inputs": n_inputs, "seed": seed}
    width = choose_width(
        lambda gamma: make_map("rff", gamma=gamma, **setting),
        inputs[0],
        targets[0],
        widths,
        seed=seed,
    )
    return {
        "width": width,
        "gamma": width * median_gamma(inputs[0]),
        "inputs": n_inputs,
        "rows": [len(part) for part in inputs],
        "linear": _linear(inputs, targets),
    }


def _linear(inputs: Rows, targets: Rows) -> dict[str, Any]:
    """As many principal components of the inputs, D J MACs."""
    pca = PCA(N_CODES, random_state=0).fit(inputs[0])
    codes = [pca.transform(rows) for rows in inputs]
    found = LinearRegression().fit(codes[0], targets[0]).predict(codes[1])
    return {
        "error": normalised(found, targets[1], targets[0].mean(axis=0)),
        "macs": inputs[0].shape[1] * N_CODES,
    }


def measure(
    *,
    data: str,
    task: str,
    seed: int,
    size: int,
    density: float,
    methods: Sequence[str],
    most_rows: Sequence[int],
    standardise: bool,
    given: dict[str, Any],
) -> dict[str, Any]:
    """Errors, sizes and times of all methods at one K.

    "seconds" are those of fitting and judging, "microseconds" those of a row in the map.
    """
    inputs, targets = problem(data, task, seed, most_rows, standardise)
    setting = {"size": size, "density": density, "n_inputs": given["inputs"], "seed": seed}
    found = {}
    few = macs_of(size, density, given["inputs"]) < N_CODES * given["inputs"]
    for name in [*methods, ENOUGH] if few else methods:
        begin = time.perf_counter()
        sampler = make_map(name, gamma=given["gamma"], **setting)
        error, fitted = reconstruction_error(sampler, inputs, targets, seed=seed)
        found[name] = {
            "error": error,
            "macs": n_macs(fitted),
            "outputs": fitted.transform(inputs[1][:2]).shape[1],
            "seconds": time.perf_counter() - begin,
            "microseconds": microseconds(fitted.transform, inputs[1]),
        }
    return found
