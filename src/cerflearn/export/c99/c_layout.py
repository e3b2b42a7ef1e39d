"""Arrays of the exported C: their types, their order, their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.c99.c_lower import CStage, Projections
from cerflearn.export.c99.c_text import array_text
from cerflearn.features.cost import StoredArray, compressed_array, stored_bytes

ExportDtype: TypeAlias = Literal["float32", "int16", "int8"]
"""How exported C stores weights."""

_CTYPES: dict[str, str] = {
    "float32": "float", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t",
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class CArray:
    """A constant array.

    Attributes
    ----------
    name : str
        Its name in C.
    values : ndarray
        In the type it is stored in.
    """

    name: str
    values: NDArray[Any]

    @property
    def ctype(self) -> str:
        """Type of an entry."""
        return _CTYPES[self.values.dtype.name]

    @property
    def n_bytes(self) -> int:
        """Bytes of constant data."""
        return int(self.values.nbytes)

    def text(self) -> str:
        """Its definition."""
        return array_text(self.ctype, self.name, self.values)


@dataclass(frozen=True, eq=False)
class Sizes:
    """Memory that an exported model needs.

    Attributes
    ----------
    flash_bytes : int
        Constant data, without code, labels and what turns floats into integers.
    ram_bytes : int
        Working arrays of a prediction, without the input row and saved registers.
    """

    flash_bytes: int
    ram_bytes: int

    def __repr__(self) -> str:
        return f"Sizes(flash_bytes={self.flash_bytes}, ram_bytes={self.ram_bytes})"


@dataclass(frozen=True, eq=False)
class PartCode:
    """C of one part of a stage.

    Attributes
    ----------
    arrays : tuple of CArray
        Constants.
    lines : tuple of str
        Statements.
    ram_bytes : int
        Bytes of its working arrays.
    """

    arrays: tuple[CArray, ...]
    lines: tuple[str, ...]
    ram_bytes: int


def floats(name: str, values: Any) -> CArray:
    """Array of float32."""
    with np.errstate(over="ignore"):
        return CArray(name, _some(np.asarray(values, dtype=np.float64).astype(np.float32)))


def indices(name: str, values: IntArray, n: int) -> CArray:
    """Array of integers below n, in as few bytes as they need."""
    return CArray(name, _some(values.astype(_unsigned(n))))


def integers(name: str, values: Any, dtype: str) -> CArray:
    """Array of integers of a type, in which they fit."""
    whole = np.asarray(values)
    stored = whole.astype(dtype)
    assert np.array_equal(stored, whole), name
    return CArray(name, _some(stored))


def _some(values: NDArray[Any]) -> NDArray[Any]:
    """Flat values, one zero if there are none: C has no empty arrays."""
    return values.ravel() if values.size else np.zeros(1, values.dtype)


def pointers(name: str, values: IntArray) -> CArray:
    """Array of positions, of two bytes or four."""
    return CArray(name, values.astype(np.uint16 if values.max(initial=0) < 2**16 else np.uint32))


def _unsigned(n: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if n <= 2**8 else np.uint16 if n <= 2**16 else np.uint32


@dataclass(frozen=True, eq=False)
class MaskLayout:
    """How the columns of projections are stored.

    Attributes
    ----------
    kind : {"dense", "lists", "shared"}
        Nothing, since every projection reads every column in order; a list of columns for each
        projection; a list for each mask and one of the projections of masks.
    projections : Projections
        In that form.
    arrays : tuple of CArray
        Indices and pointers.
    """

    kind: Literal["dense", "lists", "shared"]
    projections: Projections
    arrays: tuple[CArray, ...]


def mask_layout(prefix: str, projections: Projections, n_columns: int) -> MaskLayout:
    """Choose the form with the fewest bytes, as ``max_bytes`` of the predictors counts them."""
    every = np.arange(n_columns)
    if all(np.array_equal(inputs, every) for inputs, _, _ in projections.blocks()):
        return MaskLayout("dense", projections, ())
    lists, chosen = projections.lists, projections
    counts = (len(projections.values), len(projections.mask_inputs))
    apart = compressed_array(counts[0], projections.n_projections, n_columns)
    shared = StoredArray(*counts, 2 * len(projections.mask_pointers))

    def n_bytes(array: StoredArray) -> int:
        return stored_bytes("float32", n_features=n_columns, arrays=[array], n_biases=0)

    kind: Literal["lists", "shared"] = "shared"
    none_shared = len(projections.mask_pointers) == len(lists.mask_pointers)
    if none_shared or n_bytes(apart) <= n_bytes(shared):
        kind, chosen = "lists", lists
    arrays = [
        indices(f"{prefix}_inputs", chosen.mask_inputs, n_columns),
        pointers(f"{prefix}_starts", chosen.mask_pointers),
    ]
    if kind == "shared":
        arrays.append(pointers(f"{prefix}_first", chosen.projection_pointers))
    return MaskLayout(kind, chosen, tuple(arrays))


def row_major(projections: Projections) -> Float64Array:
    """Weights projection by projection."""
    blocks = [block.T.ravel() for _, _, block in projections.blocks()]
    return np.concatenate([np.zeros(0), *blocks])


def tiled(projections: Projections, tile: int) -> Float64Array:
    """Weights mask by mask, so many projections at once, column by column."""
    blocks = [
        block[:, start : start + tile].ravel()
        for _, _, block in projections.blocks()
        for start in range(0, block.shape[1], tile)
    ]
    return np.concatenate([np.zeros(0), *blocks])


def total_bytes(arrays: Iterable[CArray]) -> int:
    """Bytes of arrays together."""
    return sum(array.n_bytes for array in arrays)


def loop_type(stages: Iterable[CStage]) -> str:
    """Type of counters: int has 16 bits on small machines."""
    most = 0
    for stage in stages:
        for part in stage.parts:
            size = 0 if part.tables is None else part.tables.size
            most = max(most, stage.n_columns, len(part.projections.values), size)
            most = max(most, part.n_functions * part.n_outputs)
    return "int" if most < 2**15 else "int32_t"
