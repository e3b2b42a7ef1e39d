"""CERFClassifier and CERFRegressor at the edges: few rows, odd weights, budgets and scales."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from cerflearn import CERFClassifier, CERFRegressor, cost
from cerflearn.estimators.predictors.heads import HEADS
from cerflearn.training import policy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
THREE = np.arange(60) % 3
TWO = (X[:, 0] > 0.0).astype(int)
QUICK = {
    "macs": 60, "alpha": 3e-3, "teacher": "labels", "effort": 0.2, "random_state": 0,
}  # fmt: skip


def quick(**parameters):
    return CERFClassifier(**(QUICK | parameters))


@pytest.mark.parametrize("learn", ["masks", "selection"])
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_class_without_weight_is_a_class_that_is_not_there(head, learn, missing):
    counts = np.not_equal(THREE, missing)
    names = np.array(["a", "b", "c"])[THREE]
    parameters = {"head": head, "learn": learn, "macs": 100}
    if learn == "selection":
        parameters |= {"alpha": "auto", "effort": 1.0}
    model = quick(**parameters).fit(X, names, sample_weight=counts * 1.0)
    other = quick(**parameters).fit(X[counts], names[counts])
    assert model.classes_.tolist() == other.classes_.tolist()
    assert np.array_equal(model.decision_function(X), other.decision_function(X))
    assert np.array_equal(model.predict(X), other.predict(X))


def test_a_class_may_get_no_weight_by_class_weight():
    model = quick(class_weight={1: 0.0}).fit(X, THREE)
    assert model.classes_.tolist() == [0, 2]
    assert model.predict_proba(X).shape == (60, 2)


def test_balanced_classes_count_a_weight_of_two_as_two_rows():
    weights = np.random.default_rng(1).integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weights)
    model = quick(class_weight="balanced").fit(X, TWO, sample_weight=weights)
    other = quick(class_weight="balanced").fit(X[rows], TWO[rows])
    assert np.array_equal(model.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: -1.0}, r"class_weight\[0\]=-1.0"),
        ({2: np.nan}, r"class_weight\[2\]=nan"),
        ("fair", "class_weight='fair'"),
        ([1.0, 2.0, 3.0], "'balanced' or None"),
    ],
)
def test_class_weights_that_are_none_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        quick(class_weight=class_weight).fit(X, THREE)


@pytest.mark.parametrize("n_samples", [2, 3, 4, 7])
@pytest.mark.parametrize("learn", ["masks", "features", "selection"])
def test_a_few_rows_are_enough_for_a_fit(n_samples, learn):
    labels = np.arange(n_samples) % 2
    model = CERFClassifier(learn=learn, random_state=0).fit(X[:n_samples], labels)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    regressor = CERFRegressor(learn=learn, random_state=0).fit(X[:n_samples], labels)
    assert np.isfinite(regressor.predict(X)).all()


@pytest.mark.parametrize("n_samples", [58, 59, 60])  # the rare row is in each of the folds once
def test_one_row_that_differs_does_not_stop_the_search(n_samples):
    y = np.zeros(n_samples)
    y[7] = 1.0
    data = X[:n_samples]
    assert np.isfinite(CERFRegressor(macs=30, random_state=0).fit(data, y).predict(data)).all()
    assert CERFClassifier(macs=30, random_state=0).fit(data, y).score(data, y) > 0.95


def test_groups_wider_than_the_data_cost_what_they_read():
    with pytest.raises(ValueError, match="macs=5 or more"):
        quick(macs=4, group_size=16).fit(X, TWO)
    assert quick(macs=5, group_size=16, learn="features").fit(X, TWO).n_macs_ == 5
    model = quick(macs=5, group_size=16).fit(X, TWO)
    assert model.n_macs_ <= 5
    masks = model.feature_map_.masks
    assert (masks.all(axis=0) == masks.any(axis=0)).all()


def test_the_default_budget_pays_for_one_block_at_least():
    model = quick(macs=None, group_size=4, features_per_mask=64).fit(X, TWO)
    assert model.n_macs_ <= 64 * 5


def test_masks_of_more_features_than_there_are_need_no_memory_for_them():
    model = quick(macs=None, features_per_mask=10**9).fit(X, TWO)
    assert model.feature_map_.masks.shape[1] <= 5 * np.sqrt(60)
    masks = model.feature_map_.masks
    assert (masks == masks[:, :1]).all()


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_spreads_beyond_double_precision_are_refused(size):
    with pytest.raises(ValueError, match="X varies too"):
        quick().fit(size * X, TWO)
    with pytest.raises(ValueError, match="y varies too"):
        CERFRegressor(macs=30).fit(X, size * X[:, 0])


@pytest.mark.parametrize(("gamma", "size"), [(1e80, 1.0), ("scale", 1e30), ("median", 1e-60)])
def test_scales_beyond_single_precision_are_refused(gamma, size):
    with pytest.raises(ValueError, match="single precision"):
        quick(gamma=gamma).fit(size * X, TWO)


@pytest.mark.parametrize("activation", ["cosine", "relu", "table"])
def test_a_large_penalty_shrinks_to_a_constant(activation):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1_000, 8))
    labels = (data[:, 0] > 1.0).astype(int)
    model = quick(alpha=1e3, activation=activation, effort=1.0).fit(data, labels)
    proba = model.predict_proba(data)[:, 1]
    assert proba == pytest.approx(labels.mean(), abs=0.02)


def test_sparse_scores_have_the_dtype_of_the_data():
    model = quick().fit(X, THREE)
    single = X.astype(np.float32)
    assert model.decision_function(csr_array(single)).dtype == np.float32
    assert model.decision_function(csr_array(X)).dtype == np.float64


def test_scores_of_many_sparse_rows_do_not_store_their_features():
    model = quick(macs=400, activation="cosine", n_components=38).fit(X, THREE)
    many = np.tile(X, (500, 1))
    rows = csr_array(many)
    n_stored = len(many) * model.head_coef_.shape[1] * 8
    tracemalloc.start()
    scores = model.decision_function(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scores == pytest.approx(model.decision_function(many), rel=1e-9, abs=1e-9)
    assert peak < n_stored / 2


def test_a_failed_fit_leaves_nothing_to_count():
    model = quick().fit(X, TWO)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(60))
    with pytest.raises(NotFittedError):
        cost(model)


@pytest.mark.parametrize("early_stopping", ["yes", 2, np.ones(2), None])
def test_early_stopping_is_true_false_or_auto(early_stopping):
    with pytest.raises(ValueError, match="early_stopping="):
        quick(early_stopping=early_stopping).fit(X, TWO)


def test_sparse_targets_are_refused():
    with pytest.raises(TypeError, match="toarray"):
        CERFRegressor(macs=30).fit(X, csr_array(X[:, :1]))


@pytest.mark.parametrize("activation", ["cosine", "relu", "table"])
def test_early_stopping_holds_out_a_tenth_of_many_rows(activation, monkeypatch):
    data = np.random.default_rng(0).normal(size=(300, 4))
    labels = (data[:, 0] * data[:, 1] > 0.0).astype(int)

    def scores(early):
        model = quick(activation=activation, early_stopping=early).fit(data, labels)
        return model.decision_function(data)

    stopped, whole = scores(True), scores(False)
    assert not np.array_equal(stopped, whole)
    assert np.array_equal(scores("auto"), whole)  # it is for 10,000 rows and more
    for most, expected in ((300, stopped), (301, whole)):
        monkeypatch.setattr(policy, "EARLY_STOPPING_ROWS", most)
        assert np.array_equal(scores("auto"), expected)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["a"] * 60, "sample_weight must be numeric"),
        ("balanced", "sample_weight must be numeric"),
        (np.ones((60, 2)), "Pass sample_weight with a number for each row"),
        (np.zeros(60), "sample_weight|y has one class"),
    ],
    ids=["text", "word", "table", "zeros"],
)
def test_weights_that_are_none_are_refused_by_name(weights, message):
    for model in (quick(), CERFRegressor(macs=60)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, TWO, sample_weight=weights)
