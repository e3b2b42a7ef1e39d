"""Counting what one sample costs: the only place with rules for multiply-accumulates (MACs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BYTES_PER_NUMBER = 4
"""Bytes of a stored value (float32) or index (int32) of a deployed model."""


@dataclass(frozen=True)
class Cost:
    """What a model spends on one sample, and what it stores.

    Attributes
    ----------
    macs : int
        Multiply-accumulates. An addition of a Fastfood transform counts as one; biases, offsets
        and amplitudes are free.
    trig : int
        Cosines and sines.
    n_parameters : int
        Numbers that a deployed model stores and multiplies or adds: weights, biases, offsets
        unless all are zero, and amplitudes (one number if all are equal).
    n_bytes : int
        4 bytes for each parameter (float32) and for each index (int32) that it stores beside
        them: the inputs of the masks and the two pointer lists, the permutations, the kept rows.

    Examples
    --------
    >>> Cost(macs=800, trig=20) + Cost(macs=40)
    Cost(macs=840, trig=20, n_parameters=0, n_bytes=0)
    """

    macs: int = 0
    trig: int = 0
    n_parameters: int = 0
    n_bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(
            self.macs + other.macs,
            self.trig + other.trig,
            self.n_parameters + other.n_parameters,
            self.n_bytes + other.n_bytes,
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
