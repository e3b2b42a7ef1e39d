"""Rows in a temporary file: those that are not in memory are read from their source once."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from cerflearn._typing import FloatArray, IntArray
from cerflearn.estimators.streamed_rows import StreamedRows
from cerflearn.linalg.row_slices import column_range


class StoredRows(StreamedRows):
    """Rows of a file that is mapped into memory; the file goes with this object.

    Parameters
    ----------
    name : str
        What errors call the rows.
    table : ndarray of shape (n_samples, n_features)
        The mapped file; also an attribute.
    lowest, highest : ndarray of shape (n_features,)
        Range of each column.
    """

    def __init__(
        self, name: str, table: NDArray[Any], lowest: FloatArray, highest: FloatArray
    ) -> None:
        self.name, self.table = name, table
        self.shape, self.dtype = (table.shape[0], table.shape[1]), table.dtype
        self.lowest, self.highest, self.feature_names, self.y = lowest, highest, None, None

    def _slice(self, start: int, stop: int) -> FloatArray:
        return np.asarray(self.table[start:stop])

    def _take(self, index: IntArray) -> FloatArray:
        return np.asarray(self.table[index])


class RowFile:
    """Temporary file of rows that come in blocks; it has no name in its folder.

    Parameters
    ----------
    name : str
        What errors call the rows.
    shape : tuple of int
        Most rows, for errors, and columns.
    dtype : dtype
        Float32 or float64.
    """

    def __init__(self, name: str, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._name, self._shape, self._dtype = name, shape, dtype
        self._file = tempfile.TemporaryFile(prefix="cerflearn-")  # noqa: SIM115  # until rows()
        self._n_rows = 0
        self._ranges: list[tuple[FloatArray, FloatArray]] = []

    def append(self, rows: Any) -> None:
        """Write rows of an array, or CSR matrix, behind the others."""
        if rows.shape[0] == 0:
            return
        rows = rows.toarray() if issparse(rows) else rows
        self._n_rows += len(rows)
        self._ranges.append(column_range(rows))
        try:
            self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
            self._file.flush()
        except OSError as error:
            self._file.close()
            size = self._dtype.itemsize * self._shape[0] * self._shape[1]
            raise OSError(
                error.errno,
                f"Rows that are not in memory are stored in {tempfile.gettempdir()!r} while a "
                f"predictor is fitted, {size / 1e6:,.0f} MB: {error.strerror}. Free space, or name "
                "another folder in the environment variable TMPDIR",
            ) from error

    def rows(self) -> StoredRows:
        """Return all rows; there must be one."""
        with self._file as file:
            shape = (self._n_rows, self._shape[1])
            table = np.memmap(file, dtype=self._dtype, mode="r", shape=shape)
        lowest = np.min([low for low, _ in self._ranges], axis=0)
        return StoredRows(
            self._name, table, lowest, np.max([high for _, high in self._ranges], axis=0)
        )
