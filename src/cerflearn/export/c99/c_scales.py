"""Scales of the integers of a part: weights, functions, heads, tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.c99.c_lower import CPart
from cerflearn.export.c99.c_quantize import MOST, IntegerPart
from cerflearn.export.c99.c_rounding import covariance_of, rounded
from cerflearn.export.c99.c_sums import ColumnData, quantized_sums

TABLE_WEIGHTS = "int16"
"""Type of the weights of tables, whatever the type of their entries."""

LARGEST_WEIGHT = {"int8": 127, "int16": 32767}
"""Largest size of a stored weight."""

_FINE_BITS = 8  # of scores below the unit of tables
_MOST_DROPPED = 31  # of a sum, to the right


@dataclass(frozen=True)
class QuantizeOptions:
    """What is chosen by trying it on rows.

    Attributes
    ----------
    bits : int
        Binary digits of inputs.
    share : float
        Share of inputs within their range.
    deviation : float
        Largest deviation of the integers of an input: fewer digits for inputs without outliers
        leave more digits for their weights.
    clip : float
        Largest weight of a head or table that is stored, over the largest there is.
    function_shift : int
        Digits of cosines that are dropped.
    """

    bits: int = 15
    share: float = 1.0
    deviation: float = math.inf
    clip: float = 1.0
    function_shift: int = 0


def quantize_part(
    part: CPart,
    data: ColumnData,
    dtype: str,
    options: QuantizeOptions,
    reach: float,
    unit: float | None,
) -> tuple[IntegerPart, float]:
    """Make integers of a part.

    Parameters
    ----------
    part : CPart
        What is computed.
    data : ColumnData
        Rows to choose roundings and ranges by.
    dtype : {"int8", "int16"}
        Type of weights.
    options : QuantizeOptions
        Choices.
    reach : float
        Least unit of the stage with which no output of it exceeds 32 bits.
    unit : float or None
        Unit of the stage's outputs; None: this part decides.

    Returns
    -------
    part : IntegerPart
        In integers.
    unit : float
        Unit of the stage's outputs.
    """
    most = LARGEST_WEIGHT[dtype]
    if part.kind == "linear":
        return _linear(part, data, most, reach, unit)
    if part.tables is not None:  # sums must tell many bins apart
        fine = LARGEST_WEIGHT[TABLE_WEIGHTS]
        found, _ = quantized_sums(part, data, fine, options.function_shift)
        return _tables(found, most, options, reach, unit)
    found, units = quantized_sums(part, data, most, options.function_shift)
    return _headed(found, units, data, most, options, reach, unit)


def output_reach(part: CPart, data: ColumnData) -> float:
    """Bound of the size of outputs of saturated inputs."""
    if part.kind == "linear":
        sizes = [
            (np.abs(block) * data.unit[inputs, None]).sum(axis=0).max(initial=0.0)
            for inputs, _, block in part.projections.blocks()
        ]
        return float(max(sizes, default=0.0)) * (data.limit + 1.0)
    if part.tables is not None:
        return float(np.abs(part.tables).max(axis=1).sum(axis=0).max())
    most = np.ones(part.n_functions)
    if part.kind == "relu":  # they saturate at less than this
        most = 3.0 * np.maximum(part.functions(data.real).max(axis=0), 1e-30)
    if part.head is None:
        assert part.amplitudes is not None
        return float((np.abs(part.amplitudes) * most).max())
    return float((np.abs(part.head) @ most).max())


def _headed(
    found: IntegerPart,
    units: Float64Array,
    data: ColumnData,
    most: int,
    options: QuantizeOptions,
    reach: float,
    unit: float | None,
) -> tuple[IntegerPart, float]:
    """Weights of functions, or their factors."""
    part = found.part
    if part.head is None:
        assert part.amplitudes is not None
        factors = part.amplitudes * units
        if unit is None and (factors == factors[0]).all():
            ones = np.ones(len(factors), dtype=np.int64)
            return replace(found, head=ones), float(factors[0])
        own, exponent, unit = _unit(np.abs(factors).max() / LARGEST_WEIGHT["int16"], unit)
        return replace(found, head=_whole(factors / own), exponent=exponent), unit
    head = part.head * units
    bound = np.abs(head).sum(axis=1).max() * found.most
    least = max(options.clip * np.abs(head).max() / most, 1.05 * bound / MOST, 1e-30)
    own, exponent, unit = _unit(least, _stage_unit(least, reach) if unit is None else unit)
    covariance = covariance_of(found.functions(data.whole))
    whole = rounded((head / own).T, covariance, most).T
    return replace(found, head=np.ascontiguousarray(whole), exponent=exponent), unit


def _tables(
    found: IntegerPart,
    most: int,
    options: QuantizeOptions,
    reach: float,
    unit: float | None,
) -> tuple[IntegerPart, float]:
    tables = found.part.tables
    assert tables is not None
    least = max(options.clip * np.abs(tables).max() / most, 1e-30)
    if unit is None:
        rough = len(tables) * least / MOST  # roundings of the entries
        spare = math.floor(math.log2(least / (reach + rough)))
        unit = least * 2.0 ** -min(_FINE_BITS, spare)
    own, exponent, unit = _unit(least * (1.0 - 1e-12), unit)
    return replace(found, head=_whole(np.clip(tables / own, -most, most)), exponent=exponent), unit


def _linear(
    part: CPart,
    data: ColumnData,
    most: int,
    reach: float,
    unit: float | None,
) -> tuple[IntegerPart, float]:
    """Weights of a linear part, one unit for all outputs."""
    blocks = [
        (inputs, block * data.unit[inputs, None]) for inputs, _, block in part.projections.blocks()
    ]
    largest = max((np.abs(block).max(initial=0.0) for _, block in blocks), default=0.0)
    sizes = [np.abs(block).sum(axis=0).max(initial=0.0) for _, block in blocks]
    bound = max(sizes, default=0.0) * (data.limit + 1.0)
    least = max(largest / most, 1.05 * bound / MOST, 1e-30)
    own, exponent, unit = _unit(least, _stage_unit(least, reach) if unit is None else unit)
    whole = [
        rounded(block / own, covariance_of(data.whole[:, inputs]), most).astype(np.float64)
        for inputs, block in blocks
    ]
    n = part.projections.n_projections
    none = np.zeros(n, dtype=np.int64)
    projections = part.projections.with_values(whole)
    return IntegerPart(part, projections, none, none, 0, none, exponent), unit


def _stage_unit(least: float, reach: float) -> float:
    """Return the unit of a stage that its first part decides: its own times a power of two.

    Weights keep their own unit where a large bias needs a larger one of the stage.
    """
    return math.ldexp(least, max(0, math.ceil(math.log2(max(reach, least) / least))))


def _unit(least: float, unit: float | None) -> tuple[float, int, float]:
    """Return own unit of at least this, a power of two of the stage's; the power; the stage's.

    A sum of 32 bits that is shifted to the right by more than 31 would be less than one unit.
    """
    if unit is None:
        return least, 0, least
    exponent = max(math.ceil(math.log2(least / unit)), -_MOST_DROPPED)
    return math.ldexp(unit, exponent), exponent, unit


def _whole(values: Float64Array) -> IntArray:
    return np.rint(values).astype(np.int64)
