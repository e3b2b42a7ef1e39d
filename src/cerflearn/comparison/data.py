"""Rows, targets and splits of a comparison, the same for every method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import type_of_target

from cerflearn._typing import Float64Array, FloatArray
from cerflearn._validation import check_choice, check_number
from cerflearn.estimators.gamma import resolve_gamma
from cerflearn.estimators.predictors.scaling import choose_scaling

TASKS = ("auto", "classification", "regression")

_FEW_ROWS_A_CLASS = 5  # below it, y may be numbers that happen to be whole

Predict = Callable[[FloatArray], Any]
"""Predictions of rows: numbers of classes, or standardised targets."""


@dataclass(frozen=True, eq=False)
class Training:
    """Rows to learn from.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
        Scaled inputs.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Numbers of the classes, or standardised targets.
    n_classes : int
        Zero for regression.
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
        """Scores that a head computes: one for two classes."""
        if self.n_classes:
            return 1 if self.n_classes == 2 else self.n_classes
        return int(self.targets.shape[1])

    @cached_property
    def targets(self) -> Float64Array:
        """Targets (n_samples, n_scores): one-hot, 0 and 1 for two classes, or numbers."""
        targets: Float64Array = self.y.reshape(len(self.y), -1).astype(np.float64)
        return np.eye(self.n_classes)[self.y] if self.n_classes > 2 else targets

    @cached_property
    def median_gamma(self) -> float:
        """One over the median squared distance of rows."""
        return resolve_gamma("median", "rbf", self.X)

    def rows(self, index: Any) -> Training:
        """Part of the rows."""
        return replace(self, X=self.X[index], y=self.y[index])

    def decide(self, scores: FloatArray) -> Any:
        """Classes with the highest scores (with a positive one, for two), or the numbers."""
        if self.n_classes == 2:
            return (scores[:, 0] > 0.0).astype(np.int64)
        if self.n_classes:
            return scores.argmax(axis=1)
        return scores.reshape(len(scores), *self.y.shape[1:])

    def score(self, predicted: Any, true: Any) -> float:
        """Accuracy, or the share of the targets' variance that is explained, their mean."""
        if self.n_classes:
            return float(np.mean(predicted == true))
        residual = np.square(predicted - true).sum(axis=0)
        spread = np.square(true - true.mean(axis=0)).sum(axis=0)
        return float(np.mean(1.0 - residual / np.maximum(spread, 1e-30)))


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to judge by."""

    training: Training
    X_test: FloatArray
    y_test: Any


@dataclass(frozen=True, eq=False)
class Data:
    """What was given, checked.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray
        Numbers of the classes, or targets.
    classes : ndarray
        Labels, empty for regression.
    """

    X: FloatArray
    y: Any
    classes: Any

    @property
    def task(self) -> str:
        """Return ``"classification"`` or ``"regression"``."""
        return "classification" if len(self.classes) else "regression"


def read(X: Any, y: Any, task: str) -> Data:
    """Check X and y, and find out what is to be predicted."""
    check_choice("task", task, TASKS)
    X = _inputs(X)
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y", ensure_min_samples=4)
    check_consistent_length(X, y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if task == "auto":
        task = _guess_task(y)
    if task == "regression":
        return Data(X, y.astype(np.float64), np.empty(0))
    if y.ndim > 1:
        raise ValueError(f"y has shape {y.shape}: classes must be one column.")
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class, {classes.tolist()}: pass rows of two or more.")
    return Data(X, numbers, classes)


def _inputs(X: Any) -> FloatArray:
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    dense: FloatArray = X.toarray() if issparse(X) else X
    return dense


def _guess_task(y: Any) -> str:
    kind = type_of_target(y, input_name="y")
    if kind.startswith("continuous"):
        return "regression"
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"y is {kind!r}, which cannot be compared: pass one label, or one or more numbers, "
            "for each row."
        )
    n_classes = len(np.unique(y))
    if n_classes > 2 and len(y) < _FEW_ROWS_A_CLASS * n_classes:
        raise ValueError(
            f"y has {n_classes} different values in {len(y)} rows: pass task='regression' if they "
            "are numbers, task='classification' if they are labels."
        )
    return "classification"


def read_test(data: Data, test_set: Any) -> tuple[FloatArray, Any]:
    """Check rows to judge by; labels that are not in the training data are refused."""
    try:
        X, y = test_set
    except (TypeError, ValueError):
        raise ValueError("test_set is not valid: it must be a pair (X_test, y_test).") from None
    X, y = _inputs(X), np.asarray(y)
    check_consistent_length(X, y)
    if X.shape[1] != data.X.shape[1]:
        raise ValueError(
            f"test_set has {X.shape[1]} inputs and X {data.X.shape[1]}: they must agree."
        )
    if not len(data.classes):
        return X, y.reshape(len(y), *data.y.shape[1:]).astype(np.float64)
    unknown = set(np.unique(y).tolist()) - set(data.classes.tolist())
    if unknown:
        raise ValueError(f"test_set has labels {sorted(unknown)}, which y has not.")
    return X, np.searchsorted(data.classes, y)


def split(data: Data, test_size: Any, test: tuple[FloatArray, Any] | None, seed: int) -> Split:
    """Split by a seed, or take the given test rows; scale by what the training rows tell.

    Scaling, of each input by itself or of all alike, is what a kernel machine prefers on 500
    training rows. It costs nothing: every method could fold it into its first weights.
    """
    if test is None:
        check_number(
            "test_size", test_size, "a share between 0 and 1", above=0.0, at_most=1.0 - 1e-9
        )
        counts = np.bincount(data.y) if len(data.classes) else np.zeros(1)
        # Strata need two rows of each class, and a row of each class in each part.
        n_test = test_size * len(data.X)
        strata = data.y if counts.min() > 1 and n_test >= len(counts) else None
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=test_size, random_state=seed, stratify=strata
        )
    else:
        X, y, X_test, y_test = data.X, data.y, *test
    n_classes = len(data.classes)
    if not n_classes:
        mean, deviation = y.mean(axis=0), y.std(axis=0)
        deviation = np.where(deviation > 0.0, deviation, 1.0)
        y, y_test = (y - mean) / deviation, (y_test - mean) / deviation
    training = Training(X, y, n_classes, seed)
    weights = np.full(len(X), 1.0 / len(X))
    rng = np.random.default_rng(seed)
    scaling = choose_scaling(X, training.targets, weights, rng, "auto")
    scaled = [scaling.apply(part).astype(np.float32) for part in (X, X_test)]
    return Split(Training(scaled[0], y, n_classes, seed), np.ascontiguousarray(scaled[1]), y_test)
