r"""Drawing of Fastfood blocks: how many fit a budget, their centres and scales (Prop. 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cerflearn._typing import BoolArray
from cerflearn.features.base import budget_error, check_map_size, outputs_of, projections_for
from cerflearn.features.blocked import (
    BlockedMap,
    block_macs,
    blocks_within_budget,
    draw_blocked_map,
)
from cerflearn.features.fastfood import padded_size
from cerflearn.features.masks import MaskSet, draw_beta_bernoulli_masks, draw_fixed_masks
from cerflearn.spectral import SpectralLaw

_VALUES_PER_ROW = 5  # signs, diagonals, permutation, scale and row number


@dataclass(frozen=True, kw_only=True)
class BlockSampler:
    """Draws blocked maps of one setting.

    Attributes
    ----------
    law : SpectralLaw
        Isotropic law of the frequencies of a block, about its centre.
    n_outputs : int
        Output columns; not used if ``macs`` is given.
    macs : int, optional
        Budget of one row.
    paired : bool
        Cosine and sine of each projection, or a cosine with an offset.
    share : tuple of {"signs", "permutation", "scales"}
        What all blocks have in common.
    centre_law : SpectralLaw, optional
        Law of the centres; None: blocks have none.
    scale_spread : float
        Standard deviation of the logarithm of each block's scale; 0: no scales.
    spaced_offsets : bool
        Offsets of a block in equal steps, or independent ones.
    mask_density : float, optional
        Share of all inputs that the mask of a block reads; None: blocks have no masks.
    mask_law : {"fixed", "beta_bernoulli"}
        Masks of equal size, or of a Beta-Bernoulli process.
    """

    law: SpectralLaw
    n_outputs: int
    macs: int | None = None
    paired: bool = True
    share: tuple[str, ...] = ()
    centre_law: SpectralLaw | None = None
    scale_spread: float = 0.0
    spaced_offsets: bool = True
    mask_density: float | None = None
    mask_law: Literal["fixed", "beta_bernoulli"] = "fixed"

    @property
    def _first_stage_shared(self) -> bool:
        """Whether H B x is the same for all blocks: masks in B, one a block, make it differ."""
        return "signs" in self.share and self.mask_density is None

    def n_outputs_for(self, n_features: int) -> int:
        """Output columns: as asked, or all of as many whole blocks as fit the budget."""
        size = padded_size(n_features)
        if self.macs is None:
            n_values = _VALUES_PER_ROW * projections_for(self.n_outputs, self.paired)
            check_map_size(n_values, f"{self.n_outputs:,} output columns")
            return self.n_outputs
        centred = self.centre_law is not None
        n_blocks = blocks_within_budget(
            self.macs, n_features, shared_signs=self._first_stage_shared, centred=centred
        )
        if n_blocks == 0:
            least = sum(self.block_macs(n_features))
            remedy = "or use MaskedFourierFeatures, whose projections cost less"
            raise budget_error(self.macs, n_features, least, "a Fastfood block", remedy)
        check_map_size(_VALUES_PER_ROW * n_blocks * size, f"macs={self.macs}")
        return outputs_of(n_blocks * size, self.paired)

    def block_macs(self, n_features: int) -> tuple[int, int]:
        """MACs of each block, and those counted once."""
        centred = self.centre_law is not None
        return block_macs(n_features, shared_signs=self._first_stage_shared, centred=centred)

    def draw(
        self,
        n_features: int,
        n_outputs: int,
        rng: np.random.Generator,
        varying: BoolArray | None = None,
    ) -> BlockedMap:
        """Draw blocks with their centres, scales and masks, for so many output columns.

        Masks read ``varying`` inputs (n_features,) alone; any, if none does or it is None.
        """
        n_blocks = -(-projections_for(n_outputs, self.paired) // padded_size(n_features))
        centres = None
        if self.centre_law is not None:
            centres = self.centre_law.sample(n_features, n_blocks, rng).T
        drawn = draw_blocked_map(
            n_features,
            n_outputs,
            self.law,
            rng,
            paired=self.paired,
            share=self.share,
            centres=centres,
            spaced_offsets=self.spaced_offsets,
        )
        blocks = drawn.blocks
        if self.scale_spread > 0.0:
            blocks = blocks.rescaled(np.exp(self.scale_spread * rng.standard_normal(n_blocks)))
        if self.mask_density is not None:
            if varying is None or not varying.any():
                varying = np.ones(n_features, dtype=np.bool_)
            masks = self._draw_masks(n_blocks, varying, self.mask_density, rng)
            blocks = blocks.masked(masks, int(varying.sum()), self.law, self.centre_law)
        return replace(drawn, blocks=blocks)

    def _draw_masks(
        self, n_masks: int, usable: BoolArray, density: float, rng: np.random.Generator
    ) -> MaskSet:
        if self.mask_law == "fixed":
            return draw_fixed_masks(n_masks, usable, density, 1, rng, minimum_inputs=1)
        return draw_beta_bernoulli_masks(n_masks, usable, density, 1, rng)

    def draw_candidates(
        self,
        n_features: int,
        n_candidates: int,
        rng: np.random.Generator,
        varying: BoolArray | None = None,
    ) -> BlockedMap:
        """Draw whole blocks, at least ``n_candidates`` columns of them, to choose from."""
        size = padded_size(n_features)
        n_blocks = -(-projections_for(n_candidates, self.paired) // size)
        return self.draw(n_features, outputs_of(n_blocks * size, self.paired), rng, varying)
