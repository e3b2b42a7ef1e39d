"""Outputs of rows that are not in memory: blocks one after the other, or a file."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import FloatArray, MatrixLike
from cerflearn.blocks.npy import from_npy
from cerflearn.blocks.row_source import RowSource
from cerflearn.engine.dask_engine import compute
from cerflearn.estimators.dask_rows import frame_names, lazy_output, partitions_of
from cerflearn.estimators.input import check_source_columns, is_dask, is_streamed
from cerflearn.estimators.row_checks import BlockReader
from cerflearn.estimators.streamed_rows import SourceRows, StreamedRows

OUTPUT_ROWS = 4096
"""Rows of an output block, at least: far more than those for which the core sums otherwise."""


class BlockTransforms:
    """Mixin of transformers that also take sources of blocks."""

    @abstractmethod
    def _transform_rows(self, X: Any) -> FloatArray:
        """Compute the outputs of checked rows in memory."""

    def transform_to(self, X: MatrixLike, path: Any) -> Path:
        """Write the output of ``transform`` to an ``.npy`` file, block by block.

        Parameters
        ----------
        X : source of blocks, path of an .npy file, array-like or sparse matrix
            Data, see ``transform``.
        path : str or path-like
            File to write, whose name ends with ``.npy``. It is replaced when all is written; if
            an error is raised, it stays as it was.

        Returns
        -------
        pathlib.Path
            The file.
        """
        file = Path(path)
        if file.suffix != ".npy":
            raise ValueError(f"path={str(file)!r} is not valid: its name must end with '.npy'.")
        blocks = self.transform(X)  # type: ignore[attr-defined]
        if is_dask(X):
            blocks = _computed(blocks.to_delayed().ravel())
        write_npy(file, blocks if is_streamed(X) else iter([np.asarray(blocks)]))
        return file

    def _transform_blocks(self, X: Any) -> Any:
        """Return outputs of rows that are not in memory, see :func:`block_outputs`."""
        return block_outputs(self, X, self._transform_rows)


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
    if is_dask(X):
        targets = [None] * X.npartitions if y is None else partitions_of(y)
        for pair in zip(partitions_of(X), targets, strict=True):
            rows, *target = compute(partial(list, [part for part in pair if part is not None]))
            if len(rows):
                yield rows, np.asarray(target[0]) if target else None
        return
    if y is not None:
        raise ValueError("y is passed with a source of blocks: targets must come from the source.")
    for rows, own in (X if isinstance(X, RowSource) else from_npy(X)).blocks():
        if rows.shape[0]:
            yield rows, own


def _computed(parts: Any) -> Iterator[FloatArray]:
    """Compute blocks of a Dask array, one after the other."""
    for part in parts:
        yield from compute(partial(list, [part]))


def _join(parts: list[Any]) -> Any:
    """Rows of several blocks, as an array that is the caller's own or as a CSR matrix."""
    return vstack(parts, format="csr") if any(map(issparse, parts)) else np.concatenate(parts)


def write_npy(path: Path, blocks: Iterator[FloatArray]) -> None:
    """Write blocks of rows to a file that is put in its place when it is whole.

    Parameters
    ----------
    path : Path
        The file.
    blocks : iterator of ndarray
        With equal numbers of columns; the dtype is that of the first.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            n_rows, first = 0, None
            for block in blocks:
                if first is None:
                    first = block[:0]
                    _write_header(file, first, 0)
                file.write(np.ascontiguousarray(block, dtype=first.dtype).data)
                n_rows += len(block)
            if first is None:
                raise ValueError("There are no rows to write.")
            file.seek(0)
            _write_header(file, first, n_rows)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _write_header(file: Any, like: FloatArray, n_rows: int) -> None:
    """Write the header of NumPy's format, whose length does not depend on the number of rows."""
    header = np.lib.format.header_data_from_array_1_0(like)
    header["shape"] = (n_rows, *like.shape[1:])
    np.lib.format.write_array_header_1_0(file, header)
