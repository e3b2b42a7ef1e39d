r"""From candidates and a teacher to the projections that are kept.

``learn`` runs one of the selectors of :mod:`cerflearn.learning` and ranks the candidate columns;
``Purse`` and ``choose_projections`` turn the ranking into projections that a budget pays for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.features.base import FeatureMap
from cerflearn.learning.cvem import fit_cvem
from cerflearn.learning.greedy import fit_greedy
from cerflearn.learning.result import Stage
from cerflearn.learning.rows import Rows
from cerflearn.learning.selection import rank_candidates
from cerflearn.learning.shared import fit_shared

SELECTORS = ("cvem", "shared", "greedy", "random")
"""How features are chosen."""

FIXED_STAGES = 3
"""Stages of CVEM that keep the rotation, after those that ``max_stages`` limits."""

Report = Callable[[int, str, float], bool]
"""Told the number of a stage and the name and value of what it reached; True asks to stop."""

_UNEXPLAINED = "unexplained share of the teacher"


@dataclass(frozen=True)
class LearningOptions:
    """Parameters of the selectors, see :class:`cerflearn.MaskedCERF`."""

    selector: Any
    solver: Any
    normalize: Any
    spectral_penalty: Any
    max_stages: int
    tol: float

    @property
    def most_stages(self) -> int:
        """Most stages that are reported; 0 if nothing is learned."""
        if self.selector == "cvem":
            return self.max_stages + FIXED_STAGES
        return {"shared": max(2, self.max_stages), "greedy": 1}.get(self.selector, 0)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Features to choose from.

    Attributes
    ----------
    feature_map : FeatureMap
        Its columns are the candidates; a paired map has all its sines.
    bundles : ndarray of shape (n_projections,), int64, optional
        Projections to choose together (they share a mask or a block): equal numbers from 0, in
        ascending order. None: each projection is chosen by itself.
    """

    feature_map: FeatureMap
    bundles: IntArray | None

    @property
    def units(self) -> IntArray:
        """Projection of each column, (n_candidates,)."""
        columns = np.arange(self.feature_map.n_outputs)
        return columns // 2 if self.feature_map.paired else columns

    @property
    def groups(self) -> IntArray | None:
        """Bundle of each column, (n_candidates,); None if there are no bundles."""
        return None if self.bundles is None else self.bundles[self.units]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a selector found.

    Attributes
    ----------
    ranking : ndarray of shape (n_candidates,), int64
        Candidate columns, best first.
    feature_proba : ndarray of shape (n_candidates,), optional
        E[pi]; None for selectors that decide for all samples at once.
    rotation : ndarray of shape (n_outputs, n_candidates), optional
        W of CVEM.
    scale : float, optional
        c; the greedy selector has none.
    lower_bounds : ndarray of shape (n_iter,), optional
        Of CVEM.
    errors : ndarray of shape (n_iter,), optional
        Share of the teacher's energy that is left unexplained, of the other selectors.
    converged : bool
        False if CVEM ran out of stages.
    """

    ranking: IntArray
    feature_proba: Float64Array | None = None
    rotation: Float64Array | None = None
    scale: float | None = None
    lower_bounds: Float64Array | None = None
    errors: Float64Array | None = None
    converged: bool = True


class _StoppedError(Exception):
    """A callback asked to stop."""


def learn(
    rows: Rows, candidates: Candidates, n_columns: int, options: LearningOptions, report: Report
) -> Learned:
    """Rank the candidates by the selector that the options name.

    Parameters
    ----------
    rows : Rows
        Teacher and learner in blocks.
    candidates : Candidates
        What the learner's columns are.
    n_columns : int
        Columns to keep, whole pairs.
    options : LearningOptions
        Checked.
    report : callable
        See :data:`Report`.
    """
    if options.selector == "cvem":
        return _learn_cvem(rows, candidates, options, report)
    if options.selector == "shared":
        return _learn_shared(rows, candidates, n_columns, options, report)
    return _learn_greedy(rows, candidates, n_columns, options, report)


def _learn_greedy(
    rows: Rows, candidates: Candidates, n_columns: int, options: LearningOptions, report: Report
) -> Learned:
    units, groups = candidates.units, candidates.groups
    greedy = fit_greedy(rows, n_columns, normalize=options.normalize, units=units, groups=groups)
    errors = greedy.errors if len(greedy.errors) else np.ones(1)  # the first group is cut already
    report(0, _UNEXPLAINED, float(errors[-1]))
    return Learned(greedy.ranking, errors=errors)


def _learn_cvem(
    rows: Rows, candidates: Candidates, options: LearningOptions, report: Report
) -> Learned:
    stages: list[Stage] = []

    def on_stage(stage: Stage) -> None:
        stages.append(stage)
        if report(stage.index, "lower bound", stage.bound.total):
            raise _StoppedError

    try:
        converged = fit_cvem(
            rows,
            solver=options.solver,
            normalize=options.normalize,
            spectral_penalty=options.spectral_penalty,
            max_stages=options.max_stages,
            n_fixed_stages=FIXED_STAGES,
            tol=options.tol,
            on_stage=on_stage,
        ).converged
    except _StoppedError:
        converged = True  # as far as was asked
    state = stages[-1].state
    proba = state.feature_proba
    return Learned(
        rank_candidates(proba, units=candidates.units, groups=candidates.groups),
        feature_proba=proba,
        rotation=state.rotation,
        scale=state.scale,
        lower_bounds=np.array([stage.bound.total for stage in stages]),
        converged=converged,
    )


def _learn_shared(
    rows: Rows, candidates: Candidates, n_columns: int, options: LearningOptions, report: Report
) -> Learned:
    def on_stage(stage: int, error: float) -> None:
        report(stage, _UNEXPLAINED, error)  # not to be stopped: too many columns would be left

    shared = fit_shared(
        rows,
        n_columns,
        normalize=options.normalize,
        units=candidates.units,
        groups=candidates.groups,
        max_stages=options.max_stages,
        on_stage=on_stage,
    )
    return Learned(shared.ranking, scale=shared.scale, errors=shared.errors)


class Purse:
    """What chosen projections cost together, against a budget.

    Parameters
    ----------
    price : ndarray of shape (n_projections,), int64
        MACs of each projection alone.
    block : ndarray of shape (n_projections,), int64, optional
        Block that each projection belongs to, paid whole with its first projection.
    block_price, spent : int, default=0
        MACs of a block; MACs that are due in any case.
    budget : int, optional
        MACs at most; None: no limit.
    """

    def __init__(
        self,
        price: IntArray,
        *,
        block: IntArray | None = None,
        block_price: int = 0,
        spent: int = 0,
        budget: int | None = None,
    ) -> None:
        self._price = price
        self._block = np.zeros(len(price), dtype=np.int64) if block is None else block
        self._block_price = block_price
        self._kept = np.zeros(int(self._block.max()) + 1, dtype=np.int64)
        self._left = np.inf if budget is None else budget - spent

    def _due(self, projection: int) -> int:
        """MACs that the projection adds, or saves, while it is not counted."""
        first = self._kept[self._block[projection]] == 0
        return int(self._price[projection]) + (self._block_price if first else 0)

    def take(self, projection: int) -> bool:
        """Pay for a projection if the budget allows; tell whether it does."""
        due = self._due(projection)
        if due > self._left:
            return False
        self._left -= due
        self._kept[self._block[projection]] += 1
        return True

    def give_back(self, projection: int) -> None:
        """Take a projection off the bill."""
        self._kept[self._block[projection]] -= 1
        self._left += self._due(projection)


def choose_projections(order: IntArray, n_projections: int, purse: Purse) -> IntArray:
    """First ``n_projections`` of a ranking that the purse can pay for together, in rank order.

    A projection that is too dear is passed over, for a cheaper one behind it.
    """
    chosen: list[int] = []
    for projection in order.tolist():
        if len(chosen) == n_projections:
            break
        if purse.take(projection):
            chosen.append(projection)
    return np.array(chosen, dtype=np.int64)


def ranked_projections(ranking: IntArray, units: IntArray) -> IntArray:
    """Projections in the order of their first column in a ranking of columns."""
    _, first = np.unique(units[ranking], return_index=True)
    return units[ranking][np.sort(first)]
