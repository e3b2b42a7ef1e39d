"""What every estimator is given: X, y, n_jobs, checked once at the start of a call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from joblib import cpu_count, effective_n_jobs
from scipy.sparse import issparse, vstack
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn._validation import check_integer, invalid
from cerflearn.blocks.npy import from_npy
from cerflearn.blocks.row_source import RowSource
from cerflearn.estimators.dask_rows import DaskRows
from cerflearn.estimators.row_checks import first_missing
from cerflearn.estimators.streamed_rows import SourceRows, StreamedRows
from cerflearn.estimators.worker_rows import WorkerRows

FLOATS = frozenset((np.dtype(np.float64), np.dtype(np.float32)))
"""Types of data that are kept as they are."""

THREADED_ROWS = 256
"""Rows from which several threads are used: for fewer, reading ``n_jobs`` through joblib takes too
long."""

_NAN_HINT = (
    "Fill missing values first, for example with cerflearn.KernelImputer or "
    "sklearn.impute.SimpleImputer in a Pipeline, or drop such rows."
)

_TABLE_HINT = "{name} must be a table of numbers: an array, a sparse matrix or a data frame."

# What messages of scikit-learn, NumPy and data frames leave out.
_HINTS = {
    "y contains NaN": "Fill missing values first, or drop such rows.",
    "contains NaN": _NAN_HINT,
    "could not convert string": (
        "{name} must be numeric: encode text, for example with OneHotEncoder."
    ),
    "compatible with arrays of bytes/strings": "{name} must be numeric, encode text.",
    "Found array with 0": "{name} must have at least one row and one column.",
    "contains infinity": "Replace or drop such values.",
    "features as input": "Pass the columns that fit saw, in the same order.",
    "inhomogeneous shape": "{name} must be a table: rows of equal length.",
    "inconsistent numbers of samples": "X and y must have as many rows.",
    "Sample weights must": "Pass sample_weight with a number for each row, not all of them 0.",
    "Found array with dim": "X must have two dimensions, y one or two.",
    "at least 1 dimension": "y must have a value for each row of X.",
    "unique column names": "{name} must have a name of its own for each column.",
    "Complex data": "X and y must be real: pass real and imaginary parts as columns.",
    "array element with a sequence": _TABLE_HINT + " Collect a lazy frame first.",
    "float() argument must be": _TABLE_HINT,
    "Cannot cast array data": _TABLE_HINT,
    "could not be promoted": _TABLE_HINT,
}


@contextmanager
def validation_hints(name: str = "X") -> Iterator[None]:
    """Add what to do to errors of validation, and leave out warnings of sums that overflow."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (TypeError, ValueError) as error:
        message = str(error)
        hint = next((hint for sign, hint in _HINTS.items() if sign in message), None)
        if hint is None:
            raise
        # After the first line scikit-learn recommends its trees, or prints all of the data.
        cut = "contains NaN" in message or "Complex data" in message
        message = message.splitlines()[0] if cut else message
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{message.rstrip('.')}. {hint.format(name=name)}") from error


def check_has_columns(y: Any) -> None:
    """Refuse a table of targets without columns."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    of_lists = isinstance(y, list) and len(y) > 0 and isinstance(y[0], list | tuple)
    if (len(shape) == 2 and shape[1] == 0) or (of_lists and len(y[0]) == 0):
        raise ValueError("y has no columns (its shape is (n_samples, 0)): pass one or more.")


def _check_table(X: Any) -> None:
    """Refuse paths, lazy frames, and frames in which two columns have one name."""
    if isinstance(X, str | PathLike):
        raise ValueError(
            f"X={str(X)!r} is no table: of paths only those of .npy files are read. Open other "
            "files with from_parquet, from_csv or from_svmlight of cerflearn.blocks."
        )
    if hasattr(X, "collect") and hasattr(X, "lazy") and not hasattr(X, "to_numpy"):
        raise TypeError(
            f"X is a lazy frame. {_TABLE_HINT.format(name='X')} Collect a lazy frame first."
        )
    if hasattr(X, "columns") and hasattr(X, "shape"):
        names = list(X.columns)
        if len(set(names)) < len(names):
            raise ValueError("X has columns of equal name. X must have a name of its own for each.")


def open_rows(X: Any, y: Any = None, engine: str | None = None) -> tuple[Any, Any]:
    """X and y as ``fit`` goes on with them: rows that are not in memory are opened and checked.

    Parameters
    ----------
    X : object
        As the user passed it: the path of an ``.npy`` file, a source of :mod:`cerflearn.blocks`, a
        Dask array or data frame, or anything else, which is returned as it is.
    y : object
        The target; None takes that of the source.
    engine : str or None
        ``"dask"`` lets the workers of a cluster read files and sources.
    """
    if isinstance(X, str | PathLike) and str(X).endswith(".npy"):
        X = from_npy(X)
    if is_dask(X):
        X = DaskRows(X, y)
        return X, X.y
    if isinstance(X, RowSource):
        X = WorkerRows(X) if engine == "dask" else SourceRows(X)
    if not isinstance(X, StreamedRows) or X.y is None:
        return X, y
    if y is not None and y is not X.y:
        raise ValueError(f"{X.name} has a target and y is passed too: leave one of them out.")
    return X, X.y


def is_streamed(X: Any) -> bool:
    """Whether X is not in memory: a path of an ``.npy`` file, a source of blocks, or Dask's."""
    by_path = isinstance(X, str | PathLike) and str(X).endswith(".npy")
    return by_path or isinstance(X, RowSource | StreamedRows) or is_dask(X)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or data frame."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_delayed")


