r"""Rivals made of a random feature map and a ridge head, as wide as a budget pays for."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem

from cerflearn.comparison.data import Training
from cerflearn.comparison.model import Model, TooDearError
from cerflearn.comparison.tuning import ridge
from cerflearn.estimators.cerf.blocked_cerf import BlockedCERF
from cerflearn.estimators.cerf.masked_cerf import MaskedCERF
from cerflearn.estimators.cost import cost
from cerflearn.estimators.maps.fastfood import FastfoodFeatures
from cerflearn.estimators.maps.masked import MaskedFourierFeatures
from cerflearn.estimators.maps.rff import RandomFourierFeatures
from cerflearn.features.cost import Cost, stored_cost

WIDTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Kernel coefficients tried, times one over the median squared distance of rows."""

MOST_CANDIDATES = 1_000
"""Candidates that a learned map chooses from, at most: time grows with their cube."""

_MOST_ROWS = 5_000  # on which kernel widths are compared
_FRACTION = 0.4  # of the candidates that a learned map keeps

Draw = Callable[..., Any]
"""Makes a map: ``draw(n_components=, gamma=, random_state=)``."""


def rff(training: Training, macs: int) -> Model:
    """Dense random Fourier features, cosine and sine of each projection."""
    return _fit(training, macs, RandomFourierFeatures)


def fastfood(training: Training, macs: int) -> Model:
    """Structured random features."""
    return _fit(training, macs, FastfoodFeatures)


def masked(training: Training, macs: int) -> Model:
    """Random features that read few inputs, drawn and not trained."""
    return _fit(training, macs, MaskedFourierFeatures)


def cvem(training: Training, macs: int) -> Model:
    """Masked features chosen by constrained variational EM, without labels."""
    return _fit(training, macs, MaskedCERF, {"selector": "cvem"})


def blocked(training: Training, macs: int) -> Model:
    """Fastfood blocks chosen by greedy pursuit of dense features, without labels."""
    return _fit(training, macs, BlockedCERF, {"selector": "greedy"})


def nystroem(training: Training, macs: int) -> Model:
    """Nystroem's features of scikit-learn: D K + K^2 MACs, and the head."""
    per_component = training.n_features + training.n_scores
    widest = int((np.sqrt(per_component**2 + 4.0 * macs) - per_component) / 2.0)
    while widest * (per_component + widest) > macs:  # rounding
        widest -= 1
    if widest < 1:
        raise TooDearError("one component", per_component + 1)
    widest = min(widest, training.n_samples)
    gamma = _best_gamma(training, Nystroem, widest)
    features = Nystroem(gamma=gamma, n_components=widest, random_state=training.seed)
    features.fit(training.X)
    head = ridge(features.transform(training.X), training)
    coef, bias = head.head.astype(np.float32), head.bias.astype(np.float32)
    return Model(
        lambda X: training.decide(features.transform(X) @ coef + bias),
        cost(features) + _head_cost(training, widest),
        widest,
    )


def _fit(training: Training, macs: int, draw: Draw, learned: dict[str, Any] | None = None) -> Model:
    """Map of the greatest width within the budget, kernel width by leaving rows out."""
    drawn = {} if learned is None else {"selector": "random"}

    def draw_at_random(**parameters: Any) -> Any:
        return draw(**drawn, **parameters)

    width = _widest(draw_at_random, training, macs)
    gamma = _best_gamma(training, draw_at_random, width)
    parameters: dict[str, Any] = {"gamma": gamma, "random_state": training.seed}
    if learned is not None:
        n_candidates = min(int(width / _FRACTION), MOST_CANDIDATES)
        if n_candidates < 1.1 * width:
            raise TooDearError(reason=f"more than {MOST_CANDIDATES:,} candidates take too long")
        parameters |= learned | {"n_candidates": n_candidates + n_candidates % 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of CVEM: 20 stages have to do
        sampler = draw(n_components=width, **parameters).fit(training.X)
        while cost(sampler).macs + width * training.n_scores > macs:  # other choice, other price
            width -= 1
            sampler = draw(n_components=width, **parameters).fit(training.X)
    head = ridge(sampler.transform(training.X), training)
    coef, bias = np.ascontiguousarray(head.head.T, np.float32), head.bias.astype(np.float32)
    feature_map = sampler.feature_map_
    return Model(
        lambda X: training.decide(feature_map.scores(X, coef, bias)),
        cost(sampler) + _head_cost(training, width),
        width,
    )


def _widest(draw: Draw, training: Training, macs: int) -> int:
    """Most outputs whose map and head stay within the budget."""
    n_scores = training.n_scores

    def total(n_components: int) -> int:
        sampler = draw(n_components=n_components, gamma=1.0, random_state=0).fit(training.X)
        return cost(sampler).macs + n_components * n_scores

    least = total(1)
    if least > macs:
        raise TooDearError("one feature", least)
    widths = range(1, macs // n_scores + 1)
    width = widths[bisect_right(widths, macs, key=total) - 1]
    while total(width) > macs:  # few projections may read more inputs each than many
        width -= 1
    return width


def _best_gamma(training: Training, draw: Draw, width: int) -> float:
    """Kernel coefficient with the least leave-one-out error of ridge regression."""
    rng = np.random.default_rng(training.seed)
    part = training.rows(np.sort(rng.permutation(training.n_samples)[:_MOST_ROWS]))
    width = min(width, part.n_samples) if draw is Nystroem else width

    def error(factor: float) -> float:
        gamma = factor * training.median_gamma
        sampler = draw(n_components=width, gamma=gamma, random_state=training.seed)
        return ridge(sampler.fit(part.X).transform(part.X), part).error

    return min(WIDTHS, key=error) * training.median_gamma


def _head_cost(training: Training, width: int) -> Cost:
    macs = width * training.n_scores
    return stored_cost(macs=macs, n_parameters=macs + training.n_scores)
