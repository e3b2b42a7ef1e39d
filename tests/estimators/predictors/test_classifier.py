"""CERFClassifier: budgets, heads, weights, and what it must refuse."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from cerflearn import CERFClassifier, cost
from cerflearn.estimators.predictors.heads import HEADS, fit_head, pair_votes
from cerflearn.estimators.predictors.training_rows import merge_rows
from cerflearn.estimators.targets import one_hot

DIGITS, LABELS = load_digits(return_X_y=True)
TRAIN, TEST = slice(0, 600), slice(1000, None)
QUICK = {
    "activation": "cosine", "alpha": 3e-3, "teacher": "labels", "effort": 0.3, "random_state": 0,
}  # fmt: skip


def quick(**parameters):
    return CERFClassifier(**(QUICK | parameters))


@pytest.mark.parametrize("macs", [20, 57, 300, 1_000])
@pytest.mark.parametrize("learn", ["masks", "features"])
def test_map_and_head_together_are_within_the_budget(macs, learn):
    model = quick(macs=macs, learn=learn).fit(DIGITS[TRAIN], LABELS[TRAIN])
    assert model.n_macs_ <= macs
    n_linear = np.count_nonzero(model.linear_coef_)
    assert model.n_macs_ == model.feature_map_.masks.sum() + model.head_coef_.size + n_linear
    assert cost(model).macs == model.n_macs_
    assert cost(model).trig == model.feature_map_.masks.shape[1]


def test_learned_masks_beat_random_ones_and_a_linear_model_of_equal_macs():
    scores = dict.fromkeys(("masks", "features"), 0.0)
    for learn in scores:
        for seed in range(2):
            model = quick(macs=640, learn=learn, effort=1.0, random_state=seed)
            model.fit(DIGITS[TRAIN], LABELS[TRAIN])
            scores[learn] += model.score(DIGITS[TEST], LABELS[TEST]) / 2
    linear = RidgeClassifier(alpha=10.0).fit(DIGITS[TRAIN], LABELS[TRAIN])
    assert cost(linear).macs == 640
    # Measured: .932 learned masks, .909 drawn ones, .895 linear.
    assert scores["masks"] > scores["features"]
    assert scores["masks"] > linear.score(DIGITS[TEST], LABELS[TEST]) + 0.03


def test_the_default_chooses_well_and_says_what_it_chose(capsys):
    model = CERFClassifier(macs=800, random_state=0, verbose=1).fit(DIGITS[:1000], LABELS[:1000])
    assert model.score(DIGITS[TEST], LABELS[TEST]) > 0.94
    printed = capsys.readouterr().out
    assert "held-out loss" in printed
    report = model.report()
    assert f"{model.n_macs_:,} MACs a row" in report
    assert f"activation={model.activation_!r}" in report
    assert f"n_components={model.n_components_}" in report


@pytest.mark.parametrize("head", HEADS)
def test_every_head_classifies_within_the_budget(head):
    model = quick(macs=1_500, head=head).fit(DIGITS[TRAIN], LABELS[TRAIN])
    assert model.n_macs_ <= 1_500
    assert len(model.head_coef_) == (45 if head == "svm_ovo" else 10)
    assert model.score(DIGITS[TEST], LABELS[TEST]) > 0.9
    proba = model.predict_proba(DIGITS[TEST])
    assert proba.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(proba.argmax(axis=1), model.predict(DIGITS[TEST]))
    assert np.exp(model.predict_log_proba(DIGITS[TEST])) == pytest.approx(proba, abs=1e-12)


@pytest.mark.parametrize("head", ["logistic", "ridge"])
def test_probabilities_are_honest(head):
    X, y = load_breast_cancer(return_X_y=True)
    for data, labels, n_splits in ((DIGITS, LABELS, 1), (X, y, 3)):
        losses, coins = [], []
        for split in range(n_splits):
            order = np.random.default_rng(split).permutation(len(data))
            train, test = order[:350], order[350:]
            model = CERFClassifier(macs=400, head=head, random_state=split)
            model.fit(data[train], labels[train])
            proba = model.predict_proba(data[test])
            assert proba.sum(axis=1) == pytest.approx(1.0)
            assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(data[test]))
            # A coin of that accuracy has this loss; honest probabilities are better than that.
            accuracy, rest = model.score(data[test], labels[test]), len(model.classes_) - 1
            error = 1.0 - accuracy
            coins.append(-accuracy * np.log(accuracy) - error * np.log(error / rest))
            losses.append(log_loss(labels[test], proba, labels=model.classes_))
        assert np.mean(losses) < np.mean(coins)


def test_one_against_one_scores_vote_as_libsvm_does():
    rng = np.random.default_rng(0)
    features, classes = rng.normal(size=(200, 5)), rng.integers(4, size=200)
    features += classes[:, None]
    coef, intercept = fit_head(
        "svm_ovo", features, one_hot(classes, 4), np.full(200, 1 / 200), "multiclass", 0
    )
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    agreement = []
    for strength in (0.01, 0.1, 1.0, 10.0):
        votes = pair_votes(features @ coef.T + intercept, 4)
        libsvm = SVC(kernel="linear", C=strength).fit(scaled, classes)
        agreement.append((votes.argmax(axis=1) == libsvm.predict(scaled)).mean())
    assert max(agreement) > 0.99  # for the C that was chosen; ties are settled otherwise


def test_scores_are_those_of_the_map_and_head():
    model = quick(macs=300, n_components=20).fit(DIGITS[TRAIN], LABELS[TRAIN])
    data = DIGITS[TEST]
    expected = model.feature_map_.transform(data) @ model.head_coef_.T + model.head_intercept_
    expected += data @ model.linear_coef_.T
    assert model.decision_function(data) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    sparse = model.decision_function(csr_array(data))
    assert sparse == pytest.approx(expected, rel=1e-9, abs=1e-9)
    single = model.decision_function(data.astype(np.float32))
    assert single.dtype == np.float32
    assert single == pytest.approx(expected, abs=1e-2)


def test_relu_features_cost_no_cosines():
    model = quick(macs=400, activation="relu", n_components=25)
    model.fit(DIGITS[TRAIN], LABELS[TRAIN])
    data = DIGITS[TEST]
    phases = data @ model.feature_map_.frequencies + model.feature_map_.offsets
    expected = np.maximum(phases, 0.0) @ model.head_coef_.T + model.head_intercept_
    expected += data @ model.linear_coef_.T
    assert model.decision_function(data) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    sparse = model.decision_function(csr_array(data))
    assert sparse == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert cost(model).trig == 0
    assert cost(model).macs <= 400
    assert "relu features" in model.report()
    assert model.score(data, LABELS[TEST]) > 0.85
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(data), model.decision_function(data))


def test_relu_features_take_inputs_of_any_scale():
    fits = [
        quick(macs=400, activation="relu").fit(factor * DIGITS[TRAIN], LABELS[TRAIN])
        for factor in (1.0, 2.0**14, 2.0**-14)
    ]
    assert fits[0].score(DIGITS[TEST], LABELS[TEST]) > 0.85
    scores = fits[0].decision_function(DIGITS[TEST])
    for fitted, factor in zip(fits[1:], (2.0**14, 2.0**-14), strict=True):
        assert fitted.decision_function(factor * DIGITS[TEST]) == pytest.approx(scores, rel=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"activation": "cosine"}, {"activation": "relu"}, {"activation": "table"},
     {"gamma": "scale"}, {"head": "ridge"}],
    ids=str,
)  # fmt: skip
def test_kinds_of_features_are_compared_unless_one_is_given(parameters, capsys):
    model = CERFClassifier(macs=60, effort=0.1, random_state=0, verbose=1, **parameters)
    model.fit(DIGITS[:400], LABELS[:400])
    printed = capsys.readouterr().out
    kinds = {"cosine", "relu", "table"}
    tried = {name for name in kinds if f"activation='{name}'" in printed}
    if "head" in parameters:
        assert tried == {"cosine", "relu"}
    elif parameters:
        assert tried == {model.activation_} == {parameters.get("activation", "cosine")}
    else:
        assert tried == kinds


def test_same_seed_same_bits_for_any_number_of_threads():
    fits = [
        CERFClassifier(macs=200, effort=0.3, random_state=3, n_jobs=n_jobs).fit(
            DIGITS[TRAIN], LABELS[TRAIN]
        )
        for n_jobs in (1, 2, 2)
    ]
    for other in fits[1:]:
        assert np.array_equal(other.decision_function(DIGITS), fits[0].decision_function(DIGITS))
        assert np.array_equal(other.predict_proba(DIGITS), fits[0].predict_proba(DIGITS))


def test_weights_are_repetitions_and_order_has_no_effect():
    rng = np.random.default_rng(0)
    rows = rng.permutation(300)
    weights = rng.integers(0, 3, 300).astype(float)
    weighted = quick(macs=200).fit(DIGITS[:300], LABELS[:300], sample_weight=weights)
    repeated = np.repeat(rows, weights[rows].astype(int))
    other = quick(macs=200).fit(DIGITS[repeated], LABELS[repeated])
    assert np.array_equal(weighted.decision_function(DIGITS), other.decision_function(DIGITS))


def test_equal_rows_are_merged_only_with_equal_targets():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [5.0, 5.0]])
    targets = np.array([[0.0], [0.0], [1.0], [1.0], [0.0]])
    rows, weights = merge_rows(X, targets, np.array([1.0, 2.0, 1.0, 1.0, 0.0]))
    found = {(*X[r], *targets[r]): w for r, w in zip(rows, weights, strict=True)}
    assert found == {(1.0, 2.0, 0.0): 3.0, (0.0, 0.0, 1.0): 1.0, (1.0, 2.0, 1.0): 1.0}


def test_class_weights_move_the_border():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 1.0).astype(int)
    plain = quick(macs=100).fit(X, y)
    balanced = quick(macs=100, class_weight="balanced").fit(X, y)
    assert balanced.predict(X).mean() > plain.predict(X).mean() + 0.05


@pytest.mark.parametrize("group_size", [2, 8])
def test_whole_groups_are_pruned_together(group_size):
    model = quick(
        macs=400, head="ridge", n_components=16, group_size=group_size, features_per_mask=2
    )
    model.fit(DIGITS[TRAIN], LABELS[TRAIN])
    masks = model.feature_map_.masks
    groups = masks.reshape(-1, group_size, masks.shape[1])
    assert (groups.all(axis=1) == groups.any(axis=1)).all()
    assert model.n_macs_ <= 400
    assert model.score(DIGITS[TEST], LABELS[TEST]) > 0.75


def test_features_that_are_not_trained_are_selected_by_the_labels():
    model = CERFClassifier(macs=640, learn="selection", head="ridge", random_state=0)
    model.fit(DIGITS[TRAIN], LABELS[TRAIN])
    assert model.learn_ == "selection"
    assert model.alpha_ == "auto"
    assert model.score(DIGITS[TEST], LABELS[TEST]) > 0.85


def test_labels_may_be_strings_and_columns_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DIGITS[:200], columns=[f"pixel {i}" for i in range(64)])
    names = np.array([f"digit {label}" for label in LABELS[:200]])
    model = quick(macs=200).fit(frame, names)
    assert set(model.predict(frame)) <= set(names)
    assert model.feature_names_in_[3] == "pixel 3"
    assert clone(model).get_params()["macs"] == 200


def test_inputs_of_any_scale_are_fine():
    X = DIGITS[TRAIN] * np.geomspace(1e-6, 1e6, 64) + 1e3
    model = quick(macs=640).fit(X, LABELS[TRAIN])
    test = DIGITS[TEST] * np.geomspace(1e-6, 1e6, 64) + 1e3
    assert model.score(test, LABELS[TEST]) > 0.9


BAD_FITS = {
    "one class": ({}, DIGITS[:20], np.zeros(20), "one class"),
    "one class with weight": ({}, DIGITS[:20], np.arange(20) % 2, None),
    "one sample": ({}, DIGITS[:1], [1], "one class"),
    "nan": ({}, np.where(DIGITS[:20] > 15, np.nan, DIGITS[:20]), LABELS[:20], "NaN"),
    "constant": ({}, np.ones((20, 3)), np.arange(20) % 2, "constant"),
    "numbers": ({}, DIGITS[:20], np.linspace(0, 1, 20), "continuous"),
    "rows": ({}, DIGITS[:20], LABELS[:19], "inconsistent"),
    "budget": ({"macs": 5}, DIGITS[:50], LABELS[:50], "macs=11 or more"),
    "budget of groups": ({"macs": 30, "group_size": 8, "features_per_mask": 2}, DIGITS[:50],
                         LABELS[:50], "macs=36 or more"),
    "macs": ({"macs": -1}, DIGITS[:50], LABELS[:50], "macs=-1"),
    "head": ({"head": "tree"}, DIGITS[:50], LABELS[:50], "head='tree'"),
    "gamma": ({"gamma": 0.0}, DIGITS[:50], LABELS[:50], "gamma=0.0"),
    "learn": ({"learn": "all"}, DIGITS[:50], LABELS[:50], "learn='all'"),
    "activation": ({"activation": "tanh"}, DIGITS[:50], LABELS[:50], "activation='tanh'"),
    "relu only chosen": ({"activation": "relu", "learn": "selection"}, DIGITS[:50], LABELS[:50],
                         "activation='relu'"),
    "alpha": ({"alpha": -1.0}, DIGITS[:50], LABELS[:50], "alpha=-1.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FITS)
def test_bad_input_is_refused_with_a_remedy(case):
    parameters, X, y, message = BAD_FITS[case]
    weights = None
    if message is None:
        weights, message = (np.arange(20) % 2).astype(float), "one class"
    with pytest.raises(ValueError, match=message):
        CERFClassifier(**parameters).fit(X, y, sample_weight=weights)


def test_one_sample_of_each_class_is_enough():
    model = CERFClassifier(random_state=0).fit(DIGITS[:10], LABELS[:10])
    assert model.score(DIGITS[:10], LABELS[:10]) == 1.0


def test_a_failed_fit_leaves_no_old_model():
    model = quick(macs=200).fit(DIGITS[:200], LABELS[:200])
    with pytest.raises(ValueError, match="one class"):
        model.fit(DIGITS[:200], np.zeros(200))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(DIGITS[:5])


DATA = os.environ.get("CERF_DATA")


@pytest.mark.skipif(not DATA, reason="CERF_DATA names no folder with data")
def test_mnist_by_mini_batches_is_far_above_a_linear_model():
    with np.load(Path(DATA or "") / "mnist.npz") as file:
        pixels, digits = file["X"][::6].astype(np.float32) / 255.0, file["y"][::6]
    model = quick(macs=4_000, n_components=200, alpha=1e-3, early_stopping=True, effort=0.2)
    model.fit(pixels[:10_000], digits[:10_000])
    assert model.n_macs_ <= 4_000
    assert model.score(pixels[10_000:], digits[10_000:]) > 0.93  # linear: .85
