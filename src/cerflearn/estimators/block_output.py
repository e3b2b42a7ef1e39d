"""Outputs of rows that are not in memory: blocks one after the other, or a file."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import FloatArray, MatrixLike
from cerflearn.blocks.npy import from_npy
from cerflearn.blocks.row_source import RowBlock, RowSource
from cerflearn.engine.dask_engine import compute
from cerflearn.estimators.dask_rows import (
    as_table,
    compute_target,
    frame_names,
    lazy_output,
    partition_name,
    partitions_of,
)
from cerflearn.estimators.input import (
    check_source_columns,
    is_dask,
    is_streamed,
    validation_hints,
)
from cerflearn.estimators.output_files import check_output_path, write_blocks
from cerflearn.estimators.row_checks import (
    BlockReader,
    check_finite_block,
    join_targets,
    shared_text,
)
from cerflearn.estimators.streamed_rows import SourceRows, StreamedRows

OUTPUT_ROWS = 4096
"""Rows of an output block, at least: far more than those for which the core sums otherwise."""


class BlockTransforms:
    """Mixin of transformers that also take sources of blocks.

    ``set_output`` concerns rows in memory: outputs of others are blocks or a Dask array.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)  # scikit-learn wraps transform for set_output
        if "transform" in cls.__dict__:
            cls.transform = _without_container(cls.__dict__["transform"])  # type: ignore[attr-defined]

    @abstractmethod
    def _transform_rows(self, X: Any) -> FloatArray:
        """Compute the outputs of checked rows in memory."""

    def transform_to(self, X: MatrixLike, path: str | PathLike[str]) -> Path:
        """Write the output of ``transform`` to an ``.npy`` or parquet file, block by block.

        Parameters
        ----------
        X : source of blocks, path of an .npy file, array-like or sparse matrix
            Data, see ``transform``.
        path : str or path-like
            File to write, whose name ends with ``.npy``, or with ``.parquet`` (extra ``data``):
            columns are then named by ``get_feature_names_out``, and blocks are row groups. It is
            replaced when all is written; if an error is raised, it stays as it was.

        Returns
        -------
        pathlib.Path
            The file.
        """
        file = check_output_path(path)
        blocks = self.transform(X)  # type: ignore[attr-defined]
        if is_dask(X):
            blocks = _computed(blocks.to_delayed().ravel())
        names = self.get_feature_names_out()  # type: ignore[attr-defined]
        write_blocks(file, blocks if is_streamed(X) else iter([np.asarray(blocks)]), names)
        return file

    def _transform_blocks(self, X: Any) -> Any:
        """Return outputs of rows that are not in memory, see :func:`block_outputs`."""
        return block_outputs(self, X, self._transform_rows)


def _without_container(method: Callable[..., Any]) -> Callable[..., Any]:
    """``transform`` as scikit-learn has wrapped it, or as it is where nothing is to be wrapped.

    That is for rows that are not in memory, and for arrays if no container was chosen: there
    scikit-learn's wrapper takes a fifth of the time of a row.
    """
    plain: Callable[..., Any] = method.__wrapped__ if hasattr(method, "__wrapped__") else method

    @wraps(method)
    def run(self: Any, X: MatrixLike, *others: Any, **settings: Any) -> Any:
        if type(X) is np.ndarray:
            chosen = "_sklearn_output_config" in self.__dict__  # by set_output
            if chosen or get_config()["transform_output"] != "default":
                return method(self, X, *others, **settings)
        elif not is_streamed(X):
            return method(self, X, *others, **settings)
        return plain(self, X, *others, **settings)

    return run


def in_blocks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of rows in memory also take sources of blocks and Dask collections.

    Parameters
    ----------
    method : callable
        Such as ``predict``: of an estimator and X.
    """

    @wraps(method)
    def run(self: Any, X: MatrixLike) -> Any:
        if type(X) is np.ndarray or not is_streamed(X):
            return method(self, X)
        return block_outputs(self, X, PlainRows(self, method.__name__))

    return run


class BlockScores:
    """Mixin of predictors whose ``score`` also takes rows that are not in memory."""

    def score(self, X: MatrixLike, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, the coefficient of determination of a regressor.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; or a source of :mod:`cerflearn.blocks`, the path of an ``.npy`` file, or a Dask
            array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            True classes or targets. Left out if X is a source with a target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            At most 1.
        """
        if not is_streamed(X):
            found: float = super().score(X, y, sample_weight)  # type: ignore[misc]
            return found
        from sklearn.metrics import accuracy_score, r2_score

        predictions, targets = _predicted(self, X, y)
        metric = accuracy_score if is_classifier(self) else r2_score
        with validation_hints():
            return float(metric(targets, predictions, sample_weight=sample_weight))


