"""Steps of a Program as stages for C.

Affine steps (scalers without bounds, linear models) are folded into the weights beside them, which
is exact but for rounding; steps that change nothing vanish.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.c99.c_lower import (
    Column,
    CPart,
    CStage,
    PartKind,
    Projections,
    StagedModel,
    compress,
    linear_lists,
)
from cerflearn.export.steps import (
    Clip,
    Features,
    Fill,
    Linear,
    OneHot,
    Parallel,
    Program,
    Scale,
    Scores,
    Step,
    TableScores,
)
from cerflearn.features.base import FeatureMap
from cerflearn.features.blocked import BlockedMap
from cerflearn.features.masked import MaskedMap

_FOLDED_SHIFT = (
    256.0  # of a scaled column: folding it loses that many roundings of single precision
)
_PREPARES = (Clip, Fill, OneHot, Parallel, Scale)  # steps that read inputs one by one
_LEAST_BUTTERFLY = 64  # padded size from which a Fastfood transform is written as one


@dataclass(frozen=True, eq=False)
class _Terms:
    """Numbers that are affine in columns: ``factor * column + shift``."""

    n_inputs: int
    columns: tuple[Column, ...]
    factor: Float64Array
    shift: Float64Array

    def select(self, index: IntArray) -> _Terms:
        chosen = tuple(self.columns[int(i)] for i in index)
        return replace(self, columns=chosen, factor=self.factor[index], shift=self.shift[index])


_State: TypeAlias = _Terms | CStage


def staged(
    program: Program, *, one_stage: bool = False, rows: Float64Array | None = None
) -> StagedModel:
    """Make stages of a program.

    Parameters
    ----------
    program : Program
        Steps of an estimator.
    one_stage : bool, default=False
        Fold every linear step, also where two products would cost less, and refuse what needs
        more than one stage.
    rows : ndarray of shape (n_samples, n_inputs), optional
        Where inputs are: a map or predictor without a scaler gets those that are far from zero for
        their deviation less their mean, as if a scaler stood before it.

    Returns
    -------
    StagedModel
        At least one stage; ``ValueError`` names a step that has no C.
    """
    closed: list[CStage] = []
    inputs = _identity(program.n_inputs)
    if rows is not None and program.steps and not isinstance(program.steps[0], _PREPARES):
        inputs = _less_means(inputs, rows)
    state: _State = inputs
    for step in program.steps:
        if isinstance(state, _Terms) and not one_stage:
            state = _near_zero(state)  # integers subtract zeros of their own
        state = _apply(state, step, closed, one_stage)
    if isinstance(state, CStage):
        closed.append(_finished(state))
    elif not closed or not all(c.plain for c in state.columns):
        closed.append(_finished(_as_stage(state)))
    if one_stage and len(closed) > 1:
        raise ValueError(
            "A map or network after another has no integer version: export it as float32."
        )
    return StagedModel(program.n_inputs, program.input_names, tuple(closed), program.output)


def _near_zero(terms: _Terms) -> _Terms:
    """Subtract the middle of columns that are far from zero for their scale before all else."""
    columns, shift = list(terms.columns), terms.shift.copy()
    for i in np.flatnonzero(np.abs(shift) > _FOLDED_SHIFT):
        zero = float(np.float32(-shift[i] / terms.factor[i]))
        if columns[i].can_be_shifted and math.isfinite(zero):
            columns[i] = columns[i].shifted(zero)
            shift[i] += terms.factor[i] * zero
    return replace(terms, columns=tuple(columns), shift=shift)


def _less_means(terms: _Terms, rows: Float64Array) -> _Terms:
    """Return inputs less their mean, where it is many deviations from zero."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    common = np.sqrt(np.square(deviation).mean())
    deviation = np.where(deviation > 0.0, deviation, common)  # constants are biases
    columns, shift = list(terms.columns), terms.shift.copy()
    for i in np.flatnonzero(np.abs(mean) > _FOLDED_SHIFT * deviation):
        zero = float(np.float32(mean[i]))
        if math.isfinite(zero):
            columns[i], shift[i] = columns[i].shifted(zero), zero
    return replace(terms, columns=tuple(columns), shift=shift)


