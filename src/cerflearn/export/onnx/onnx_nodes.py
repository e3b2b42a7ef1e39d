"""Steps as nodes of an ONNX graph.

Phases are products in radians: ``Sin`` and ``Cos`` of ONNX Runtime are right to the last bits for
phases of any size (9e-8 in float32, 7e-16 in float64, to 100,000 turns), so that nothing is gained
by reducing them to one turn before. ``Cos`` of float64 is missing in ONNX Runtime up to 1.28 and is
written as ``Sin`` of a phase that is a quarter of a turn ahead.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.steps import (
    Clip,
    Features,
    Fill,
    Linear,
    OneHot,
    Parallel,
    Scale,
    Scores,
    Step,
    TableScores,
)
from cerflearn.features.base import FeatureMap
from cerflearn.features.masked import MaskedMap

PhaseForm: TypeAlias = Literal["auto", "dense", "shared"]
"""How phases are computed: one product with all frequencies, or one for each mask."""

PHASE_FORMS: tuple[PhaseForm, ...] = ("auto", "dense", "shared")
"""Values of ``form``."""

GATHERED_MACS = 400
"""Multiply-accumulates of a product that take as long as the copy of one number of a column.

From benchmarks/results/onnx_forms.json: ONNX Runtime copies columns one number after the other.
"""

MASK_MACS = 10_000
"""Multiply-accumulates that take as long as the two nodes of one more mask, for one row; so too."""


class GraphWriter:
    """Nodes and constants that are added to a graph of skl2onnx.

    Parameters
    ----------
    scope, container : object
        Of skl2onnx: names, and the nodes so far.
    dtype : numpy.dtype
        Of floats: float32 or float64.
    """

    def __init__(self, scope: Any, container: Any, dtype: Any) -> None:
        self._scope = scope
        self._container = container
        self.dtype = np.dtype(dtype)

    def floats(self, values: ArrayLike) -> str:
        """Add a constant of floats."""
        numbers = np.asarray(values, dtype=np.float64)
        with np.errstate(over="ignore"):
            stored = numbers.astype(self.dtype)
        if not (np.isfinite(stored) | ~np.isfinite(numbers)).all():
            raise ValueError("The model has numbers beyond float32: pass dtype='float64'.")
        return self._tensor(stored)

    def integers(self, values: ArrayLike) -> str:
        """Add a constant of int64."""
        return self._tensor(np.asarray(values, dtype=np.int64))

    def strings(self, values: Any) -> str:
        """Add a constant of text."""
        from onnx import TensorProto

        content = [str(value).encode("utf-8") for value in values]
        name: str = self._scope.get_unique_variable_name("text")
        self._container.add_initializer(name, TensorProto.STRING, [len(content)], content)
        return name

    def _tensor(self, array: Any) -> str:
        from onnx import numpy_helper

        name: str = self._scope.get_unique_variable_name("constant")
        tensor = numpy_helper.from_array(np.array(array, order="C"), name)
        self._container.add_initializer(name, tensor.data_type, list(array.shape), tensor)
        return name

    def node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node, and return the name of what it makes."""
        made: str = output or self._scope.get_unique_variable_name(kind.lower())
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, list(inputs), [made], name=name, **attributes)
        return made

    def cast(self, value: str, dtype: Any, output: str | None = None) -> str:
        """Convert numbers to a NumPy dtype."""
        from onnx import helper

        to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", value, output=output, to=to)

    def sum_over(self, value: str, axis: int, keepdims: bool = False) -> str:
        """Add up along an axis."""
        return self.node("ReduceSum", value, self.integers([axis]), keepdims=int(keepdims))


