"""Rows that every method of a comparison learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.estimators.gamma import resolve_gamma

Predict = Callable[[FloatArray], Any]
"""Predictions of rows: class numbers, or standardised targets."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows to learn from.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
        Scaled inputs.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Class numbers, or standardised targets.
    n_classes : int
        Classes of the whole dataset, of which some may be absent from ``y``; zero for regression.
    seed : int
        Of all that a method draws.
    """

    X: FloatArray
    y: Any
    n_classes: int
    seed: int

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return int(self.X.shape[1])

    @property
    def n_scores(self) -> int:
        """Scores that a linear head computes: one for two classes."""
        if self.n_classes:
            return 1 if self.n_classes == 2 else self.n_classes
        return int(self.targets.shape[1])

    @cached_property
    def targets(self) -> Float64Array:
        """Targets (n_samples, n_scores): one-hot, 0 and 1 for two classes, or numbers."""
        if self.n_classes > 2:
            one_hot: Float64Array = np.zeros((len(self.y), self.n_classes))
            one_hot[np.arange(len(self.y)), self.y] = 1.0
            return one_hot
        targets: Float64Array = self.y.reshape(len(self.y), -1).astype(np.float64)
        return targets

    @cached_property
    def median_gamma(self) -> float:
        """One over the median squared distance of rows."""
        return resolve_gamma("median", "rbf", self.X)

    def subset(self, index: Any) -> TrainingSet:
        """Part of the rows."""
        return replace(self, X=self.X[index], y=self.y[index])

    def predict_from_scores(self, scores: FloatArray) -> Any:
        """Class with the highest score (for two: whether it is positive), or the numbers."""
        if self.n_classes == 2:
            return (scores[:, 0] > 0.0).astype(np.int64)
        if self.n_classes:
            return scores.argmax(axis=1)
        return scores.reshape(len(scores), *self.y.shape[1:])

    def score(self, predicted: Any, true: Any) -> float:
        r"""Accuracy, or the coefficient of determination :math:`R^2`, averaged over targets.

        A target that is constant in ``true`` has :math:`R^2` 1 if it is predicted exactly and 0
        otherwise, as in :func:`sklearn.metrics.r2_score`.
        """
        if self.n_classes:
            return float(np.mean(predicted == true))
        residual = np.square(predicted - true).sum(axis=0)
        spread = np.square(true - true.mean(axis=0)).sum(axis=0)
        unexplained = np.where(residual == 0.0, 0.0, 1.0)
        np.divide(residual, spread, out=unexplained, where=spread > 0.0)
        return float(np.mean(1.0 - unexplained))
