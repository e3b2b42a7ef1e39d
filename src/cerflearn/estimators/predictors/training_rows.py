"""Training rows in one order, each once: what a fit of a predictor starts from.

Rows with weight zero are dropped, equal rows with equal targets become one row with the sum of
their weights, and rows are sorted, within blocks of 65,536 rows. So up to that many rows a weight
of 2 means exactly the same as a row given twice, and the order of the rows has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from cerflearn._typing import AnyIntArray, Float64Array, FloatArray, IntArray
from cerflearn.estimators.input import to_dense
from cerflearn.estimators.stored_rows import RowFile
from cerflearn.estimators.streamed_rows import StreamedRows
from cerflearn.linalg.row_slices import column_range, row_slices
from cerflearn.training import policy
from cerflearn.training.task import OneHotRows, Targets

_LEAST_WEIGHT = float(np.finfo(np.float32).tiny)  # of a sum of one: networks are in float32

MEMORY_ROWS = policy.SHUFFLED_BLOCKS * policy.GRID_ROWS
"""Rows up to which those of a source are read into memory: training holds so many in any case."""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Distinct rows in canonical order.

    Attributes
    ----------
    X : {ndarray, CSR matrix, StreamedRows} of shape (n_samples, n_features)
        Data.
    targets : ndarray or OneHotRows of shape (n_samples, n_scores)
        Of the rows.
    weights : ndarray of shape (n_samples,)
        Positive; they sum to one.
    strata : ndarray of shape (n_samples,), int
        Rows with equal numbers are spread evenly over folds.
    blocks : ndarray of shape (n_blocks + 1,), int64
        Where the rows of each block of the grid begin, and the end.
    """

    X: Any
    targets: Targets
    weights: Float64Array
    strata: AnyIntArray
    blocks: IntArray


