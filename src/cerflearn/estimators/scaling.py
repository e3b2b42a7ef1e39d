r"""Scaling of inputs, which is folded into the frequencies: it costs nothing at prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse

from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.estimators.input import to_dense
from cerflearn.estimators.stored_rows import StoredRows
from cerflearn.estimators.streamed_rows import StreamedRows
from cerflearn.features.masked import MaskedMap
from cerflearn.features.tables import TableMap
from cerflearn.linalg.row_slices import column_range, row_slices
from cerflearn.training import policy
from cerflearn.training.deployed import FeatureNetwork
from cerflearn.training.inputs import Inputs, ScaledRows, clip_rows, sampled_rows
from cerflearn.training.network import Float32Array


@dataclass(frozen=True, eq=False)
class InputScaling:
    """Shift and scale of each input.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Subtracted.
    scale : ndarray of shape (n_features,)
        Divided by.
    varies : ndarray of shape (n_features,), bool
        Inputs that have more than one value.
    common : float
        Root mean variance of the inputs that vary.
    robust : ndarray of shape (n_features,)
        Deviation of a normal variable with the same quartiles, between a twentieth of the
        deviation and all of it; the deviation where quartiles are equal.
    lowest, highest : ndarray of shape (n_features,)
        Range that values of training rows are brought into; infinite unless there are gross
        outliers.
    """

    mean: Float64Array
    scale: Float64Array
    varies: BoolArray
    common: float
    robust: Float64Array
    lowest: Float64Array
    highest: Float64Array

    def apply(self, X: FloatArray, dtype: DTypeLike | None = None) -> FloatArray:
        """Scaled copy of training rows, in the dtype of X unless another one is given."""
        scaled: FloatArray = np.empty(X.shape, dtype=X.dtype if dtype is None else dtype)
        for rows in row_slices(*X.shape):
            scaled[rows] = (clip_rows(X[rows], self.lowest, self.highest) - self.mean) / self.scale
        return scaled

    def inputs(self, X: Any) -> Inputs:
        """Scaled inputs of a network: an array, or rows that are scaled as they are read.

        Parameters
        ----------
        X : {ndarray, CSR matrix, StreamedRows} of shape (n_samples, n_features)
            Rows.
        """
        if isinstance(X, np.ndarray):
            return self.apply(X, np.float32)
        # Half the bytes of int64, of which data of many rows have several such arrays.
        numbers = np.arange(X.shape[0], dtype=np.min_scalar_type(-X.shape[0]))
        table = X.table if isinstance(X, StoredRows) else X
        return ScaledRows(table, numbers, self.mean, self.scale, self.lowest, self.highest)

    def scaled(self, X: Any) -> Any:
        """Scaled rows in the dtype of X: an array, or rows that are scaled as they are read."""
        return self.apply(X) if isinstance(X, np.ndarray) else _ScaledAsRead(X, self)

    def for_later_rows(self) -> InputScaling:
        """Scaling of rows that come later: values far beyond those seen are clipped."""
        reach = policy.LATER_DEVIATIONS * self.scale
        return replace(
            self,
            lowest=np.maximum(self.lowest, self.mean - reach),
            highest=np.minimum(self.highest, self.mean + reach),
        )

    def factors(self) -> dict[str, Float32Array]:
        """Factors (n_features,) of scaled inputs that give other scalings, by their names."""
        return {
            "common": (self.scale / self.common).astype(np.float32),
            "robust": (self.scale / self.robust).astype(np.float32),
        }

    def to_map(self, network: FeatureNetwork, group_size: int) -> MaskedMap:
        r"""Masked map of raw inputs: features of :math:`\omega^\top (x - \mu) / s + b`.

        Amplitudes are one. Neighbouring features with equal masks share one in the map.

        Parameters
        ----------
        network : FeatureNetwork
            Of cosines or relu features of scaled inputs.
        group_size : int
            Consecutive inputs that are read together.

        Returns
        -------
        MaskedMap
            Of inputs as they come.
        """
        mask = network.mask
        frequencies = network.frequencies / self.scale[:, None]
        offsets = network.offsets - self.mean @ frequencies
        if network.activation == "cosine":
            offsets = np.mod(offsets, 2.0 * np.pi)
        changes = (mask[:, 1:] != mask[:, :-1]).any(axis=0)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
        pointers = np.concatenate([starts, [mask.shape[1]]])
        inputs = [np.flatnonzero(mask[:, start]) for start in starts]
        blocks = [
            frequencies[rows, first:last].ravel()
            for rows, first, last in zip(inputs, pointers[:-1], pointers[1:], strict=True)
        ]
        counts = [len(rows) for rows in inputs]
        return MaskedMap(
            n_inputs=len(mask),
            mask_pointers=np.concatenate([[0], np.cumsum(counts)]),
            mask_inputs=np.concatenate(inputs),
            projection_pointers=pointers,
            values=np.concatenate(blocks),
            group_size=group_size,
            offsets=offsets,
            amplitudes=np.ones(mask.shape[1]),
            n_outputs=mask.shape[1],
            paired=False,
            relu=network.activation == "relu",
        )

    def to_tables(
        self, network: FeatureNetwork, linear: Float64Array, intercept: Float64Array
    ) -> TableMap:
        r"""Tables of raw inputs, with linear part and intercept.

        Parameters
        ----------
        network : FeatureNetwork
            Of tables of scaled inputs, or of no feature at all.
        linear : ndarray of shape (n_features, n_scores)
            Linear part of raw inputs.
        intercept : ndarray of shape (n_scores,)
            Of raw inputs.

        Returns
        -------
        TableMap
            Of inputs as they come.
        """
        frequencies = network.frequencies / self.scale[:, None]
        n_bins, n_scores = max(2, network.tables.shape[1]), len(intercept)
        has_tables = network.activation == "table"
        tables = network.tables if has_tables else np.zeros((0, n_bins, n_scores))
        return TableMap.from_dense(
            frequencies=frequencies,
            masks=network.mask,
            offsets=network.offsets - self.mean @ frequencies,
            tables=tables,
            linear=linear,
            intercept=intercept,
        )

    def linear_of_inputs(self, network: FeatureNetwork) -> tuple[Float64Array, Float64Array]:
        """Linear part (n_features, n_scores) of raw inputs, and bias (n_scores,)."""
        linear = network.linear / self.scale[:, None]
        return linear, network.bias - self.mean @ linear


class _ScaledAsRead(StreamedRows):
    """Rows of a source or sparse matrix, shifted and scaled."""

    def __init__(self, X: Any, scaling: InputScaling) -> None:
        self._X, self._scaling = X, scaling
        self.name, self.shape, self.dtype = "X", X.shape, X.dtype
        self.lowest, self.highest = np.zeros(X.shape[1]), scaling.varies.astype(np.float64)
        self.feature_names, self.y = None, None

    def _slice(self, start: int, stop: int) -> Any:
        return self._dense(self._X[start:stop])

    def _take(self, index: IntArray) -> Any:
        return self._dense(self._X[index])

    def _dense(self, rows: Any) -> FloatArray:
        return self._scaling.apply(rows.toarray() if issparse(rows) else rows)


def weighted_moments(
    X: Any, weights: Float64Array, ranges: tuple[Float64Array, Float64Array] | None = None
) -> tuple[Float64Array, Float64Array]:
    """Weighted mean and variance of each column, in float64 and blocks of rows.

    Parameters
    ----------
    X : {ndarray, CSR matrix, StreamedRows} of shape (n_samples, n_features)
        Rows.
    weights : ndarray of shape (n_samples,)
        They sum to one.
    ranges : tuple of ndarray of shape (n_features,), optional
        Lowest and highest values that the columns are brought to.
    """

    def read(part: slice) -> Float64Array:
        rows = to_dense(X[part])
        return rows if ranges is None else clip_rows(rows, *ranges)

    mean, square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for part in row_slices(*X.shape):
        mean += weights[part] @ read(part)
    with np.errstate(over="ignore", under="ignore"):  # see check_spread
        for part in row_slices(*X.shape):
            square += weights[part] @ np.square(read(part) - mean)
    return mean, square


def check_spread(name: str, varies: BoolArray, variance: Float64Array) -> None:
    """Refuse columns whose variances overflow, or all underflow."""
    total = float(variance.sum())
    if varies.any() and not 0.0 < total < np.inf:
        much = "too much" if total > 0.0 else "too little"
        raise ValueError(
            f"{name} varies {much} for its variance to be a number: scale {name}, for example "
            "with StandardScaler."
        )


def scale_inputs(
    X: Any, weights: Float64Array, *, by_column: bool, clip_outliers: bool = False
) -> InputScaling:
    """Shift each input to mean 0 and, if asked, divide it by its deviation.

    Parameters
    ----------
    X : {ndarray, CSR matrix, StreamedRows} of shape (n_samples, n_features)
        Training rows.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    by_column : bool
        Whether inputs are scaled at all.
    clip_outliers : bool, default=False
        Whether gross outliers are brought nearer, see :func:`_ranges`.

    Returns
    -------
    InputScaling
        Shift and scale.
    """
    low, middle, high = _quartiles(X)
    normal = (high - low) / policy.NORMAL_QUARTILES
    column_ranges = _column_ranges(X)
    ranges = _ranges(middle, normal, column_ranges if clip_outliers else None)
    mean, variance = weighted_moments(X, weights, ranges)
    lowest, highest = column_ranges
    varies = highest > lowest
    variance = np.where(varies, variance, 0.0)
    check_spread("X", varies, variance)
    common = float(np.sqrt(variance.sum() / max(1, int(varies.sum())))) or 1.0
    scale = np.where(variance > 0.0, np.sqrt(variance), common)
    least = scale / policy.MOST_ROBUST_FACTOR
    robust = np.where(normal > 0.0, np.clip(normal, least, scale), scale)
    used = scale if by_column else np.ones(len(mean))
    return InputScaling(mean, used, varies, common, robust, *ranges)


def _column_ranges(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column."""
    if isinstance(X, StreamedRows):
        return X.lowest, X.highest
    return column_range(X)


