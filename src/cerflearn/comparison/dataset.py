"""The data of a comparison: checks of X and y, and splits into training and test rows."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import type_of_target

from cerflearn._typing import Float64Array, FloatArray
from cerflearn._validation import check_choice, check_number
from cerflearn.comparison.training_set import TrainingSet
from cerflearn.estimators.input import validation_hints
from cerflearn.estimators.scaling import InputScaling, scale_inputs
from cerflearn.training.kernel_ridge import tune_kernel

TASKS = ("auto", "classification", "regression")

_MIN_ROWS = 4
_SCALING_ROWS = 500  # on which scalings are compared
_MIN_ROWS_PER_CLASS = 5  # on average; with fewer, y may be numbers that happen to be whole
_MIXED_LABELS = "y has labels of different types, or neither text nor numbers: pass them as text."
_MAX_TARGET = 1e100  # of standardised test targets, whose squares are summed


@dataclass(frozen=True, eq=False)
class Dataset:
    """Checked inputs and targets.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Class numbers, or targets.
    classes : ndarray of shape (n_classes,)
        Labels in the order of their numbers; empty for regression.
    columns : list or None
        Names of the inputs, if X was a data frame.
    """

    X: FloatArray
    y: Any
    classes: Any
    columns: list[Any] | None = None

    @property
    def task(self) -> str:
        """Return ``"classification"`` or ``"regression"``."""
        return "classification" if len(self.classes) else "regression"


@dataclass(frozen=True, eq=False)
class TrainTestSplit:
    """Rows to learn from and scaled rows to test on."""

    training: TrainingSet
    X_test: FloatArray
    y_test: Any


def read_dataset(X: Any, y: Any, task: str) -> Dataset:
    """Check X and y, and find out what is to be predicted."""
    check_choice("task", task, TASKS)
    columns = _column_names(X)
    X, y = _read_inputs(X, "X"), _read_targets(y, "y")
    check_consistent_length(X, y)
    if len(X) < _MIN_ROWS:
        rows = "1 row" if len(X) == 1 else f"{len(X)} rows"
        raise ValueError(f"X has {rows}: a comparison needs {_MIN_ROWS} or more.")
    if task == "auto":
        task = _guess_task(y)
    if task == "regression":
        numbers = _as_numbers(y, "y")
        constant = np.flatnonzero(np.atleast_1d(numbers.max(axis=0) == numbers.min(axis=0)))
        if len(constant):
            which = "y" if y.ndim == 1 else f"column {constant[0]} of y"
            raise ValueError(f"{which} has one value in all rows: there is nothing to predict.")
        return Dataset(X, numbers, np.empty(0), columns)
    if y.ndim > 1:
        raise ValueError(f"y has shape {y.shape}: classes must be one column.")
    try:
        classes, class_numbers = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError(_MIXED_LABELS) from None
    if len(classes) < 2:
        raise ValueError(f"y has one class, {classes.tolist()}: pass rows of two or more.")
    return Dataset(X, class_numbers, classes, columns)


def read_test_set(dataset: Dataset, test_set: Any) -> tuple[FloatArray, Any]:
    """Check test rows; labels that the training rows do not have are refused."""
    try:
        X, y = test_set
    except (TypeError, ValueError):
        raise ValueError("test_set is not valid: it must be a pair (X_test, y_test).") from None
    columns = _column_names(X)
    X, y = _read_inputs(X, "X of test_set"), _read_targets(y, "y of test_set")
    check_consistent_length(X, y)
    if X.shape[1] != dataset.X.shape[1]:
        raise ValueError(
            f"test_set has {X.shape[1]} inputs and X {dataset.X.shape[1]}: they must agree."
        )
    if None not in (columns, dataset.columns) and columns != dataset.columns:
        raise ValueError("The columns of test_set are not those of X, or in another order.")
    if y.shape[1:] != dataset.y.shape[1:]:
        n_columns = 1 if dataset.y.ndim == 1 else dataset.y.shape[1]
        raise ValueError(
            f"y of test_set has shape {y.shape}, and y {n_columns} "
            f"{'column' if n_columns == 1 else 'columns'}: they must agree."
        )
    if not len(dataset.classes):
        return X, _as_numbers(y, "y of test_set")
    known = {label: number for number, label in enumerate(dataset.classes.tolist())}
    labels = y.tolist()
    unknown = list(dict.fromkeys(label for label in labels if label not in known))
    if unknown:
        raise ValueError(f"test_set has labels {unknown[:5]}, which y has not.")
    return X, np.array([known[label] for label in labels])


def check_test_size(test_size: Any, test_set: Any, default: float) -> None:
    """Refuse a share that is none, and one that was given although the test rows were, too."""
    must_be = "a share between 0 and 1"
    share = check_number("test_size", test_size, must_be, above=0.0, at_most=1.0 - 1e-9)
    if test_set is not None and share != default:
        raise ValueError(
            f"test_size={test_size!r} has no effect with test_set, all of whose rows are tested "
            f"on: leave test_size at {default}, or test_set at None."
        )


def _column_names(X: Any) -> list[Any] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else list(columns)


def _read_inputs(X: Any, name: str) -> FloatArray:
    with validation_hints(name):
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=name)
    dense: FloatArray = X.toarray() if issparse(X) else X
    return dense


def _read_targets(y: Any, name: str) -> Any:
    """Array of labels or finite numbers, a single column as one dimension."""
    y = check_array(
        y,
        ensure_2d=False,
        allow_nd=True,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
    )
    if y.ndim not in (1, 2):
        raise ValueError(f"{name} has {y.ndim} dimensions: it must have one or two.")
    if y.ndim == 2 and y.shape[1] < 2:
        if y.shape[1] == 0:
            raise ValueError(f"{name} has no columns: there is nothing to predict.")
        y = y[:, 0]
    if y.dtype == object:
        rows = [all(map(_is_present, np.atleast_1d(row))) for row in y]
        if not all(rows):
            raise ValueError(
                f"{name} has a missing label in row {rows.index(False)}: drop such rows."
            )
        if all(isinstance(value, Real) for value in y.ravel()):
            y = y.astype(np.float64)
    if y.dtype.kind == "f":
        y = y.astype(np.float64)
        if not np.isfinite(y).all():
            what = "NaN" if np.isnan(y).any() else "infinity"
            raise ValueError(f"{name} contains {what}: drop such rows, or fill them in.")
    return y


def _is_present(value: Any) -> bool:
    """Whether a label is neither None nor NaN, nor pandas' NA, which has no truth value."""
    try:
        return value is not None and bool(value == value)
    except TypeError:
        return False


