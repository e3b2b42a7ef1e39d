"""Figures 1 to 3 with networks that are trained within a budget, beside linear models.

All operations of a trained network count: for reconstruction at fractions of those of linear PCA
with as many codes, for completion at the MACs of the smallest K of Figure 3, where those of the
paper's methods are of the features alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV

from cerflearn import KernelAutoencoder, KernelImputer, cost
from experiments.curves import macs_of, problem
from experiments.markdown import table
from experiments.methods import microseconds
from experiments.pieces import Piece
from experiments.reconstruction import N_CODES, Rows, normalised
from experiments.store import path_of
from experiments.verdicts import is_above, mean, paired

TITLE = "Figures 1 to 3 with networks trained within a budget"
FRACTIONS = {"1/4": 4, "1/16": 16}  # of the MACs of linear PCA
RIVALS = ("rff", "untrained", "cerf", "default")


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """One measurement for each figure, dataset and seed."""
    for figure, own in config["figures"].items():
        for data in own["datasets"]:
            for seed in range(min(config["seeds"], own.get("seeds", config["seeds"]))):
                arguments = {
                    "data": data,
                    "task": own["task"],
                    "seed": seed,
                    "size": own["size"],
                    "density": own["mask_density"],
                    "most_rows": own["most_rows"],
                    "standardise": data in own["standardised"],
                }
                yield Piece((figure, data, str(seed)), measure, arguments)


def measure(
    *,
    data: str,
    task: str,
    seed: int,
    size: int,
    density: float,
    most_rows: Sequence[int],
    standardise: bool,
) -> dict[str, Any]:
    """Errors, MACs and times of trained networks and of a linear model."""
    inputs, targets = problem(data, task, seed, most_rows, standardise)
    n_inputs = inputs[0].shape[1]
    if task == "reconstruction":
        n_codes = min(N_CODES, *inputs[0].shape)
        found = {"linear": _pca(n_codes, inputs)}
        for name, part in FRACTIONS.items():
            macs = max(n_codes * n_inputs // part, n_codes + 1)
            found[name] = _encoder(n_codes, macs, inputs, seed)
        return found
    macs = macs_of(size, density, n_inputs)
    return {
        "linear": _regression(inputs, targets),
        f"K = {size}": _imputer(macs, inputs, targets, seed),
    }


def _pca(n_codes: int, inputs: Rows) -> dict[str, Any]:
    pca = PCA(n_codes, svd_solver="full").fit(inputs[0])
    found = pca.inverse_transform(pca.transform(inputs[1]))
    return {"error": normalised(found, inputs[1], pca.mean_), "macs": n_codes * inputs[0].shape[1]}


def _regression(inputs: Rows, targets: Rows) -> dict[str, Any]:
    ridge = RidgeCV(alphas=np.logspace(-4, 4, 17)).fit(inputs[0], targets[0])
    error = normalised(ridge.predict(inputs[1]), targets[1], targets[0].mean(axis=0))
    return {"error": error, "macs": inputs[0].shape[1] * targets[0].shape[1]}


def _encoder(n_codes: int, macs: int, inputs: Rows, seed: int) -> dict[str, Any]:
    begin = time.perf_counter()
    model = KernelAutoencoder(n_components=n_codes, macs=macs, random_state=seed).fit(inputs[0])
    return {
        "error": model.reconstruction_error(inputs[1]),
        "macs": cost(model).macs,
        "seconds": time.perf_counter() - begin,
        "microseconds": microseconds(model.encode, inputs[1]),
    }


def _imputer(macs: int, inputs: Rows, targets: Rows, seed: int) -> dict[str, Any]:
    begin = time.perf_counter()
    train, test = (np.hstack([one, other]) for one, other in zip(inputs, targets, strict=True))
    pattern = np.arange(train.shape[1]) >= inputs[0].shape[1]
    model = KernelImputer(macs=macs, patterns=pattern, random_state=seed).fit(train)
    seconds = time.perf_counter() - begin
    hidden = np.where(pattern, np.nan, test)
    found = model.transform(hidden)[:, pattern]
    return {
        "error": normalised(found, targets[1], targets[0].mean(axis=0)),
        "macs": cost(model).macs,
        "seconds": seconds,
        "microseconds": microseconds(model.transform, hidden),
    }


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return one table a figure."""
    del folder
    parts = [
        "Data, rows and splits of Figures 1 to 3. `KernelAutoencoder(macs=...)` with 15 codes, and "
        "`KernelImputer(macs=...)`, whose MACs include the decoder, beside linear PCA and linear "
        "regression (ridge, its penalty by leave-one-out). Squared errors on test rows divided by "
        "those of the training mean, ± standard error over seeds; fit of one thread."
    ]
    for figure in config["figures"]:
        parts += [f"## {_title(figure)}", _table(results[figure])]
        parts += [line for line in [_lower(figure, results, config)] if line]
    return "\n\n".join(parts)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return the tables, and at how many points of the figures trained networks are below."""
    lines = []
    for figure in config["figures"]:
        lines += [f"{_title(figure)}:", _table(results[figure])]
        lines += [line for line in [_lower(figure, results, config)] if line]
    return lines


def _title(figure: str) -> str:
    return f"Figure {figure.removeprefix('figure')}"


def _table(results: dict[str, Any]) -> str:
    rows, kinds = [], []
    for data, seeds in results.items():
        kinds = list(next(iter(seeds.values())))
        cells = [data, str(len(seeds))]
        for kind in kinds:
            found = [seed[kind] for seed in seeds.values()]
            error = mean([record["error"] for record in found])
            spread = "" if error.count == 1 else f" ± {error.error:.3f}"
            cells += [
                f"{mean([r['macs'] for r in found]).value:,.0f}",
                f"{error.value:.3f}{spread}",
            ]
        rows.append([*cells, f"{min(record['seconds'] for record in found):.0f}"])
    names = {"linear": "linear", **{name: f"trained, {name}" for name in kinds if name != "linear"}}
    header = ["data", "seeds"]
    header += [part for kind in kinds for part in (f"MACs, {names[kind]}", "error")]
    return table([*header, "fit, s, quickest seed"], rows)


def _lower(figure: str, results: dict[str, Any], config: dict[str, Any]) -> str:
    """At how many points of the published figure a trained network is below its methods."""
    path = path_of(figure, config["size"])
    published = json.loads(path.read_text())["results"] if path.exists() else {}
    lower = total = 0
    kind = ""
    for data, seeds in results[figure].items():
        if not set(seeds) <= set(published.get(data, {})):
            return ""
        kind = next(name for name in next(iter(seeds.values())) if name != "linear")
        own = [seeds[seed][kind]["error"] for seed in seeds]
        sizes = [key for key in published[data]["0"] if key.isdigit()]
        for size in sizes:
            others = [[published[data][s][size][m]["error"] for s in seeds] for m in RIVALS]
            lower += all(is_above(paired(other, own)) for other in others)
            total += 1
    fewer = any(len(seeds) < len(published[data]) for data, seeds in results[figure].items())
    more = "; curves of the picture are means over more seeds" if fewer else ""
    where = "at a quarter of linear PCA's MACs" if kind == "1/4" else f"at the MACs of {kind}"
    return (
        f"A trained network, {where}, everything included, is below RFF, untrained and trained "
        f"CERF and our default at {lower} of {total} points of {_title(figure)}, at all of "
        "which these have at least as many MACs. It is compared seed by seed, on the seeds of this "
        f"table{more}."
    )
