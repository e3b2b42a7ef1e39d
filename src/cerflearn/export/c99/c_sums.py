"""Weighted sums as integers: scales of projections, chosen by least squares."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.c99.c_lower import CPart
from cerflearn.export.c99.c_quantize import (
    FRACTION_BITS,
    FUNCTION_BITS,
    MOST,
    PACKED,
    SHIFT_BITS,
    IntegerPart,
)
from cerflearn.export.c99.c_rounding import best_rounding, covariance_of

_TRIED_UNITS = np.linspace(1.0, 2.0, 64)  # over the least: some fit weights of 8 bits far better
_FINE_WEIGHTS = 2**8  # from which on the least unit is good enough
_MOST_SHIFT = 29  # of a sum of tables, in five bits


@dataclass(frozen=True, eq=False)
class ColumnData:
    """Columns of rows, real and as integers.

    Attributes
    ----------
    real : ndarray of shape (n_samples, n_columns)
        Values, within the range of the integers.
    whole : ndarray of shape (n_samples, n_columns), int64
        Integers.
    unit : ndarray of shape (n_columns,)
        Value of one.
    limit : int
        Largest size of an integer.
    """

    real: Float64Array
    whole: IntArray
    unit: Float64Array
    limit: int


def quantized_sums(
    part: CPart, data: ColumnData, most: int, function_shift: int
) -> tuple[IntegerPart, Float64Array]:
    """Make integers of the sums of a part that has functions of them.

    Parameters
    ----------
    part : CPart
        Cosines, positive parts or tables.
    data : ColumnData
        Rows to choose roundings and ranges by.
    most : int
        Largest size of a weight.
    function_shift : int
        Digits of cosines that are dropped.

    Returns
    -------
    part : IntegerPart
        Without a head.
    units : ndarray of shape (n_functions,)
        Value of a function of 1; of tables, bins for a sum of 1.
    """
    n = part.projections.n_projections
    units, left = np.zeros(n), np.zeros(n)
    turning = part.kind in ("cosine", "pair")
    step = _turn_step(part, data, most) if turning else 1
    blocks = []
    for inputs, chosen, block in part.projections.blocks():
        scaled = block * data.unit[inputs, None]  # for a unit of the integer columns
        tried = _units_to_try(part, scaled, part.offsets[chosen], data.limit, most, step)
        covariance = covariance_of(data.whole[:, inputs])
        whole, unit = best_rounding(scaled, tried, covariance, most)
        true = data.real[:, inputs].mean(axis=0) @ block + part.offsets[chosen]
        left[chosen] = true / unit - data.whole[:, inputs].mean(axis=0) @ whole
        units[chosen] = unit
        blocks.append(whole.astype(np.float64))
    found = IntegerPart(
        part,
        part.projections.with_values(blocks),
        np.zeros(n, dtype=np.int64),
        np.ones(n, dtype=np.int64),
        function_shift if turning else 0,
        np.zeros(0, dtype=np.int64),
        0,
    )
    if turning:
        scale = 2.0 ** (function_shift - FUNCTION_BITS)
        offsets = (np.rint(left * units * 2.0**16) % 2.0**16).astype(np.int64)
        multipliers = np.rint(units * 2.0**32).astype(np.int64)
        found = replace(found, offsets=offsets, multipliers=multipliers)
        return found, np.full(part.n_functions, scale)
    if part.kind == "relu":
        return _with_shifts(found, data, units, left)
    found = replace(found, fraction_bits=_fraction_bits(most))
    return _with_fractions(found, data.limit, units, left), units


def _fraction_bits(most: int) -> int:
    """Bits of the multipliers of tables: coarse weights need them, fine offsets suffer by them."""
    return 0 if most >= _FINE_WEIGHTS else FRACTION_BITS


def _units_to_try(
    part: CPart, scaled: Float64Array, offsets: Float64Array, limit: int, most: int, step: int
) -> Float64Array:
    """Units (n_tried, n_projections) that can be stored, the least first."""
    factors = np.ones(1) if most >= _FINE_WEIGHTS else _TRIED_UNITS
    least = np.maximum(np.abs(scaled).max(axis=0, initial=0.0), 1e-30) / most
    if part.kind in ("cosine", "pair"):
        wanted = np.maximum(np.ceil(factors[:, None] * least * 2.0**32 / step), 1.0)
        found: Float64Array = np.minimum(wanted, 2.0**16 - 1.0) * step / 2.0**32
        return found
    size = np.abs(scaled).sum(axis=0) * (limit + 1.0)
    if part.kind == "relu":
        size = size + np.abs(offsets)
    # Room for rounding.
    units: Float64Array = factors[:, None] * np.maximum(least, 1.05 * size / MOST)
    if part.kind == "relu":
        return units
    bits = _fraction_bits(most)
    fraction, exponent = np.frexp(np.maximum(units, 2.0 ** (bits - _MOST_SHIFT)))
    whole = 2.0 ** (bits + 1)  # fractions from a half to one, in so many steps
    stored: Float64Array = np.ldexp(np.ceil(fraction * whole) / whole, exponent)
    return stored


def _turn_step(part: CPart, data: ColumnData, most: int) -> int:
    """Power of two that all multipliers of cosines are multiples of, so that 16 bits hold them."""
    largest = max(
        float(np.abs(block * data.unit[inputs, None]).max(initial=0.0))
        for inputs, _, block in part.projections.blocks()
    )
    needed, step = max(1, math.ceil(largest / most * 2.0**32)), 1
    while math.ceil(needed / step) >= 2**16:
        step *= 2
    return step


def _with_shifts(
    found: IntegerPart, data: ColumnData, units: Float64Array, left: Float64Array
) -> tuple[IntegerPart, Float64Array]:
    """Offsets of positive parts, with the shifts that bring these to their range."""
    offsets = np.clip(np.rint(left), -MOST, MOST).astype(np.int64)
    reach = np.maximum((found.sums(data.whole) + offsets).max(axis=0), 1) * 1.25
    digits = np.ceil(np.log2(reach / (2.0**FUNCTION_BITS - 1)))
    shifts = np.clip(digits, 0, PACKED).astype(np.int64)
    packed: IntArray = (offsets & ~PACKED) | shifts
    return replace(found, offsets=packed), np.ldexp(units, shifts)


def _with_fractions(
    found: IntegerPart, limit: int, units: Float64Array, left: Float64Array
) -> IntegerPart:
    """Offsets of tables, with the multipliers and shifts that turn sums into bins."""
    fraction, exponent = np.frexp(units)
    bits = found.fraction_bits
    factors = np.rint(fraction * 2.0 ** (bits + 1)).astype(np.int64)
    total = (found.sum_bounds(limit) + np.abs(left)) * factors
    drop = max(0, math.ceil(math.log2(1.05 * max(float(total.max()), 1.0) / MOST)))
    shifts = bits + 1 - exponent.astype(np.int64) - drop
    if not ((shifts >= 0) & (shifts <= PACKED)).all():
        raise ValueError(
            "Sums of tables are too large or too small for integers: pass dtype='float32', or "
            "scale the inputs of the model."
        )
    lowest = ((factors - 2**bits) << SHIFT_BITS) | shifts
    wanted = left * factors * 2.0**-drop + factors * (0.5 - 2.0 ** -(drop + 1))
    step = 2 ** (bits + SHIFT_BITS)
    offsets = lowest + step * np.rint((wanted - lowest) / step).astype(np.int64)
    return replace(found, offsets=offsets, sum_shift=drop)