def _predicted(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Predictions of rows that are not in memory, and their targets."""
    if is_dask(X):
        predictions, own = list(_computed(model.predict(X).to_delayed().ravel())), []
    else:
        source = TargetsKept(X if isinstance(X, RowSource) else from_npy(X))
        predictions, own = list(model.predict(source)), source.targets
    if bool(own) == (y is not None):
        raise ValueError(
            "y is None: score needs the targets of its rows."
            if y is None
            else f"{X!r} has a target and y is passed too: leave one of them out."
        )
    return np.concatenate(predictions), join_targets(own, repr(X)) if own else compute_target(y)


class TargetsKept(RowSource):
    """A source whose targets are kept while its rows are read.

    Parameters
    ----------
    source : RowSource
        To be read.

    Attributes
    ----------
    targets : list of ndarray
        Of the blocks that were read, copies.
    """

    def __init__(self, source: RowSource) -> None:
        self.source, self.targets = source, list[Any]()
        self.name, self.feature_names = source.name, source.feature_names
        self._texts: dict[str, str] = {}

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`."""
        for X, y in self.source.blocks(first):
            yield X, y
            if y is not None:
                self.targets.append(shared_text(y, self._texts))

    def describe(self, block: int) -> str:
        """See :meth:`RowSource.describe`."""
        return self.source.describe(block)


class PlainRows:
    """A method of a fitted estimator for plain arrays, whose columns have been compared before.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    method : str
        Name of the method.
    """

    def __init__(self, estimator: Any, method: str) -> None:
        self.estimator, self.method = estimator, method

    def __call__(self, rows: Any) -> Any:
        """Call the method."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return getattr(self.estimator, self.method)(rows)


def block_outputs(estimator: Any, X: Any, run: Callable[[Any], Any]) -> Any:
    """Return outputs of a source one after the other, or lazy ones of a Dask collection.

    They have the bits that they would have if all rows were in memory.

    Parameters
    ----------
    estimator : estimator
        Fitted, which is checked.
    X : source of blocks, path of an .npy file, dask array or data frame
        Rows.
    run : callable
        Outputs of rows in memory.
    """
    check_is_fitted(estimator)
    if is_dask(X):
        check_source_columns(estimator, frame_names(X), X.shape[1], "X")
        return lazy_output(X, run)
    if isinstance(X, StreamedRows):
        assert isinstance(X, SourceRows)
        X = X.source
    return _outputs(estimator, X if isinstance(X, RowSource) else from_npy(X), run)


def _outputs(estimator: Any, source: RowSource, run: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield the outputs of a source."""
    reader, waiting, n_waiting = BlockReader(source), [], 0
    for index, (given, y) in enumerate(source.blocks()):
        rows, _ = reader.read(index, given, y)
        check_source_columns(estimator, source.feature_names, rows.shape[1], source.name)
        # The last rows go with those before them: few rows alone would have other bits.
        waiting.append(rows)
        n_waiting += rows.shape[0]
        if n_waiting >= 2 * OUTPUT_ROWS:
            joined = _join(waiting)
            n_out = n_waiting - OUTPUT_ROWS
            yield run(joined[:n_out])
            waiting, n_waiting = [joined[n_out:]], OUTPUT_ROWS
    if n_waiting == 0:
        raise ValueError(f"{source.name} has no rows.")
    yield run(_join(waiting))


def mini_batches(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield rows and targets of each block of a source, or partition of a Dask collection.

    Parameters
    ----------
    X : source of blocks, path of an .npy file, dask array or data frame
        Rows; blocks without any are left out.
    y : dask array or series, or None
        Targets of a Dask collection, in the same partitions. Sources have their own.
    """
    batches = _partition_batches(X, y) if is_dask(X) else _block_batches(X, y)
    first = next(batches, None)
    if first is None:
        raise ValueError(f"{X.name if isinstance(X, RowSource) else 'X'} has no rows.")
    yield from chain([first], batches)


def _partition_batches(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Mini-batches of partitions that have rows."""
    parts = partitions_of(X)
    targets = [None] * len(parts)
    if y is not None:
        targets = partitions_of(y) if is_dask(y) else []
    if len(targets) != len(parts):
        raise ValueError(
            f"X is a Dask collection of {len(parts)} partitions: y must be one too, with as many."
        )
    for index, pair in enumerate(zip(parts, targets, strict=True)):
        rows, *target = compute(partial(list, [part for part in pair if part is not None]))
        if len(rows):
            check_finite_block(as_table(rows, partition_name(index)), partition_name(index))
            yield rows, np.asarray(target[0]) if target else None


def _block_batches(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Mini-batches of blocks that have rows."""
    if y is not None:
        raise ValueError("y is passed with a source of blocks: targets must come from the source.")
    source = X if isinstance(X, RowSource) else from_npy(X)
    reader = BlockReader(source)
    for index, (given, own) in enumerate(source.blocks()):
        rows, target = reader.read(index, given, own)
        if rows.shape[0]:
            yield rows, target


def _computed(parts: Any) -> Iterator[FloatArray]:
    """Compute blocks of a Dask array, one after the other."""
    for part in parts:
        yield from compute(partial(list, [part]))


def _join(parts: list[Any]) -> Any:
    """Rows of several blocks, as an array that is the caller's own or as a CSR matrix."""
    return vstack(parts, format="csr") if any(map(issparse, parts)) else np.concatenate(parts)
