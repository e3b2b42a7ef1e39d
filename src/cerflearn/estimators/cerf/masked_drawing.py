"""How MaskedCERF draws its masks and candidates; its parameters are in ``masked``."""

from __future__ import annotations

import math
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from cerflearn._typing import BoolArray
from cerflearn._validation import check_choice, check_integer, check_number
from cerflearn.estimators.cerf.learned import LearnedFeatureMap
from cerflearn.estimators.cerf.selection import Candidates, Purse
from cerflearn.estimators.input import varying_inputs
from cerflearn.features.base import projections_for
from cerflearn.features.masked import (
    DrawMasks,
    MaskedMap,
    draw_masked_map,
    masks_within_budget,
)
from cerflearn.features.masks import (
    MaskSet,
    automatic_density,
    draw_beta_bernoulli_masks,
    draw_fixed_masks,
)

_MOST_PER_MASK = 16  # more cost accuracy and gain no speed
_MOST_PER_CHOSEN_MASK = 2  # whole masks of 4 or more are chosen no better than at random


class MaskedDrawing(LearnedFeatureMap):
    """Base of MaskedCERF: masks within a budget, and candidates on more of them."""

    feature_map_: MaskedMap
    mask_density: Any
    mask_law: Any
    group_size: Any
    features_per_mask: Any
    mask_density_: float
    features_per_mask_: int

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.mask_density, str) and self.mask_density == "auto"):
            must_be = "a number above 0 and at most 1, or 'auto'"
            check_number("mask_density", self.mask_density, must_be, above=0.0, at_most=1.0)
        check_choice("mask_law", self.mask_law, ("fixed", "beta_bernoulli"))
        check_choice("group_size", self.group_size, (1, 2, 4, 8, 16))
        if not (isinstance(self.features_per_mask, str) and self.features_per_mask == "auto"):
            must_be = "a positive integer or 'auto'"
            check_integer("features_per_mask", self.features_per_mask, must_be)

    def _draw_map(self, X: Any, rng: np.random.Generator) -> MaskedMap:
        usable = self._plan(X)
        masks, n_outputs = self._draw_masks(usable, rng)
        return self._draw_on(masks, usable, n_outputs, rng)

    def _draw_candidates(self, X: Any, rng: np.random.Generator) -> tuple[Candidates, Purse, int]:
        usable = self._plan(X)
        # Only the number of outputs is used, so that the candidates start from the same state:
        # masks of a Beta-Bernoulli process then prefer the same inputs.
        _, n_outputs = self._draw_masks(usable, deepcopy(rng))
        n_candidates = self._n_candidates_asked(n_outputs)
        n_projections = projections_for(n_candidates, bool(self.paired))
        per_mask = self.features_per_mask_
        masks = self._draw_n_masks(usable, -(-n_projections // per_mask), rng)
        drawn = self._draw_on(masks, usable, n_candidates, rng)
        bundles = None if per_mask == 1 else np.arange(n_projections) // per_mask
        purse = Purse(drawn.active, budget=None if self.macs is None else int(self.macs))
        return Candidates(drawn, bundles), purse, n_outputs

    def _plan(self, X: Any) -> BoolArray:
        """Set density and features per mask; return the inputs that masks may read."""
        usable = varying_inputs(X)
        if not usable.any():
            usable = ~usable  # nothing is known of the data: every input may vary later
        self.mask_density_ = self._density(len(usable))
        expected = self._expected_active(usable) * self._n_projections_asked()
        budget = expected if self.macs is None else float(self.macs)
        self.features_per_mask_ = self._projections_per_mask(budget, int(usable.sum()))
        return usable

    def _draw_on(
        self, masks: MaskSet, usable: BoolArray, n_outputs: int, rng: np.random.Generator
    ) -> MaskedMap:
        return draw_masked_map(
            masks,
            int(usable.sum()),
            len(usable),
            n_outputs,
            self.law_,
            rng,
            paired=bool(self.paired),
            features_per_mask=self.features_per_mask_,
            group_size=int(self.group_size),
        )

    def _density(self, n_features: int) -> float:
        if self.mask_density != "auto":
            return float(self.mask_density)
        if self.macs is not None:  # the number of projections follows from the density
            return automatic_density(n_features)
        return automatic_density(n_features, self._n_projections_asked())

    def _expected_active(self, usable: BoolArray) -> float:
        return max(self.mask_density_ * len(usable), 1.0)

    def _n_projections_asked(self) -> int:
        return projections_for(self._n_outputs_asked(), bool(self.paired))

    def _draw_masks(self, usable: BoolArray, rng: np.random.Generator) -> tuple[MaskSet, int]:
        """Masks and the number of output columns, from the one of n_components and macs given."""
        draw: DrawMasks = partial(self._draw_n_masks, usable)
        per_mask = self.features_per_mask_
        if self.macs is None:
            n_masks = -(-self._n_projections_asked() // per_mask)
            return draw(n_masks, rng), self._n_outputs_asked()
        expected = self._expected_active(usable)
        masks, n_projections = masks_within_budget(draw, int(self.macs), expected, per_mask, rng)
        if n_projections == 0:
            remedy = "or lower mask_density" + (" or group_size" if self.group_size > 1 else "")
            raise self._budget_error(int(masks.counts[0]), "the first projection", remedy)
        return masks, self._n_outputs_of(n_projections)

    def _projections_per_mask(self, macs: float, n_usable: int) -> int:
        """As many as leave masks enough to read each usable input once, for "auto"."""
        if self.features_per_mask != "auto":
            return min(int(self.features_per_mask), max(1, math.ceil(macs)))  # one MAC each
        most = _MOST_PER_MASK if self.selector == "random" else _MOST_PER_CHOSEN_MASK
        return int(np.clip(macs / n_usable, 1, most))

    def _draw_n_masks(self, usable: BoolArray, n_masks: int, rng: np.random.Generator) -> MaskSet:
        arguments = (n_masks, usable, self.mask_density_, int(self.group_size), rng)
        if self.mask_law == "fixed":
            return draw_fixed_masks(*arguments, 4 if self.mask_density == "auto" else 1)
        return draw_beta_bernoulli_masks(*arguments)
