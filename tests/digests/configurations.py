"""All configurations by name, those whose bits must be equal, and digests of what they return."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from digests import applications, maps, predictors

Digests = dict[str, str]

CONFIGURATIONS: dict[str, Callable[[], dict[str, Any]]] = (
    maps.CONFIGURATIONS | predictors.CONFIGURATIONS | applications.CONFIGURATIONS
)

EQUAL = {
    "rff rbf two threads": "rff rbf",
    "fastfood two threads": "fastfood",
    "masked random two threads": "masked random",
    "masked greedy two threads": "masked greedy one thread",
    "masked greedy no cache": "masked greedy one thread",
    "masked shared two threads": "masked shared one thread",
    "masked cvem two threads": "masked cvem one thread",
    "masked cvem no cache": "masked cvem one thread",
    "blocked greedy two threads": "blocked greedy one thread",
    "classifier binary two threads": "classifier binary",
    "classifier labels two threads": "classifier labels one thread",
    "classifier selected two threads": "classifier selected one thread",
    "classifier 1500 rows two threads": "classifier 1500 rows",
    "classifier 21000 rows two threads": "classifier 21000 rows",
    "regressor 1500 rows two threads": "regressor 1500 rows",
    "regressor friedman two threads": "regressor friedman",
    "kernel pca two threads": "kernel pca one thread",
    "autoencoder two threads": "autoencoder one thread",
    "imputer map two threads": "imputer map",
    "cca two threads": "cca",
}
"""Threads and cache must not change the bits: configuration -> the one it must equal."""


def digest(value: Any) -> str:
    """First 16 hexadecimal digits of the SHA-256 of dtype, shape and bytes."""
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise TypeError(f"{array.dtype} has no bytes of its own: {value!r}")
    found = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def compute(name: str) -> Digests:
    """Run a configuration on one BLAS thread and return the digest of each array."""
    # Few stages are enough to compare bits.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {key: digest(value) for key, value in CONFIGURATIONS[name]().items()}


def differences(found: Digests, recorded: Digests) -> list[str]:
    """Names of arrays that differ, are missing or are new."""
    words = [f"{key} is missing" for key in recorded if key not in found]
    words += [f"{key} is new" for key in found if key not in recorded]
    both = [key for key in found if key in recorded]
    return words + [f"{key} differs" for key in both if found[key] != recorded[key]]
