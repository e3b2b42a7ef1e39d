"""Boosted trees: budgets kept, costs as an independent walk counts them, rounds chosen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, make_friedman1
from sklearn.metrics import r2_score

from cerflearn import cost, frontier
from cerflearn.comparison import trees
from cerflearn.comparison.model import BudgetTooSmallError
from cerflearn.comparison.training_set import TrainingSet
from cerflearn.comparison.trees import BoostedTrees, TreeSetting, fit_trees


def digits(n_classes=10, n_samples=300):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    return TrainingSet(X[:n_samples].astype(np.float32), y[:n_samples], n_classes, seed=0)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return TrainingSet(X.astype(np.float32), (y - y.mean()) / y.std(), 0, seed=0)


def walk(nodes, index=0):
    """Longest path below a node, its inner nodes and its leaves, by following the children."""
    node = nodes[index]
    if node["is_leaf"]:
        return 0, 0, 1
    left, right = walk(nodes, node["left"]), walk(nodes, node["right"])
    return 1 + max(left[0], right[0]), 1 + left[1] + right[1], left[2] + right[2]


def walked_cost(ensemble, n_trees):
    """MACs and bytes of trees of up to 256 inputs and fewer than 65,536 nodes."""
    found = [
        walk(tree.nodes)
        for model in ensemble._models
        for trees_of_round in model._predictors
        for tree in trees_of_round
    ]
    operations = sum(depth + 1 for depth, _, _ in found)
    n_inner, n_leaves = sum(f[1] for f in found), sum(f[2] for f in found)
    return operations, n_inner * (4 + 1 + 2 + 2) + 4 * n_leaves + 4 * n_trees


@pytest.mark.parametrize("unit", ["macs", "bytes"])
@pytest.mark.parametrize(
    ("training", "budgets"),
    [(digits(4, 150), (8, 85, 200)), (digits(2, 200), (2, 21, 300)), (diabetes(), (2, 25, 120))],
    ids=["four classes", "two classes", "regression"],
)
def test_budgets_are_kept_and_costs_are_those_of_the_trees(training, budgets, unit):
    for budget in budgets:
        budget *= 1 if unit == "macs" else 12
        model = fit_trees(training, budget, unit)
        ensemble = model.predict.__self__
        operations, n_bytes = walked_cost(ensemble, training.n_scores)
        assert (model.cost.macs, model.cost.n_bytes) == (operations, n_bytes)
        assert model.cost == cost(ensemble._models[0])
        assert 0 < (operations if unit == "macs" else n_bytes) <= budget
        assert model.size == model.settings["rounds"] * training.n_scores
        assert model.settings["depth"] in (1, 2, 3, 4, 6, 9)


def test_more_operations_predict_better():
    X, y = make_friedman1(1500, random_state=0)
    X, y = X.astype(np.float32), (y - y.mean()) / y.std()
    training = TrainingSet(X[:500], y[:500], 0, seed=0)
    scores = [r2_score(y[500:], fit_trees(training, b).predict(X[500:])) for b in (3, 30, 300)]
    assert scores[0] + 0.1 < scores[1]
    assert scores[1] + 0.02 < scores[2]
    assert scores[2] > 0.8


def test_too_small_a_budget_names_the_least():
    with pytest.raises(BudgetTooSmallError, match="one split for each score costs 20 MACs"):
        fit_trees(digits(), 19)
    with pytest.raises(BudgetTooSmallError, match="one split costs 21 bytes"):
        fit_trees(diabetes(), 20, "bytes")
    assert fit_trees(diabetes(), 21, "bytes").cost.n_bytes == 21


def test_several_targets_have_a_tree_each():
    base = diabetes()
    both = np.column_stack([base.y, -base.y])
    training = TrainingSet(base.X, both, 0, seed=0)
    model, alone = fit_trees(training, 60), fit_trees(base, 30)
    assert model.cost.macs <= 60
    assert model.predict(base.X).shape == both.shape
    assert model.settings == alone.settings
    np.testing.assert_allclose(model.predict(base.X)[:, 0], alone.predict(base.X))
    assert model.cost.n_bytes == 2 * alone.cost.n_bytes


def test_rounds_are_chosen_on_rows_the_trees_have_not_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    noise = TrainingSet(X, rng.normal(size=300), 0, seed=0)
    assert fit_trees(noise, 1_000).cost.macs < 100
    signal = TrainingSet(X, np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2], 0, seed=0)
    assert fit_trees(signal, 1_000).cost.macs > 300


def test_an_ensemble_grows_as_if_fitted_at_once():
    training = diabetes()
    grown, whole = (BoostedTrees(training, TreeSetting(2, 0.3)) for _ in range(2))
    grown.grow(3)
    grown.grow(9)
    whole.grow(9)
    np.testing.assert_array_equal(grown.predict(training.X), whole.predict(training.X))
    scores = whole.staged_scores(training)
    assert scores.shape == (9,)
    assert scores[-1] == training.score(whole.predict(training.X), training.y)
    assert np.all(np.diff(whole.costs().macs) > 0)


def test_trees_of_all_rows_that_cost_more_than_those_of_a_part_are_fewer():
    training = diabetes()
    ensemble, n_rounds = trees._fit_within(training, TreeSetting(3, 0.1), 10, 30, "macs")
    assert n_rounds == 7  # of 4 operations each
    assert ensemble.costs().macs[-1] == 28
    ensemble, n_rounds = trees._fit_within(training, TreeSetting(3, 0.1), 10, 3, "macs")
    assert (n_rounds, ensemble.costs().macs[-1]) == (1, 2)


def test_a_class_with_few_rows_may_be_absent_from_a_part():
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = np.r_[np.zeros(30), np.ones(29), 2].astype(int)
    found = frontier(X, y, [60], ["trees"], test_set=(X[:20], y[:20]))
    assert found.rows[0]["note"] == ""
    assert found.rows[0]["macs"] <= 60
