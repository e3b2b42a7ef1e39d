r"""Drawing of masked maps: how many masks fit a budget, and frequencies on them (Prop. 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from cerflearn._typing import BoolArray, IntArray
from cerflearn.features.base import budget_error, check_map_size, outputs_of, projections_for
from cerflearn.features.masked import MaskedMap, draw_masked_map, masks_within_budget
from cerflearn.features.masks import (
    MaskSet,
    automatic_density,
    draw_beta_bernoulli_masks,
    draw_fixed_masks,
)
from cerflearn.spectral import SpectralLaw

MOST_PER_MASK = 16
"""Projections that share a mask, at most, where that is chosen: more cost accuracy and gain no
speed."""

_LEAST_INPUTS = 4  # of a mask whose density is chosen


@dataclass(frozen=True)
class MaskPlan:
    """What was decided before anything is drawn.

    Attributes
    ----------
    usable : ndarray of shape (n_features,), bool
        Inputs that masks may read.
    density : float
        Share of all inputs that a mask reads.
    features_per_mask : int
        Projections that share a mask.
    """

    usable: BoolArray
    density: float
    features_per_mask: int

    @property
    def expected_active(self) -> float:
        """Inputs that a mask is expected to read."""
        return max(self.density * len(self.usable), 1.0)


@dataclass(frozen=True, kw_only=True)
class MaskedSampler:
    """Draws masked maps of one setting.

    Attributes
    ----------
    law : SpectralLaw
        Law of the frequencies.
    n_outputs : int
        Output columns; not used if ``macs`` is given.
    macs : int, optional
        Budget of one row.
    paired : bool
        Cosine and sine of each projection, or a cosine with a random offset.
    mask_density : float or "auto"
        Share of all inputs that a mask reads.
    mask_law : {"fixed", "beta_bernoulli"}
        Masks of equal size, or of a Beta-Bernoulli process.
    group_size : {1, 2, 4, 8, 16}
        Consecutive inputs that a mask takes or leaves together.
    features_per_mask : int or "auto"
        Projections that share a mask.
    most_per_mask : int
        The most of them for ``"auto"``.
    """

    law: SpectralLaw
    n_outputs: int
    macs: int | None = None
    paired: bool = True
    mask_density: float | Literal["auto"] = "auto"
    mask_law: Literal["fixed", "beta_bernoulli"] = "fixed"
    group_size: int = 1
    features_per_mask: int | Literal["auto"] = "auto"
    most_per_mask: int = MOST_PER_MASK

    @classmethod
    def of(cls, parameters: Any, n_outputs: int, macs: int | None, **settings: Any) -> Self:
        """Sampler of an object that has the other settings as attributes, and its law as law_."""
        return cls(
            law=parameters.law_,
            n_outputs=n_outputs,
            macs=macs,
            paired=bool(parameters.paired),
            mask_density=parameters.mask_density,
            mask_law=parameters.mask_law,
            group_size=int(parameters.group_size),
            features_per_mask=parameters.features_per_mask,
            **settings,
        )

    def plan(self, varying: BoolArray) -> MaskPlan:
        """Choose density and projections a mask for the inputs that vary; all, if none does."""
        usable = varying if varying.any() else ~varying
        plan = MaskPlan(usable, self._density(len(usable)), 1)
        expected = plan.expected_active * self._n_projections
        budget = expected if self.macs is None else float(self.macs)
        per_mask = self._projections_per_mask(budget, int(usable.sum()))
        return MaskPlan(usable, plan.density, per_mask)

    def draw(self, plan: MaskPlan, rng: np.random.Generator) -> MaskedMap:
        """Draw as many projections as were asked for, or as fit the budget."""
        masks, n_outputs = self._draw_masks(plan, rng)
        return self._draw_on(masks, plan, n_outputs, rng)

    def draw_candidates(
        self, plan: MaskPlan, n_candidates_for: Callable[[int], int], rng: np.random.Generator
    ) -> tuple[MaskedMap, IntArray | None, int]:
        """Draw more projections than are kept, to choose from.

        Parameters
        ----------
        plan : MaskPlan
            See :meth:`plan`.
        n_candidates_for : callable
            Candidate columns for a number of output columns.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        candidates : MaskedMap
            All of them.
        groups : ndarray of shape (n_projections,), int64, or None
            Mask of each projection; None if each has its own.
        n_outputs : int
            Output columns to keep.
        """
        n_outputs = self.n_outputs
        if self.macs is not None:
            # Only the number of outputs is used, so that the candidates start from the same state:
            # masks of a Beta-Bernoulli process then prefer the same inputs.
            _, n_outputs = self._draw_masks(plan, deepcopy(rng))
        n_candidates = n_candidates_for(n_outputs)
        n_projections = projections_for(n_candidates, self.paired)
        per_mask = plan.features_per_mask
        masks = self._draw_n_masks(plan, -(-n_projections // per_mask), rng)
        candidates = self._draw_on(masks, plan, n_candidates, rng)
        groups = None if per_mask == 1 else np.arange(n_projections) // per_mask
        return candidates, groups, n_outputs

    @property
    def _n_projections(self) -> int:
        return projections_for(self.n_outputs, self.paired)

    def _density(self, n_features: int) -> float:
        if self.mask_density != "auto":
            return float(self.mask_density)
        if self.macs is not None:  # the number of projections follows from the density
            return automatic_density(n_features)
        return automatic_density(n_features, self._n_projections)

    def _projections_per_mask(self, macs: float, n_usable: int) -> int:
        """As many as leave masks enough to read each usable input once, for "auto"."""
        if self.features_per_mask != "auto":
            return min(int(self.features_per_mask), max(1, math.ceil(macs)))  # one MAC each
        return int(np.clip(macs / n_usable, 1, self.most_per_mask))

    def _draw_masks(self, plan: MaskPlan, rng: np.random.Generator) -> tuple[MaskSet, int]:
        """Masks and the number of output columns, from the one of n_outputs and macs given."""
        per_mask = plan.features_per_mask
        if self.macs is None:
            n_values = plan.expected_active * self._n_projections
            check_map_size(n_values, f"{self.n_outputs:,} output columns")
            n_masks = -(-self._n_projections // per_mask)
            return self._draw_n_masks(plan, n_masks, rng), self.n_outputs
        check_map_size(self.macs, f"macs={self.macs}")
        draw = partial(self._draw_n_masks, plan)
        masks, n_projections = masks_within_budget(
            draw, self.macs, plan.expected_active, per_mask, rng
        )
        if n_projections == 0:
            remedy = "or lower mask_density" + (" or group_size" if self.group_size > 1 else "")
            least = int(masks.counts[0])
            raise budget_error(self.macs, len(plan.usable), least, "the first projection", remedy)
        return masks, outputs_of(n_projections, self.paired)

    def _draw_n_masks(self, plan: MaskPlan, n_masks: int, rng: np.random.Generator) -> MaskSet:
        arguments = (n_masks, plan.usable, plan.density, self.group_size, rng)
        if self.mask_law == "fixed":
            return draw_fixed_masks(*arguments, _LEAST_INPUTS if self.mask_density == "auto" else 1)
        return draw_beta_bernoulli_masks(*arguments)

    def _draw_on(
        self, masks: MaskSet, plan: MaskPlan, n_outputs: int, rng: np.random.Generator
    ) -> MaskedMap:
        return draw_masked_map(
            masks,
            int(plan.usable.sum()),
            len(plan.usable),
            n_outputs,
            self.law,
            rng,
            paired=self.paired,
            features_per_mask=plan.features_per_mask,
            group_size=self.group_size,
        )
