"""Teacher and candidates of rows that lie elsewhere."""

from __future__ import annotations

from typing import Any

from cerflearn._typing import Float64Array
from cerflearn.estimators.input import TrainingData
from cerflearn.estimators.teachers import Teacher
from cerflearn.features.base import FeatureMap


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