def refuse_streamed(X: Any, what: str, remedy: str) -> None:
    """Raise if X is not in memory and ``what`` needs it there."""
    if isinstance(X, StreamedRows):
        raise ValueError(
            f"{what} needs all rows in memory, and {X.name} is read block by block: {remedy}."
        )


def _read_streamed(estimator: Any, X: StreamedRows, reset: bool, y: Any) -> Any:
    """Record or compare width and names; the rows were checked when they were opened."""
    with validation_hints():
        if reset:
            estimator.n_features_in_ = X.shape[1]
            estimator.__dict__.pop("feature_names_in_", None)
            if X.feature_names is not None:
                estimator.feature_names_in_ = np.asarray(X.feature_names, dtype=object)
        else:
            check_source_columns(estimator, X.feature_names, X.shape[1], X.name)
        if y is None:
            return X
        row = first_missing(y) if isinstance(y, np.ndarray) and len(y) == len(X) else None
        if row is not None:
            raise ValueError(f"y has no value in {X.describe(row)}: fill it, or drop such rows.")
        y = _check_y(y, multi_output=True)
        check_consistent_length(X, y)
    return X, y


def check_source_columns(estimator: Any, names: Any, width: int, where: str) -> None:
    """Refuse rows whose columns are not those that ``fit`` saw."""
    expected = int(estimator.n_features_in_)
    if width != expected:
        raise ValueError(
            f"{where} has {width} columns, but {type(estimator).__name__} is expecting {expected} "
            "features as input. Pass the columns that fit saw, in the same order."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        other = next(i for i, name in enumerate(names) if name != known[i])
        raise ValueError(
            f"Column {other} of {where} is {names[other]!r}, and was {known[other]!r} in fit: name "
            "the columns in the order of feature_names_in_."
        )


def read_data(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    y: Any = None,
    incomplete: bool = False,
) -> Any:
    """Check X: a finite array or CSR matrix, float32 or float64, with names and width recorded.

    With y, which must have as many rows and be finite where it has numbers, both are returned.
    ``incomplete`` lets NaN pass, and arrays only.
    """
    if isinstance(X, StreamedRows):
        return _read_streamed(estimator, X, reset, y)
    if isinstance(X, RowSource):
        raise TypeError(
            f"{type(estimator).__name__} needs X in memory here, and {X!r} is a source of blocks: "
            "pass an array."
        )
    _check_table(X)
    # scikit-learn does not read the types of frames other than pandas: with a list it would make
    # float64 of float32.
    other_frame = hasattr(X, "to_numpy") and not hasattr(X, "iloc")
    settings: dict[str, Any] = {
        "accept_sparse": False if incomplete else "csr",
        "dtype": "numeric" if other_frame else [np.float64, np.float32],
        "ensure_all_finite": "allow-nan" if incomplete else True,
        "reset": reset,
    }
    check_has_columns(y)
    with validation_hints():
        if y is not None:
            X, y = validate_data(estimator, X, y=y, multi_output=True, **settings)
        else:
            X = validate_data(estimator, X, **settings)
        X = _as_float(X, incomplete)
    return X if y is None else (X, y)


def read_weights(sample_weight: Any, X: Any) -> Float64Array:
    """Weights of the rows of checked X, finite and not negative; ones for None."""
    settings: dict[str, Any] = {"dtype": np.float64, "ensure_non_negative": True}
    with validation_hints("sample_weight"):
        weights: Float64Array = _check_sample_weight(sample_weight, X, **settings)
    return weights


def _as_float(X: Any, incomplete: bool) -> Any:
    """Keep float32 and float64, make float64 of other numbers."""
    if X.dtype in FLOATS:
        return X
    converted = X.astype(np.float64)
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:  # longer floats may not fit
        assert_all_finite(converted, allow_nan=incomplete, input_name="X")
    return converted


def check_n_jobs(n_jobs: Any) -> int | None:
    """Return scikit-learn's ``n_jobs`` as None or an integer other than 0."""
    if n_jobs is None:
        return None
    must_be = "None or an integer other than 0, such as 2, or -1 for all cores"
    number = check_integer("n_jobs", n_jobs, must_be, at_least=-(2**31))
    if number == 0:
        raise invalid("n_jobs", n_jobs, must_be)
    return min(number, 2**15)


def thread_count(n_jobs: Any, n_samples: int) -> int:
    """Threads for so many rows."""
    if n_samples < THREADED_ROWS:
        return 1
    number = check_n_jobs(n_jobs)
    if number is None:
        return int(effective_n_jobs(None))  # 1, or what joblib.parallel_config says
    # Not through joblib: these are threads of the core, which processes do not restrict.
    return number if number > 0 else max(1, cpu_count() + 1 + number)


def varying_inputs(X: Any) -> BoolArray:
    """Which columns of an array, CSR matrix or streamed rows vary, (n_features,)."""
    if isinstance(X, StreamedRows):
        return X.varying()
    highest, lowest = X.max(axis=0), X.min(axis=0)
    if issparse(X):
        highest, lowest = highest.toarray().ravel(), lowest.toarray().ravel()
    varying: BoolArray = highest > lowest
    return varying


def map_ranges(X: Any, function: Callable[[Any], Any], n_rows: int) -> Iterator[Any]:
    """Yield ``function`` of each ``n_rows`` rows of X, in their order."""
    if isinstance(X, StreamedRows):
        yield from X.map_ranges(function, n_rows)
        return
    for start in range(0, X.shape[0], n_rows):
        yield function(X[start : start + n_rows])


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
    n_jobs : int or None
        Of the estimator, or of the engine that ``fit`` was given.
    """

    X: Any
    frame: Any
    y: Any
    n_jobs: int | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def dense(self, start: int, stop: int) -> Float64Array:
        """Rows ``[start, stop)`` of X as a float64 array in C order."""
        return to_dense(self.X[start:stop])

    def rows(self, index: IntArray) -> TrainingData:
        """Return some of the rows."""
        X, y = self.X[index], self.y
        frame = X if self.frame is self.X else _take(self.frame, index)
        return TrainingData(X, frame, None if y is None else _take(y, index), self.n_jobs)

    def slice(self, start: int, stop: int) -> Any:
        """Rows ``[start, stop)`` of ``frame``, of its own kind."""
        frame = self.frame
        return frame.iloc[start:stop] if hasattr(frame, "iloc") else frame[start:stop]


NO_ROWS = TrainingData(None, None, None)
"""What a teacher without rows holds."""


def _take(table: Any, index: IntArray) -> Any:
    """Rows of a frame, a series, an array or a list."""
    if hasattr(table, "iloc"):
        return table.iloc[index]
    return table[index] if hasattr(table, "shape") else np.asarray(table)[index]


def to_dense(rows: Any) -> Float64Array:
    """Rows of an array or sparse matrix as a float64 array in C order."""
    rows = rows.toarray() if issparse(rows) else rows
    return np.ascontiguousarray(rows, dtype=np.float64)


def concatenate_rows(first: TrainingData, second: TrainingData) -> TrainingData:
    """Rows of both, the first ones first."""
    X = _stack(first.X, second.X)
    frames = (first.frame, second.frame)
    frame = X
    if all(hasattr(frame, "columns") for frame in frames) and type(frames[0]) is type(frames[1]):
        library = type(frames[0]).__module__.split(".")[0]
        # Columns of integers and of numbers become numbers, as in pandas.
        settings = {"how": "vertical_relaxed"} if library == "polars" else {}
        frame = sys.modules[library].concat(list(frames), **settings)
    if first.y is None or second.y is None:
        return TrainingData(X, frame, None)
    kinds = [np.asarray(y).dtype.kind in "OSU" for y in (first.y, second.y) if not issparse(y)]
    if len(set(kinds)) > 1:
        raise ValueError("y has text in some mini-batches and numbers in others: pass one kind.")
    return TrainingData(X, frame, _stack(*(_flat_labels(y) for y in (first.y, second.y))))


def _flat_labels(y: Any) -> Any:
    """Labels in one dimension, if they are a single column."""
    if issparse(y) or np.ndim(y) != 2 or np.shape(y)[1] != 1:
        return y
    return np.asarray(y).ravel()


def _stack(first: Any, second: Any) -> Any:
    """Rows of two arrays or sparse matrices; dense unless both are sparse."""
    if issparse(first) and issparse(second):
        return vstack([first, second], format="csr")
    parts = [part.toarray() if issparse(part) else np.asarray(part) for part in (first, second)]
    if parts[0].shape[1:] != parts[1].shape[1:]:
        shapes = f"{parts[1].shape[1:]}, and {parts[0].shape[1:]} before"
        raise ValueError(f"A row of y has the shape {shapes}.")
    # In C order, whatever that of the parts: sums over other layouts round otherwise.
    return np.ascontiguousarray(np.concatenate(parts))
