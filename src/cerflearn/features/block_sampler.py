r"""Drawing of Fastfood blocks: how many fit a budget, their centres and scales (Prop. 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cerflearn.features.base import budget_error, check_map_size, outputs_of, projections_for
from cerflearn.features.blocked import (
    BlockedMap,
    block_macs,
    blocks_within_budget,
    draw_blocked_map,
)
from cerflearn.features.fastfood import padded_size
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
    shared_signs : bool
        One B for all blocks.
    centre_law : SpectralLaw, optional
        Law of the centres; None: blocks have none.
    scale_spread : float
        Standard deviation of the logarithm of each block's scale; 0: no scales.
    spaced_offsets : bool
        Offsets of a block in equal steps, or independent ones.
    """

    law: SpectralLaw
    n_outputs: int
    macs: int | None = None
    paired: bool = True
    shared_signs: bool = False
    centre_law: SpectralLaw | None = None
    scale_spread: float = 0.0
    spaced_offsets: bool = True

    def n_outputs_for(self, n_features: int) -> int:
        """Output columns: as asked, or all of as many whole blocks as fit the budget."""
        size = padded_size(n_features)
        if self.macs is None:
            n_values = _VALUES_PER_ROW * projections_for(self.n_outputs, self.paired)
            check_map_size(n_values, f"{self.n_outputs:,} output columns")
            return self.n_outputs
        centred = self.centre_law is not None
        n_blocks = blocks_within_budget(
            self.macs, n_features, shared_signs=self.shared_signs, centred=centred
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
        return block_macs(n_features, shared_signs=self.shared_signs, centred=centred)

    def draw(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> BlockedMap:
        """Draw blocks with their centres and scales, for so many output columns."""
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
            shared_signs=self.shared_signs,
            centres=centres,
            spaced_offsets=self.spaced_offsets,
        )
        if self.scale_spread == 0.0:
            return drawn
        factors = np.exp(self.scale_spread * rng.standard_normal((n_blocks, 1)))
        blocks = replace(drawn.blocks, row_scale=drawn.blocks.row_scale * factors)
        return replace(drawn, blocks=blocks)

    def draw_candidates(
        self, n_features: int, n_candidates: int, rng: np.random.Generator
    ) -> BlockedMap:
        """Draw whole blocks, at least ``n_candidates`` columns of them, to choose from."""
        size = padded_size(n_features)
        n_blocks = -(-projections_for(n_candidates, self.paired) // size)
        return self.draw(n_features, outputs_of(n_blocks * size, self.paired), rng)
