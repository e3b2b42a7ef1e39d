"""Inputs of a network: an array in memory, or rows that are scaled when they are read.

Rows that are sparse, or that lie in files, stay as they are. Training reads mini-batches, samples
and slices of them, as arrays in single precision with the bits that they have in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training import policy
from cerflearn.training.network import Float32Array


class LazyInputs(ABC):
    """Inputs (n_rows, n_features) that are computed when rows are asked for.

    Attributes
    ----------
    shape : tuple of int
        Rows and inputs.
    """

    shape: tuple[int, int]
    dtype = np.dtype(np.float32)
    ndim = 2

    @property
    @abstractmethod
    def in_memory(self) -> bool:
        """Whether rows are in memory, and only have to be scaled."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray | BoolArray) -> Float32Array:
        return self._read(self._numbers(rows))

    def _numbers(self, rows: slice | IntArray | BoolArray) -> IntArray:
        """Rows by their numbers."""
        if isinstance(rows, slice):
            return np.arange(*rows.indices(self.shape[0]))
        index = np.asarray(rows)
        return (
            np.flatnonzero(index) if index.dtype == np.bool_ else index.astype(np.int64, copy=False)
        )

    def part(self, rows: slice | IntArray | BoolArray) -> Inputs:
        """Return inputs of some rows: in memory if they are few, else read again and again."""
        numbers = self._numbers(rows)
        return self.load(numbers) if len(numbers) <= policy.LOADED_ROWS else self._subset(numbers)

    @abstractmethod
    def _read(self, numbers: IntArray) -> Float32Array:
        """Return inputs of rows in any order, an array in C order."""

    @abstractmethod
    def _subset(self, numbers: IntArray) -> LazyInputs:
        """Return inputs of some rows, of which none is read."""

    @abstractmethod
    def load(self, numbers: IntArray) -> Inputs:
        """Return inputs of some rows, all in memory: an array, or rows yet to be scaled."""


Inputs: TypeAlias = NDArray[np.float32] | LazyInputs
"""Inputs of a network, float32."""


@dataclass(frozen=True, eq=False)
class ScaledRows(LazyInputs):
    """Rows of a table, clipped, shifted and scaled as they are read.

    Attributes
    ----------
    table : object
        Gives rows by their numbers, in any order, as an array or CSR matrix; has a shape. An
        array is that of a file which is mapped into memory.
    numbers : ndarray of shape (n_rows,), int64
        Of the rows of the table.
    mean, scale : ndarray of shape (n_features,)
        Subtracted, and divided by.
    lowest, highest : ndarray of shape (n_features,)
        See :func:`clip_rows`.
    """

    table: Any
    numbers: IntArray
    mean: Float64Array
    scale: Float64Array
    lowest: Float64Array
    highest: Float64Array
    shape: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (len(self.numbers), len(self.mean)))

    @property
    def in_memory(self) -> bool:
        """See :attr:`LazyInputs.in_memory`."""
        return bool(issparse(self.table))

    def _read(self, numbers: IntArray) -> Float32Array:
        chosen = self.numbers[numbers]
        if isinstance(self.table, np.ndarray):
            return self._scaled(self.table, chosen)
        rows = self.table[chosen]
        if issparse(rows):
            return self._scaled_sparse(rows)
        return self._scaled(rows, np.arange(len(chosen)))

    def _subset(self, numbers: IntArray) -> LazyInputs:
        return replace(self, numbers=self.numbers[numbers])

    def load(self, numbers: IntArray) -> Inputs:
        """See :meth:`LazyInputs.load`."""
        if isinstance(self.table, np.ndarray):
            return self._read(numbers)
        rows = self.table[self.numbers[numbers]]
        if issparse(rows):
            return replace(self, table=rows, numbers=np.arange(len(numbers)))
        return self._scaled(rows, np.arange(len(numbers)))

    def _scaled(self, table: Any, rows: IntArray) -> Float32Array:
        """Scaled rows of an array, read some at a time."""
        scaled = np.empty((len(rows), len(self.mean)), dtype=np.float32)
        for part in row_slices(*scaled.shape):
            read = clip_rows(table[rows[part]], self.lowest, self.highest)
            scaled[part] = (read - self.mean) / self.scale
        return scaled

    def _scaled_sparse(self, rows: Any) -> Float32Array:
        """Rows of scaled zeros, with the other entries put in their places."""
        rows = rows.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        zeros = clip_rows(np.zeros((1, rows.shape[1]), rows.dtype), self.lowest, self.highest)
        scaled = np.empty(rows.shape, dtype=np.float32)
        scaled[:] = ((zeros - self.mean) / self.scale).astype(np.float32)
        columns, of = rows.indices, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        values = clip_rows(rows.data, self.lowest[columns], self.highest[columns])
        scaled[of, columns] = (values - self.mean[columns]) / self.scale[columns]
        return scaled