def _ranges(
    middle: Float64Array,
    normal: Float64Array,
    column_ranges: tuple[FloatArray, FloatArray] | None,
) -> tuple[Float64Array, Float64Array]:
    """Range that values are brought into, (n_features,) each; infinite without gross outliers.

    Parameters
    ----------
    middle : ndarray of shape (n_features,)
        Medians.
    normal : ndarray of shape (n_features,)
        Deviation of a normal variable with the same quartiles.
    column_ranges : tuple of ndarray or None
        Smallest and largest values. None: none is an outlier.
    """
    lowest, highest = np.full(len(middle), -np.inf), np.full(len(middle), np.inf)
    if column_ranges is None:
        return lowest, highest
    most = policy.GROSS_DEVIATIONS * normal
    gross = (column_ranges[0] < middle - most) | (column_ranges[1] > middle + most)
    gross &= normal > 0.0
    lowest[gross], highest[gross] = (middle - most)[gross], (middle + most)[gross]
    return lowest, highest


def _quartiles(X: Any) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Quartiles and median of each column, of evenly spaced rows."""
    n_rows, n_features = X.shape
    numbers = sampled_rows(n_rows, policy.QUARTILE_ROWS)
    rows = X[numbers]
    rows = rows.tocsc() if issparse(rows) else rows
    found, width = np.empty((3, n_features)), max(1, policy.SORTED_ENTRIES // len(numbers))
    for start in range(0, n_features, width):
        part = slice(start, start + width)
        found[:, part] = np.percentile(to_dense(rows[:, part]), [25.0, 50.0, 75.0], axis=0)
    return found[0], found[1], found[2]
