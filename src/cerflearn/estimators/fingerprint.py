"""What the bits of a fit depend on, as plain values: parameters, data, versions, CPU.

Two fits with one fingerprint have the same result, so that one may go on from states of the other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.sparse import issparse
from threadpoolctl import threadpool_info

from cerflearn.engine.blocks import BLOCK_ROWS
from cerflearn.estimators.input import map_ranges
from cerflearn.features.level import level_in_use
from cerflearn.files.checkpoint import Checkpoint
from cerflearn.files.strict_json import canonical

DIGEST_ROWS = 16 * BLOCK_ROWS
"""Rows of one digest: a task of a cluster."""

FREE_PARAMETERS = ("n_jobs", "verbose")
"""Parameters on which no bit depends, of estimators inside others too."""

SEED = "seed"
"""Name of a state: the seed of a fit that was given none."""

_PACKAGES = ("cerflearn", "numpy", "scipy", "scikit-learn")


def fit_fingerprint(
    estimator: Any,
    X: Any,
    others: Mapping[str, Any],
    *,
    replaced: Mapping[str, Any] | None = None,
    ignored: Collection[str] = (),
) -> dict[str, Any]:
    """Return names and plain values, for :class:`~cerflearn.files.checkpoint.Checkpoint`.

    Parameters
    ----------
    estimator : estimator
        With valid parameters.
    X : {ndarray, CSR matrix, StreamedRows} of shape (n_samples, n_features)
        Checked. The same rows give the same values, wherever they lie.
    others : mapping of str to array-like or None
        What else is read, such as y.
    replaced : mapping of str to object, optional
        Parameters as ``fit`` reads them, if not as they were given.
    ignored : collection of str
        Names of parameters on which no bit depends, ``"selector__cache_bytes"`` for example.
    """
    parameters = estimator.get_params(deep=False) | dict(replaced or {})
    random_state = parameters.pop("random_state", None)
    found: dict[str, Any] = {"estimator": type(estimator).__name__}
    for name, value in parameters.items():
        found |= _flat(name, plain_value(value))
    found["random_state"] = _random_text(random_state)
    found = {
        name: value
        for name, value in found.items()
        if name not in ignored and name.rpartition("__")[2] not in FREE_PARAMETERS
    }
    found |= {"shape of X": list(X.shape), "dtype of X": str(X.dtype), "digest of X": _rows(X)}
    for name, values in others.items():
        found[f"digest of {name}"] = None if values is None else array_digest(values)
    return found | _platform()


def repeatable(
    store: Checkpoint, random_state: Any, rng: np.random.Generator
) -> np.random.Generator:
    """Return the generator of a fit: one of a stored seed, if ``random_state`` is None."""
    if random_state is not None:
        return rng
    seed = store.load(SEED)
    if seed is None:
        seed = rng.integers(2**32, size=4).tolist()
        store.save(SEED, seed)
    return np.random.default_rng(seed)


def plain_value(value: Any) -> Any:
    """Return numbers, text, lists and dictionaries for a value of a parameter.

    Estimators and dataclasses become dictionaries with the entry ``"class"``, arrays their digest,
    generators that of their state. Other objects are named by what they print.

    Parameters
    ----------
    value : object
        Anything.

    Examples
    --------
    >>> from cerflearn.spectral import Gaussian
    >>> plain_value((1, Gaussian(0.5)))
    [1, {'class': 'Gaussian', 'scale': 0.5}]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, np.ndarray) or issparse(value):
        return f"array with digest {array_digest(value)}"
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return _random_text(value)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params"):
        named = value.get_params(deep=False)
    elif is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
    else:
        # The address in memory differs from process to process.
        return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))
    return {"class": type(value).__name__} | {key: plain_value(item) for key, item in named.items()}


def array_digest(values: Any) -> str:
    """Shape and digest of an array, sparse matrix, frame or list.

    Whole numbers count as int64, others as float64, and all else by what it prints.
    """
    array = values.toarray() if issparse(values) else np.asarray(values)
    if array.dtype.kind in "biuf":
        kind = np.float64 if array.dtype.kind == "f" else np.int64
        content: Any = np.ascontiguousarray(array, dtype=kind)
    else:
        content = repr(array.tolist()).encode("utf-8", "surrogatepass")
    return f"{array.shape} {_hash(content)}"


def rows_digest(rows: Any) -> str:
    """Digest of some rows of X, dense or sparse: of their values in C order."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, rows.shape[0], BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS]
        digest.update(np.ascontiguousarray(part.toarray() if issparse(part) else part).data)
    return digest.hexdigest()


def _rows(X: Any) -> str:
    """Digest of all rows, by parts on a fixed grid."""
    return _hash("".join(map_ranges(X, rows_digest, DIGEST_ROWS)).encode("ascii"))


def _hash(content: Any) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _flat(name: str, value: Any) -> dict[str, Any]:
    """Parameters of a parameter that is an object, each by a name such as ``selector__tol``."""
    if not isinstance(value, dict) or "class" not in value:
        return {name: value}
    found = {name: value["class"]}
    for key, item in value.items():
        if key != "class":
            found |= _flat(f"{name}__{key}", item)
    return found


def _random_text(random_state: Any) -> Any:
    """Return a seed itself; for a generator the digest of its state."""
    if isinstance(random_state, np.random.Generator):
        state: Any = random_state.bit_generator.state
    elif isinstance(random_state, np.random.RandomState):
        state = random_state.get_state()
    else:
        return plain_value(random_state)
    return f"a generator whose state has digest {_hash(canonical(plain_value(state)).encode())}"


def _platform() -> dict[str, Any]:
    """Versions of packages, and the instructions that the core and BLAS use."""
    found: dict[str, Any] = {f"version of {name}": _version(name) for name in _PACKAGES}
    blas = {info["architecture"] for info in threadpool_info() if info.get("architecture")}
    return found | {"instruction level": level_in_use(), "BLAS for the CPU": sorted(blas)}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # run from a source tree that is not installed
        return None
