"""Integer models: scales that are tried on rows, and the model that agrees best."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.c99.c_layout import ExportDtype
from cerflearn.export.c99.c_lower import CPart, CStage, StagedModel
from cerflearn.export.c99.c_output import labels_of
from cerflearn.export.c99.c_quantize import MOST, IntegerPart
from cerflearn.export.c99.c_rounding import (
    MISSING,
    FixedPointInputs,
    column_scales,
    input_scaling,
    one_of,
)
from cerflearn.export.c99.c_scales import QuantizeOptions, output_reach, quantize_part
from cerflearn.export.c99.c_sums import ColumnData

_TRIED_ROWS = 2_000  # that scales are tried on
_VARIES = 2.0**-24  # of its size: an output with less deviation is constant in single precision
_CHOICES: dict[str, dict[str, tuple[float, ...]]] = {
    "int8": {
        "bits": (15, 13, 11),
        "deviation": (math.inf, 4096.0, 1024.0, 256.0),
        "share": (1.0, 0.999, 0.99),
        "clip": (1.0, 0.85, 0.7, 0.5),
        "function_shift": (0, 2),
    },
    "int16": {
        "bits": (14, 12, 10, 15),
        "deviation": (math.inf, 4096.0, 1024.0),
        "share": (1.0, 0.999, 0.99),
        "clip": (1.0,),
        "function_shift": (0, 2, 4),
    },
}
"""What is tried, one kind of choice after the other, the first of equals is kept."""


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """A stage in integers.

    Attributes
    ----------
    stage : CStage
        What it stands for.
    dtype : {"int8", "int16"}
        Type of weights.
    scaling : FixedPointInputs
        Of inputs.
    parts : tuple of IntegerPart
        The one with the largest unit first.
    intercept : ndarray of shape (n_outputs,), int64
        Biases.
    bounds : tuple of ndarray, optional
        Least and largest outputs.
    scales : ndarray of shape (n_outputs,)
        Value of an output of 1.
    options : QuantizeOptions
        What was chosen.
    """

    stage: CStage
    dtype: ExportDtype
    scaling: FixedPointInputs
    parts: tuple[IntegerPart, ...]
    intercept: IntArray
    bounds: tuple[IntArray, IntArray] | None
    scales: Float64Array
    options: QuantizeOptions

    def columns(self, inputs: IntArray) -> IntArray:
        """Columns (n_samples, n_columns) of integer inputs."""
        return _columns(self.stage, self.scaling, inputs)

    def run(self, inputs: IntArray) -> IntArray:
        """Compute outputs (n_samples, n_outputs) of integer inputs, as C computes them."""
        return self.run_columns(self.columns(inputs))

    def run_columns(self, columns: IntArray) -> IntArray:
        """Compute outputs of integer columns."""
        out = np.tile(self.intercept, (len(columns), 1))
        for part in self.parts:
            first = part.part.first
            out[:, first : first + part.part.n_outputs] += part.run(columns)
        return out if self.bounds is None else np.clip(out, *self.bounds)

    def check_bounds(self, room: float) -> None:
        """Refuse a model in which a sum of saturated inputs exceeds 32 bits."""
        largest = sum(part.largest(self.scaling.limit) for part in self.parts)
        if largest + np.abs(self.intercept).max(initial=0) > MOST * room:
            raise ValueError(
                f"Sums of {self.dtype} do not fit 32 bits when inputs are scaled by X: pass rows "
                "like those that the model was fitted on, or dtype='float32'."
            )


def _columns(stage: CStage, scaling: FixedPointInputs, inputs: IntArray) -> IntArray:
    if not stage.columns:
        return inputs
    out = np.empty((len(inputs), len(stage.columns)), dtype=np.int64)
    for i, column in enumerate(stage.columns):
        values = inputs[:, column.source]
        if column.marker is not None:
            values = np.where(values == MISSING, scaling.number(column.source, column.fill), values)
        if column.code is not None:
            one = one_of(scaling.limit)
            values = np.where(values == scaling.number(column.source, column.code), one, 0)
        elif column.clipped:
            low, high = (scaling.number(column.source, v) for v in (column.low, column.high))
            values = np.clip(values, low, high)
        out[:, i] = values
    return out


def calibrated(model: StagedModel, dtype: ExportDtype, X: Float64Array) -> IntegerModel:
    """Make the integer model that agrees best on rows.

    Parameters
    ----------
    model : StagedModel
        Of one stage.
    dtype : {"int16", "int8"}
        Type of weights.
    X : ndarray of shape (n_samples, n_inputs)
        Rows; at most 2,000 of them, evenly spaced, are used.

    Returns
    -------
    IntegerModel
        Of the choices that were tried, the one whose labels agree most often with those of the
        model itself, of equals the one with the least error of scores.
    """
    rows = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), _TRIED_ROWS)).astype(np.int64))]
    best, least = None, (np.inf, np.inf)
    options = QuantizeOptions(bits=int(_CHOICES[dtype]["bits"][0]))
    truth = model.run(rows)
    refused: ValueError | None = None
    kinds = {part.kind for part in model.stages[0].parts}
    for name, values in _CHOICES[dtype].items():
        if name == "function_shift" and not kinds & {"cosine", "pair"}:
            continue
        if name == "clip" and kinds == {"linear"}:
            continue
        chosen = getattr(options, name)
        for value in values:
            if best is not None and value == chosen:
                continue
            tried = replace(options, **{name: type(chosen)(value)})
            try:
                found = quantized(model, dtype, rows, tried)
            except ValueError as error:  # too few digits for codes, or too many for sums
                refused = error
                continue
            loss = _loss(model, found, rows, truth)
            # Saturated inputs are a risk on other rows: they must be worth it.
            if (loss[0] < 0.9 * least[0]) if name == "share" else (loss < least):
                best, least = found, loss
        if best is None and refused is not None:
            raise refused
        assert best is not None
        options = best.options
    assert best is not None
    return best


def _loss(
    model: StagedModel, found: IntegerModel, X: Float64Array, truth: Float64Array
) -> tuple[float, float]:
    whole = found.run(found.scaling.quantize(X))
    wrong = (whole * found.scales - truth) / spread_of(model, truth)
    error = float(np.sqrt(np.mean(np.square(wrong))))
    labels = labels_of(model.output, truth)
    if labels is None:
        return error, error
    return float(np.mean(labels != labels_of(model.output, whole))), error


def quantized(
    model: StagedModel, dtype: ExportDtype, X: Float64Array, options: QuantizeOptions
) -> IntegerModel:
    """Make integers of a model of one stage with given choices, ranges from rows."""
    (stage,) = model.stages
    scaling = input_scaling(stage, X, options.bits, options.share, options.deviation)
    data, zero = _column_data(stage, scaling, X)
    output_units = _output_units(model, model.run(X))
    intercept = stage.intercept / output_units
    parts = []
    for part in sorted(stage.parts, key=lambda part: (part.kind == "linear", part.kind != "table")):
        own = slice(part.first, part.first + part.n_outputs)
        prepared, shift = _prepared(part, zero, output_units[own])
        intercept[own] += shift
        parts.append(prepared)
    room = 1.0
    if model.output.kind == "pairs":
        room = 1.0 / len(model.output.classes)
    found: list[IntegerPart] = []
    stage_unit: float | None = None
    total = sum(output_reach(part, data) for part in parts) + np.abs(intercept).max(initial=0.0)
    reach = 1.1 * float(total) / (MOST * room)
    for part in parts:
        quantized_part, stage_unit = quantize_part(part, data, dtype, options, reach, stage_unit)
        found.append(quantized_part)
    if stage_unit is None:  # without parts: the same outputs for all rows
        stage_unit = reach or 1.0
    scales = output_units * stage_unit
    draft = IntegerModel(
        stage,
        dtype,
        scaling,
        tuple(found),
        np.zeros(stage.n_outputs, dtype=np.int64),
        None,
        scales,
        options,
    )
    rest = _trimmed_mean(_unbounded(stage, X) / scales - draft.run_columns(data.whole))
    if not stage.intercept.any() and all(part.head is None for part in stage.parts):
        rest = np.zeros(stage.n_outputs)
    bounds = None
    if stage.bounds is not None:
        low, high = (
            np.clip(np.rint(end / scales), -MOST, MOST).astype(np.int64) for end in stage.bounds
        )
        bounds = (low, high)
    done = replace(draft, intercept=np.rint(rest).astype(np.int64), bounds=bounds)
    done.check_bounds(room)
    return done


def _column_data(
    stage: CStage, scaling: FixedPointInputs, X: Float64Array
) -> tuple[ColumnData, Float64Array]:
    """Columns of rows, without their zeros, and the zeros."""
    unit, zero = column_scales(stage.columns, scaling)
    reach = unit * scaling.limit
    real = np.clip(np.nan_to_num(stage.column_values(X)) - zero, -reach, reach)
    whole = _columns(stage, scaling, scaling.quantize(X))
    return ColumnData(real=real, whole=whole, unit=unit, limit=scaling.limit), zero


def _prepared(part: CPart, zero: Float64Array, units: Float64Array) -> tuple[CPart, Float64Array]:
    """Part of columns without their zeros, in given units, its constants apart."""
    offsets = part.offsets.copy()
    for inputs, chosen, block in part.projections.blocks():
        offsets[chosen] += zero[inputs] @ block
    shift = np.zeros(part.n_outputs)
    if part.kind == "linear":
        shift = offsets / units
        offsets = np.zeros_like(offsets)
    scaled = replace(part, offsets=offsets).scaled(1.0 / units)
    if scaled.tables is not None:
        middle = (scaled.tables.max(axis=1) + scaled.tables.min(axis=1)) / 2.0
        shift = middle.sum(axis=0)
        scaled = replace(scaled, tables=scaled.tables - middle[:, None])
    return scaled, shift


def _output_units(model: StagedModel, truth: Float64Array) -> Float64Array:
    """Units of outputs: one for all scores of classes and columns of a map, else deviations."""
    if not _have_own_units(model):
        return np.ones(model.n_outputs)
    units = _deviation_or_size(truth.std(axis=0), np.abs(truth).max(axis=0))
    return np.where(units > 0.0, units, 1.0)


def _have_own_units(model: StagedModel) -> bool:
    """Whether each output has a unit of its own."""
    return model.output.kind in ("values", "multilabel") or (
        model.output.kind == "features"
        and any(
            part.head is not None or part.kind in ("table", "linear")
            for part in model.stages[-1].parts
        )
    )


def spread_of(model: StagedModel, truth: Float64Array) -> Float64Array:
    """Deviations (n_outputs,) that errors are compared with.

    That of all features of a map together: some hardly vary, and weigh as little in a kernel.
    Sizes stand for deviations of outputs that do not vary.
    """
    deviation: Float64Array = truth.std(axis=0)
    if model.output.kind == "features" and not _have_own_units(model):
        deviation = np.full_like(deviation, math.sqrt(np.mean(np.square(deviation))))
    return _deviation_or_size(deviation, np.maximum(np.abs(truth).max(axis=0), 1e-12))


def _deviation_or_size(deviation: Float64Array, size: Float64Array) -> Float64Array:
    """Deviations (n_outputs,) of outputs, the sizes of those that do not vary."""
    return np.where(deviation > _VARIES * size, deviation, size)


def _unbounded(stage: CStage, X: Float64Array) -> Float64Array:
    return replace(stage, bounds=None).run(X)


def _trimmed_mean(errors: Float64Array) -> Float64Array:
    """Mean of the middle nine tenths: saturated inputs have large errors."""
    drop = len(errors) // 20
    middle: Float64Array = np.sort(errors, axis=0)[drop : len(errors) - drop].mean(axis=0)
    return middle
