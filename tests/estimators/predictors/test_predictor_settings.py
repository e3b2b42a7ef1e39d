"""What CERFClassifier and CERFRegressor choose: reported in the constructor's words, and again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_friedman1

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.estimators.predictors import drawn_features
from cerflearn.estimators.predictors.drawn_features import best_gamma_factor
from cerflearn.training.pruning import Budget
from cerflearn.training.settings import (
    SettingsRequest,
    TrainingSettings,
    candidate_settings,
    is_small,
    n_weights_of,
)
from cerflearn.training.task import Task

DIGITS, LABELS = load_digits(return_X_y=True)
CANCER, MALIGN = load_breast_cancer(return_X_y=True)
FRIEDMAN, TARGET = make_friedman1(n_samples=1010, noise=0.5, random_state=0)
MANY = DIGITS[:1010, 18:34]
CHOICES = ("learn", "teacher", "activation", "n_components", "alpha")


def arrays_of(model):
    drawn = model.feature_map_
    return [drawn.values, drawn.offsets, drawn.mask_inputs, model.head_coef_, model.head_intercept_]


DATA = {
    "few rows, wide": (CERFClassifier, {"macs": 200}, DIGITS[:250], LABELS[:250]),
    "few rows, wide, labels": (
        CERFClassifier,
        {"macs": 200, "teacher": "labels", "learn": "masks"},
        DIGITS[:150],
        LABELS[:150],
    ),
    "few rows, wide, kernel": (CERFClassifier, {"teacher": "kernel"}, DIGITS[:80], LABELS[:80]),
    "few rows, narrow": (CERFClassifier, {"macs": 100}, CANCER[:300], MALIGN[:300]),
    "few rows, drawn masks": (
        CERFClassifier,
        {"macs": 100, "learn": "features"},
        CANCER[:200],
        MALIGN[:200],
    ),
    "one feature": (CERFClassifier, {"macs": 9}, *load_iris(return_X_y=True)),
    "ridge head": (CERFClassifier, {"macs": 100, "head": "ridge"}, CANCER[:200], MALIGN[:200]),
    "many rows": (CERFClassifier, {"macs": 40}, CANCER.repeat(2, 0)[:, :8], MALIGN.repeat(2)),
    "many rows, relu": (CERFClassifier, {"macs": 30, "activation": "relu"}, MANY, LABELS[:1010]),
    "regression": (CERFRegressor, {"macs": 60}, FRIEDMAN[:200], TARGET[:200]),
    "regression, selection": (
        CERFRegressor,
        {"macs": 60, "learn": "selection"},
        FRIEDMAN[:200],
        TARGET[:200],
    ),
    "regression, many rows": (CERFRegressor, {"macs": 40}, FRIEDMAN, TARGET),
}  # fmt: skip


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("seed", [0, 1])
def test_reported_settings_give_the_same_model_again(name, seed):
    kind, parameters, X, y = DATA[name]
    if name == "many rows":  # distinct ones, as equal rows are merged
        X = X + np.random.default_rng(0).normal(scale=0.01, size=X.shape)
    model = kind(random_state=seed, **parameters).fit(X, y)
    chosen = {choice: getattr(model, f"{choice}_") for choice in CHOICES}
    again = kind(random_state=seed, **(parameters | chosen)).fit(X, y)
    for one, other in zip(arrays_of(model), arrays_of(again), strict=True):
        assert np.array_equal(one, other)
    assert {choice: getattr(again, f"{choice}_") for choice in CHOICES} == chosen
    if kind is CERFClassifier:
        assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


def test_learn_says_what_is_learned():
    models = {
        learn: CERFClassifier(macs=200, learn=learn, random_state=0).fit(DIGITS[:100], LABELS[:100])
        for learn in ("masks", "features", "selection")
    }
    assert {learn: model.learn_ for learn, model in models.items()} == {k: k for k in models}
    sizes = {learn: model.feature_map_.active for learn, model in models.items()}
    # Masks that are drawn are of one size; those that are learned differ.
    assert len(set(sizes["features"])) == len(set(sizes["selection"])) == 1
    assert len(set(sizes["masks"])) > 1


def task_of(kind, n_samples, n_features, n_scores=1, macs=500):
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(n_samples, n_features)), rng.normal(size=(n_samples, n_scores))
    weights = np.full(n_samples, 1.0 / n_samples)
    usable = np.ones(n_features, dtype=bool)
    return Task(X, targets, weights, kind, Budget(macs, n_scores), usable, 0.1 / n_features)


def test_given_values_replace_those_of_all_candidates():
    task = task_of("multiclass", 200, 40, 3)
    usual = candidate_settings(task, SettingsRequest())
    assert {setting.learn for setting in usual} == {"masks", "selection"}
    given = candidate_settings(task, SettingsRequest("masks", "labels", alpha=0.5, n_components=7))
    assert given == [TrainingSettings(7, 0.5, "labels")]


def test_both_given_values_of_a_candidate_leave_it_alone():
    """But for a smaller alpha after pruning, which is compared again in the same way."""
    task = task_of("binary", 2_000, 8)
    settings = candidate_settings(task, SettingsRequest("masks", "labels", "cosine"))
    for setting in settings:
        alpha, n_components = setting.alpha, setting.n_components
        both = SettingsRequest("masks", "labels", "cosine", alpha, n_components)
        same = [s for s in settings if (s.alpha, s.n_components) == (alpha, n_components)]
        assert candidate_settings(task, both) == same
        assert len({s.last_alpha_share for s in same}) == len(same)


def test_very_many_scores_make_a_network_large():
    assert n_weights_of(64, 10, 10) == 640
    assert n_weights_of(20, 31, 1_000) > n_weights_of(20, 31, 10)
    assert is_small(2_000, n_weights_of(20, 31, 10))
    assert not is_small(2_000, n_weights_of(20, 31, 1_000))


@pytest.mark.parametrize("factor", [0.03, 0.3, 3.0])
def test_drawn_features_take_the_gamma_with_the_least_error(factor):
    """Targets are a smooth function of the kernel with a known coefficient."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    gamma = 0.3
    frequencies = rng.normal(size=(3, 12)) * np.sqrt(2.0 * factor * gamma)
    targets = np.cos(X @ frequencies + rng.uniform(0, 2 * np.pi, 12)) @ rng.normal(size=(12, 1))
    weights = np.full(600, 1 / 600)
    budget = Budget(macs=800, n_scores=1)
    task = Task(X, targets, weights, "regression", budget, np.ones(3, dtype=bool), gamma)
    found = best_gamma_factor(task, 200, np.random.default_rng(0))
    factors = drawn_features._DRAWN_GAMMA_FACTORS
    near = sorted(factors, key=lambda other: abs(np.log(other / factor)))[:2]
    assert found in near


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("parameters", "numbers"),
    [
        ({"n_components": np.int8(2)}, {"n_components": 2}),
        ({"macs": np.uint8(200)}, {"macs": 200}),
        ({"features_per_mask": np.int8(4)}, {"features_per_mask": 4}),
        ({"alpha": np.float16(0.5)}, {"alpha": 0.5}),
    ],
    ids=str,
)
def test_short_numbers_of_numpy_are_numbers(parameters, numbers):
    models = [
        CERFClassifier(**({"macs": 40, "random_state": 0} | given)).fit(CANCER[:60], MALIGN[:60])
        for given in (parameters, numbers)
    ]
    for first, second in zip(*map(arrays_of, models), strict=True):
        assert np.array_equal(first, second)


def test_a_penalty_without_meaning_is_refused():
    with pytest.raises(ValueError, match=r"alpha=1e\+308 is not valid: it must be 'auto' or a nu"):
        CERFRegressor(alpha=1e308).fit(CANCER[:60], CANCER[:60, 0])