def _identity(n_inputs: int) -> _Terms:
    columns = tuple(Column(i) for i in range(n_inputs))
    return _Terms(n_inputs, columns, np.ones(n_inputs), np.zeros(n_inputs))


def _apply(state: _State, step: Step, closed: list[CStage], fold: bool) -> _State:
    if isinstance(state, CStage):
        found = _after_stage(state, step, fold)
        if found is not None:
            return found
        closed.append(_finished(state))
        state = _identity(state.n_outputs)
    if isinstance(step, Fill):
        return _filled(state, step)
    if isinstance(step, Scale):
        return _scaled(state, step)
    if isinstance(step, OneHot):
        return _coded(state, step)
    if isinstance(step, Parallel):
        return _side_by_side(state, step, fold)
    if isinstance(step, Clip):
        return replace(_as_stage(state), bounds=(np.array(step.low), np.array(step.high)))
    return _layer(state, step)


def _after_stage(stage: CStage, step: Step, fold: bool) -> CStage | None:
    """Fold an affine step or bounds into a stage; None if that needs a new stage."""
    if isinstance(step, Fill) and math.isnan(step.missing):
        return stage  # sums are never missing
    if stage.bounds is not None:
        return None
    if isinstance(step, Clip):
        return replace(stage, bounds=(np.array(step.low), np.array(step.high)))
    if isinstance(step, Scale):
        parts = tuple(
            part.scaled(step.factor[part.first : part.first + part.n_outputs])
            for part in stage.parts
        )
        intercept = (stage.intercept - step.centre) * step.factor + step.shift
        bounds = None
        if step.bounds is not None:
            low, high = (np.full(stage.n_outputs, bound) for bound in step.bounds)
            bounds = (low, high)
        return replace(stage, parts=parts, intercept=intercept, bounds=bounds)
    if isinstance(step, Linear):
        narrow = any(part.head is not None or part.kind == "table" for part in stage.parts)
        if narrow and step.n_outputs > stage.n_outputs and not fold:
            return None  # fewer multiplications in two stages
        parts = tuple(
            part.mixed(step.coef[:, part.first : part.first + part.n_outputs])
            for part in stage.parts
        )
        return replace(stage, parts=parts, intercept=step.coef @ stage.intercept + step.intercept)
    return None


def _filled(terms: _Terms, step: Fill) -> _Terms:
    columns = []
    for i, column in enumerate(terms.columns):
        value = (float(step.values[i]) - terms.shift[i]) / terms.factor[i]
        if math.isnan(step.missing):
            if column.code is not None or (column.marker is not None and math.isnan(column.marker)):
                columns.append(column)  # no longer missing
                continue
            if column.marker is not None or not column.low <= value <= column.high:
                raise ValueError("Two imputers of one column cannot be written as C.")
            columns.append(replace(column, marker=math.nan, fill=value))
        elif column.plain and terms.factor[i] == 1.0 and terms.shift[i] == 0.0:
            columns.append(replace(column, marker=float(step.missing), fill=value))
        else:
            raise ValueError(
                "An imputer of a number cannot be written as C after another step: put it first."
            )
    return replace(terms, columns=tuple(columns))


def _scaled(terms: _Terms, step: Scale) -> _Terms:
    factor = terms.factor * step.factor
    shift = (terms.shift - step.centre) * step.factor + step.shift
    if step.bounds is None:
        return replace(terms, factor=factor, shift=shift)
    columns = []
    for i, column in enumerate(terms.columns):
        if column.code is not None:
            off, on = np.clip([shift[i], factor[i] + shift[i]], *step.bounds)
            factor[i], shift[i] = on - off, off
            columns.append(column)
            continue
        low, high = sorted((bound - shift[i]) / factor[i] for bound in step.bounds)
        # Bounds come after filling in C: a missing value is filled, and then bounded.
        columns.append(replace(column, low=max(low, column.low), high=min(high, column.high)))
    return replace(terms, columns=tuple(columns), factor=factor, shift=shift)