def write_steps(
    writer: GraphWriter, steps: tuple[Step, ...], rows: str, form: PhaseForm = "auto"
) -> str:
    """Add the nodes of steps, and return the name of the last numbers.

    Parameters
    ----------
    writer : GraphWriter
        Of the graph.
    steps : tuple of Step
        Of any kind.
    rows : str
        Name of the inputs.
    form : {"auto", "dense", "shared"}, default="auto"
        How phases of masked maps are computed; see :func:`form_of`.
    """
    for step in steps:
        if isinstance(step, Features):
            rows = _features(writer, step.feature_map, rows, form, scaled=True)
        elif isinstance(step, Scores):
            rows = _scores(writer, step, rows, form)
        elif isinstance(step, TableScores):
            rows = _table_scores(writer, step, rows)
        elif isinstance(step, Linear):
            rows = _linear(writer, step.coef, step.intercept, rows)
        elif isinstance(step, Clip):
            rows = _bounded(writer, rows, step.low, step.high)
        elif isinstance(step, Scale):
            rows = _scaled(writer, step, rows)
        elif isinstance(step, Fill):
            rows = _filled(writer, step, rows)
        elif isinstance(step, OneHot):
            rows = _codes(writer, step, rows)
        elif isinstance(step, Parallel):
            rows = _side_by_side(writer, step, rows, form)
        else:
            raise ValueError(f"{type(step).__name__} cannot be written as ONNX.")
    return rows


def _bounded(writer: GraphWriter, rows: str, low: ArrayLike, high: ArrayLike) -> str:
    bounded = writer.node("Max", rows, writer.floats(low))
    return writer.node("Min", bounded, writer.floats(high))


def _scaled(writer: GraphWriter, step: Scale, rows: str) -> str:
    if step.centre.any():
        rows = writer.node("Sub", rows, writer.floats(step.centre))
    rows = _shifted(writer, writer.node("Mul", rows, writer.floats(step.factor)), step.shift)
    return rows if step.bounds is None else _bounded(writer, rows, *step.bounds)


def _filled(writer: GraphWriter, step: Fill, rows: str) -> str:
    if np.isnan(step.missing):
        absent = writer.node("IsNaN", rows)
    else:
        absent = writer.node("Equal", rows, writer.floats(step.missing))
    return writer.node("Where", absent, writer.floats(step.values), rows)


def _codes(writer: GraphWriter, step: OneHot, rows: str) -> str:
    """Each column as often as it has categories, compared with all of them at once."""
    columns = np.repeat(np.arange(step.n_inputs), [len(codes) for codes in step.categories])
    repeated = writer.node("Gather", rows, writer.integers(columns), axis=1)
    equal = writer.node("Equal", repeated, writer.floats(np.concatenate(step.categories)))
    return writer.cast(equal, writer.dtype)


def _side_by_side(writer: GraphWriter, step: Parallel, rows: str, form: PhaseForm) -> str:
    parts = []
    for branch in step.branches:
        chosen = writer.node("Gather", rows, writer.integers(branch.columns), axis=1)
        parts.append(write_steps(writer, branch.steps, chosen, form))
    return parts[0] if len(parts) == 1 else writer.node("Concat", *parts, axis=1)


def _linear(writer: GraphWriter, coef: Float64Array, intercept: Float64Array, rows: str) -> str:
    product = writer.node("MatMul", rows, writer.floats(coef.T))
    return writer.node("Add", product, writer.floats(intercept))


def _scores(writer: GraphWriter, step: Scores, rows: str, form: PhaseForm) -> str:
    """Amplitudes are multiplied into the head, which saves a pass over the features."""
    feature_map = step.feature_map
    features = _features(writer, feature_map, rows, form, scaled=False)
    amplitudes = np.repeat(feature_map.amplitudes, 2 if feature_map.paired else 1)
    coef = step.coef * amplitudes[: feature_map.n_outputs]
    scores = _linear(writer, coef, step.intercept, features)
    if step.linear is None:
        return scores
    part = writer.node("MatMul", rows, writer.floats(step.linear.coef))
    return writer.node("Add", scores, part)


def _table_scores(writer: GraphWriter, step: TableScores, rows: str) -> str:
    tables = step.table_map
    part = _linear(writer, tables.linear.T, tables.intercept, rows)
    if tables.n_tables == 0:
        return part
    last = tables.n_bins - 1
    phases = _linear(writer, tables.frequencies.T, tables.offsets, rows)
    bins = writer.node("Floor", phases)
    within = writer.node("Clip", bins, writer.floats(0.0), writer.floats(last))
    index = writer.cast(within, np.int64)
    # NaN, of infinities of both signs, becomes any integer: it must not read outside the tables.
    safe = writer.node("Clip", index, writer.integers(0), writer.integers(last))
    places = writer.node("Add", safe, writer.integers(np.arange(tables.n_tables) * tables.n_bins))
    flat = tables.tables.reshape(-1, tables.n_scores)
    found = writer.node("Gather", writer.floats(flat), places, axis=0)
    return writer.node("Add", writer.sum_over(found, 1), part)


