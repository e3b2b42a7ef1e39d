"""Teacher and candidates in blocks of rows, in memory or elsewhere."""

from __future__ import annotations

from typing import Any

from cerflearn._typing import Float64Array
from cerflearn.engine.blocks import BlockSource, CachedSource, ComputedSource
from cerflearn.estimators.dask_rows import ClusterRows
from cerflearn.estimators.input import NO_ROWS, TrainingData
from cerflearn.estimators.streamed_rows import StreamedRows
from cerflearn.estimators.teachers import LabelTeacher, Teacher
from cerflearn.features.base import FeatureMap

STREAMED_CACHE_BYTES = 2**28
"""Most memory of kept blocks where the rows themselves are not in memory: 256 MiB."""


class Embedding:
    """Teacher and learner of some rows, computed where they are.

    Parameters
    ----------
    teacher : Teacher
        Without rows.
    learner_map : FeatureMap
        The candidates.
    """

    def __init__(self, teacher: Teacher, learner_map: FeatureMap) -> None:
        self.teacher, self.learner_map = teacher, learner_map

    def __call__(self, rows: Any, y: Any) -> tuple[Float64Array, Float64Array]:
        """Return both."""
        data = TrainingData(rows, rows, y)
        learner = self.learner_map.transform_batch(data.dense(0, data.n_samples))
        return self.teacher.on(data).rows(0, data.n_samples), learner


def embedding_source(
    data: TrainingData,
    teacher: Teacher,
    learner_map: FeatureMap,
    cache_bytes: int,
) -> BlockSource:
    """Blocks of teacher (b, n_outputs) and learner (b, n_candidates), kept where they fit.

    Parameters
    ----------
    data : TrainingData
        The rows.
    teacher : Teacher
        What is imitated.
    learner_map : FeatureMap
        The candidates.
    cache_bytes : int
        Most memory of kept blocks; 0 computes them anew in every pass. Same bits either way. For
        rows that are not in memory at most :data:`STREAMED_CACHE_BYTES`.
    """
    if isinstance(data.X, ClusterRows):
        y = data.y if isinstance(teacher, LabelTeacher) else None
        return data.X.block_source(Embedding(teacher.on(NO_ROWS), learner_map), y)

    if isinstance(data.X, StreamedRows):
        cache_bytes = min(cache_bytes, STREAMED_CACHE_BYTES)

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        learner = learner_map.transform_batch(data.dense(start, stop))
        return teacher.rows(start, stop), learner

    source = ComputedSource(compute, data.n_samples)
    return CachedSource(source, cache_bytes) if cache_bytes > 0 else source
