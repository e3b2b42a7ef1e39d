"""Fits of rows beyond memory: peak of memory and time, from an array, a memory map and parquet."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from _scale_watch import MemoryWatch
from cerflearn import CERFClassifier, MaskedCERF
from cerflearn.blocks import from_npy, from_parquet

FORMS = ("array", "npy", "parquet")
GROUP_ROWS = 100_000
Record = dict[str, Any]

ESTIMATORS: dict[str, Any] = {
    "MaskedCERF": lambda: MaskedCERF(random_state=0),
    "CERFClassifier": lambda: CERFClassifier(macs=300, effort=0.01, random_state=0),
}
"""What is fitted; one thread each."""

_ARRAYS = ("frequencies_", "offsets_", "selected_", "head_coef_", "head_intercept_", "linear_coef_",
           "tables_", "bin_edges_", "feature_importances_")  # fmt: skip


def write_forms(path: Path, folder: Path) -> None:
    """Write classes, and rows and classes as a parquet file, beside rows of an ``.npy`` file."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    X = np.load(path, mmap_mode="r")
    y = np.empty(len(X), np.int8)
    names = [f"x{i}" for i in range(X.shape[1])]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("kind", pa.int8())])
    with ParquetWriter(folder / "rows.parquet", schema) as writer:
        for start in range(0, len(X), GROUP_ROWS):
            rows = np.asarray(X[start : start + GROUP_ROWS])
            kinds = (rows[:, 0] * rows[:, 1] > 0).astype(np.int8) + (rows[:, 2] > rows[:, 3])
            y[start : start + GROUP_ROWS] = kinds
            columns = [pa.array(np.ascontiguousarray(column)) for column in rows.T]
            writer.write_table(
                pa.Table.from_arrays([*columns, pa.array(kinds, pa.int8())], schema=schema)
            )
    np.save(folder / "kinds.npy", y)


def fit_form(path: str, folder: str, form: str, estimator: str) -> Record:
    """Fit rows in one form: seconds, CPU time and most memory of this process."""
    own = Path(folder)
    model = ESTIMATORS[estimator]()
    with MemoryWatch({os.getpid(): "client"}) as memory:
        if form == "array":
            data: tuple[Any, ...] = (np.load(path), np.load(own / "kinds.npy"))
        elif form == "npy":
            data = (from_npy(path, target=own / "kinds.npy"),)
        else:
            data = (from_parquet(own / "rows.parquet", target="kind"),)
        start, used = time.perf_counter(), time.process_time()
        model.fit(*data)
        seconds, used = time.perf_counter() - start, time.process_time() - used
    return {
        "seconds": seconds,
        "cpu_seconds": used,
        "memory": memory.most["client"],
        "digest": digest_of(model),
        "load": os.getloadavg()[0],
    }


def digest_of(model: Any) -> str:
    """Digest of the fitted arrays that a model has."""
    found = [getattr(model, name) for name in _ARRAYS if hasattr(model, name)]
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in found)
    return hashlib.sha256(content).hexdigest()[:16]