@dataclass(frozen=True, eq=False)
class MultipliedRows(LazyInputs):
    """Inputs times a factor each.

    Attributes
    ----------
    inputs : LazyInputs
        The inputs.
    factors : ndarray of shape (n_features,), float32
        Of the columns.
    """

    inputs: LazyInputs
    factors: Float32Array

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows and inputs."""
        return self.inputs.shape

    @property
    def in_memory(self) -> bool:
        """See :attr:`LazyInputs.in_memory`."""
        return self.inputs.in_memory

    def _read(self, numbers: IntArray) -> Float32Array:
        return self.inputs._read(numbers) * self.factors

    def _subset(self, numbers: IntArray) -> LazyInputs:
        return replace(self, inputs=self.inputs._subset(numbers))

    def load(self, numbers: IntArray) -> Inputs:
        """See :meth:`LazyInputs.load`."""
        return multiplied(self.inputs.load(numbers), self.factors)


@dataclass(frozen=True, eq=False)
class RowsAndPoints(LazyInputs):
    """Rows, and behind them points between pairs of them; or some of both.

    Attributes
    ----------
    inputs : LazyInputs
        The rows, in memory.
    first, second : ndarray of shape (n_points,), int64
        Pairs of rows.
    share : ndarray of shape (n_points,)
        Of the first row of a pair.
    numbers : ndarray of shape (n,), int64
        Of rows, and of points behind them.
    """

    inputs: LazyInputs
    first: IntArray
    second: IntArray
    share: Float64Array
    numbers: IntArray

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        """Rows and points, and inputs."""
        return len(self.numbers), self.inputs.shape[1]

    @property
    def in_memory(self) -> bool:
        """See :attr:`LazyInputs.in_memory`."""
        return self.inputs.in_memory

    def _read(self, numbers: IntArray) -> Float32Array:
        chosen, n_rows = self.numbers[numbers], len(self.inputs)
        found = np.empty((len(chosen), self.shape[1]), dtype=np.float32)
        is_row = chosen < n_rows
        found[is_row] = self.inputs._read(chosen[is_row])
        pairs = chosen[~is_row] - n_rows
        ends = self.inputs._read(self.first[pairs]), self.inputs._read(self.second[pairs])
        found[~is_row] = between(*ends, self.share[pairs])
        return found

    def _subset(self, numbers: IntArray) -> LazyInputs:
        return replace(self, numbers=self.numbers[numbers])

    def load(self, numbers: IntArray) -> Inputs:
        """See :meth:`LazyInputs.load`."""
        return self._subset(numbers)


def clip_rows(X: NDArray[Any], lowest: Float64Array, highest: Float64Array) -> NDArray[Any]:
    """Bring the values of each column into its range; rows themselves if all ranges are infinite.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows.
    lowest, highest : ndarray of shape (n_features,)
        Ranges.
    """
    if np.isinf(lowest).all():
        return X
    values: NDArray[Any] = np.clip(X, lowest, highest)
    return values


def between(first: NDArray[Any], second: NDArray[Any], share: Float64Array) -> NDArray[Any]:
    """Points on the lines between rows, in their dtype, nearer to the first for a large share."""
    part = share[:, None].astype(first.dtype)
    points: NDArray[Any] = part * first + (1 - part) * second
    return points


def multiplied(inputs: Inputs, factors: Float32Array | None) -> Inputs:
    """Return inputs times a factor for each column; None leaves them."""
    if factors is None:
        return inputs
    return MultipliedRows(inputs, factors) if isinstance(inputs, LazyInputs) else inputs * factors


def part_of(inputs: Inputs, rows: Any) -> Inputs:
    """Return inputs of some rows, see :meth:`LazyInputs.part`."""
    if isinstance(inputs, LazyInputs):
        return inputs.part(rows)
    return np.ascontiguousarray(inputs[rows])


def sampled_rows(n_rows: int, most: int) -> IntArray:
    """Numbers of at most so many rows, evenly spaced from the first to the last, rounded down."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


def column_deviations(inputs: Inputs) -> Float32Array:
    """Measure the standard deviation (n_features,) of each column, of at most 65,536 rows."""
    n_rows, n_features = inputs.shape
    rows = sampled_rows(n_rows, policy.LOADED_ROWS)
    n = len(rows)
    mean, square = np.zeros(n_features), np.zeros(n_features)
    for part in row_slices(n, n_features):
        mean += inputs[rows[part]].sum(axis=0, dtype=np.float64) / n
    for part in row_slices(n, n_features):
        square += np.square(inputs[rows[part]] - mean).sum(axis=0) / n
    return np.sqrt(square).astype(np.float32)
