"""Every method is given a fair chance: widths and penalties fit the data, whatever its shape."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from cerflearn import CERFClassifier, CERFRegressor, RandomFourierFeatures
from cerflearn.comparison import maps
from cerflearn.comparison.methods import METHODS, linear, mlp
from cerflearn.comparison.model import BudgetTooSmallError
from cerflearn.comparison.training_set import TrainingSet
from cerflearn.comparison.tuning import best_setting, ridge


def waves(frequency, n_samples=300, noise=0.0):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, 2)).astype(np.float32)
    y = np.sin(frequency * X[:, 0]) + noise * rng.normal(size=n_samples)
    return TrainingSet(X, y, 0, seed=0)


@pytest.mark.parametrize("draw", [RandomFourierFeatures, Nystroem])
def test_kernel_width_follows_the_target(draw):
    slow, fast = (maps._best_gamma(waves(f, noise=0.3), draw, 60) for f in (1.0, 12.0))
    assert fast > 3.0 * slow


@pytest.mark.parametrize("n_samples", [50, 20])
def test_ridge_is_the_same_with_more_features_than_rows(n_samples):
    training = waves(3.0, n_samples)
    features = np.random.default_rng(1).normal(size=(n_samples, 30))
    found = ridge(features, training)
    # The penalty is of a mean loss.
    expected = Ridge(alpha=found.penalty * n_samples, solver="svd").fit(features, training.y)
    np.testing.assert_allclose(found.head[:, 0], expected.coef_, rtol=1e-6, atol=1e-9)
    assert found.bias[0] == pytest.approx(expected.intercept_)


def test_best_setting_is_judged_on_rows_it_has_not_seen():
    rng = np.random.default_rng(0)
    training = TrainingSet(
        rng.normal(size=(60, 2)).astype(np.float32), np.arange(60) % 2, 2, seed=0
    )
    known = {}

    def fit(part, setting):
        rows = {row.tobytes(): label for row, label in zip(part.X, part.y, strict=True)}
        known.setdefault(setting, []).append(len(rows))
        if setting == "memory":  # right on rows it has seen, wrong elsewhere
            labels = {row.tobytes(): y for row, y in zip(training.X, training.y, strict=True)}
            return lambda X: np.array([rows.get(x.tobytes(), 1 - labels[x.tobytes()]) for x in X])
        return lambda X: np.zeros(len(X), dtype=np.int64)

    assert best_setting(["memory", "constant"], fit, training) == "constant"
    assert known == {"memory": [40, 40, 40], "constant": [40, 40, 40]}


def test_linear_model_takes_the_better_of_ridge_and_logistic():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    X[:40] *= 30.0  # far rows bend a ridge regression, not a logistic one
    y = (X @ [1.0, -1.0, 0.2] + 0.3 > 0).astype(np.int64)
    training = TrainingSet(X, y, 2, seed=0)
    assert np.mean(linear(training, 3).predict(X) == y) > 0.97


@pytest.mark.parametrize("method", METHODS)
def test_methods_refuse_what_they_cannot_pay(method):
    training = waves(3.0, 40)
    with pytest.raises(BudgetTooSmallError, match=r"costs \d+ MACs"):
        METHODS[method](training, 1)


def test_learned_maps_do_not_choose_from_too_many(monkeypatch):
    monkeypatch.setattr(maps, "MAX_LEARNED_CANDIDATES", 22)
    model = maps.cvem(waves(3.0, 40), 100)
    assert model.size == 20
    assert model.cost.macs < 100
    assert model.note == "limited to 20 features of 22 candidates"


@pytest.mark.parametrize("method", ["linear", "mlp", "rff", "pruned_mlp", "masked"])
def test_a_class_of_one_row_does_no_harm(method):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    y[0] = 2
    X = (rng.normal(size=(60, 4)) + 2.0 * y[:, None]).astype(np.float32)
    model = METHODS[method](TrainingSet(X, y, 3, seed=0), 60)
    assert np.mean(model.predict(X) == y) > 0.85


@pytest.mark.parametrize("kind", [CERFClassifier, CERFRegressor])
def test_predictors_run_as_they_are(kind):
    training = waves(3.0, 60)
    if kind is CERFClassifier:
        training = TrainingSet(training.X, (training.y > 0).astype(np.int64), 2, seed=0)
    expected = kind(macs=40, random_state=0).fit(training.X, training.y).predict(training.X)
    np.testing.assert_allclose(
        METHODS["cerf"](training, 40).predict(training.X), expected, rtol=1e-5
    )


@pytest.mark.parametrize("macs", [4, 30, 200])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_pruned_perceptron_has_no_trigonometry_and_keeps_the_budget(n_classes, macs):
    training = waves(6.0, 300)
    if n_classes:
        y = np.digitize(training.y, np.linspace(-1.0, 1.0, n_classes + 1)[1:-1])
        training = TrainingSet(training.X, y, n_classes, seed=0)
    model = METHODS["pruned_mlp"](training, macs)
    assert 0 < model.cost.macs <= macs
    assert model.cost.trig == model.cost.lookups == 0
    assert model.settings["activation"] == "relu"
    assert model.settings["teacher"] == "labels"
    if macs == 200:
        assert training.score(model.predict(training.X), training.y) > 0.9


def test_perceptron_of_many_rows_is_trained_to_the_end():
    # Of more than 1,000 rows by Adam, at a rate chosen on held-out rows.
    training = waves(3.0, 1_100)
    assert training.score(mlp(training, 60).predict(training.X), training.y) > 0.95


def test_perceptron_runs_as_scikit_learn_does():
    training = waves(3.0)
    model = mlp(training, 60)
    assert model.cost.macs == 20 * 3
    assert training.score(model.predict(training.X), training.y) > 0.95