def _as_numbers(y: Any, name: str) -> Float64Array:
    try:
        numbers: Float64Array = y.astype(np.float64)
    except ValueError:
        raise ValueError(
            f"{name} has labels that are no numbers: pass task='classification'."
        ) from None
    return numbers


def _guess_task(y: Any) -> str:
    if y.dtype.kind == "f" and np.any((y != np.round(y)) | (np.abs(y) > 2.0**53)):
        return "regression"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of many classes, see below
        try:
            kind = type_of_target(y, input_name="y")
        except TypeError:
            kind = "unknown"
    if kind == "unknown" and y.ndim == 1:
        raise ValueError(_MIXED_LABELS)
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"y is {kind!r}, which cannot be compared: pass one label, or one or more numbers, "
            "for each row."
        )
    n_classes = len(np.unique(y))
    if n_classes > 2 and len(y) < _MIN_ROWS_PER_CLASS * n_classes:
        numbers = "task='regression' if they are numbers, " if y.dtype.kind in "iufb" else ""
        raise ValueError(
            f"y has {n_classes} different values in {len(y)} rows: pass {numbers}"
            "task='classification' if they are labels."
        )
    return "classification"


def split_dataset(
    dataset: Dataset, test_size: float, test: tuple[FloatArray, Any] | None, seed: int
) -> TrainTestSplit:
    """Split by a seed, or take the given test rows; scale by moments of the training rows.

    Scaling, of each input by itself or of all alike, has the lower error of kernel ridge regression
    on 500 training rows. It costs nothing: every method could fold it into its first weights.
    """
    if test is None:
        X, X_test, y, y_test = _split_rows(dataset, test_size, seed)
    else:
        X, y, X_test, y_test = dataset.X, dataset.y, *test
    n_classes = len(dataset.classes)
    if not n_classes:
        if len(y_test) < 2:
            raise ValueError("R2 needs two or more test rows: pass a greater test_size.")
        y, y_test = _standardise(y, y_test)
    weights = np.full(len(X), 1.0 / len(X))
    targets = TrainingSet(X, y, n_classes, seed).targets
    scaling = _choose_scaling(X, targets, weights, np.random.default_rng(seed))
    with np.errstate(over="ignore"):
        X, X_test = (scaling.apply(part).astype(np.float32) for part in (X, X_test))
    if not np.isfinite(X_test).all():
        where = "The test rows" if test is None else "Rows of test_set"
        raise ValueError(f"{where} are too far from the training rows: check the units of X.")
    return TrainTestSplit(TrainingSet(X, y, n_classes, seed), np.ascontiguousarray(X_test), y_test)


