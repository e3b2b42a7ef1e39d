"""What C code computes: stages of columns of inputs, sums of functions of them, and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.steps import Output
from cerflearn.features.blocked import BlockedMap

PartKind: TypeAlias = Literal["cosine", "pair", "relu", "table", "linear"]
"""What is done with weighted sums of columns."""


@dataclass(frozen=True)
class Column:
    """A column of a stage: an input, filled where it is missing, within bounds, or one code's.

    Attributes
    ----------
    source : int
        Input it is made of.
    zero : float
        Subtracted from the input first; what follows is relative to it.
    marker : float or None
        The input that means missing; NaN, or a number if nothing is subtracted.
    fill : float
        What stands for a missing input.
    low, high : float
        Bounds.
    code : float or None
        The column is 1 where the input is this code, else 0.
    """

    source: int
    marker: float | None = None
    fill: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    code: float | None = None
    zero: float = 0.0

    @property
    def plain(self) -> bool:
        """Whether the column is the input itself."""
        return self.marker is None and self.code is None and not self.clipped and not self.zero

    @property
    def can_be_shifted(self) -> bool:
        """Whether something may be subtracted from the input."""
        marked = self.marker is not None and not math.isnan(self.marker)
        return self.code is None and not marked and not self.zero

    def shifted(self, zero: float) -> Column:
        """Make the column less a number, as far as that is exact."""
        return replace(
            self, zero=zero, fill=self.fill - zero, low=self.low - zero, high=self.high - zero
        )

    @property
    def single(self) -> Column:
        """The column with the marker and code that inputs of single precision are compared with."""
        marker, code = (
            None if number is None else float(np.float32(number))
            for number in (self.marker, self.code)
        )
        return replace(self, marker=marker, code=code)

    @property
    def clipped(self) -> bool:
        """Whether it has bounds."""
        return self.low > -math.inf or self.high < math.inf

    def run(self, X: Float64Array) -> Float64Array:
        """Values (n_samples,) of rows of inputs."""
        values: Float64Array = X[:, self.source] - self.zero
        if self.marker is not None:
            absent = np.isnan(values) if math.isnan(self.marker) else values == self.marker
            values = np.where(absent, self.fill, values)
        if self.code is not None:
            return np.where(values == self.code, 1.0, 0.0)
        return np.clip(values, self.low, self.high) if self.clipped else values


@dataclass(frozen=True, eq=False)
class Projections:
    """Weighted sums of columns; projections of one mask read the same columns.

    Attributes
    ----------
    mask_pointers, projection_pointers : ndarray of shape (n_masks + 1,)
        Where the columns, and the projections, of each mask start.
    mask_inputs : ndarray of int
        Columns of the masks.
    values : ndarray
        Weights: mask by mask a C-ordered block (columns of the mask, projections of the mask).
    """

    mask_pointers: IntArray
    mask_inputs: IntArray
    projection_pointers: IntArray
    values: Float64Array

    @property
    def n_projections(self) -> int:
        """Number of sums."""
        return int(self.projection_pointers[-1])

    def blocks(self) -> list[tuple[IntArray, slice, Float64Array]]:
        """Columns, projections and weights (columns, projections) of each mask."""
        found, start = [], 0
        for m in range(len(self.mask_pointers) - 1):
            inputs = self.mask_inputs[self.mask_pointers[m] : self.mask_pointers[m + 1]]
            chosen = slice(int(self.projection_pointers[m]), int(self.projection_pointers[m + 1]))
            stop = start + len(inputs) * (chosen.stop - chosen.start)
            block = self.values[start:stop].reshape(len(inputs), chosen.stop - chosen.start)
            found.append((inputs, chosen, block))
            start = stop
        return found

    def run(self, columns: Float64Array) -> Float64Array:
        """Compute sums (n_samples, n_projections)."""
        out = np.zeros((len(columns), self.n_projections))
        for inputs, chosen, block in self.blocks():
            out[:, chosen] = columns[:, inputs] @ block
        return out

    def with_values(self, blocks: list[Float64Array]) -> Projections:
        """Make the same masks with other weights, given as :meth:`blocks` gives them."""
        values = np.concatenate([block.ravel() for block in blocks]) if blocks else np.zeros(0)
        return replace(self, values=values)

    @property
    def lists(self) -> Projections:
        """The same with a mask of its own for each projection."""
        blocks = [
            (inputs, block[:, [i]])
            for inputs, _, block in self.blocks()
            for i in range(block.shape[1])
        ]
        return compress([inputs for inputs, _ in blocks], [block for _, block in blocks])


def compress(masks: list[IntArray], blocks: list[Float64Array]) -> Projections:
    """Projections of masks, with weights (columns, projections) of each."""

    def pointers(counts: list[int]) -> IntArray:
        return np.concatenate([[0], np.cumsum(np.array(counts, dtype=np.int64))]).astype(np.int64)

    none = np.zeros(0)
    return Projections(
        mask_pointers=pointers([len(mask) for mask in masks]),
        mask_inputs=np.concatenate([none, *masks]).astype(np.int64),
        projection_pointers=pointers([block.shape[1] for block in blocks]),
        values=np.concatenate([none, *(block.ravel() for block in blocks)]),
    )


@dataclass(frozen=True, eq=False)
class CPart:
    """Functions of weighted sums, which are outputs themselves or are added up to outputs.

    Attributes
    ----------
    kind : str
        ``"cosine"`` and ``"pair"`` (cosine and sine) of sums in turns, ``"relu"``, ``"table"``
        of sums in bins, ``"linear"``: the sum itself, one for each output.
    projections : Projections
        Sums, without ``offsets`` (n_projections,).
    n_outputs : int
        Outputs it adds to.
    head : ndarray of shape (n_outputs, n_functions), optional
        Weights of cosines or positive parts. None: they are outputs, times ``amplitudes``.
    amplitudes : ndarray of shape (n_functions,), optional
        Without a head.
    tables : ndarray of shape (n_projections, n_bins, n_outputs), optional
        Entries of tables.
    first : int
        The first of its outputs in those of the stage.
    fastfood : BlockedMap, optional
        The map whose transform gives the sums; ``projections`` has the same as dense weights.
    fastfood_scale : ndarray, optional
        Factor of each input of that transform.
    """

    kind: PartKind
    projections: Projections
    offsets: Float64Array
    n_outputs: int
    head: Float64Array | None = None
    amplitudes: Float64Array | None = None
    tables: Float64Array | None = None
    first: int = 0
    fastfood: BlockedMap | None = None
    fastfood_scale: Float64Array | None = None

    def functions(self, columns: Float64Array) -> Float64Array:
        """Cosines or positive parts (n_samples, n_functions), without head and amplitudes."""
        sums = self.projections.run(columns) + self.offsets
        if self.kind == "relu":
            return np.maximum(sums, 0.0)
        angles = 2.0 * np.pi * sums
        if self.kind == "cosine":
            return np.cos(angles)
        pairs = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(sums), -1)
        return pairs[:, : self.n_functions]

    @property
    def n_functions(self) -> int:
        """Cosines, sines or positive parts."""
        if self.head is not None:
            return int(self.head.shape[1])
        return self.projections.n_projections if self.amplitudes is None else len(self.amplitudes)

    def run(self, columns: Float64Array) -> Float64Array:
        """Compute outputs (n_samples, n_outputs) of rows of columns."""
        if self.kind == "linear":
            return self.projections.run(columns) + self.offsets
        if self.tables is not None:
            bins = np.floor(self.projections.run(columns) + self.offsets)
            index = np.clip(bins, 0, self.tables.shape[1] - 1).astype(np.int64)
            found: Float64Array = self.tables[np.arange(len(self.tables)), index].sum(axis=1)
            return found
        functions = self.functions(columns)
        if self.head is not None:
            return functions @ self.head.T
        assert self.amplitudes is not None
        return functions * self.amplitudes

    def scaled(self, factor: Float64Array) -> CPart:
        """Part whose outputs are multiplied by factors (n_outputs,)."""
        if self.kind == "linear":
            blocks = self.projections.blocks()
            values = [block * factor[chosen] for _, chosen, block in blocks]
            projections = self.projections.with_values(values)
            return replace(self, projections=projections, offsets=self.offsets * factor)
        if self.tables is not None:
            return replace(self, tables=self.tables * factor)
        if self.head is not None:
            return replace(self, head=self.head * factor[:, None])
        assert self.amplitudes is not None
        return replace(self, amplitudes=self.amplitudes * factor)

    def mixed(self, coef: Float64Array) -> CPart:
        """Part whose outputs are ``coef @ outputs``; ``coef`` has a column for each."""
        n = len(coef)
        if self.kind == "linear":
            dense = _dense(self.projections, int(self.projections.mask_inputs.max(initial=-1)) + 1)
            projections = linear_lists(dense @ coef.T)
            shift = coef @ self.offsets
            return replace(self, projections=projections, offsets=shift, n_outputs=n, first=0)
        if self.tables is not None:
            return replace(self, tables=self.tables @ coef.T, n_outputs=n, first=0)
        if self.head is not None:
            head = coef @ self.head
        else:
            assert self.amplitudes is not None
            head = coef * self.amplitudes
        return replace(self, head=head, amplitudes=None, n_outputs=n, first=0)


@dataclass(frozen=True, eq=False)
class CStage:
    """Outputs as sums of parts: ``low <= intercept + sum of parts <= high``.

    Attributes
    ----------
    n_inputs : int
        Numbers that are read.
    columns : tuple of Column
        What parts read; empty if parts read the inputs themselves.
    parts : tuple of CPart
        Added up, or side by side where they have no head.
    intercept : ndarray of shape (n_outputs,)
        Biases.
    bounds : tuple of ndarray, optional
        Least and largest outputs.
    """

    n_inputs: int
    columns: tuple[Column, ...]
    parts: tuple[CPart, ...]
    intercept: Float64Array
    bounds: tuple[Float64Array, Float64Array] | None = None

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        return len(self.intercept)

    @property
    def n_columns(self) -> int:
        """Numbers that parts choose from."""
        return len(self.columns) or self.n_inputs

    @property
    def sources(self) -> set[int]:
        """Inputs that are read."""
        read = {int(i) for part in self.parts for i in part.projections.mask_inputs}
        return {self.columns[i].source for i in read} if self.columns else read

    def column_values(self, X: Float64Array) -> Float64Array:
        """Columns (n_samples, n_columns) of rows of inputs."""
        if not self.columns:
            return X
        return np.stack([column.run(X) for column in self.columns], axis=1)

    def run(self, X: Float64Array) -> Float64Array:
        """Compute outputs (n_samples, n_outputs)."""
        columns = self.column_values(X)
        out = np.tile(self.intercept, (len(X), 1))
        for part in self.parts:
            out[:, part.first : part.first + part.n_outputs] += part.run(columns)
        return out if self.bounds is None else np.clip(out, *self.bounds)


@dataclass(frozen=True, eq=False)
class StagedModel:
    """Stages one after the other, and what comes out."""

    n_inputs: int
    input_names: tuple[str, ...] | None
    stages: tuple[CStage, ...]
    output: Output

    @property
    def single(self) -> StagedModel:
        """The model of rows of single precision, which may hold no marker or code exactly."""
        stages = (
            replace(stage, columns=tuple(column.single for column in stage.columns))
            for stage in self.stages
        )
        return replace(self, stages=tuple(stages))

    @property
    def n_outputs(self) -> int:
        """Numbers after the last stage."""
        return self.stages[-1].n_outputs

    def run(self, X: Float64Array) -> Float64Array:
        """Numbers (n_samples, n_outputs) after the last stage."""
        for stage in self.stages:
            X = stage.run(X)
        return X


def linear_lists(dense: Float64Array) -> Projections:
    """Make projections of a matrix (n_columns, n_outputs), without its zeros."""
    masks = [np.flatnonzero(column) for column in dense.T]
    return compress(masks, [dense[mask, [i]][:, None] for i, mask in enumerate(masks)])


def _dense(projections: Projections, n_columns: int) -> Float64Array:
    dense = np.zeros((n_columns, projections.n_projections))
    for inputs, chosen, block in projections.blocks():
        np.add.at(dense, (inputs[:, None], np.arange(chosen.start, chosen.stop)), block)
    return dense
