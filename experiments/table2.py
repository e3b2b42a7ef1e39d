"""Table 2: error of kernel approximation, blocked CERF against blocked RFF, section 4.1.

What the paper leaves open was chosen on another dataset by ``benchmarks/blocked.py`` and is read
from its results. That program writes the page of this table, with the methods measured here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cerflearn import RandomFourierFeatures
from cerflearn.spectral import Gaussian
from experiments import table2_page
from experiments.blocked_protocol import (
    FRACTIONS,
    N_CANDIDATES,
    N_INPUTS,
    TABLE,
    Problem,
    Row,
    Side,
    chosen_reading,
    macs_of,
    problem_of,
    published,
)
from experiments.methods import microseconds, n_landmarks
from experiments.pieces import Piece

TITLE = "Table 2: kernel approximation with blocks"
PAGE = "blocked.md"
"""Where the table is told."""
WEIGHTS = ("equal", "nnls")
WEIGHTS_OF = {"untrained": ("equal",), "orthogonal": ("equal",), "nystroem": ("nnls",)}
"""Sides with one kind of weights: random features have no teacher, Nystroem's are its own."""


ROWS = (*TABLE, Row("digits", "Gauss", 1.0))
"""Those of the paper, of satimage, and one that needs no file."""


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """Every row of the table and seed, at both fractions, all sides and weights."""
    for row in ROWS:
        if row.data not in config["datasets"]:
            continue
        for seed in range(config["seeds"]):
            arguments = {
                "row": [row.data, row.law, row.parameter],
                "seed": seed,
                "rows": config["rows"],
                "sides": config["sides"],
            }
            yield Piece((row.label, str(seed)), measure, arguments)


def measure(*, row: list[Any], seed: int, rows: list[int], sides: list[str]) -> dict[str, Any]:
    """Errors by fraction, side and weights."""
    problem = problem_of(Row(*row), chosen_reading(), seed, *rows)
    return {
        str(fraction): {
            side: {weights: judge(problem, side, fraction, weights) for weights in WEIGHTS}
            for side in sides
        }
        for fraction in FRACTIONS
    }


def judge(problem: Problem, name: str, fraction: float, weights: str) -> dict[str, Any]:
    """Errors, size and times of one side; None where there is no such map.

    "errors" has "scaled" too where weights are equal: after one factor for all outputs.
    """
    begin = time.perf_counter()
    if weights not in WEIGHTS_OF.get(name, WEIGHTS):
        return {}
    if name == "nystroem":
        return nystroem(problem, fraction)
    make = orthogonal if name == "orthogonal" else estimator
    sampler = make(problem, name, fraction, weights)
    if sampler is None:
        return {}
    found = problem.judge(sampler, weights)
    found["seconds"] = time.perf_counter() - begin
    found["microseconds"] = microseconds(sampler.transform, problem.X_test)
    return found


def estimator(problem: Problem, name: str, fraction: float, weights: str) -> Any:
    """Blocked map, or dense map of equal MACs, of a side."""
    settings = published()["chosen"]["sides"][problem.row.law][weights]
    n_columns = round(fraction * N_CANDIDATES)
    side = Side(**settings[name if name in settings else "cerf"])
    if name in ("untrained", "greedy"):
        side = replace(side, selector={"untrained": "random"}.get(name, name))
    if name == "default":
        side = replace(side, selector="greedy")
    learning = {} if side.selector == "random" else {"teacher": problem.teacher}
    sampler = side.estimator(
        problem.law,
        n_columns,
        macs_of(fraction),
        weights=weights,
        random_state=1000 + problem.seed,
        **learning,
    )
    if name == "default":  # two outputs for the MACs of one
        sampler.set_params(paired=True, n_components=2 * n_columns, n_candidates=2 * N_CANDIDATES)
    return sampler


def orthogonal(problem: Problem, name: str, fraction: float, weights: str) -> Any:
    """Dense orthogonal frequencies of P0, which must be isotropic; as many as the MACs allow."""
    del name, weights
    if not isinstance(problem.law, Gaussian):
        return None
    return RandomFourierFeatures(
        kernel=problem.law,
        n_components=macs_of(fraction) // N_INPUTS,
        paired=False,
        orthogonal=True,
        random_state=1000 + problem.seed,
    )


def nystroem(problem: Problem, fraction: float) -> dict[str, Any]:
    """Low-rank Gram matrix from random training rows; it alone uses the kernel in closed form."""
    begin = time.perf_counter()
    size = n_landmarks(macs_of(fraction), N_INPUTS)
    rng = np.random.default_rng(1000 + problem.seed)
    rows = problem.X[rng.permutation(len(problem.X))[:size]]
    cross = problem.product.kernel(problem.X_test, rows)
    gram = cross @ np.linalg.pinv(problem.product.kernel(rows), hermitian=True) @ cross.T
    return {
        "columns": size,
        "macs": size * (N_INPUTS + size),
        "errors": {"nnls": problem.distances(gram)},
        "seconds": time.perf_counter() - begin,
    }


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return in how many cells CERF is below RFF."""
    return table2_page.summary(results, config)
