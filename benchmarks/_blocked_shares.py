"""Kernel error of Fastfood blocks by what they share (Prop. 5): S, Q and B."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import datasets
from cerflearn import FastfoodFeatures

N_ROWS = 500
SHARES = (
    (),
    ("signs",),
    ("signs", "permutation"),
    ("scales",),
    ("signs", "permutation", "scales"),
)
FIRST_NORM = "with the norm of the first G"
"""All three, S as Def. 4 has it for a single block: divided by the norm of that block's G."""


def problems() -> dict[str, tuple[NDArray, int]]:
    """Rows and number of blocks: standard normal ones, and the digits of scikit-learn."""
    normal = np.random.default_rng(0).normal(size=(N_ROWS, 16))
    digits = datasets.bundled(0).X_train[:N_ROWS]
    return {
        "normal, 16 inputs, 32 blocks": (normal, 32),
        "digits, 64 inputs, 8 blocks": (digits, 8),
    }


def errors_of(X: NDArray, n_blocks: int, share: tuple[str, ...], seed: int) -> dict[str, float]:
    """Mean absolute difference to the Gaussian kernel; where S is shared, by both its norms."""
    size = 1 << (X.shape[1] - 1).bit_length()
    sampler = FastfoodFeatures(
        n_components=2 * size * n_blocks, share=share, gamma="median", random_state=seed
    ).fit(X)
    exact = sampler.law_.kernel(X)

    def error(factor: float) -> float:
        phases = factor * (X @ sampler.frequencies_)
        features = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(phases.shape[1])
        return float(np.abs(features @ features.T - exact).mean())

    found = {", ".join(share) or "nothing": error(1.0)}
    if len(share) == 3:
        first = np.linalg.norm(sampler.feature_map_.blocks.gaussian_diag[0])
        found[f"{', '.join(share)}, {FIRST_NORM}"] = error(float(np.sqrt(size) / first))
    return found


def shares(n_seeds: int) -> list[dict[str, Any]]:
    """Errors of every seed, by data and by what is shared."""
    records = []
    for name, (X, n_blocks) in problems().items():
        found: dict[str, list[float]] = {}
        for share in SHARES:
            for seed in range(n_seeds):
                for label, error in errors_of(X, n_blocks, share, seed).items():
                    found.setdefault(label, []).append(round(error, 5))
        records.append({"data": name, "errors": found})
    return records
