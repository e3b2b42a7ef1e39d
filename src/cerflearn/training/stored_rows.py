"""Inputs in a temporary file: rows that are not in memory are read from their source once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import IntArray
from cerflearn.training.inputs import Inputs, LazyInputs
from cerflearn.training.network import Float32Array


@dataclass(frozen=True, eq=False)
class StoredRows(LazyInputs):
    """Rows of a file that is mapped into memory.

    Attributes
    ----------
    table : ndarray of shape (n_stored, n_features), float32
        Scaled inputs; the file goes with it.
    numbers : ndarray of shape (n_rows,), int
        Of the rows of the table.
    """

    table: Float32Array
    numbers: IntArray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows and inputs."""
        return len(self.numbers), self.table.shape[1]

    @property
    def in_memory(self) -> bool:
        """See :attr:`LazyInputs.in_memory`."""
        return False

    def _read(self, numbers: IntArray) -> Float32Array:
        return np.ascontiguousarray(self.table[self.numbers[numbers]])

    def _subset(self, numbers: IntArray) -> LazyInputs:
        return replace(self, numbers=self.numbers[numbers])

    def load(self, numbers: IntArray) -> Inputs:
        """See :meth:`LazyInputs.load`."""
        return self._read(numbers)


def store_rows(blocks: Iterable[Float32Array], n_rows: int, n_features: int) -> StoredRows:
    """Write rows to a temporary file, which is gone when they are not used any more.

    Parameters
    ----------
    blocks : iterable of ndarray, float32
        The rows, one block after the other.
    n_rows, n_features : int
        Their number, and that of the inputs.

    Returns
    -------
    StoredRows
        In the order of the blocks.
    """
    with tempfile.TemporaryFile(prefix="cerflearn-") as file:
        try:
            for block in blocks:
                file.write(np.ascontiguousarray(block, dtype=np.float32).data)
            file.flush()
        except OSError as error:
            size = 4 * n_rows * n_features
            raise OSError(
                error.errno,
                f"Rows that are not in memory are stored in {tempfile.gettempdir()!r} while a "
                f"predictor is fitted, {size / 1e6:,.0f} MB: {error.strerror}. Free space, or name "
                "another folder in the environment variable TMPDIR",
            ) from error
        table = np.memmap(file, dtype=np.float32, mode="r", shape=(n_rows, n_features))
    # Half the bytes of int64, of which data of many rows have several such arrays.
    return StoredRows(table, np.arange(n_rows, dtype=np.min_scalar_type(-n_rows)))