class RowsInOrder(StreamedRows):
    """Sparse rows of a source, in another order.

    Parameters
    ----------
    source : StreamedRows
        Where they are read.
    rows : ndarray of shape (n_samples,), int64
        Their numbers in the source; mixed within blocks of the grid only.
    lowest, highest : ndarray of shape (n_features,)
        Range of each column.
    """

    def __init__(
        self, source: StreamedRows, rows: IntArray, lowest: FloatArray, highest: FloatArray
    ) -> None:
        self._source, self._rows = source, rows
        self.name = source.name
        self.shape, self.dtype = (len(rows), source.shape[1]), source.dtype
        self.lowest, self.highest, self.feature_names, self.y = lowest, highest, None, None
        self._kept: tuple[int, Any] = (-1, None)  # a block of the grid and its number

    def _slice(self, start: int, stop: int) -> Any:
        numbers = self._rows[start:stop]
        if len(numbers) == 0:
            return self._source[0:0]
        owners = numbers // policy.GRID_ROWS  # ascending
        ends = [0, *(np.flatnonzero(np.diff(owners)) + 1), len(numbers)]
        parts = []
        for begin, end in pairwise(ends):
            block = int(owners[begin])
            parts.append(self._grid_block(block)[numbers[begin:end] - block * policy.GRID_ROWS])
        return parts[0] if len(parts) == 1 else vstack(parts, format="csr")

    def _take(self, index: IntArray) -> Any:
        numbers = self._rows[index]
        if len(numbers) == 0:
            return self._source[0:0]
        order = np.argsort(numbers, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return self._source[numbers[order]][back]

    def _grid_block(self, block: int) -> Any:
        """Rows of the source in a block of the grid, which slices ask for one after the other."""
        kept, rows = self._kept  # one read and one write: several threads may ask
        if kept != block:
            start = block * policy.GRID_ROWS
            rows = self._source[start : min(start + policy.GRID_ROWS, self._source.shape[0])]
            self._kept = (block, rows)
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """Nothing that is kept."""
        return self.__dict__ | {"_kept": (-1, None)}


def is_memory_map(X: Any) -> bool:
    """Whether an array is one of a file that is mapped into memory."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap):
            return True
        X = X.base
    return False


def in_memory_if_small(X: Any) -> Any:
    """Rows of a source, sparse matrix or memory map as an array, where they take little memory."""
    n_rows, n_features = X.shape
    if issparse(X):
        return X.toarray() if n_rows * n_features <= policy.DENSE_ENTRIES else X
    if isinstance(X, StreamedRows) and n_rows <= MEMORY_ROWS:
        return in_memory_if_small(X[:])
    return X


def distinct_rows(
    X: Any, targets: Targets, weights: Float64Array, strata: AnyIntArray
) -> TrainingRows:
    """Merge equal rows, drop those without weight, and sort the others.

    Parameters
    ----------
    X : {ndarray, CSR matrix, StreamedRows} of shape (n_samples, n_features)
        Checked data.
    targets : ndarray or OneHotRows of shape (n_samples, n_scores)
        Of the rows.
    weights : ndarray of shape (n_samples,)
        Not negative.
    strata : ndarray of shape (n_samples,), int
        See :class:`TrainingRows`.

    Returns
    -------
    TrainingRows
        At least two rows.
    """
    # Within blocks of the grid: data larger than memory are read block by block.
    streamed = isinstance(X, StreamedRows) or (is_memory_map(X) and X.shape[0] > MEMORY_ROWS)
    file = None
    if streamed and not issparse(X[:1]):
        file = RowFile(getattr(X, "name", "X"), X.shape, X.dtype)
    numbers, sums, ranges = [], [], []
    for start in range(0, X.shape[0], policy.GRID_ROWS):
        block = slice(start, start + policy.GRID_ROWS)
        part = X[block]
        first, found = merge_rows(part, targets[block], weights[block])
        numbers.append(first + start)
        sums.append(found)
        if file is not None:
            file.append(part[first])
        elif streamed and len(first):
            ranges.append(column_range(part[first]))
    rows, total = np.concatenate(numbers), np.concatenate(sums)
    if len(rows) < 2:
        raise ValueError("Found 1 sample with a weight above 0 (n_samples = 1): at least 2 needed.")
    if file is not None:
        ordered: Any = file.rows()
    elif streamed:
        lowest = np.min([low for low, _ in ranges], axis=0)
        ordered = RowsInOrder(X, rows, lowest, np.max([high for _, high in ranges], axis=0))
    else:
        ordered = X[rows]
    kept = targets.part(rows) if isinstance(targets, OneHotRows) else targets[rows]
    blocks = np.unique(np.cumsum([0, *map(len, numbers)]))
    return TrainingRows(ordered, kept, _shares(total), strata[rows], blocks)


def _shares(sums: Float64Array) -> Float64Array:
    """Weights that sum to one; refused if some would vanish."""
    with np.errstate(over="ignore", under="ignore"):
        total = float(sums.sum())
        shares: Float64Array = sums / total
    if not (np.isfinite(total) and shares.min() >= _LEAST_WEIGHT):
        raise ValueError(
            f"Weights of rows range from {sums.min():.3g} to {sums.max():.3g}, too far for single "
            "precision, in which networks are trained: bring sample_weight and class_weight "
            "closer together, or give the smallest weights the value 0."
        )
    return shares


def merge_rows(
    X: Any, targets: Float64Array, weights: Float64Array
) -> tuple[IntArray, Float64Array]:
    """Find the distinct rows, in a canonical order, and add up their weights.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Data.
    targets : ndarray of shape (n_samples, n_targets)
        Numbers that rows must share too.
    weights : ndarray of shape (n_samples,)
        Not negative.

    Returns
    -------
    rows : ndarray of shape (n_distinct,), int64
        Indices of the first of equal rows.
    sums : ndarray of shape (n_distinct,)
        Their weights.
    """
    kept = np.flatnonzero(weights > 0.0)
    keys = _keys(X, kept)
    order = np.lexsort([keys, *targets[kept].T[::-1]])
    kept, keys = kept[order], keys[order]
    first = np.ones(len(kept), dtype=np.bool_)
    # Rows with equal keys are compared in full.
    for position in np.flatnonzero(keys[1:] == keys[:-1]) + 1:
        one, other = kept[position - 1], kept[position]
        same = _are_equal(X, one, other) and np.array_equal(targets[one], targets[other])
        first[position] = not same
    group = np.cumsum(first) - 1
    with np.errstate(over="ignore"):
        sums: Float64Array = np.bincount(group, weights=weights[kept]).astype(np.float64)
    return kept[first], sums


def _are_equal(X: Any, one: int, other: int) -> bool:
    if issparse(X):
        return bool((to_dense(X[[one]]) == to_dense(X[[other]])).all())
    return np.array_equal(X[one], X[other])


def _keys(X: Any, rows: IntArray) -> Float64Array:
    """One number for each row that equal rows share: not a matrix product, whose bits may vary."""
    factors = np.random.default_rng(0).normal(size=X.shape[1])
    slices = row_slices(len(rows), X.shape[1])
    parts = [(to_dense(X[rows[part]]) * factors).sum(axis=1) for part in slices]
    return np.concatenate(parts) if parts else np.empty(0)
