"""Cosines, relu features and tables alike: scores by hand, dtypes, reports, importances, bits."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError

from cerflearn import CERFClassifier, CERFRegressor, cost

KINDS = ("cosine", "relu", "table")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 6)) * [1.0, 10.0, 0.1, 1.0, 1.0, 1.0] + [0.0, 5.0, 0.0, 0.0, 0.0, -3.0]
TEST = X[120:]
NUMBERS = np.column_stack([np.sin(2.0 * X[:, 0]) + X[:, 3], 50.0 * X[:, 0] * X[:, 3]])
TWO = (X[:, 0] * X[:, 3] > 0.0).astype(int)
THREE = np.digitize(X[:, 3], [-0.5, 0.5])
QUICK = {"macs": 60, "teacher": "labels", "alpha": 3e-3, "effort": 0.2, "random_state": 0}
GIVEN = {name: value for name, value in QUICK.items() if name != "alpha"}  # beside settings


@cache
def classifier(kind):
    return CERFClassifier(activation=kind, **QUICK).fit(X, THREE)


@cache
def regressor(kind):
    return CERFRegressor(activation=kind, **QUICK).fit(X, NUMBERS)


def slow_scores(model, rows):
    """Scores by loops over rows and features, from the documented attributes alone."""
    frequencies, offsets = model.feature_map_.frequencies, model.feature_map_.offsets
    found = np.zeros((len(rows), len(model.head_intercept_)))
    for i, x in enumerate(rows):
        found[i] = model.head_intercept_ + model.linear_coef_ @ x
        for k in range(frequencies.shape[1]):
            projection = frequencies[:, k] @ x
            if model.activation_ == "table":
                bins = np.searchsorted(model.bin_edges_[k], projection, side="right") - 1
                found[i] += model.tables_[k, np.clip(bins, 0, model.tables_.shape[1] - 1)]
            elif model.activation_ == "relu":
                found[i] += model.head_coef_[:, k] * max(projection + offsets[k], 0.0)
            else:
                found[i] += model.head_coef_[:, k] * np.cos(projection + offsets[k])
    return found


@pytest.mark.parametrize("linear_part", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_attributes_reproduce_the_scores(kind, linear_part):
    settings = regressor(kind).settings_ | {"linear_part": linear_part, "n_components": 5}
    model = CERFRegressor(settings=settings, **GIVEN).fit(X[:120], NUMBERS[:120])
    n_kept = model.feature_map_.masks.shape[1]
    assert model.linear_coef_.shape == (2, 6)
    assert model.linear_coef_.any() == linear_part
    if kind == "table":
        n_bins = model.tables_.shape[1]
        assert model.tables_.shape == (n_kept, n_bins, 2)
        assert model.bin_edges_.shape == (n_kept, n_bins + 1)
        assert model.head_coef_.shape == (2, 0)
    else:
        assert model.head_coef_.shape == (2, n_kept)
        assert model.tables_.shape == (0, 2, 2)
        assert model.bin_edges_.shape == (0, 3)
    expected = slow_scores(model, TEST)
    assert model.predict(TEST) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert model.raw_scores(TEST) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kind", KINDS)
def test_attributes_reproduce_the_decisions(kind, y):
    model = CERFClassifier(activation=kind, **QUICK).fit(X[:120], y[:120])
    scores, expected = model.decision_function(TEST), slow_scores(model, TEST)
    assert scores.reshape(len(TEST), -1) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    chosen = expected.argmax(axis=1) if expected.shape[1] > 1 else expected[:, 0] > 0.0
    assert np.array_equal(model.predict(TEST), chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_learns_what_it_can(kind):
    model = CERFRegressor(activation=kind, macs=200, random_state=0)
    target = np.sin(X[:, 0]) + 0.5 * np.abs(X[:, 3])
    assert model.fit(X[:120], target[:120]).score(TEST, target[120:]) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_and_dense_rows_and_both_precisions(kind):
    model = classifier(kind)
    dense = model.decision_function(X)
    assert model.decision_function(csr_array(X)) == pytest.approx(dense, rel=1e-9, abs=1e-9)
    same = CERFClassifier(activation=kind, **QUICK).fit(csr_array(X), THREE)
    assert np.array_equal(same.decision_function(X), dense)
    single = model.decision_function(X.astype(np.float32))
    assert single.dtype == np.float32
    # A table jumps at the edges of bins, which few rows are close to.
    near = np.isclose(single, dense, rtol=1e-3, atol=1e-3).all(axis=1)
    assert near.mean() > 0.95 if kind == "table" else near.all()
    short = CERFClassifier(activation=kind, **QUICK).fit(X.astype(np.float32), THREE)
    assert short.score(X, THREE) == pytest.approx(model.score(X, THREE), abs=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_several_labels_of_a_row(kind):
    rows, labels = make_multilabel_classification(120, 8, n_classes=3, random_state=0)
    model = CERFClassifier(activation=kind, **QUICK).fit(rows, labels)
    expected = slow_scores(model, rows)
    assert model.decision_function(rows) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.array_equal(model.predict(rows), expected > 0.0)
    assert (model.predict(rows) == labels).mean() > 0.8


# --- the same bits ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["auto", *KINDS])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(kind):
    first = regressor(kind)
    for n_jobs in (1, 2):
        other = CERFRegressor(activation=kind, **QUICK, n_jobs=n_jobs).fit(X, NUMBERS)
        assert other.settings_ == first.settings_
        assert np.array_equal(other.predict(X), first.predict(X))
        assert np.array_equal(other.feature_importances_, first.feature_importances_)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_repetitions_and_classes_weigh_as_rows_do(kind):
    weights = np.random.default_rng(1).integers(0, 3, 160)
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(160), weights))
    fits = [
        CERFClassifier(activation=kind, **QUICK).fit(X, TWO, sample_weight=weights),
        CERFClassifier(activation=kind, **QUICK).fit(X[rows], TWO[rows]),
    ]
    assert np.array_equal(fits[0].decision_function(X), fits[1].decision_function(X))
    by_class = CERFClassifier(activation=kind, class_weight={0: 1.0, 1: 3.0}, **QUICK).fit(X, TWO)
    by_row = CERFClassifier(activation=kind, **QUICK)
    by_row.fit(X, TWO, sample_weight=np.where(TWO == 1, 3.0, 1.0))
    assert np.array_equal(by_class.decision_function(X), by_row.decision_function(X))


@pytest.mark.parametrize("kind", KINDS)
def test_pickled_models_predict_the_same_bits(kind):
    model = classifier(kind)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.tables_, model.tables_)
    assert again.report() == model.report()
    assert cost(again) == cost(model)


# --- one row ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [1, 2, 40])
def test_rows_that_skip_the_checks_have_the_bits_of_those_that_do_not(kind, n_rows):
    model, rows = classifier(kind), X[:n_rows]
    for call in (model.decision_function, model.predict_proba, regressor(kind).predict):
        assert np.array_equal(call(rows), call(rows.tolist()))
        assert np.array_equal(call(np.asfortranarray(rows)), call(rows.tolist()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rows",
    [
        np.full((1, 6), np.nan),
        np.full((1, 6), np.inf),
        np.full((3, 6), -np.inf),
        np.zeros((1, 5)),
        np.zeros((1, 7)),
        np.zeros((0, 6)),
        np.zeros(6),
    ],
    ids=["nan", "inf", "-inf", "narrow", "wide", "empty", "flat"],
)
def test_bad_rows_raise_the_same_errors_with_and_without_the_checks(kind, rows):
    messages = []
    for given in (rows, rows.astype(np.float32), rows.astype(object), np.asfortranarray(rows)):
        with pytest.raises(ValueError, match=r".") as caught:
            regressor(kind).predict(given)
        messages.append(str(caught.value))
    without_dtype = {message.replace("float32", "float64") for message in messages}
    assert len(without_dtype) == 1


def test_models_that_are_not_fitted_say_so():
    for call in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        for rows in (X[:1], X[:1].tolist()):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(CERFClassifier(), call)(rows)
    for name in ("tables_", "bin_edges_", "n_macs_", "inputs_read_"):
        with pytest.raises(NotFittedError):
            getattr(CERFRegressor(), name)
    with pytest.raises(NotFittedError):
        CERFRegressor().report()


# --- words and importances --------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_the_report_describes_each_kind(kind):
    settings = classifier(kind).settings_ | {"linear_part": True, "n_components": 5}
    model = CERFClassifier(settings=settings, **GIVEN | {"macs": 30}).fit(X, TWO)
    n_kept, report = model.feature_map_.masks.shape[1], model.report()
    n_linear, counted = np.count_nonzero(model.linear_coef_), cost(model)
    assert f"{counted.macs} MACs a row ({model.feature_map_.masks.sum()} for features" in report
    if n_linear:
        assert f", {n_linear} for the linear part)" in report
    assert f"{n_kept} {kind} feature" in report
    assert f"activation='{kind}'" in report
    assert f"{counted.n_bytes:,} bytes stored as float32" in report
    operations = {"cosine": f", {n_kept} cosine", "relu": "", "table": f", {n_kept} lookup"}
    assert f"stored as float32{operations[kind]}" in report
    assert ("cosines a row" in report) == (kind == "cosine")
    assert (f" and {model.tables_.shape[1]} bins each" in report) == (kind == "table")
    assert "with a linear part" in report


def test_the_report_of_a_linear_model_names_no_kind():
    model = CERFClassifier(n_components=0, **GIVEN | {"macs": 30}).fit(X, TWO)
    report = model.report()
    assert "no features, 1 score" in report
    assert "with a linear part" in report
    assert "activation" not in report
    assert "bytes stored as float32\n" in report


@pytest.mark.parametrize("kind", KINDS)
def test_importances_sum_to_one_and_find_the_relevant_input(kind):
    target = np.sign(X[:, 3]) + 0.1 * X[:, 0]
    model = CERFRegressor(activation=kind, **QUICK | {"macs": 20}).fit(X, target)
    assert model.feature_importances_.shape == (6,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert (model.feature_importances_ >= 0.0).all()
    assert model.feature_importances_.argmax() == 3
    assert set(np.flatnonzero(model.feature_importances_)) <= set(model.inputs_read_)


@pytest.mark.parametrize(
    ("kind", "head"),
    [(CERFClassifier, head) for head in ("ridge", "svm", "svm_ovo")] + [(CERFRegressor, "ridge")],
)
def test_tables_have_no_other_head(kind, head):
    with pytest.raises(ValueError, match="activation='table' has no effect with head="):
        kind(activation="table", head=head).fit(X, TWO)
