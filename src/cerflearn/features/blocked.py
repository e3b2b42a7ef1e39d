r"""Blocked map: Fastfood blocks :math:`S H G Q H B`, of which some rows are kept (Prop. 5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cerflearn import _native
from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn.features.base import (
    FeatureMap,
    draw_offsets,
    equal_amplitudes,
    projections_for,
    runs_of,
)
from cerflearn.features.cost import Cost, fastfood_macs, stored_cost
from cerflearn.features.fastfood import FastfoodBlocks, draw_blocks, materialise, padded_size
from cerflearn.features.frozen import frozen
from cerflearn.spectral import SpectralLaw

_MATERIALISED_SIZE = 32  # up to this padded size the dense kernel is as quick as the transform

_BLOCK_ARRAYS = ("signs", "gaussian_diag", "permutation", "row_scale", "centres")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BlockedMap(FeatureMap):
    r"""Features of the phases :math:`S_j H G_j Q_j H B_j x + m_j^\top x + b`.

    Block j keeps the rows ``kept_rows[kept_pointers[j]:kept_pointers[j + 1]]`` as projections.

    Attributes
    ----------
    blocks : FastfoodBlocks
        Signs, diagonals, permutations and centres of the blocks.
    kept_pointers : ndarray of shape (n_blocks + 1,), int64
        Where the projections of each block start.
    kept_rows : ndarray of shape (n_projections,), int32
        Rows of the block, ascending, that are its projections.
    offsets, amplitudes, n_outputs, paired
        See :class:`~cerflearn.features.base.FeatureMap`.

    Notes
    -----
    For a padded size up to 32 the native core is given the frequencies as a dense matrix, which
    is as quick there. :meth:`cost` counts Fastfood all the same.
    """

    blocks: FastfoodBlocks
    kept_pointers: IntArray
    kept_rows: NDArray[np.int32]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._freeze("kept_pointers", np.int64)
        self._freeze("kept_rows", np.int32)
        dtypes = dict.fromkeys(_BLOCK_ARRAYS, np.float64) | {"permutation": np.int32}
        arrays: dict[str, Any] = {name: getattr(self.blocks, name) for name in _BLOCK_ARRAYS}
        for name, array in arrays.items():
            arrays[name] = None if array is None else frozen(array, dtypes[name])
        blocks = FastfoodBlocks(**arrays, n_features=self.blocks.n_features)
        object.__setattr__(self, "blocks", blocks)

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return self.blocks.n_features

    @property
    def block_of_projection(self) -> IntArray:
        """Block that each projection belongs to, (n_projections,)."""
        return np.repeat(np.arange(self.blocks.n_blocks), np.diff(self.kept_pointers))

    @property
    def inputs_read(self) -> IntArray:
        """Inputs that at least one block reads, ascending."""
        return np.flatnonzero(self.blocks.signs[:, : self.n_features].any(axis=0))

    def _frequencies(self) -> Float64Array:
        return materialise(self.blocks, self.kept_pointers, self.kept_rows)

    def _masks(self) -> BoolArray:
        signs = self.blocks.signs
        masks: BoolArray = signs[self._rows_of(signs), : self.n_features].T != 0.0
        return masks

    def _rows_of(self, array: NDArray[Any]) -> IntArray:
        """Row of an array, of the blocks or shared by all, that each projection has."""
        block = self.block_of_projection
        return block if len(array) > 1 else np.zeros_like(block)

    def _largest_frequency(self) -> float:
        blocks = self.blocks
        largest = np.abs(blocks.row_scale).max() * np.abs(blocks.gaussian_diag).max() * blocks.size
        return float(largest) + (0.0 if blocks.centres is None else np.abs(blocks.centres).max())

    def _pack(self, dtype: str, level: str) -> _native.Model:
        blocks = self.blocks
        if blocks.size <= _MATERIALISED_SIZE:
            return _native.dense_model(
                frequencies=self.frequencies,
                offsets=self.offsets,
                amplitudes=self.amplitudes,
                n_outputs=self.n_outputs,
                paired=self.paired,
                dtype=dtype,
                level=level,
            )
        return _native.fastfood_model(
            n_features=blocks.n_features,
            signs=blocks.signs,
            gaussian_diag=blocks.gaussian_diag,
            permutation=np.broadcast_to(blocks.permutation, blocks.gaussian_diag.shape),
            row_scale=blocks.row_scale[self._rows_of(blocks.row_scale), self.kept_rows],
            kept_pointers=self.kept_pointers,
            kept_rows=self.kept_rows,
            centres=blocks.centres,
            offsets=self.offsets,
            amplitudes=self.amplitudes,
            n_outputs=self.n_outputs,
            paired=self.paired,
            dtype=dtype,
            level=level,
        )

    def _select(self, projections: IntArray) -> dict[str, Any]:
        used, kept = runs_of(self.block_of_projection[projections])
        rows = self.kept_rows[projections]
        within = np.diff(self.block_of_projection[projections]) == 0
        if len(np.unique(used)) < len(used) or (np.diff(rows)[within] < 0).any():
            raise ValueError("Projections of a block must stay together and ascend.")
        arrays: dict[str, Any] = {}
        for name in _BLOCK_ARRAYS:
            array = getattr(self.blocks, name)
            shared = array is None or len(array) == 1
            arrays[name] = array if shared else array[used]
        return {
            "blocks": FastfoodBlocks(**arrays, n_features=self.n_features),
            "kept_pointers": np.concatenate([[0], np.cumsum(kept)]),
            "kept_rows": rows,
        }

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything the map is made of, by name; no ``centres`` if the blocks have none."""
        arrays = super().to_arrays()
        del arrays["blocks"]
        values = {name: getattr(self.blocks, name) for name in (*_BLOCK_ARRAYS, "n_features")}
        arrays |= {name: np.asarray(value) for name, value in values.items() if value is not None}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Map from the result of :meth:`to_arrays`."""
        rest = dict(arrays)
        n_features = int(rest.pop("n_features"))
        parts: dict[str, Any] = {name: rest.pop(name, None) for name in _BLOCK_ARRAYS}
        values: dict[str, Any] = {n: a.item() if a.ndim == 0 else a for n, a in rest.items()}
        return cls(blocks=FastfoodBlocks(**parts, n_features=n_features), **values)

    def _structure_cost(self) -> Cost:
        blocks = self.blocks
        centred = 0 if blocks.centres is None else int(blocks.centres.any(axis=1).sum())
        n_centre_inputs = centred * blocks.n_features
        macs = fastfood_macs(
            blocks.n_blocks,
            blocks.size,
            shared_signs=len(blocks.signs) == 1,
            n_centre_inputs=n_centre_inputs,
        )
        n_scales = min(blocks.row_scale.size, self.n_projections)  # of kept rows, or shared ones
        values = blocks.signs.size + blocks.gaussian_diag.size + n_scales
        indices = blocks.permutation.size + len(self.kept_pointers) + len(self.kept_rows)
        return stored_cost(macs=macs, n_parameters=values + n_centre_inputs, n_indices=indices)


def draw_blocked_map(
    n_features: int,
    n_outputs: int,
    law: SpectralLaw,
    rng: np.random.Generator,
    *,
    paired: bool = True,
    share: Collection[str] = (),
    centres: Float64Array | None = None,
    spaced_offsets: bool = True,
) -> BlockedMap:
    """Draw Fastfood blocks, of which the first rows are kept.

    Parameters
    ----------
    n_features, n_outputs : int
        Number of inputs and of output columns.
    law : SpectralLaw
        Isotropic law of the frequencies.
    rng : numpy.random.Generator
        Source of randomness.
    paired : bool, default=True
        Cosine and sine of each projection, or a cosine with a random offset.
    share : collection of {"signs", "permutation", "scales"}, default=()
        What all blocks have in common; Prop. 5 prints all three.
    centres : ndarray of shape (n_blocks, n_features), optional
        A centre for each block.
    spaced_offsets : bool, default=True
        Offsets of a block in equal steps, or independent ones as in the paper.

    Examples
    --------
    >>> from cerflearn.spectral import Gaussian
    >>> draw_blocked_map(5, 24, Gaussian(1.0), np.random.default_rng(0))
    BlockedMap(n_features=5, n_projections=12, n_outputs=24, paired=True)
    """
    n_projections = projections_for(n_outputs, paired)
    size = padded_size(n_features)
    n_blocks = -(-n_projections // size)
    blocks = draw_blocks(n_blocks, n_features, law, rng, share, centres)
    return BlockedMap(
        blocks=blocks,
        kept_pointers=np.minimum(np.arange(n_blocks + 1) * size, n_projections),
        kept_rows=(np.arange(n_projections) % size).astype(np.int32),
        offsets=(
            draw_block_offsets(n_projections, size, paired, rng)
            if spaced_offsets
            else draw_offsets(n_projections, paired, rng)
        ),
        amplitudes=equal_amplitudes(n_projections, paired),
        n_outputs=n_outputs,
        paired=paired,
    )


def draw_block_offsets(
    n_projections: int, size: int, paired: bool, rng: np.random.Generator
) -> Float64Array:
    r"""Offsets (n_projections,), equally spaced around the circle in each block; zeros for pairs.

    Twice the product of two cosines of one projection is :math:`\cos(\omega^\top (x - y))` and,
    noise with mean zero, :math:`\cos(\omega^\top (x + y) + 2 b)`. Rows of a block that are alike,
    around one centre or of low frequency, have nearly the same noise but for b: with offsets in
    equal steps from a random start it cancels. Each offset alone is uniform, as independent ones.

    Parameters
    ----------
    n_projections : int
        Number of projections, of whole blocks but for the last.
    size : int
        Projections of a block.
    paired : bool
        Whether projections have a sine too, and need no offset.
    rng : numpy.random.Generator
        Source of randomness.
    """
    offsets = np.zeros(n_projections)
    if paired:
        return offsets
    for first in range(0, n_projections, size):
        n_rows = min(size, n_projections - first)
        steps = rng.permutation(n_rows) + rng.uniform()
        offsets[first : first + n_rows] = 2.0 * np.pi * steps / n_rows
    return offsets


def block_macs(
    n_features: int, *, shared_signs: bool = False, centred: bool = False
) -> tuple[int, int]:
    """MACs of each whole block, and those counted once for all blocks that share their signs.

    Examples
    --------
    >>> block_macs(16), block_macs(16, shared_signs=True), block_macs(16, centred=True)
    ((176, 0), (96, 80), (192, 0))
    """
    size = padded_size(n_features)
    one = fastfood_macs(1, size, shared_signs=shared_signs)
    each = fastfood_macs(2, size, shared_signs=shared_signs) - one
    return each + (n_features if centred else 0), one - each


def blocks_within_budget(
    macs: int, n_features: int, *, shared_signs: bool = False, centred: bool = False
) -> int:
    """Count the whole blocks that fit a budget; ``centred``: each has a centre.

    Examples
    --------
    >>> blocks_within_budget(400, 16), blocks_within_budget(400, 16, shared_signs=True)
    (2, 3)
    """
    each, once = block_macs(n_features, shared_signs=shared_signs, centred=centred)
    return max(0, macs - once) // each
