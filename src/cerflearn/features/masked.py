r"""Masked map: a projection reads the inputs of its mask only (Prop. 3, Eq. 35)."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cerflearn import _native
from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn.features.base import (
    FeatureMap,
    draw_offsets,
    equal_amplitudes,
    projections_for,
    runs_of,
)
from cerflearn.features.cost import (
    Cost,
    StoredArray,
    compressed_array,
    masked_macs,
    stored_bytes,
    stored_cost,
)
from cerflearn.features.masks import MaskSet, mask_scale
from cerflearn.spectral import Cauchy, Gaussian, Laplace, SpectralLaw, StudentT

DrawMasks: TypeAlias = Callable[[int, np.random.Generator], MaskSet]
"""Draws so many masks."""

# Their inputs are alike, and some of them alone have the same law: only active inputs are drawn.
_EXCHANGEABLE_LAWS = (Gaussian, Cauchy, Laplace, StudentT)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MaskedMap(FeatureMap):
    r"""Features :math:`a \cos(\rho (\epsilon \odot \omega)^\top x + b)`; masks may be shared.

    Mask m reads ``mask_inputs[mask_pointers[m]:mask_pointers[m + 1]]``, ascending, and is
    that of projections ``projection_pointers[m]:projection_pointers[m + 1]``. Relu maps give
    :math:`a \max(\rho (\epsilon \odot \omega)^\top x + b, 0)` instead.

    Attributes
    ----------
    n_inputs : int
        Number of inputs; the same as ``n_features``.
    mask_pointers, projection_pointers : ndarray of shape (n_masks + 1,), int64
        Where each mask starts.
    mask_inputs : ndarray of shape (mask_pointers[-1],), int32
        Inputs of the masks.
    values : ndarray of shape (n_values,)
        Frequencies in radians, mask scale included: mask by mask a C-ordered block (inputs of
        the mask, projections of the mask).
    group_size : {1, 2, 4, 8, 16}
        Masks are made of aligned runs of so many inputs; a hint for speed only.
    relu : bool, default=False
        Whether column k is :math:`a_k \max(\omega_k^\top x + b_k, 0)`, a random feature of the
        arc-cosine kernel of order 1 (Cho and Saul, 2009), instead of a cosine; all projections
        or none, and not with ``paired``.
    offsets, amplitudes, n_outputs, paired
        See :class:`~cerflearn.features.base.FeatureMap`.
    """

    n_inputs: int
    mask_pointers: IntArray
    mask_inputs: NDArray[np.int32]
    projection_pointers: IntArray
    values: Float64Array
    group_size: int = 1
    relu: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relu and self.paired:
            raise ValueError("relu=True needs paired=False: positive parts have no sine.")
        self._freeze("mask_pointers", np.int64)
        self._freeze("mask_inputs", np.int32)
        self._freeze("projection_pointers", np.int64)
        self._freeze("values", np.float64)

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return self.n_inputs

    @property
    def n_masks(self) -> int:
        """Number of distinct masks."""
        return len(self.mask_pointers) - 1

    @property
    def active(self) -> IntArray:
        """Inputs that each projection reads, (n_projections,)."""
        return np.repeat(np.diff(self.mask_pointers), np.diff(self.projection_pointers))

    @property
    def inputs_read(self) -> IntArray:
        """Inputs that at least one mask reads, ascending."""
        return np.unique(self.mask_inputs).astype(np.int64)

    def _entries(self) -> tuple[IntArray, IntArray]:
        """Input and projection that each of ``values`` belongs to."""
        _, entry, projection = _layout(self.mask_pointers, self.projection_pointers)
        return self.mask_inputs[entry].astype(np.int64), projection

    def _frequencies(self) -> Float64Array:
        frequencies = np.zeros((self.n_features, self.n_projections))
        frequencies[self._entries()] = self.values
        return frequencies

    def _masks(self) -> BoolArray:
        # From the structure, not the values: an active input may have frequency zero.
        masks = np.zeros((self.n_features, self.n_projections), dtype=np.bool_)
        masks[self._entries()] = True
        return masks

    def sparse_factor(self) -> Any:
        """Frequencies as a CSR matrix (n_features, n_projections)."""
        shape = (self.n_features, self.n_projections)
        return csr_array((self.values, self._entries()), shape=shape)

    def _largest_frequency(self) -> float:
        return float(np.abs(self.values).max())

    def _pack(self, dtype: str, level: str) -> _native.Model:
        return _native.masked_model(
            n_features=self.n_inputs,
            mask_pointers=self.mask_pointers,
            mask_inputs=self.mask_inputs,
            projection_pointers=self.projection_pointers,
            values=self.values,
            group_size=self.group_size,
            offsets=self.offsets,
            amplitudes=self.amplitudes,
            n_outputs=self.n_outputs,
            paired=self.paired,
            relu=self.relu,
            dtype=dtype,
            level=level,
        )

    def _select(self, projections: IntArray) -> dict[str, Any]:
        counts, widths = np.diff(self.mask_pointers), np.diff(self.projection_pointers)
        mask_of_projection = np.repeat(np.arange(self.n_masks), widths)
        used, kept = runs_of(mask_of_projection[projections])
        masks = MaskSet(self.mask_pointers, self.mask_inputs).select(used)
        pointers = np.concatenate([[0], np.cumsum(kept)])
        mask, entry, projection = _layout(masks.pointers, pointers)
        old, place = used[mask], entry - masks.pointers[mask]
        starts = np.cumsum(counts * widths) - counts * widths
        column = projections[projection] - self.projection_pointers[old]
        return {
            "mask_pointers": masks.pointers,
            "mask_inputs": masks.inputs,
            "projection_pointers": pointers,
            "values": self.values[starts[old] + place * widths[old] + column],
        }

    def _structure_cost(self) -> Cost:
        macs = masked_macs(
            np.diff(self.mask_pointers).tolist(), np.diff(self.projection_pointers).tolist()
        )
        n_indices = len(self.mask_inputs) + 2 * len(self.mask_pointers)
        return stored_cost(macs=macs, n_parameters=len(self.values), n_indices=n_indices)

    def stored_array(self) -> StoredArray:
        """Sizes of what a deployed model stores of the frequencies.

        Nothing beside them if every projection reads every input. Else a list of inputs for each
        mask and one of the projections of masks, or a list of inputs for each projection: what has
        fewer bytes.
        """
        n_values = len(self.values)
        apart = compressed_array(n_values, self.n_projections, self.n_inputs)
        if self.n_masks == self.n_projections or apart.n_indices == 0:
            return apart
        shared = StoredArray(n_values, len(self.mask_inputs), 2 * len(self.mask_pointers))

        def n_bytes(array: StoredArray) -> int:
            return stored_bytes("float32", n_features=self.n_inputs, arrays=[array], n_biases=0)

        return min(apart, shared, key=n_bytes)


def _layout(
    mask_pointers: IntArray, projection_pointers: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Mask, entry of ``mask_inputs`` and projection that each of ``values`` belongs to."""
    counts, widths = np.diff(mask_pointers), np.diff(projection_pointers)
    sizes = counts * widths
    mask = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(len(mask)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place, column = np.divmod(position, widths[mask])
    return mask, mask_pointers[mask] + place, projection_pointers[mask] + column


def draw_masked_map(
    masks: MaskSet,
    n_usable: int,
    n_features: int,
    n_outputs: int,
    law: SpectralLaw,
    rng: np.random.Generator,
    *,
    paired: bool = True,
    features_per_mask: int = 16,
    group_size: int = 1,
) -> MaskedMap:
    r"""Draw frequencies :math:`\rho\, (\epsilon \odot \omega)` on given masks (Eq. 35).

    Parameters
    ----------
    masks : MaskSet
        One mask for each ``features_per_mask`` projections, the last for the rest.
    n_usable : int
        Inputs that masks may read, which the mask scale rho refers to.
    n_features, n_outputs : int
        Number of inputs and of output columns.
    law : SpectralLaw
        Law of omega.
    rng : numpy.random.Generator
        Source of randomness.
    paired : bool, default=True
        Cosine and sine of each projection, or a cosine with a random offset.
    features_per_mask : int, default=16
        Projections that share a mask.
    group_size : int, default=1
        Of the masks, see :class:`MaskedMap`.
    """
    n_projections = projections_for(n_outputs, paired)
    pointers = np.minimum(np.arange(masks.n_masks + 1) * features_per_mask, n_projections)
    mask, entry, projection = _layout(masks.pointers, pointers)
    if type(law) in _EXCHANGEABLE_LAWS:
        drawn = law.sample(int(masks.counts.max()), n_projections, rng)
        row = entry - masks.pointers[mask]
    else:
        drawn = law.sample(n_features, n_projections, rng)
        row = masks.inputs[entry].astype(np.int64)
    scale = mask_scale(n_usable, masks.counts, law.stability_index)
    return MaskedMap(
        n_inputs=n_features,
        mask_pointers=masks.pointers,
        mask_inputs=masks.inputs,
        projection_pointers=pointers,
        values=scale[mask] * drawn[row, projection],
        group_size=group_size,
        offsets=draw_offsets(n_projections, paired, rng),
        amplitudes=equal_amplitudes(n_projections, paired),
        n_outputs=n_outputs,
        paired=paired,
    )


def masks_within_budget(
    draw: DrawMasks,
    macs: int,
    expected_active: float,
    features_per_mask: int,
    rng: np.random.Generator,
) -> tuple[MaskSet, int]:
    """Draw as many masks as fit a budget, and count their projections.

    Parameters
    ----------
    draw : callable
        ``draw(n_masks, rng)`` returns a MaskSet.
    macs : int
        Budget of one sample.
    expected_active : float
        A guess of the inputs of a mask; it affects time only.
    features_per_mask : int
        Projections that share a mask; the last mask may have fewer.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    masks : MaskSet
        At least one mask, also if no projection of it fits the budget.
    n_projections : int
        Projections within the budget; the next would exceed it.
    """
    n_masks = 2 + int(macs / (max(1.0, expected_active) * features_per_mask))
    while True:
        # Masks of one draw may depend on each other: a longer draw starts from the same state.
        trial = deepcopy(rng)
        masks = draw(n_masks, trial)
        total_macs = np.cumsum(np.repeat(masks.counts, features_per_mask))
        if total_macs[-1] > macs:
            break
        n_masks *= 2
    rng.bit_generator.state = trial.bit_generator.state
    n_projections = int(np.searchsorted(total_macs, macs, side="right"))
    n_used = max(1, -(-n_projections // features_per_mask))
    return masks.select(slice(n_used)), n_projections
