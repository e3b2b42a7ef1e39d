"""Inputs and weights as integers: ranges, and rounding by least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.c99.c_lower import Column, CStage, StagedModel

MISSING = -(2**15)
"""Integer that stands for a missing input."""

_NORMAL_DIGITS = 126  # binary digits of a factor that is a normal number in single precision
_ROUNDING_SWEEPS = 3  # over the weights of a projection
_MOST_WORK = 2e9  # multiplications of a sweep; nearest integers beyond
_ROUNDING_RIDGE = 1e-4  # of the mean variance: weights of inputs that hardly vary stay near


@dataclass(frozen=True, eq=False)
class FixedPointInputs:
    """Fixed-point inputs ``q = round((x - zero) * 2**shift)``, saturated.

    Attributes
    ----------
    zero : ndarray of shape (n_inputs,)
        Subtracted first, 0 for most inputs.
    shift : ndarray of shape (n_inputs,), int64
        Binary digits behind the point; negative ones drop digits before it.
    limit : int
        Largest size of an integer, below 2**15.
    markers : dict of int to float
        Values of inputs that mean missing, beside NaN.
    read : ndarray of int
        Inputs that are scaled, in order; the integers of the others are 0.
    """

    zero: Float64Array
    shift: IntArray
    limit: int
    markers: dict[int, float]
    read: IntArray

    @property
    def reads_all(self) -> bool:
        """Whether all inputs are scaled."""
        return len(self.read) == len(self.zero)

    def quantize(self, X: Float64Array) -> IntArray:
        """Integers (n_samples, n_inputs), with the arithmetic of the C function."""
        found = np.zeros(X.shape, dtype=np.int64)
        found[:, self.read] = self._scaled(X[:, self.read])
        return found

    def _scaled(self, X: Float64Array) -> IntArray:
        single = np.asarray(X, dtype=np.float64).astype(np.float32)
        scale = np.ldexp(np.float32(1.0), self.shift[self.read]).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (single - self.zero[self.read].astype(np.float32)) * scale
            half = np.where(scaled < 0.0, np.float32(-0.5), np.float32(0.5))
            bounded = np.clip(scaled, np.float32(-self.limit), np.float32(self.limit)) + half
        absent = np.isnan(single)
        for i, marker in self.markers.items():
            place = int(np.searchsorted(self.read, i))
            absent[:, place] |= single[:, place] == np.float32(marker)
        whole = np.trunc(np.where(absent, 0.0, bounded)).astype(np.int64)
        return np.where(absent, MISSING, np.clip(whole, -self.limit, self.limit))

    def number(self, source: int, value: float) -> int:
        """Integer of one value of an input."""
        row = np.zeros((1, len(self.zero)))
        row[0, source] = np.clip(value, -3e38, 3e38)
        return int(self.quantize(row)[0, source])


def input_scaling(
    stage: CStage, X: Float64Array, bits: int, share: float, deviation: float
) -> FixedPointInputs:
    """Fixed-point scales of inputs by their range on given rows.

    Parameters
    ----------
    stage : CStage
        What reads the inputs.
    X : ndarray of shape (n_samples, n_inputs)
        Rows.
    bits : int
        Binary digits of an integer beside its sign, at most 15.
    share : float
        Share of the values of an input that are within the range; others saturate.
    deviation : float
        Most deviations that the integers of an input may have, in units of one.
    """
    limit = 2**bits - 1
    zero, shift = np.zeros(stage.n_inputs), np.zeros(stage.n_inputs, dtype=np.int64)
    markers = {
        column.source: column.marker
        for column in stage.columns
        if column.marker is not None and not math.isnan(column.marker)
    }
    codes = _codes_of(stage)
    read = _scaled_inputs(stage)
    for i in read.tolist():
        values = X[:, i][np.isfinite(X[:, i])]
        if i in markers:
            values = values[values != markers[i]]
        if i in codes:
            values = np.concatenate([values, codes[i]])
        zero[i], reach = _range(values, share if i not in codes else 1.0)
        scale = limit / reach
        if i not in codes and len(values) and values.std() > 0.0:
            scale = min(scale, deviation / float(values.std()))
        shift[i] = math.floor(math.log2(scale))
        if i in codes and not _tell_apart(codes[i], zero[i], int(shift[i]), limit):
            raise ValueError(
                f"Codes of input {i} do not fit integers of {bits} bits: pass dtype='float32'."
            )
        if abs(int(shift[i])) > _NORMAL_DIGITS and i in stage.sources:
            raise ValueError(
                f"Input {i} has values of about 2^{bits - int(shift[i])}, which is beyond single "
                "precision: scale the inputs of the model."
            )
    shift = np.clip(shift, -_NORMAL_DIGITS, _NORMAL_DIGITS)
    return FixedPointInputs(zero, shift, limit, markers, read)


def _scaled_inputs(stage: CStage) -> IntArray:
    """Return the inputs that are scaled: all, or those that are read if they are less than half."""
    read = np.array(sorted(stage.sources), dtype=np.int64)
    return read if 0 < 2 * len(read) < stage.n_inputs else np.arange(stage.n_inputs)


def _codes_of(stage: CStage) -> dict[int, list[float]]:
    """Codes of inputs that have some."""
    codes: dict[int, list[float]] = {}
    for column in stage.columns:
        if column.code is not None:
            codes.setdefault(column.source, []).append(column.code)
    return codes


def check_codes(model: StagedModel) -> None:
    """Refuse codes that are one number in single precision, which inputs have."""
    for i, codes in _codes_of(model.stages[0]).items():
        if len({np.float32(code) for code in codes}) < len(set(codes)):
            raise ValueError(
                f"Codes of input {i} cannot be told apart in single precision: choose others."
            )


def _range(values: Float64Array, share: float) -> tuple[float, float]:
    """Middle, if values are far from zero, and largest distance from it."""
    if len(values) == 0:
        return 0.0, 1.0
    tail = (1.0 - share) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    if abs(middle) <= 4.0 * half or half == 0.0:
        return 0.0, float(max(abs(low), abs(high))) or 1.0
    unit = 2.0 ** math.floor(math.log2(half))  # a short number
    zero = float(np.float32(round(middle / unit) * unit))
    return zero, float(max(abs(low - zero), abs(high - zero)))


def _tell_apart(codes: list[float], zero: float, shift: int, limit: int) -> bool:
    scaled = (np.array(codes) - zero) * 2.0**shift
    whole = np.round(scaled)
    return bool(np.abs(whole).max() <= limit and len(np.unique(whole)) == len(codes))


def column_scales(
    columns: tuple[Column, ...], scaling: FixedPointInputs
) -> tuple[Float64Array, Float64Array]:
    """Units of the integers of columns, and their values at integer 0."""
    unit = np.ldexp(1.0, -scaling.shift)
    if not columns:
        return unit, scaling.zero
    sources = [column.source for column in columns]
    coded = np.array([column.code is not None for column in columns])
    units = np.where(coded, 1.0 / one_of(scaling.limit), unit[sources])
    return units, np.where(coded, 0.0, scaling.zero[sources])


def one_of(limit: int) -> int:
    """Integer that stands for 1 in a column of a code."""
    return (limit + 1) // 2


def rounded(target: Float64Array, covariance: Float64Array, most: int) -> NDArray[np.int64]:
    """Integers near targets (n, p) whose weighted sums have the least error.

    Nearest integers first; then one weight after the other is changed to the integer that is best
    beside the others, for inputs with this covariance (n, n).

    Examples
    --------
    >>> together = np.array([[1.0, 0.99], [0.99, 1.0]])
    >>> rounded(np.array([[0.4], [0.4]]), together, 127).ravel()
    array([1, 0])
    """
    whole = np.clip(np.rint(target), -most, most)
    n, p = target.shape
    if n == 0 or n * n * p > _MOST_WORK:
        return whole.astype(np.int64)
    variance = np.diagonal(covariance)
    gram = covariance + np.eye(n) * (_ROUNDING_RIDGE * variance.mean())
    gradient = gram @ (whole - target)
    for _ in range(_ROUNDING_SWEEPS):
        changed = False
        for j in range(n):
            if gram[j, j] <= 0.0:
                continue
            wanted = np.rint(whole[j] - gradient[j] / gram[j, j])
            step = np.clip(wanted, -most, most) - whole[j]
            if step.any():
                whole[j] += step
                gradient += gram[:, [j]] * step
                changed = True
        if not changed:
            break
    return whole.astype(np.int64)


def best_rounding(
    scaled: Float64Array, units: Float64Array, covariance: Float64Array, most: int
) -> tuple[NDArray[np.int64], Float64Array]:
    """Integers and units whose products are nearest to weights, for inputs of a covariance.

    Parameters
    ----------
    scaled : ndarray of shape (n, p)
        Weights, of p projections.
    units : ndarray of shape (n_tried, p)
        What may be one.
    covariance : ndarray of shape (n, n)
        Of the inputs.
    most : int
        Largest size of an integer.

    Returns
    -------
    whole : ndarray of shape (n, p), int64
        Integers.
    unit : ndarray of shape (p,)
        Unit of each projection.
    """
    n, p = scaled.shape
    n_tried = int(np.clip(_MOST_WORK / 10.0 / max(1, n * n * p), 1, len(units)))
    units = units[:n_tried]
    target = (scaled[:, None, :] / units).reshape(n, n_tried * p)
    whole = rounded(target, covariance, most)
    wrong = (whole - target) * units.ravel()
    error = np.einsum("ij,ij->j", wrong, covariance @ wrong).reshape(n_tried, p)
    best = error.argmin(axis=0)
    chosen = best * p + np.arange(p)
    return whole[:, chosen], units.ravel()[chosen]


def covariance_of(whole: IntArray) -> Float64Array:
    """Covariance (n, n) of columns (n_samples, n)."""
    centred = whole - whole.mean(axis=0)
    found: Float64Array = centred.T @ centred / len(whole)
    return found


def _are_numbers(values: Any) -> bool:
    try:
        np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def check_rows(model: StagedModel, X: Any) -> Float64Array:
    """Return rows as an array; missing values only where the model fills them."""
    try:
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        wrong = [name for name in getattr(X, "columns", ()) if not _are_numbers(X[name])]
        what = f" (column {wrong[0]!r} does not)" if wrong else ""
        raise ValueError(f"X must hold numbers{what}.") from error
    if rows.ndim != 2 or rows.shape[1] != model.n_inputs or len(rows) == 0:
        raise ValueError(f"X of shape {rows.shape} must have rows of {model.n_inputs} inputs.")
    if np.isinf(rows).any():
        raise ValueError("X holds infinity: exported C takes finite inputs.")
    if np.abs(rows).max(initial=0.0, where=~np.isnan(rows)) > np.finfo(np.float32).max:
        raise ValueError("X holds numbers beyond single precision: scale the inputs of the model.")
    columns = model.stages[0].columns
    filled = {
        column.source
        for column in columns
        if column.marker is not None and math.isnan(column.marker)
    }
    read = {column.source for column in columns}
    absent = set(np.flatnonzero(np.isnan(rows).any(axis=0)).tolist())
    wrong = sorted(absent - filled if columns == () else (absent & read) - filled)
    if wrong:
        raise ValueError(
            f"X holds NaN in input {wrong[0]}, which the model does not fill: put a SimpleImputer "
            "in front of it."
        )
    return rows
