"""Random feature maps: the arrays that native constructors take, and the oracle beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.features import (
    Phases,
    fastfood_phases,
    feature_bound,
    features,
    linear_phases,
    masked_phases,
    relu_bound,
    relu_features,
)

PAIRINGS = ("single", "paired", "odd")


@dataclass(frozen=True)
class RandomMap:
    """Arguments of one native constructor and the phases that must come out."""

    constructor: str
    arguments: dict[str, Any]
    offsets: NDArray
    amplitudes: NDArray
    paired: bool
    n_outputs: int
    n_features: int
    phases: Callable[[NDArray], Phases]
    relu: bool = False

    def native_arguments(self, **changes: Any) -> dict[str, Any]:
        """Arguments without dtype and level; tests of errors change some of them."""
        names = ("offsets", "amplitudes", "n_outputs", "paired")
        arguments = self.arguments | {name: getattr(self, name) for name in names}
        return arguments | ({"relu": True} if self.relu else {}) | changes

    def model(self, native: ModuleType, dtype: str, level: str) -> Any:
        constructor = getattr(native, self.constructor)
        return constructor(**self.native_arguments(), dtype=dtype, level=level)

    def features(self, X: NDArray) -> NDArray:
        return self.features_and_bound(X, "float64")[0]

    def features_and_bound(self, X: NDArray, dtype: str) -> tuple[NDArray, NDArray]:
        phases, outputs = self.phases(X), (self.amplitudes, self.paired, self.n_outputs)
        if self.relu:
            exact = relu_features(phases, self.amplitudes)
            return exact, relu_bound(phases, self.amplitudes, dtype)
        return features(phases, *outputs), feature_bound(phases, *outputs, dtype)


def _outputs(rng: np.random.Generator, n_projections: int, pairing: str) -> dict[str, Any]:
    return {
        "offsets": rng.uniform(-7, 7, n_projections),
        "amplitudes": rng.uniform(0.1, 0.9, n_projections),
        "paired": pairing != "single",
        "n_outputs": {"single": 1, "paired": 2, "odd": 2}[pairing] * n_projections
        - (pairing == "odd"),
    }


def inputs(n_samples: int, n_features: int, dtype: str, seed: int = 0) -> NDArray:
    return np.random.default_rng(seed).standard_normal((n_samples, n_features)).astype(dtype)


def dense_map(
    n_features: int, n_projections: int, pairing: str = "single", *, turns: float = 1.0
) -> RandomMap:
    """Phases of about ``turns`` turns for standard normal inputs."""
    rng = np.random.default_rng([n_features, n_projections])
    frequencies = rng.standard_normal((n_features, n_projections))
    frequencies *= 2 * np.pi * turns / np.sqrt(n_features)
    outputs = _outputs(rng, n_projections, pairing)
    return RandomMap(
        "dense_model",
        {"frequencies": frequencies},
        **outputs,
        n_features=n_features,
        phases=lambda X: linear_phases(X, frequencies, outputs["offsets"], n_features),
    )


def masked_map(
    n_features: int,
    n_projections: int,
    per_mask: int,
    group_size: int,
    pairing: str = "single",
    *,
    holes: bool = False,
    turns: float = 1.0,
    relu: bool = False,
) -> RandomMap:
    """About a third of the groups in every mask, at least one input; holes: groups not whole."""
    rng = np.random.default_rng([n_features, n_projections, per_mask, group_size])
    inputs_of, values = [], []
    pointers, projection_pointers = [0], [0]
    for first in range(0, n_projections, per_mask):
        chosen = np.repeat(rng.random(-(-n_features // group_size)) < 1 / 3, group_size)
        chosen = chosen[:n_features] & ((rng.random(n_features) < 0.7) | (not holes))
        chosen[rng.integers(n_features)] |= not chosen.any()
        count = min(per_mask, n_projections - first)
        inputs_of.append(np.flatnonzero(chosen))
        scale = 2 * np.pi * turns / np.sqrt(chosen.sum())
        values.append(scale * rng.standard_normal(chosen.sum() * count))
        pointers.append(pointers[-1] + chosen.sum())
        projection_pointers.append(first + count)
    arguments = {
        "n_features": n_features,
        "mask_pointers": np.array(pointers, dtype=np.int64),
        "mask_inputs": np.concatenate(inputs_of).astype(np.int32),
        "projection_pointers": np.array(projection_pointers, dtype=np.int64),
        "values": np.concatenate(values),
        "group_size": group_size,
    }
    outputs = _outputs(rng, n_projections, pairing)
    oracle = {name: arguments[name] for name in list(arguments)[1:-1]}
    return RandomMap(
        "masked_model",
        arguments,
        **outputs,
        n_features=n_features,
        phases=lambda X: masked_phases(X, **oracle, offsets=outputs["offsets"], relu=relu),
        relu=relu,
    )


def fastfood_map(
    n_features: int,
    padded: int,
    n_blocks: int,
    pairing: str = "single",
    *,
    shared_signs: bool = False,
    centred: bool = False,
    kept_fraction: float = 1.0,
    turns: float = 1.0,
) -> RandomMap:
    """Phases of about ``turns`` turns for standard normal inputs."""
    rng = np.random.default_rng([n_features, padded, n_blocks])
    n_kept = max(1, round(kept_fraction * n_blocks * padded))
    kept = np.sort(rng.choice(n_blocks * padded, n_kept, replace=False))
    scale = 2 * np.pi * turns / np.sqrt(padded * n_features)
    arguments = {
        "n_features": n_features,
        "signs": rng.choice([-1.0, 1.0], (1 if shared_signs else n_blocks, padded)),
        "gaussian_diag": rng.standard_normal((n_blocks, padded)),
        "permutation": rng.permuted(np.tile(np.arange(padded), (n_blocks, 1)), axis=1).astype(
            np.int32
        ),
        "row_scale": scale * rng.uniform(0.5, 1.5, n_kept),
        "kept_pointers": np.searchsorted(kept, np.arange(n_blocks + 1) * padded),
        "kept_rows": (kept % padded).astype(np.int32),
        "centres": rng.standard_normal((n_blocks, n_features)) if centred else None,
    }
    outputs = _outputs(rng, n_kept, pairing)
    oracle = {name: arguments[name] for name in list(arguments)[1:]}
    return RandomMap(
        "fastfood_model",
        arguments,
        **outputs,
        n_features=n_features,
        phases=lambda X: fastfood_phases(X, **oracle, offsets=outputs["offsets"]),
    )
