"""How BlockedCERF draws its blocks and candidates; its parameters are in ``blocked``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cerflearn._typing import IntArray
from cerflearn._validation import check_choice, check_flag, check_number, invalid
from cerflearn.estimators.cerf.learned import LearnedFeatureMap
from cerflearn.estimators.cerf.selection import Candidates, Purse
from cerflearn.features.base import projections_for
from cerflearn.features.blocked import (
    BlockedMap,
    block_prices,
    blocks_within_budget,
    draw_blocked_map,
)
from cerflearn.features.fastfood import padded_size
from cerflearn.spectral import Gaussian, Product, SpectralLaw


class BlockedDrawing(LearnedFeatureMap):
    """Base of BlockedCERF: blocks within a budget, and more of them as candidates."""

    feature_map_: BlockedMap
    shared_signs: Any
    spread: Any
    scale_spread: Any
    select: Any

    _whole_bundles = True
    _spaced_offsets = True

    @property
    def n_blocks_(self) -> int:
        """Blocks that are computed for a row."""
        return self.feature_map_.blocks.n_blocks

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("shared_signs", self.shared_signs)
        if self.spread is not None:
            check_number("spread", self.spread, "a positive number or None", above=0.0)
        must_be = "a number that is not negative"
        check_number("scale_spread", self.scale_spread, must_be, at_least=0.0)
        check_choice("select", self.select, ("blocks", "outputs"))

    def _draw_map(self, X: Any, rng: np.random.Generator) -> BlockedMap:
        n_features = X.shape[1]
        return self._draw_on(n_features, self._n_outputs(n_features), rng)

    def _draw_candidates(self, X: Any, rng: np.random.Generator) -> tuple[Candidates, Purse, int]:
        n_features = X.shape[1]
        n_outputs = self._n_outputs(n_features)
        size = padded_size(n_features)
        asked = projections_for(self._n_candidates_asked(n_outputs), bool(self.paired))
        n_candidates = self._n_outputs_of(-(-asked // size) * size)
        drawn = self._draw_on(n_features, n_candidates, rng)
        block: IntArray = drawn.block_of_projection
        each, once = self._prices(n_features)
        purse = Purse(
            np.zeros(drawn.n_projections, dtype=np.int64),
            block=block,
            block_price=each,
            spent=once,
            budget=None if self.macs is None else int(self.macs),
        )
        return Candidates(drawn, block if self.select == "blocks" else None), purse, n_outputs

    def _draw_on(self, n_features: int, n_outputs: int, rng: np.random.Generator) -> BlockedMap:
        """Draw blocks with their centres and scales."""
        n_projections = projections_for(n_outputs, bool(self.paired))
        n_blocks = -(-n_projections // padded_size(n_features))
        law, centres = self.law_, None
        if self.spread is not None:
            centres = law.sample(n_features, n_blocks, rng).T
            law = Gaussian(float(self.spread) * self._scale_of(law))
        elif not law.is_isotropic:
            raise invalid(
                "kernel",
                self.kernel,
                "'rbf', 'matern32', 'matern52' or another isotropic law, as Fastfood needs, "
                "unless spread is given: the kernel's law is then that of the blocks' centres",
            )
        drawn = draw_blocked_map(
            n_features,
            n_outputs,
            law,
            rng,
            paired=bool(self.paired),
            shared_signs=bool(self.shared_signs),
            centres=centres,
            spaced_offsets=self._spaced_offsets,
        )
        if self.scale_spread == 0.0:
            return drawn
        factors = np.exp(float(self.scale_spread) * rng.standard_normal((n_blocks, 1)))
        blocks = replace(drawn.blocks, row_scale=drawn.blocks.row_scale * factors)
        return replace(drawn, blocks=blocks)

    def _scale_of(self, law: SpectralLaw) -> float:
        """Scale of a law: of a product, the product of the scales."""
        if isinstance(law, Product):
            return self._scale_of(law.first) * self._scale_of(law.second)
        scale = getattr(law, "scale", None)
        if scale is None:
            raise invalid("spread", self.spread, f"None for {law!r}, a law without a scale")
        return float(scale)

    def _prices(self, n_features: int) -> tuple[int, int]:
        """MACs of each block, and those due once."""
        shared = bool(self.shared_signs)
        return block_prices(n_features, shared_signs=shared, centred=self.spread is not None)

    def _n_outputs(self, n_features: int) -> int:
        if self.macs is None:
            return self._n_outputs_asked()
        n_blocks = blocks_within_budget(
            int(self.macs),
            n_features,
            shared_signs=bool(self.shared_signs),
            centred=self.spread is not None,
        )
        if n_blocks == 0:
            raise self._budget_error(
                sum(self._prices(n_features)),
                "a Fastfood block",
                "or use MaskedCERF, whose projections cost less",
            )
        return self._n_outputs_of(n_blocks * padded_size(n_features))
