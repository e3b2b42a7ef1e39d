"""Counting what one sample costs: the only place with rules for multiply-accumulates (MACs)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

BYTES_PER_NUMBER = 4
"""Bytes of a stored value (float32) or index (int32) of a deployed model."""


Storage: TypeAlias = Literal["float32", "int16", "int8"]
"""How a deployed model stores weights and tables."""

BYTES_PER_VALUE: dict[str, int] = {"float32": 4, "int16": 2, "int8": 1}
"""Bytes of a stored weight, by storage."""


@dataclass(frozen=True)
class Cost:
    """What a model spends on one sample, and what it stores.

    Attributes
    ----------
    macs : int
        Multiply-accumulates. An addition of a Fastfood transform, or of an entry of a table to a
        score, counts as one; biases, offsets and amplitudes are free.
    trig : int
        Cosines and sines.
    n_parameters : int
        Numbers that a deployed model stores and multiplies or adds: weights, biases, offsets
        unless all are zero, and amplitudes (one number if all are equal).
    n_bytes : int
        4 bytes for each parameter (float32) and for each index (int32) that it stores beside
        them: the inputs of the masks and the two pointer lists, the permutations, the kept rows.
        Of tables what :func:`stored_bytes` counts.
    lookups : int
        Rows of tables that are looked up: one for each table.
    flash, ram : dict of int
        Bytes of constant data and of working arrays as C, for each arithmetic of
        :func:`cerflearn.export_c`; empty for sums, and for estimators that have no C.

    Examples
    --------
    >>> Cost(macs=800, trig=20) + Cost(macs=40)
    Cost(macs=840, trig=20, n_parameters=0, n_bytes=0, lookups=0)
    """

    macs: int = 0
    trig: int = 0
    n_parameters: int = 0
    n_bytes: int = 0
    lookups: int = 0
    _sizes: Callable[[], Mapping[str, tuple[int, int]]] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def flash(self) -> dict[str, int]:
        """Bytes of constant data as C; laid out when it is asked for."""
        return {} if self._sizes is None else {k: flash for k, (flash, _) in self._sizes().items()}

    @property
    def ram(self) -> dict[str, int]:
        """Bytes of working arrays as C; laid out when it is asked for."""
        return {} if self._sizes is None else {k: ram for k, (_, ram) in self._sizes().items()}

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(
            self.macs + other.macs,
            self.trig + other.trig,
            self.n_parameters + other.n_parameters,
            self.n_bytes + other.n_bytes,
            self.lookups + other.lookups,
        )


def stored_cost(*, macs: int, n_parameters: int, n_indices: int = 0, trig: int = 0) -> Cost:
    """Cost of a model that stores its parameters and indices in 4 bytes each."""
    n_bytes = BYTES_PER_NUMBER * (n_parameters + n_indices)
    return Cost(macs=macs, trig=trig, n_parameters=n_parameters, n_bytes=n_bytes)


def dense_macs(n_features: int, n_projections: int) -> int:
    """MACs of dense projections: one an input and projection."""
    return n_features * n_projections


def masked_macs(active: Sequence[int], projections: Sequence[int]) -> int:
    """MACs of masked projections: the active inputs of each mask times its projections."""
    return sum(int(a) * int(p) for a, p in zip(active, projections, strict=True))


def fastfood_macs(
    n_blocks: int, size: int, *, shared_signs: bool = False, n_centre_inputs: int = 0
) -> int:
    r"""MACs of Fastfood blocks of padded size d: :math:`2 d \log_2 d + 3 d` each.

    A block is computed whole, however few of its rows are kept. Its first half, signs and first
    transform (:math:`d \log_2 d + d`), is counted once if all blocks share the signs.

    Parameters
    ----------
    n_blocks, size : int
        Number of blocks and their padded size d, a power of two.
    shared_signs : bool, default=False
        Whether the blocks share their signs.
    n_centre_inputs : int, default=0
        Inputs of each block whose centre is not zero, added up over the blocks.

    Examples
    --------
    >>> fastfood_macs(2, 16), fastfood_macs(2, 16, shared_signs=True)
    (352, 272)
    """
    levels = size.bit_length() - 1
    first = size * levels + size
    second = size * levels + 2 * size
    return (1 if shared_signs else n_blocks) * first + n_blocks * second + n_centre_inputs


def table_macs(n_values: int, n_tables: int, n_scores: int) -> int:
    """MACs of tables: the inputs of each, and an addition for each table and score."""
    return n_values + n_tables * n_scores


TABLE_WEIGHT_BYTES = 2
"""Bytes of a weight of tables, at least: a weighted sum must tell up to 256 bins apart. With one
byte, labels of an int8 model with outliers among its inputs differed in 1.6 % of the rows, with two
in .5 %; tables themselves are most of the bytes."""


@dataclass(frozen=True)
class StoredArray:
    """Sizes of an array that a deployed model stores: of weights, tables, a head, a linear part.

    Attributes
    ----------
    n_values : int
        Numbers.
    n_indices : int, default=0
        Inputs that are named beside them; none if the array is dense.
    n_pointers : int, default=0
        Entries of the lists of where the inputs of a mask, or of a score, start.
    least_bytes : int, default=1
        Bytes of a value, at least, however values are stored.
    """

    n_values: int
    n_indices: int = 0
    n_pointers: int = 0
    least_bytes: int = 1


def compressed_array(
    n_values: int, n_lists: int, n_inputs: int, least_bytes: int = 1
) -> StoredArray:
    """Sizes of ``n_lists`` lists of inputs and values; without indices if all have all inputs.

    Examples
    --------
    >>> compressed_array(30, 4, 10)
    StoredArray(n_values=30, n_indices=30, n_pointers=5, least_bytes=1)
    >>> compressed_array(40, 4, 10)
    StoredArray(n_values=40, n_indices=0, n_pointers=0, least_bytes=1)
    """
    if n_values in (0, n_lists * n_inputs):
        return StoredArray(n_values, least_bytes=least_bytes)
    return StoredArray(n_values, n_values, n_lists + 1, least_bytes)


def stored_bytes(
    storage: Storage, *, n_features: int, arrays: Sequence[StoredArray], n_biases: int
) -> int:
    """Bytes of constant data of a deployed predictor: the only place with rules for them.

    Values take 4, 2 or 1 bytes (float32, int16, int8), weights of tables at least 2 and, as
    integers, one scale of 4 bytes an array that is not empty. Offsets and intercepts take 4 bytes,
    since sums have 32 bits. Indices of inputs take 1 byte up to 256 inputs, 2 up to 65,536, else 4;
    pointers 2 bytes into fewer than 65,536 indices, else 4.

    Parameters
    ----------
    storage : {"float32", "int16", "int8"}
        How values are stored.
    n_features : int
        Inputs of the predictor.
    arrays : sequence of StoredArray
        Weights, tables, head and linear part.
    n_biases : int
        Offsets and intercepts.

    Examples
    --------
    >>> weights, tables = compressed_array(30, 4, 10), StoredArray(4 * 64 * 3)
    >>> stored_bytes("float32", n_features=10, arrays=[weights, tables], n_biases=7)
    3260
    >>> stored_bytes("int8", n_features=10, arrays=[weights, tables], n_biases=7)
    874
    """
    if storage not in BYTES_PER_VALUE:
        known = ", ".join(repr(name) for name in BYTES_PER_VALUE)
        raise ValueError(f"storage={storage!r} is not valid: pass one of {known}.")
    per_index = _bytes_to_number(n_features)
    n_bytes = BYTES_PER_NUMBER * n_biases
    for array in arrays:
        per_value = max(BYTES_PER_VALUE[storage], array.least_bytes)
        n_bytes += per_value * array.n_values + per_index * array.n_indices
        n_bytes += max(2, _bytes_to_number(array.n_indices + 1)) * array.n_pointers
        if storage != "float32" and array.n_values > 0:
            n_bytes += BYTES_PER_NUMBER
    return n_bytes


def _bytes_to_number(n: int) -> int:
    """Bytes of an unsigned integer below n: 1, 2 or 4."""
    return 1 if n <= 2**8 else 2 if n <= 2**16 else 4