def _coded(terms: _Terms, step: OneHot) -> _Terms:
    columns = []
    for i, codes in enumerate(step.categories):
        column = terms.columns[i]
        scaled = terms.factor[i] != 1.0 or terms.shift[i] != 0.0
        if scaled or column.code is not None or column.clipped:
            raise ValueError(
                "OneHotEncoder cannot be written as C after a scaler or another encoder: put it "
                "first, or after an imputer."
            )
        columns += [replace(column, code=float(code)) for code in codes]
    n = len(columns)
    return _Terms(terms.n_inputs, tuple(columns), np.ones(n), np.zeros(n))


def _side_by_side(terms: _Terms, step: Parallel, fold: bool) -> _State:
    states = []
    for branch in step.branches:
        inner: list[CStage] = []
        state: _State = terms.select(branch.columns)
        for part in branch.steps:
            state = _apply(state, part, inner, fold)
        if inner or (isinstance(state, CStage) and state.bounds is not None):
            raise ValueError(
                "A ColumnTransformer or FeatureUnion with a part of more than one map, or with "
                "bounds after a map, cannot be written as C."
            )
        states.append(state)
    if all(isinstance(state, _Terms) for state in states):
        flat = [state for state in states if isinstance(state, _Terms)]
        return _Terms(
            terms.n_inputs,
            tuple(column for state in flat for column in state.columns),
            np.concatenate([state.factor for state in flat]),
            np.concatenate([state.shift for state in flat]),
        )
    return _joined([_as_stage(state) for state in states])


def _joined(stages: list[CStage]) -> CStage:
    """Put outputs of stages with the same inputs one after the other."""
    columns: list[Column] = []
    parts: list[CPart] = []
    first = 0
    for stage in stages:
        for part in stage.parts:
            inputs = part.projections.mask_inputs + len(columns)
            projections = replace(part.projections, mask_inputs=inputs)
            parts.append(replace(part, projections=projections, first=part.first + first))
        columns += stage.columns
        first += stage.n_outputs
    intercept = np.concatenate([stage.intercept for stage in stages])
    return CStage(stages[0].n_inputs, tuple(columns), tuple(parts), intercept)


def _as_stage(state: _State) -> CStage:
    """Terms as outputs."""
    if isinstance(state, CStage):
        return state
    n = len(state.columns)
    return _layer(state, Linear(np.eye(n), np.zeros(n)))


def _layer(terms: _Terms, step: Step) -> CStage:
    if isinstance(step, Features):
        feature_map = step.feature_map
        part = replace(_feature_part(feature_map, feature_map.n_outputs), head=None)
        return _folded(terms, [part], np.zeros(feature_map.n_outputs))
    if isinstance(step, Scores):
        part = _feature_part(step.feature_map, step.n_outputs)
        assert part.amplitudes is not None
        parts = [replace(part, head=step.coef * part.amplitudes, amplitudes=None)]
        if step.linear is not None:
            parts.append(_linear_part(step.linear.coef))
        return _folded(terms, parts, step.intercept)
    if isinstance(step, TableScores):
        tables = step.table_map
        parts = [_linear_part(tables.linear)] if tables.linear.any() else []
        if tables.n_tables:
            masks = np.split(tables.mask_inputs.astype(np.int64), tables.mask_pointers[1:-1])
            values = np.split(tables.values, tables.mask_pointers[1:-1])
            projections = compress(masks, [block[:, None] for block in values])
            n = tables.n_scores
            parts.append(CPart("table", projections, tables.offsets, n, tables=tables.tables))
        return _folded(terms, parts, tables.intercept)
    if isinstance(step, Linear):
        return _folded(terms, [_linear_part(step.coef.T)], step.intercept)
    raise ValueError(f"{type(step).__name__} cannot be written as C.")


