"""What CERFClassifier and CERFRegressor choose: reported as settings, which give the same model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_friedman1

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.estimators.predictors.drawn_features import best_gamma_factor
from cerflearn.training import policy
from cerflearn.training.compared import candidate_settings
from cerflearn.training.pruning import Budget
from cerflearn.training.settings import SettingsRequest
from cerflearn.training.task import Task

DIGITS, LABELS = load_digits(return_X_y=True)
CANCER, MALIGN = load_breast_cancer(return_X_y=True)
FRIEDMAN, TARGET = make_friedman1(n_samples=400, noise=0.5, random_state=0)
CHOICES = ("learn", "teacher", "activation", "n_components", "alpha")
SAID = ("activation", "n_components", "alpha", "gamma", "teacher", "learn")


def arrays_of(model):
    drawn = model.feature_map_
    parts = [drawn.values, drawn.offsets, drawn.masks, model.head_coef_, model.head_intercept_]
    return [*parts, model.linear_coef_, model.tables_]


# Parameters and rows of fits in which something different is chosen or given.
WIDE, NARROW = (DIGITS[:200], LABELS[:200]), (CANCER[:200], MALIGN[:200])
FITS = {
    "wide": (CERFClassifier, {"macs": 200}, *WIDE),
    "wide, labels": (CERFClassifier, {"teacher": "labels", "learn": "masks"}, *WIDE),
    "wide, kernel": (CERFClassifier, {"teacher": "kernel"}, DIGITS[:80], LABELS[:80]),
    "narrow": (CERFClassifier, {"macs": 100}, *NARROW),
    "drawn masks": (CERFClassifier, {"macs": 100, "learn": "features"}, *NARROW),
    "one feature": (CERFClassifier, {"macs": 9}, *load_iris(return_X_y=True)),
    "ridge head": (CERFClassifier, {"macs": 100, "head": "ridge"}, *NARROW),
    "vectors": (CERFClassifier, {"macs": 100, "head": "svm"}, *NARROW),
    "tables": (CERFClassifier, {"macs": 100, "activation": "table"}, *NARROW),
    "bytes": (CERFClassifier, {"macs": 100, "max_bytes": 4_000}, *NARROW),
    "gamma": (CERFClassifier, {"macs": 300, "gamma": "scale"}, *WIDE),
    "early stopping": (CERFClassifier, {"macs": 100, "early_stopping": True}, *NARROW),
    "more effort": (CERFRegressor, {"macs": 60, "effort": 2.0}, FRIEDMAN[:100], TARGET[:100]),
    "regression": (CERFRegressor, {"macs": 60}, FRIEDMAN, TARGET),
    "given": (
        CERFRegressor,
        {"activation": "relu", "n_components": 9, "alpha": 0.01, "teacher": "labels",
         "learn": "features"},
        FRIEDMAN, TARGET,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_reported_settings_give_the_same_model_again(name):
    kind, parameters, X, y = FITS[name]
    common = {"random_state": 1, "effort": 0.3} | parameters
    model = kind(**common).fit(X, y)
    given = {key: value for key, value in common.items() if key not in SAID}
    settings = json.loads(json.dumps(model.settings_))
    again = kind(settings=settings, **given).fit(X, y)
    for one, other in zip(arrays_of(model), arrays_of(again), strict=True):
        assert np.array_equal(one, other)
    assert again.settings_ == model.settings_
    for choice in CHOICES:
        assert getattr(again, f"{choice}_") == getattr(model, f"{choice}_")
        if choice == "alpha":  # of the last training, on all rows: at most that of the comparison
            assert 0.0 < model.alpha_ <= model.settings_["alpha"]
        else:
            assert getattr(model, f"{choice}_") == model.settings_[choice]
    assert again.gamma_ == model.gamma_
    if kind is CERFClassifier:
        assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"draw": -1}, r"settings\['draw'\]=-1 is not valid"),
        ({"activation": "tanh"}, r"settings\['activation'\]='tanh' is not valid"),
        ({"alpha": np.nan}, r"settings\['alpha'\]=nan"),
        ({"learn": "selection"}, r"settings\['learn'\]='selection' .* 'masks' or 'features'"),
        ({"linear_part": 3}, r"settings\['linear_part'\]=3 .* True or False"),
        ({"n_components": 10**6}, "n_components=1000000 is not valid: macs=60 is enough for"),
        ({"width": 3}, "it must be None, or the settings_ of a fitted predictor"),
        ({"teacher": "estimator"}, "needs the estimator"),
    ],
    ids=str,
)
def test_settings_that_are_none_are_refused(change, message):
    found = CERFRegressor(macs=60, effort=0.1, random_state=0).fit(FRIEDMAN, TARGET).settings_
    model = CERFRegressor(macs=60, effort=0.1, settings=found | change)
    if message is None:
        assert model.fit(FRIEDMAN, TARGET).settings_ == found
        return
    with pytest.raises(ValueError, match=message):
        model.fit(FRIEDMAN, TARGET)


@pytest.mark.parametrize("settings", [{}, [], "auto", {"alpha": 1.0}])
def test_settings_are_whole_dictionaries(settings):
    with pytest.raises(ValueError, match="it must be None, or the settings_ of a fitted predictor"):
        CERFRegressor(settings=settings).fit(FRIEDMAN, TARGET)


@pytest.mark.parametrize("head", ["ridge", "svm"])
def test_heads_that_are_fitted_take_no_tables_or_linear_part(head):
    found = CERFClassifier(macs=100, activation="table", effort=0.1, random_state=0).fit(*NARROW)
    model = CERFClassifier(macs=100, head=head, settings=found.settings_)
    with pytest.raises(ValueError, match=f"head='{head}' is not valid with these settings"):
        model.fit(*NARROW)


def test_learn_says_what_is_learned():
    models = {
        learn: CERFClassifier(
            macs=200, head="ridge", n_components=9, learn=learn, random_state=0
        ).fit(*WIDE)
        for learn in ("masks", "features", "selection")
    }
    assert {learn: model.learn_ for learn, model in models.items()} == {k: k for k in models}
    sizes = {learn: model.feature_map_.masks.sum(axis=0) for learn, model in models.items()}
    # Masks that are drawn are of one size; those that are learned differ.
    assert len(set(sizes["features"])) == len(set(sizes["selection"])) == 1
    assert len(set(sizes["masks"])) > 1
    assert not models["features"].linear_coef_.any()


def test_learn_is_masks_unless_something_else_is_said():
    model = CERFClassifier(macs=100, effort=0.1, random_state=0).fit(*NARROW)
    masks = CERFClassifier(macs=100, learn="masks", effort=0.1, random_state=0).fit(*NARROW)
    assert model.learn_ == "masks"
    assert np.array_equal(model.decision_function(CANCER), masks.decision_function(CANCER))


def test_given_values_replace_those_of_all_candidates():
    budget = Budget(500, 3)
    usual = candidate_settings(SettingsRequest(), budget, 40, 200)
    assert {setting.activation for setting in usual} == {"cosine", "relu", "table"}
    assert {setting.learn for setting in usual} == {"masks"}
    request = SettingsRequest("features", "labels", "relu", alpha=0.5, n_components=7)
    (given,) = candidate_settings(request, budget, 40, 200)
    assert (given.learn, given.teacher, given.activation) == ("features", "labels", "relu")
    assert (given.alpha, given.n_components) == (0.5, 7)


def test_what_is_compared_is_printed(capsys):
    CERFRegressor(macs=40, effort=0.1, verbose=1, random_state=0).fit(FRIEDMAN, TARGET)
    printed = capsys.readouterr().out
    for kind in ("cosine", "relu", "table"):
        assert f" steps, activation='{kind}'" in printed
    assert all(line.startswith("[CERFRegressor] ") for line in printed.splitlines())
    assert "held-out loss" in printed
    assert "100% of training, loss" in printed
    CERFRegressor(macs=40, effort=0.1, random_state=0).fit(FRIEDMAN, TARGET)
    assert capsys.readouterr().out == ""


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
    strata, usable = np.zeros(600, dtype=np.int64), np.ones(3, dtype=bool)
    inputs = X.astype(np.float32)
    task = Task(inputs, targets, weights, strata, "regression", budget, usable, {})
    found, _ = best_gamma_factor(task, 200, gamma, np.random.default_rng(0))
    factors = policy.DRAWN_GAMMA_FACTORS
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
        ({"max_bytes": np.uint8(200)}, {"max_bytes": 200}),
        ({"effort": np.float16(0.25)}, {"effort": 0.25}),
    ],
    ids=str,
)
def test_short_numbers_of_numpy_are_numbers(parameters, numbers):
    models = [
        CERFClassifier(**({"macs": 40, "effort": 0.1, "random_state": 0} | given)).fit(
            CANCER[:60], MALIGN[:60]
        )
        for given in (parameters, numbers)
    ]
    for first, second in zip(*map(arrays_of, models), strict=True):
        assert np.array_equal(first, second)


def test_a_penalty_without_meaning_is_refused():
    with pytest.raises(ValueError, match=r"alpha=1e\+308 is not valid: it must be 'auto' or a nu"):
        CERFRegressor(alpha=1e308).fit(CANCER[:60], CANCER[:60, 0])
