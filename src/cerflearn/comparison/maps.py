r"""Random feature maps with a ridge regression on them, as wide as the budget allows."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem

from cerflearn.comparison.limits import limit_note, max_features
from cerflearn.comparison.model import BudgetTooSmallError, FittedModel
from cerflearn.comparison.training_set import TrainingSet
from cerflearn.comparison.tuning import ridge
from cerflearn.estimators.cerf.blocked_cerf import BlockedCERF
from cerflearn.estimators.cerf.masked_cerf import MaskedCERF
from cerflearn.estimators.cost import counted_cost
from cerflearn.estimators.maps.fastfood import FastfoodFeatures
from cerflearn.estimators.maps.masked import MaskedFourierFeatures
from cerflearn.estimators.maps.rff import RandomFourierFeatures
from cerflearn.features.cost import Cost, stored_cost

GAMMA_FACTORS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Kernel coefficients that are tried, times one over the median squared distance of rows."""

MAX_LEARNED_CANDIDATES = 1_000
"""Candidates that a learned map selects from, at most: time grows with their cube."""

_GAMMA_ROWS = 5_000  # on which kernel coefficients are compared
_SELECTED_FRACTION = 0.4  # of the candidates of a learned map
_MIN_CANDIDATES_PER_FEATURE = 1.1  # fewer leave hardly anything to select from

MapFactory = Callable[..., Any]
"""Makes an unfitted map: ``make_map(n_components=, gamma=, random_state=)``."""


def rff(training: TrainingSet, macs: int) -> FittedModel:
    """Dense random Fourier features, cosine and sine of each projection."""
    return _fit(training, macs, RandomFourierFeatures)


def fastfood(training: TrainingSet, macs: int) -> FittedModel:
    """Structured random features."""
    return _fit(training, macs, FastfoodFeatures)


def masked(training: TrainingSet, macs: int) -> FittedModel:
    """Random features that read few inputs, drawn and not trained."""
    return _fit(training, macs, MaskedFourierFeatures)


def cvem(training: TrainingSet, macs: int) -> FittedModel:
    """Masked features selected by constrained variational EM, without labels."""
    return _fit(training, macs, MaskedCERF, {"selector": "cvem"})


def blocked(training: TrainingSet, macs: int) -> FittedModel:
    """Fastfood blocks selected by greedy pursuit of dense features, without labels."""
    return _fit(training, macs, BlockedCERF, {"selector": "greedy"})


def nystroem(training: TrainingSet, macs: int) -> FittedModel:
    """Nystroem features of scikit-learn: D K + K^2 MACs, and the head."""
    per_component = training.n_features + training.n_scores
    allowed = int((np.sqrt(per_component**2 + 4.0 * macs) - per_component) / 2.0)
    while allowed * (per_component + allowed) > macs:  # rounding
        allowed -= 1
    if allowed < 1:
        raise BudgetTooSmallError("one component", per_component + 1)
    width = min(allowed, training.n_samples, max_features(training.n_samples))
    gamma = _best_gamma(training, Nystroem, width)
    features = Nystroem(gamma=gamma, n_components=width, random_state=training.seed)
    features.fit(training.X)
    head = ridge(features.transform(training.X), training)
    coef, bias = head.head.astype(np.float32), head.bias.astype(np.float32)
    return FittedModel(
        lambda X: training.predict_from_scores(features.transform(X) @ coef + bias),
        counted_cost(features) + _head_cost(training, width),
        width,
        limit_note(width, "components", training.n_samples) if width < allowed else "",
    )


def _fit(
    training: TrainingSet,
    macs: int,
    make_map: MapFactory,
    learned: dict[str, Any] | None = None,
) -> FittedModel:
    """Widest map within budget and limits, with the gamma of the least leave-one-out error."""
    drawn = {} if learned is None else {"selector": "random"}

    def make_drawn_map(**parameters: Any) -> Any:
        return make_map(**drawn, **parameters)

    width, note = _widest(make_drawn_map, training, macs, learned=learned is not None)
    gamma = _best_gamma(training, make_drawn_map, width)
    parameters: dict[str, Any] = {"gamma": gamma, "random_state": training.seed}
    if learned is not None:
        n_candidates = min(int(width / _SELECTED_FRACTION), MAX_LEARNED_CANDIDATES)
        parameters |= learned | {"n_candidates": n_candidates + n_candidates % 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of CVEM after 20 stages
        sampler = make_map(n_components=width, **parameters).fit(training.X)
        # Selected features may read more inputs than the drawn ones that the width was found for.
        while counted_cost(sampler).macs + width * training.n_scores > macs:
            width -= 1
            sampler = make_map(n_components=width, **parameters).fit(training.X)
    head = ridge(sampler.transform(training.X), training)
    coef, bias = np.ascontiguousarray(head.head.T, np.float32), head.bias.astype(np.float32)
    feature_map = sampler.feature_map_
    return FittedModel(
        lambda X: training.predict_from_scores(feature_map.scores(X, coef, bias)),
        counted_cost(sampler) + _head_cost(training, width),
        width,
        note,
    )


def _widest(
    make_map: MapFactory, training: TrainingSet, macs: int, *, learned: bool
) -> tuple[int, str]:
    """Most outputs whose map and head stay within budget and limits, and a note of the limit."""
    n_scores, limit = training.n_scores, max_features(training.n_samples)
    note_of_limit = limit_note(limit, "features", training.n_samples)
    most_learned = int(MAX_LEARNED_CANDIDATES / _MIN_CANDIDATES_PER_FEATURE)
    if learned and most_learned < limit:
        limit = most_learned
        note_of_limit = f"limited to {limit:,} features of {MAX_LEARNED_CANDIDATES:,} candidates"

    @cache
    def total(n_components: int) -> int:
        sampler = make_map(n_components=n_components, gamma=1.0, random_state=0).fit(training.X)
        return counted_cost(sampler).macs + n_components * n_scores

    least = total(1)
    if least > macs:
        raise BudgetTooSmallError("one feature", least)
    widths, note = range(1, macs // n_scores + 1), ""
    # Wider maps than the limit are not drawn: one output more shows whether the budget allows them.
    width = widths[bisect_right(widths, macs, key=lambda n: total(min(n, limit + 1))) - 1]
    if width > limit:
        width, note = limit, note_of_limit
    while total(width) > macs:  # few projections may read more inputs each than many
        width -= 1
    return width, note


def _best_gamma(training: TrainingSet, make_map: MapFactory, width: int) -> float:
    """Kernel coefficient with the least leave-one-out error of ridge regression."""
    rng = np.random.default_rng(training.seed)
    part = training.subset(np.sort(rng.permutation(training.n_samples)[:_GAMMA_ROWS]))
    width = min(width, part.n_samples) if make_map is Nystroem else width

    def error(factor: float) -> float:
        gamma = factor * training.median_gamma
        sampler = make_map(n_components=width, gamma=gamma, random_state=training.seed)
        return ridge(sampler.fit(part.X).transform(part.X), part).error

    return min(GAMMA_FACTORS, key=error) * training.median_gamma


def _head_cost(training: TrainingSet, width: int) -> Cost:
    macs = width * training.n_scores
    return stored_cost(macs=macs, n_parameters=macs + training.n_scores)