def _linear_part(coef: Float64Array) -> CPart:
    return CPart("linear", linear_lists(coef), np.zeros(coef.shape[1]), coef.shape[1])


def _feature_part(feature_map: FeatureMap, n_outputs: int) -> CPart:
    """Functions of a map with their amplitudes."""
    unit = 1.0 if feature_map.relu else 2.0 * np.pi
    if isinstance(feature_map, MaskedMap):
        projections = Projections(
            feature_map.mask_pointers,
            feature_map.mask_inputs.astype(np.int64),
            feature_map.projection_pointers,
            feature_map.values / unit,
        )
    else:
        every = np.arange(feature_map.n_features)
        projections = compress([every], [feature_map.frequencies / unit])
    kind: PartKind = "relu" if feature_map.relu else "pair" if feature_map.paired else "cosine"
    amplitudes = np.repeat(feature_map.amplitudes, 2 if feature_map.paired else 1)
    blocked = isinstance(feature_map, BlockedMap) and feature_map.blocks.size >= _LEAST_BUTTERFLY
    return CPart(
        kind,
        projections,
        feature_map.offsets / unit,
        n_outputs,
        amplitudes=amplitudes[: feature_map.n_outputs],
        fastfood=feature_map if isinstance(feature_map, BlockedMap) and blocked else None,
    )


def _folded(terms: _Terms, parts: list[CPart], intercept: Float64Array) -> CStage:
    """Stage of parts that read terms, whose factors and shifts go into weights and offsets."""
    folded = []
    for part in parts:
        offsets = np.array(part.offsets, dtype=np.float64)
        blocks = []
        for inputs, chosen, block in part.projections.blocks():
            offsets[chosen] += terms.shift[inputs] @ block
            blocks.append(terms.factor[inputs, None] * block)
        if part.kind in ("cosine", "pair"):
            offsets -= np.rint(offsets)  # whole turns
        scale = terms.factor if part.fastfood is not None and (terms.factor != 1.0).any() else None
        projections = part.projections.with_values(blocks)
        folded.append(replace(part, projections=projections, offsets=offsets, fastfood_scale=scale))
    return CStage(terms.n_inputs, terms.columns, tuple(folded), np.array(intercept))


def _finished(stage: CStage) -> CStage:
    """Stage that lists each column that is read once, or none if all are inputs themselves."""
    read = sorted({int(i) for part in stage.parts for i in part.projections.mask_inputs})
    used = list(dict.fromkeys(stage.columns[i] for i in read))
    plain = all(column.plain for column in used)
    used.sort(key=_group)
    place = {column: column.source if plain else i for i, column in enumerate(used)}
    parts, intercept = [], stage.intercept.copy()
    for part in stage.parts:
        inputs = np.array(
            [place[stage.columns[int(i)]] for i in part.projections.mask_inputs], dtype=np.int64
        )
        projections = replace(part.projections, mask_inputs=inputs)
        offsets = part.offsets
        if part.kind == "linear":  # its offsets are biases
            intercept[part.first : part.first + part.n_outputs] += offsets
            offsets = np.zeros_like(offsets)
        parts.append(replace(part, projections=projections, offsets=offsets))
    columns = () if plain else tuple(used)
    return replace(stage, columns=columns, parts=tuple(parts), intercept=intercept)


def _group(column: Column) -> tuple[bool, bool, bool, str, bool, int]:
    """Order in which columns of the same kind stand together."""
    return (
        column.code is not None,
        column.clipped,
        column.marker is not None,
        repr(column.marker),
        column.zero != 0.0,
        column.source,
    )
