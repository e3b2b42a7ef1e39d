"""Parts of a stage in integers: the arithmetic of the C code in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.export.c99.c_lower import CPart, Projections

MOST = 2**31 - 1
"""Largest size of a sum."""

FUNCTION_BITS = 14
"""A cosine of 1 is ``2**14``, before it is shifted."""

COSINE_TERMS = (12865, -5256, 583)
"""sin(pi z / 2) = z (a + b z^2 + c z^4) for -1 <= z <= 1, times 2^13: error 3e-4."""

SHIFT_BITS, FRACTION_BITS = 5, 8
"""Lowest bits of an offset that are a shift; of tables, those above them that are a fraction."""

PACKED = 2**SHIFT_BITS - 1
"""Mask of the shift in an offset."""


@dataclass(frozen=True, eq=False)
class IntegerPart:
    """A part in integers; sums of it are in units of ``2**exponent`` of the stage's.

    Attributes
    ----------
    part : CPart
        What it stands for.
    projections : Projections
        With integer weights.
    offsets : ndarray of int
        Added to sums. Of tables and positive parts the lowest five bits are the shift to the
        right that follows; of tables the next eight are f, where sums are multiplied by 256 + f
        before.
    multipliers : ndarray of int
        Of cosines: what sums are multiplied by, modulo 2**32, to be phases.
    function_shift : int
        Cosines are shifted to the right by it.
    head : ndarray of int
        Weights (n_outputs, n_functions) of functions, or their factors (n_functions,), or tables.
    exponent : int
        Sums of outputs are shifted to the left by it.
    sum_shift : int
        Of tables: sums are shifted to the right by it before they are multiplied.
    fraction_bits : int
        Of tables: bits of f; none if weights have 16 bits, which fit any unit.
    """

    part: CPart
    projections: Projections
    offsets: IntArray
    multipliers: IntArray
    function_shift: int
    head: IntArray
    exponent: int
    sum_shift: int = 0
    fraction_bits: int = 0

    @property
    def most(self) -> int:
        """Largest function."""
        whole = 2**FUNCTION_BITS
        return int(whole - 1 if self.part.kind == "relu" else whole >> self.function_shift)

    def sums(self, columns: IntArray) -> IntArray:
        """Compute sums (n_samples, n_projections) without offsets."""
        out = np.zeros((len(columns), self.projections.n_projections), dtype=np.int64)
        for inputs, chosen, block in self.projections.blocks():
            # Exact in float64, and quicker than a product of integers: below 2**53.
            product = columns[:, inputs].astype(np.float64) @ block
            out[:, chosen] = product.astype(np.int64)
        return out

    def functions(self, columns: IntArray) -> IntArray:
        """Cosines or positive parts (n_samples, n_functions)."""
        sums = self.sums(columns)
        if self.part.kind == "relu":
            shifted: IntArray = np.maximum(sums + self.offsets, 0) >> (self.offsets & PACKED)
            return np.minimum(shifted, self.most)
        turns = sums.astype(np.uint64) * self.multipliers.astype(np.uint64)  # modulo 2**64
        phase = (((turns % 2**32).astype(np.int64) + self.offsets * 2**16) % 2**32) >> 16
        found = integer_cosine(phase)
        if self.part.kind == "pair":
            sine = integer_cosine((phase - 2**14) % 2**16)
            found = np.stack([found, sine], axis=2).reshape(len(phase), -1)
        return found[:, : self.part.n_functions] >> self.function_shift

    def run(self, columns: IntArray) -> IntArray:
        """Compute outputs (n_samples, n_outputs) in units of the stage."""
        kind = self.part.kind
        if kind == "linear":
            found = self.sums(columns)
        elif kind == "table":
            places = (self.sums(columns) >> self.sum_shift) * self.factors + self.offsets
            bins = np.maximum(places, 0) >> (self.offsets & PACKED)
            index = np.minimum(bins, self.head.shape[1] - 1)
            found = self.head[np.arange(len(self.head)), index].sum(axis=1)
        elif self.head.ndim == 2:
            found = self.functions(columns) @ self.head.T
        else:
            found = self.functions(columns) * self.head
        return found << self.exponent if self.exponent >= 0 else found >> -self.exponent

    @property
    def factors(self) -> IntArray:
        """What sums of tables are multiplied by."""
        whole = 2**self.fraction_bits
        factors: IntArray = ((self.offsets >> SHIFT_BITS) & (whole - 1)) + whole
        return factors

    def sum_bounds(self, limit: int) -> Float64Array:
        """Largest sizes (n_projections,) of sums."""
        sizes = np.zeros(self.projections.n_projections)
        for _, chosen, block in self.projections.blocks():
            sizes[chosen] = np.abs(block).sum(axis=0) * (limit + 1.0)
        return sizes

    def largest(self, limit: int) -> float:
        """Bound of its outputs in units of the stage; sums are checked on the way."""
        sizes = self.sum_bounds(limit)
        kind = self.part.kind
        if kind == "relu":
            assert (sizes + np.abs(self.offsets) <= MOST).all(), "sums overflow"
        if kind == "table":
            places = (sizes / 2.0**self.sum_shift + 1.0) * self.factors + np.abs(self.offsets)
            assert (np.maximum(sizes, places) <= MOST).all(), "sums overflow"
        if kind == "linear":
            assert (sizes <= MOST).all(), "linear sums overflow"
            found = sizes.max(initial=0.0)
        elif kind == "table":
            found = np.abs(self.head).max(axis=1).sum(axis=0).max(initial=0.0)
        elif self.head.ndim == 2:
            found = (np.abs(self.head).sum(axis=1) * self.most).max(initial=0.0)
        else:
            found = np.abs(self.head).max(initial=0) * self.most
        assert found <= MOST, "outputs overflow"
        return float(found) * 2.0**self.exponent


def integer_cosine(phase: IntArray) -> IntArray:
    """Cosine of phases in 2**-16 turns, times 2**14."""
    a, b, c = COSINE_TERMS
    z = np.abs(phase - 2**15) - 2**14
    square = (z * z) >> 14
    cosine: IntArray = (z * (a + ((square * (b + ((square * c) >> 14))) >> 14))) >> 13
    return cosine