def _choose_scaling(
    X: FloatArray, targets: Float64Array, weights: Float64Array, rng: np.random.Generator
) -> InputScaling:
    """Scale each input by its own deviation, or all by one: by the error of a kernel machine."""
    by_column = scale_inputs(X, weights, by_column=True)
    varies = by_column.varies
    alike = replace(by_column, scale=np.full(len(varies), by_column.common))
    rows = np.sort(rng.permutation(len(X))[:_SCALING_ROWS])
    centred = targets[rows] - weights @ targets
    part = X[rows][:, varies].astype(np.float64) - by_column.mean[varies]

    def error(scaling: InputScaling) -> float:
        return tune_kernel(part / scaling.scale[varies], centred, weights[rows]).error

    return min((alike, by_column), key=error)


def _split_rows(dataset: Dataset, test_size: float, seed: int) -> Any:
    """X, X_test, y and y_test, with equal shares of the classes where there are enough rows."""
    n_test = math.ceil(test_size * len(dataset.X))
    n_train = len(dataset.X) - n_test
    if n_train < 2:
        raise ValueError(
            f"test_size={test_size} leaves {n_train} of {len(dataset.X)} rows to train on: "
            "pass a smaller one."
        )
    counts = np.bincount(dataset.y) if len(dataset.classes) else np.zeros(1)
    # Equal shares need two rows of each class, and a row of each class in each part.
    stratified = counts.min() > 1 and min(n_test, n_train) >= len(counts)
    return train_test_split(
        dataset.X,
        dataset.y,
        test_size=test_size,
        random_state=seed,
        stratify=dataset.y if stratified else None,
    )


def _standardise(y: Float64Array, y_test: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Targets with mean 0 and deviation 1 in the training rows.

    They are divided by a power of two first, which rounds nothing: squares of numbers beyond
    1e154 overflow, and those below 1e-162 vanish.
    """
    unit = np.ldexp(1.0, np.frexp(np.abs(y).max(axis=0))[1] - 1)
    with np.errstate(over="ignore"):
        y, y_test = y / unit, y_test / unit
        mean, deviation = y.mean(axis=0), y.std(axis=0)
        deviation = np.where(y.max(axis=0) > y.min(axis=0), deviation, 1.0)
        y_test = (y_test - mean) / deviation
    if np.abs(y_test).max() > _MAX_TARGET:
        raise ValueError(
            "Test targets are too far from the training targets to compute R2: check their units."
        )
    return (y - mean) / deviation, y_test
