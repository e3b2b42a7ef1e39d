"""What users see of CERFClassifier and CERFRegressor: reports, importances, labels, messages."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.feature_selection import SelectFromModel
from sklearn.utils import get_tags

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.estimators.predictors.heads import HEADS
from cerflearn.estimators.predictors.report import counted

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5))
TWO = (X[:, 1] > 0.0).astype(int)
THREE = np.digitize(X[:, 1] + X[:, 3], [-0.5, 0.5])
NUMBERS = X[:, 1] + 0.5 * X[:, 3]
LABELLED, LABELS = make_multilabel_classification(
    n_samples=300, n_features=12, n_classes=4, random_state=0
)
QUICK = {
    "macs": 60, "alpha": 3e-3, "teacher": "labels", "activation": "cosine", "effort": 0.3,
    "random_state": 0,
}  # fmt: skip


# --- inputs by name ---------------------------------------------------------------------------
@pytest.mark.parametrize("head", ["logistic", "svm"])
def test_inputs_that_matter_have_the_most_importance(head):
    model = CERFClassifier(**QUICK | {"macs": 20}, head=head).fit(X, TWO)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmax() == 1
    assert model.inputs_read_.dtype == np.int64
    reads = model.feature_map_.masks.any(axis=1) | model.linear_coef_.any(axis=0)
    assert model.inputs_read_.tolist() == np.flatnonzero(reads).tolist()
    assert not model.feature_importances_[~reads].any()


@pytest.mark.parametrize("linear_part", [False, True])
def test_importances_are_shares_of_projections_times_deviations_of_scores(linear_part):
    scales = np.array([1.0, 100.0, 0.01, 1.0, 5.0])
    data, targets = X * scales, np.column_stack([NUMBERS, 1e6 * X[:, 4]])
    model = CERFRegressor(**QUICK).fit(data, targets)
    settings = model.settings_ | {"linear_part": linear_part, "n_components": 6}
    model = CERFRegressor(macs=40, settings=settings, random_state=0).fit(data, targets)
    drawn, units = model.feature_map_, targets.std(axis=0)
    projections = data @ drawn.frequencies
    sizes = np.abs(drawn.frequencies) * data.std(axis=0)[:, None]
    deviations = np.maximum(projections.std(axis=0), np.linalg.norm(sizes, axis=0))
    features = np.cos(projections + drawn.offsets).std(axis=0)
    features = features * np.linalg.norm(model.head_coef_ / units[:, None], axis=0)
    expected = sizes @ (features / deviations)
    expected += (np.abs(model.linear_coef_) / units[:, None]).sum(axis=0) * data.std(axis=0)
    assert model.feature_importances_ == pytest.approx(expected / expected.sum(), abs=0.01)


def test_a_constant_prediction_needs_no_input():
    model = CERFRegressor(macs=30, alpha=1e3, teacher="labels", random_state=0).fit(X, NUMBERS)
    assert model.feature_importances_.sum() in (pytest.approx(1.0), 0.0)


def test_inputs_can_be_selected_by_importance():
    selector = SelectFromModel(CERFClassifier(**QUICK), threshold=0.2).fit(X, TWO)
    assert selector.get_support()[1]


# --- report -----------------------------------------------------------------------------------
def test_the_report_names_inputs_and_settings():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "height", "weight", "pulse", "noise"])
    model = CERFClassifier(**QUICK | {"macs": 30}).fit(frame, TWO)
    report = model.report()
    assert "most important: height" in report
    assert "1 score" in report
    assert "1 scores" not in report
    for word in ("learn='masks'", "teacher='labels'", "activation='cosine'", "alpha=0.003"):
        assert word in report
    assert f"n_components={model.n_components_}" in report
    full = CERFClassifier(**QUICK | {"macs": 20}, n_components=6).fit(frame, TWO)
    assert "is not used up" not in full.report()


def test_the_report_counts_in_the_right_number():
    assert [counted(n, "score") for n in (0, 1, 2, 1_000)] == [
        "0 scores",
        "1 score",
        "2 scores",
        "1,000 scores",
    ]
    model = CERFRegressor(**QUICK | {"macs": 2}, learn="features").fit(X, NUMBERS)
    report = model.report()
    assert "1 cosine feature of 1 input each, 1 score" in report
    assert "2 MACs a row" in report
    assert "3 scores" in CERFClassifier(**QUICK).fit(X, THREE).report()


def test_the_report_says_why_a_budget_is_not_used_up():
    model = CERFClassifier(**QUICK | {"macs": 10**12}, learn="features").fit(X, TWO)
    n_components = int(5 * np.sqrt(120))
    # Features of 1.5 inputs, or of the least number that is usual, and one score.
    part = model.settings_["macs"]
    assert part in (int(n_components * 2.5), int(n_components * 3))
    assert model.macs_ == 10**12
    assert model.n_macs_ <= part
    report = model.report()
    assert "macs=1,000,000,000,000 is not used up" in report
    assert f"{part} MACs were as good or better on held-out rows" in report
    whole = CERFClassifier(macs=10**12, settings=model.settings_ | {"macs": None}, random_state=0)
    ceiling = n_components * (5 + 1)
    report = whole.fit(X, TWO).report()
    assert part < whole.n_macs_ <= ceiling
    assert "macs=1,000,000,000,000 is not used up" in report
    assert f"{n_components} features (chosen, at most 5 sqrt(n_samples))" in report
    assert f"cost {ceiling:,} MACs" in report
    given = CERFClassifier(**QUICK | {"macs": 100}, n_components=3).fit(X, TWO)
    assert "3 features (given)" in given.report()


def test_the_report_says_why_there_are_no_features():
    linear = X @ np.arange(1.0, 6.0)
    chosen = CERFRegressor(macs=200, random_state=0).fit(X, linear)
    assert chosen.n_components_ == 0
    reason = "macs=200 is not used up: "
    alone = "the linear part alone, of at most 5 MACs, was as good or better on held-out rows"
    assert reason + alone in chosen.report()
    most = "the linear part costs at most 5 MACs"
    again = CERFRegressor(macs=200, settings=chosen.settings_, random_state=0).fit(X, linear)
    assert f"{reason}settings have n_components=0, and {most}" in again.report()
    given = CERFRegressor(**QUICK | {"macs": 200}, n_components=0).fit(X, linear)
    assert f"{reason}n_components=0 was given, and {most}" in given.report()


# --- probabilities and several labels ---------------------------------------------------------
@pytest.mark.parametrize("y", [TWO, THREE])
@pytest.mark.parametrize("head", HEADS)
def test_probabilities_agree_with_predictions_for_every_head(head, y):
    model = CERFClassifier(**QUICK, head=head).fit(X, y)
    proba, n_classes = model.predict_proba(X), len(model.classes_)
    assert proba.shape == (120, n_classes)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(proba, abs=1e-12)
    scores = model.decision_function(X)
    assert scores.shape == ((120,) if n_classes == 2 else (120, n_classes))
    if head in ("svm", "svm_ovo"):  # a monotone function of the scores
        order = np.argsort(scores if n_classes == 2 else scores[:, 0] - scores[:, 1])
        ratio = np.diff(model.predict_log_proba(X)[:, :2], axis=1).ravel()
        ratio = ratio if n_classes == 2 else -ratio
        assert (np.diff(ratio[order]) >= -1e-9).all()


@pytest.mark.parametrize("learn", ["auto", "masks", "features", "selection"])
@pytest.mark.parametrize("head", ["logistic", "ridge"])
def test_several_labels_of_a_row_are_predicted(head, learn):
    model = CERFClassifier(macs=200, head=head, learn=learn, random_state=0)
    model.fit(LABELLED[:200], LABELS[:200])
    rest = LABELLED[200:]
    predicted, proba = model.predict(rest), model.predict_proba(rest)
    assert predicted.shape == proba.shape == model.decision_function(rest).shape == (100, 4)
    assert predicted.dtype.kind == "i"
    assert np.array_equal(predicted, proba > 0.5)
    assert np.exp(model.predict_log_proba(rest)) == pytest.approx(proba, abs=1e-12)
    right = (predicted == LABELS[200:]).mean()
    usual = (LABELS[200:] == (LABELS[:200].mean(axis=0) > 0.5)).mean()
    assert right > usual + 0.05
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.n_macs_ <= 200


def test_several_labels_may_be_sparse_constant_and_taught_by_a_kernel():
    constant = np.column_stack([LABELS[:150], np.ones(150), np.zeros(150)]).astype(int)
    dense = CERFClassifier(macs=200, teacher="kernel", effort=0.3, random_state=0)
    dense.fit(LABELLED[:150], constant)
    sparse = clone(dense).fit(LABELLED[:150], csr_array(constant))
    assert np.array_equal(dense.decision_function(LABELLED), sparse.decision_function(LABELLED))
    assert dense.predict(LABELLED[150:])[:, 4:].tolist() == [[1, 0]] * 150
    selected = CERFClassifier(macs=200, learn="selection", random_state=0)
    selected.fit(LABELLED[:150], constant)
    assert selected.predict(LABELLED[150:])[:, 4:].tolist() == [[1, 0]] * 150


def test_heads_that_cannot_tell_several_labels_say_so():
    for head in HEADS:
        model = CERFClassifier(**QUICK, head=head)
        able = head in ("logistic", "ridge")
        assert get_tags(model).classifier_tags.multi_label == able
        if not able:
            with pytest.raises(ValueError, match=f"4 labels a row, and head='{head}'"):
                model.fit(LABELLED, LABELS)
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        CERFClassifier(**QUICK, class_weight="balanced").fit(LABELLED, LABELS)
    with pytest.raises(ValueError, match="0 and 1"):
        CERFClassifier(**QUICK).fit(LABELLED, LABELS + 1)


# --- parameters -------------------------------------------------------------------------------
def test_both_classes_have_the_same_parameters_in_the_same_order():
    shared = [n for n in CERFClassifier().get_params(deep=False) if n != "class_weight"]
    names = [n for n in inspect.signature(CERFClassifier).parameters if n != "class_weight"]
    assert names == list(inspect.signature(CERFRegressor).parameters)
    assert names[-3:] == ["verbose", "n_jobs", "random_state"]
    defaults = CERFRegressor().get_params(), CERFClassifier().get_params()
    assert all(defaults[0][n] == defaults[1][n] for n in shared if n != "head")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"macs": 10**13}, "macs=10000000000000 .* at most 1,000,000,000,000"),
        ({"macs": 0}, "macs=0"),
        ({"macs": 50, "n_components": 26}, "n_components=26 .* macs=50 is enough for 25 features"),
        ({"n_components": 10**6}, r"macs=192 \(the default\) is enough for 96 features"),
        ({"n_components": -1}, "n_components=-1"),
        ({"macs": 10**12, "n_components": 10**9}, "n_components=26843545 or less"),
        ({"n_components": "all"}, "n_components='all'"),
    ],
)
def test_budgets_and_sizes_beyond_the_limits_name_them(parameters, message):
    with pytest.raises(ValueError, match=message) as caught:
        CERFClassifier(**parameters).fit(X, TWO)
    if "n_components" not in parameters:
        assert "n_components" not in str(caught.value)


# --- data -------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [CERFClassifier, CERFRegressor])
def test_targets_without_columns_are_named(kind):
    with pytest.raises(ValueError, match=r"^y has no columns"):
        kind().fit(X, np.empty((120, 0)))
    with pytest.raises(ValueError, match=r"^y has no columns"):
        kind().fit(X, [[]] * 120)


@pytest.mark.parametrize("kind", [CERFClassifier, CERFRegressor])
@pytest.mark.parametrize("weights", [(1e-300, 1e300), (1e308, 1e308)])
def test_weights_too_far_apart_are_refused(kind, weights):
    sample_weight = np.full(120, weights[0])
    sample_weight[::2] = weights[1]
    with pytest.raises(ValueError, match="Weights of rows range from"):
        kind(**QUICK).fit(X, TWO, sample_weight=sample_weight)


@pytest.mark.parametrize("kind", [CERFClassifier, CERFRegressor])
def test_any_sparse_format_and_no_rows(kind):
    model = kind(**QUICK).fit(coo_array(X), TWO)
    assert np.array_equal(model.predict(X), kind(**QUICK).fit(X, TWO).predict(X))
    assert np.array_equal(model.predict(coo_array(X)), model.predict(csr_array(X)))
    for empty in (np.empty((0, 5)), csr_array((0, 5)), np.empty((120, 0))):
        with pytest.raises(ValueError, match="at least one row and one column"):
            kind(**QUICK).fit(empty, TWO[: len(empty)] if empty.shape[0] else [])
    with pytest.raises(ValueError, match="at least one row"):
        model.predict(np.empty((0, 5)))


def test_fitted_attributes_are_arrays_numbers_strings_and_maps():
    digits, classes = load_digits(return_X_y=True)
    for model in (CERFClassifier(**QUICK).fit(digits[:100], classes[:100]),
                  CERFRegressor(**QUICK).fit(X, NUMBERS)):  # fmt: skip
        known = (np.ndarray, int, float, str, bool, dict, np.integer, type(None))
        for name, value in vars(model).items():
            if name.endswith("_"):
                assert isinstance(value, known) or name == "feature_map_", name
                assert f"{name} : " in (type(model).__doc__ or ""), name
