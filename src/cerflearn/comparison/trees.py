r"""Small boosted trees: depth, learning rate and rounds chosen within a budget.

The histogram trees of scikit-learn. Costs are those of the fitted trees, not of the settings. For
each depth and learning rate one ensemble grows on a part of the rows while the budget lasts and
held-out rows gain from it, and its staged predictions judge all numbers of rounds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.comparison.model import BudgetTooSmallError, FittedModel
from cerflearn.comparison.training_set import TrainingSet
from cerflearn.comparison.tuning import expected_warnings_ignored, held_out_parts
from cerflearn.estimators.tree_cost import RoundCosts, round_costs, rounds_of, stump_round_cost

MAX_ROUNDS = 500
"""Rounds of boosting, at most."""

_DEPTHS, _TREE_RATES = (1, 2, 3, 4, 6), (0.1, 0.3, 0.05)
_LARGEST_DEPTH, _HIGH_RATES = 9, (0.6, 1.0)  # tried where the budget admits few rounds
_FIRST_ROUNDS = 32  # judged before an ensemble grows on; few rounds are no more
_MAX_LEAF_ROWS, _MIN_LEAVES = 20, 20  # rows of a leaf, fewer where rows are few


@dataclass(frozen=True)
class TreeSetting:
    """What is chosen on held-out rows, beside the number of rounds."""

    depth: int
    rate: float


class BoostedTrees:
    """Ensemble that can grow: one model, or one for each of several targets.

    Parameters
    ----------
    training : TrainingSet
        Rows to fit.
    setting : TreeSetting
        Depth and learning rate.
    """

    def __init__(self, training: TrainingSet, setting: TreeSetting) -> None:
        self._training = training
        n_models = 1 if training.n_classes else training.n_scores
        kind: Any = HistGradientBoostingClassifier
        if not training.n_classes:
            kind = HistGradientBoostingRegressor
        self._models: list[Any] = [
            kind(
                max_depth=setting.depth,
                max_leaf_nodes=None,
                min_samples_leaf=_leaf_rows(training),
                learning_rate=setting.rate,
                early_stopping=False,
                warm_start=True,
                random_state=training.seed,
            )
            for _ in range(n_models)
        ]

    def grow(self, n_rounds: int) -> None:
        """Fit more rounds, until there are so many."""
        training = self._training
        targets = [training.y] if training.n_classes else training.targets.T
        for model, target in zip(self._models, targets, strict=True):
            with expected_warnings_ignored():
                model.set_params(max_iter=n_rounds).fit(training.X, target)

    def costs(self) -> RoundCosts:
        """Costs after each round."""
        by_model = [rounds_of(model) for model in self._models]
        rounds = [[*chain(*trees)] for trees in zip(*by_model, strict=True)]
        return round_costs(rounds, self._training.n_features)

    def predict(self, X: FloatArray) -> Any:
        """Class numbers or standardised targets."""
        return self._shaped([model.predict(X) for model in self._models])

    def staged_scores(self, held_out: TrainingSet) -> Float64Array:
        """Scores of held-out rows after each round, (n_rounds,)."""
        stages = zip(*(model.staged_predict(held_out.X) for model in self._models), strict=True)
        return np.array([held_out.score(self._shaped(stage), held_out.y) for stage in stages])

    def _shaped(self, columns: Any) -> Any:
        """Predictions of the models as y has them."""
        return columns[0] if self._training.y.ndim == 1 else np.column_stack(columns)


def fit_trees(training: TrainingSet, budget: int, unit: str = "macs") -> FittedModel:
    """Fit the ensemble that is best on held-out rows among those within a budget.

    Parameters
    ----------
    training : TrainingSet
        Scaled rows.
    budget : int
        Comparisons and additions of a row, or bytes that are stored.
    unit : {"macs", "bytes"}, default="macs"
        Of the budget.
    """
    n_trees = training.n_scores
    least = stump_round_cost(n_trees, training.n_features)
    needed = least.macs if unit == "macs" else least.n_bytes
    if needed > budget:
        what = "a tree with one split" + (" for each score" if n_trees > 1 else "")
        raise BudgetTooSmallError(what, needed, "MACs" if unit == "macs" else unit)
    parts = held_out_parts(training)
    best, setting, n_rounds = -np.inf, TreeSetting(1, _TREE_RATES[0]), 1
    for candidate in _settings(training, budget, unit):
        score, found = _best_rounds(parts, candidate, budget, unit)
        if score > best:
            best, setting, n_rounds = score, candidate, found
    ensemble, n_rounds = _fit_within(training, setting, n_rounds, budget, unit)
    return FittedModel(
        ensemble.predict,
        ensemble.costs().after(n_rounds),
        n_rounds * n_trees,
        f"limited to {MAX_ROUNDS} rounds" if n_rounds == MAX_ROUNDS else "",
        settings=asdict(setting) | {"rounds": n_rounds},
    )


def _settings(training: TrainingSet, budget: int, unit: str) -> list[TreeSetting]:
    """List the settings to try; where few rounds fit, higher rates and greater depths, too."""
    settings = []
    for depth in (*_DEPTHS, _LARGEST_DEPTH):
        few = _full_rounds(training, depth, budget, unit) <= _FIRST_ROUNDS
        if few or depth < _LARGEST_DEPTH:
            rates = (*_TREE_RATES, *_HIGH_RATES) if few else _TREE_RATES
            settings += [TreeSetting(depth, rate) for rate in rates]
    return settings


def _full_rounds(training: TrainingSet, depth: int, budget: int, unit: str) -> int:
    """Count the rounds within a budget if trees have this depth, and leaves of enough rows."""
    n_leaves = min(2**depth, training.n_samples // _leaf_rows(training))
    stump = stump_round_cost(training.n_scores, training.n_features)
    cost = (depth + 1) * training.n_scores if unit == "macs" else n_leaves * stump.n_bytes // 2
    return budget // max(cost, 1)


def _best_rounds(
    parts: list[tuple[TrainingSet, TrainingSet]], setting: TreeSetting, budget: int, unit: str
) -> tuple[float, int]:
    """Best mean score on held-out rows, and its number of rounds; none scores minus infinity.

    Ensembles grow by up to twice as many rounds while the best number is in their second half.
    """
    ensembles = [BoostedTrees(rows, setting) for rows, _ in parts]
    n_rounds = _full_rounds(parts[0][0], setting.depth, budget, unit)
    n_rounds = max(1, min(n_rounds, _FIRST_ROUNDS))
    while True:
        for ensemble in ensembles:
            ensemble.grow(n_rounds)
        spent = np.max([_amounts(ensemble.costs(), unit) for ensemble in ensembles], axis=0)
        n_allowed = int(np.searchsorted(spent, budget, side="right"))
        if n_allowed == 0:
            return -np.inf, 0
        staged = [
            ensemble.staged_scores(held_out)
            for ensemble, (_, held_out) in zip(ensembles, parts, strict=True)
        ]
        means = np.mean(staged, axis=0)[:n_allowed]
        best = int(means.argmax()) + 1
        affordable = int(budget * n_rounds / spent[-1])  # if further trees cost as much
        wanted = min(2 * n_rounds, affordable, MAX_ROUNDS)
        if n_allowed < n_rounds or wanted <= n_rounds or 2 * best <= n_rounds:
            return float(means[best - 1]), best
        n_rounds = wanted


def _fit_within(
    training: TrainingSet, setting: TreeSetting, n_rounds: int, budget: int, unit: str
) -> tuple[BoostedTrees, int]:
    """Ensemble of all rows and its rounds: fewer if its trees cost more than those of a part."""
    ensemble = BoostedTrees(training, setting)
    ensemble.grow(n_rounds)
    n_allowed = int(np.searchsorted(_amounts(ensemble.costs(), unit), budget, side="right"))
    if n_allowed == n_rounds:
        return ensemble, n_rounds
    if n_allowed == 0:  # trees of a part were less deep: one round of the least cost
        setting, n_allowed = TreeSetting(1, setting.rate), 1
    ensemble = BoostedTrees(training, setting)
    ensemble.grow(n_allowed)
    return ensemble, n_allowed


def _leaf_rows(training: TrainingSet) -> int:
    """Rows of a leaf, at least."""
    return max(1, min(_MAX_LEAF_ROWS, training.n_samples // _MIN_LEAVES))


def _amounts(costs: RoundCosts, unit: str) -> Any:
    return costs.macs if unit == "macs" else costs.n_bytes