def _features(
    writer: GraphWriter, feature_map: FeatureMap, rows: str, form: PhaseForm, *, scaled: bool
) -> str:
    """Features, without their amplitudes if not ``scaled``."""
    product = _phases(writer, feature_map, rows, form)
    if feature_map.relu:
        features = writer.node("Relu", _shifted(writer, product, feature_map.offsets))
    elif not feature_map.paired:
        features = _cosine(writer, product, feature_map.offsets)
    else:
        features = _pairs(writer, feature_map, product)
    if not scaled:
        return features
    repeats = 2 if feature_map.paired else 1
    amplitudes = np.repeat(feature_map.amplitudes, repeats)[: feature_map.n_outputs]
    return writer.node("Mul", features, writer.floats(amplitudes))


def _shifted(writer: GraphWriter, value: str, offsets: Float64Array) -> str:
    return writer.node("Add", value, writer.floats(offsets)) if offsets.any() else value


def _cosine(writer: GraphWriter, product: str, offsets: Float64Array) -> str:
    if writer.dtype == np.float32:
        return writer.node("Cos", _shifted(writer, product, offsets))
    return writer.node("Sin", _shifted(writer, product, offsets + 0.5 * np.pi))


def _pairs(writer: GraphWriter, feature_map: FeatureMap, product: str) -> str:
    """Cosine and sine of a projection side by side; an odd number of outputs drops the last."""
    sines = writer.node("Sin", _shifted(writer, product, feature_map.offsets))
    cosines = _cosine(writer, product, feature_map.offsets)
    last = writer.integers([2])
    parts = [writer.node("Unsqueeze", part, last) for part in (cosines, sines)]
    both = writer.node("Concat", *parts, axis=2)
    n_columns = 2 * feature_map.n_projections
    features = writer.node("Reshape", both, writer.integers([-1, n_columns]))
    if feature_map.n_outputs == n_columns:
        return features
    end = writer.integers([feature_map.n_outputs])
    return writer.node("Slice", features, writer.integers([0]), end, writer.integers([1]))


def _phases(writer: GraphWriter, feature_map: FeatureMap, rows: str, form: PhaseForm) -> str:
    """Products of inputs and frequencies, without offsets."""
    if not isinstance(feature_map, MaskedMap) or form_of(feature_map, form) == "dense":
        return writer.node("MatMul", rows, writer.floats(feature_map.frequencies))
    parts = []
    for inputs, projections in _masks_of(feature_map):
        values = feature_map.frequencies[np.ix_(inputs, projections)]
        chosen = writer.node("Gather", rows, writer.integers(inputs), axis=1)
        parts.append(writer.node("MatMul", chosen, writer.floats(values)))
    return parts[0] if len(parts) == 1 else writer.node("Concat", *parts, axis=1)


def form_of(feature_map: MaskedMap, form: PhaseForm) -> PhaseForm:
    """Form that is taken: the one asked for, or the one that is quicker by the two constants.

    A product for each mask saves the inputs outside it, and costs a copy of those inside it.
    """
    if form != "auto":
        return form
    widths, counts = np.diff(feature_map.projection_pointers), np.diff(feature_map.mask_pointers)
    saved = (widths * (feature_map.n_features - counts)).sum()
    spent = (GATHERED_MACS * counts + MASK_MACS).sum()
    return "shared" if saved > spent else "dense"


def _masks_of(feature_map: MaskedMap) -> list[tuple[IntArray, IntArray]]:
    """List inputs and projections of masks; masks without inputs read the first one."""
    found = []
    for mask in range(feature_map.n_masks):
        start, stop = feature_map.projection_pointers[mask : mask + 2]
        first, last = feature_map.mask_pointers[mask : mask + 2]
        inputs = feature_map.mask_inputs[first:last].astype(np.int64)
        if stop > start:
            found.append((inputs if len(inputs) else np.zeros(1, np.int64), np.arange(start, stop)))
    return found
