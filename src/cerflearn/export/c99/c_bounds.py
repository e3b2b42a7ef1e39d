"""How far float32 C may be from exact arithmetic: a bound for each score of each row."""

from __future__ import annotations

import numpy as np

from cerflearn._typing import Float64Array
from cerflearn.export.c99.c_lower import CPart, CStage, StagedModel

_FLOAT_ROUNDOFF = 2.0**-24
_COSINE_ERROR = 4e-7


def float_tolerance(
    model: StagedModel, X: Float64Array, *, exact_inputs: bool = False
) -> Float64Array:
    """Bound (n_samples, n_outputs) of the error of float32 C.

    Inputs are rounded to float32, unless they are exact in it; sums of m terms are off by at most
    m + 3 roundings of the sum of absolute values, and a table whose sum is that close to an edge
    may be looked up beside it.
    """
    errors = np.zeros(X.shape)
    if not exact_inputs:
        errors = np.abs(np.nan_to_num(X - X.astype(np.float32)))
    for stage in model.stages:
        errors = _stage_tolerance(stage, X, errors)
        X = stage.run(X)
    return errors


def _stage_tolerance(stage: CStage, X: Float64Array, errors: Float64Array) -> Float64Array:
    values = np.nan_to_num(stage.column_values(X))
    if stage.columns:
        errors = np.stack(
            [
                np.zeros(len(X)) if column.code is not None else errors[:, column.source]
                for column in stage.columns
            ],
            axis=1,
        )
        errors = errors + np.abs(values) * _FLOAT_ROUNDOFF
    out = np.tile(np.abs(stage.intercept) * _FLOAT_ROUNDOFF, (len(X), 1))
    for part in stage.parts:
        own = slice(part.first, part.first + part.n_outputs)
        out[:, own] += _part_tolerance(part, values, errors)
    return out + np.abs(stage.run(X)) * _FLOAT_ROUNDOFF * (2 + len(stage.parts))


def _part_tolerance(part: CPart, values: Float64Array, errors: Float64Array) -> Float64Array:
    phases = np.zeros((len(values), part.projections.n_projections))
    for inputs, chosen, block in part.projections.blocks():
        size = np.abs(block)
        sums = np.abs(values[:, inputs]) @ size + np.abs(part.offsets[chosen])
        phases[:, chosen] = errors[:, inputs] @ size + sums * (len(inputs) + 3) * _FLOAT_ROUNDOFF
    if part.fastfood is not None:
        phases += _fastfood_tolerance(part, values)
    if part.kind == "linear":
        return phases
    if part.tables is not None:
        return _table_tolerance(part, part.tables, values, phases)
    functions = part.functions(values)
    own = phases
    if part.kind != "relu":
        own = 2.0 * np.pi * phases + _COSINE_ERROR
    if part.kind == "pair":
        own = np.repeat(own, 2, axis=1)[:, : part.n_functions]
    if part.head is None:
        assert part.amplitudes is not None
        return (own + 3.0 * _FLOAT_ROUNDOFF * np.abs(functions)) * np.abs(part.amplitudes)
    rounding = _FLOAT_ROUNDOFF * (part.n_functions + 3) * np.abs(functions)
    found: Float64Array = (own + rounding) @ np.abs(part.head).T
    return found


def _table_tolerance(
    part: CPart, tables: Float64Array, values: Float64Array, phases: Float64Array
) -> Float64Array:
    sums = part.projections.run(values) + part.offsets
    edge = np.rint(np.clip(sums, -1.0, tables.shape[1] + 1.0)).astype(np.int64)
    inside = (edge >= 1) & (edge < tables.shape[1])
    near = inside & (np.abs(sums - edge) <= phases)
    out = np.full((len(values), part.n_outputs), _FLOAT_ROUNDOFF * (len(tables) + 2))
    out *= np.abs(tables).max(axis=1).sum(axis=0)
    rows, which = np.nonzero(near)
    edges = edge[rows, which]
    np.add.at(out, rows, np.abs(tables[which, edges] - tables[which, edges - 1]))
    return out


def _fastfood_tolerance(part: CPart, values: Float64Array) -> Float64Array:
    """Bound of what butterflies lose by rounding."""
    assert part.fastfood is not None
    blocks = part.fastfood.blocks
    columns = np.abs(values[:, part.projections.mask_inputs])
    if part.fastfood_scale is not None:
        columns = columns * np.abs(part.fastfood_scale)
    diagonal = np.abs(blocks.gaussian_diag).sum(axis=1)[part.fastfood.block_of_projection]
    rows = blocks.row_scale[part.fastfood._rows_of(blocks.row_scale), part.fastfood.kept_rows] / (
        2.0 * np.pi
    )
    levels = 2.0 * np.log2(blocks.size) + 6.0
    sums = columns.sum(axis=1)[:, None]
    lost: Float64Array = sums * diagonal * np.abs(rows) * levels * _FLOAT_ROUNDOFF
    return lost
