"""Rows of training data in blocks: in float64, and always by the core's batch form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import Float64Array
from cerflearn.engine.blocks import BlockSource, CachedSource, ComputedSource
from cerflearn.features.base import FeatureMap


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What ``fit`` was given.

    Attributes
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Checked, float32 or float64.
    frame : object
        X as the user passed it if that is a data frame, else the same as ``X``: a teacher may
        look for column names.
    y : object
        The target, or None; checked only if a teacher reads it.
    """

    X: Any
    frame: Any
    y: Any

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def dense(self, start: int, stop: int) -> Float64Array:
        """Rows ``[start, stop)`` of X as a float64 array in C order."""
        return to_dense(self.X[start:stop])

    def slice(self, start: int, stop: int) -> Any:
        """Rows ``[start, stop)`` of ``frame``, of its own kind."""
        frame = self.frame
        return frame.iloc[start:stop] if hasattr(frame, "iloc") else frame[start:stop]


def to_dense(rows: Any) -> Float64Array:
    """Rows of an array or sparse matrix as a float64 array in C order."""
    rows = rows.toarray() if issparse(rows) else rows
    return np.ascontiguousarray(rows, dtype=np.float64)


def batch_features(feature_map: FeatureMap, rows: Float64Array) -> Float64Array:
    """Features of dense rows, each with the bits it has among many rows.

    For a few rows the core sums in another order, which is quicker; such blocks are filled up.
    """
    least = feature_map.model(rows.dtype).one_row_below
    n_rows = len(rows)
    if n_rows < least:
        rows = np.concatenate([rows, np.zeros((least - n_rows, rows.shape[1]))])
    features: Float64Array = feature_map.transform(rows)[:n_rows]  # type: ignore[assignment]
    return features


def block_source(
    data: TrainingData,
    teacher_rows: Callable[[int, int], Float64Array],
    learner_map: FeatureMap,
    cache_bytes: int,
) -> BlockSource:
    """Blocks of teacher (b, n_outputs) and learner (b, n_candidates), kept where they fit.

    Parameters
    ----------
    data : TrainingData
        The rows.
    teacher_rows : callable
        ``teacher_rows(start, stop)`` returns the teacher's rows.
    learner_map : FeatureMap
        The candidates.
    cache_bytes : int
        Most memory of kept blocks; 0 computes them anew in every pass. Same bits either way.
    """

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        learner = batch_features(learner_map, data.dense(start, stop))
        return teacher_rows(start, stop), learner

    source = ComputedSource(compute, data.n_samples)
    return CachedSource(source, cache_bytes) if cache_bytes > 0 else source
