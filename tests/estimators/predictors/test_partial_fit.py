"""partial_fit and warm_start of the predictors."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from cerflearn import CERFClassifier, CERFRegressor, load, save
from cerflearn.blocks import from_blocks
from cerflearn.estimators.predictors.row_memory import RowMemory
from cerflearn.training import policy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 6))
NUMBERS = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
LABELS = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [-0.5, 0.5])]
QUICK = {"macs": 60, "effort": 0.1, "random_state": 0}


def bits(model):
    arrays = (model.head_coef_, model.head_intercept_, model.linear_coef_, model.tables_,
              model.feature_map_.frequencies, model.feature_map_.offsets)  # fmt: skip
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def test_the_first_call_is_a_fit():
    fitted = CERFClassifier(**QUICK).fit(X[:500], LABELS[:500])
    assert bits(CERFClassifier(**QUICK).partial_fit(X[:500], LABELS[:500])) == bits(fitted)
    fitted = CERFRegressor(**QUICK).fit(X[:500], NUMBERS[:500])
    assert bits(CERFRegressor(**QUICK).partial_fit(X[:500], NUMBERS[:500])) == bits(fitted)


@pytest.mark.parametrize("activation", ["table", "cosine", "relu"])
def test_later_calls_keep_masks_and_budget_and_change_the_numbers(activation):
    model = CERFClassifier(**QUICK, activation=activation).fit(X[:1000], LABELS[:1000])
    before, mask, macs = bits(model), model.feature_map_.masks.copy(), model.n_macs_
    model.partial_fit(X[1000:2000], LABELS[1000:2000])
    assert bits(model) != before
    np.testing.assert_array_equal(model.feature_map_.masks, mask)
    assert model.n_macs_ == macs


def test_more_rows_make_the_model_better():
    test = slice(2000, 3000)
    model = CERFRegressor(macs=60, random_state=0).partial_fit(X[:100], NUMBERS[:100])
    first = model.score(X[test], NUMBERS[test])
    for start in range(100, 1000, 100):
        model.partial_fit(X[start : start + 100], NUMBERS[start : start + 100])
    whole = CERFRegressor(macs=60, random_state=0).fit(X[:1000], NUMBERS[:1000])
    assert model.score(X[test], NUMBERS[test]) > first + 0.03
    assert model.score(X[test], NUMBERS[test]) > whole.score(X[test], NUMBERS[test]) - 0.1


def test_masks_are_chosen_anew_when_the_kept_rows_are_four_times_as_many():
    model = CERFRegressor(**QUICK).partial_fit(X[:200], NUMBERS[:200])
    chosen = []
    for start in range(200, 1000, 200):
        model.partial_fit(X[start : start + 200], NUMBERS[start : start + 200])
        chosen.append(model._training.n_chosen)
    assert chosen == [200, 200, 800, 800]


def test_a_stream_has_the_same_bits_from_a_source_sparse_rows_and_again():
    pieces = [slice(0, 400), slice(400, 700), slice(700, 900)]
    model = CERFClassifier(**QUICK, activation="table")
    for piece in pieces:
        model.partial_fit(X[piece], LABELS[piece])
    source = from_blocks([(X[piece], LABELS[piece]) for piece in pieces])
    assert bits(CERFClassifier(**QUICK, activation="table").partial_fit(source)) == bits(model)
    sparse = CERFClassifier(**QUICK, activation="table")
    for piece in pieces:
        sparse.partial_fit(csr_matrix(X[piece]), LABELS[piece])
    assert bits(sparse) == bits(model)


def test_classes_that_come_later_are_named_in_the_first_call():
    late = LABELS != "c"
    model = CERFClassifier(macs=60, random_state=0)
    model.partial_fit(X[:600][late[:600]], LABELS[:600][late[:600]], classes=["c", "a", "b"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    model.partial_fit(X[600:1500], LABELS[600:1500])
    assert model.score(X[1500:], LABELS[1500:]) > 0.7
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:5], ["a", "b", "d", "a", "a"])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X[:5], LABELS[:5], classes=["a", "b"])


def test_an_error_changes_nothing():
    model = CERFClassifier(**QUICK).partial_fit(X[:400], LABELS[:400])
    before, state = bits(model), dict(vars(model))
    bad = X[:5].copy()
    bad[2, 1] = np.nan
    blocks = from_blocks([(X[:50], LABELS[:50]), (bad, LABELS[:5])])
    narrow = X[:5, :3]
    for rows, labels in ((bad, LABELS[:5]), (narrow, LABELS[:5]), (blocks, None)):
        with pytest.raises(ValueError, match=r"NaN|3 features|infinite"):
            model.partial_fit(rows, labels)
        assert bits(model) == before
        assert vars(model) == state


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learn": "selection"}, "cannot learn from more rows"),
        ({"head": "ridge"}, "fitted to all rows at once"),
        ({"class_weight": "balanced"}, "needs all rows at once"),
    ],
)
def test_parameters_that_need_all_rows_are_refused(settings, message):
    model = CERFClassifier(macs=60, **settings)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as caught:
        model.partial_fit(X[:100], LABELS[:100])
    assert message in str(caught.value.__cause__)


def test_parameters_that_are_arrays_are_named():
    model = CERFRegressor(macs=60, head=np.array(["ridge", "trained"]))
    assert hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match="head="):
        model.partial_fit(X[:100], NUMBERS[:100])


def test_a_loaded_model_says_that_it_cannot_go_on(tmp_path):
    model = CERFClassifier(**QUICK).fit(X[:400], LABELS[:400])
    save(model, tmp_path / "model.cerf")
    with pytest.raises(ValueError, match="loaded from a model file"):
        load(tmp_path / "model.cerf").partial_fit(X[:50], LABELS[:50])


def test_kept_rows_are_left_out_of_pickles():
    model = CERFRegressor(**QUICK).partial_fit(X, NUMBERS)
    text = pickle.dumps(model)
    assert len(text) < X.nbytes
    again = pickle.loads(text)
    again.partial_fit(X[:100], NUMBERS[:100])
    assert np.isfinite(again.predict(X[:10])).all()


def test_warm_start_trains_on_with_the_masks_of_the_last_fit():
    model = CERFRegressor(**QUICK, warm_start=True).fit(X[:1000], NUMBERS[:1000])
    cold = clone(model).set_params(warm_start=False).fit(X[:1000], NUMBERS[:1000])
    assert bits(model) == bits(cold)
    mask = model.feature_map_.masks.copy()
    model.fit(X[1000:2000], NUMBERS[1000:2000])
    np.testing.assert_array_equal(model.feature_map_.masks, mask)
    assert bits(model) != bits(cold)
    score = model.score(X[2000:], NUMBERS[2000:])
    assert score > cold.score(X[2000:], NUMBERS[2000:]) - 0.05


def test_weights_and_targets_of_later_calls_count():
    model = CERFRegressor(**QUICK).fit(X[:500], np.column_stack([NUMBERS, X[:, 3]])[:500])
    with pytest.raises(ValueError, match="targets a row"):
        model.partial_fit(X[:100], NUMBERS[:100])
    targets = np.column_stack([NUMBERS, X[:, 3]])[500:600]
    weights = (np.arange(100) < 50).astype(float)
    other = deepcopy(model).partial_fit(X[500:550], targets[:50])
    model.partial_fit(X[500:600], targets, sample_weight=weights)
    assert np.abs(model.predict(X) - other.predict(X)).mean() < 0.1


def test_a_memory_keeps_each_row_with_equal_probability():
    counts = np.zeros(60)
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        rows = np.arange(60.0)[:, None]
        memory = RowMemory.of(rows[:10], rows[:10, 0], np.ones(10))
        for start in range(10, 60, 10):
            part = rows[start : start + 10]
            memory = memory.with_rows(part, part[:, 0], np.ones(10), 15, rng)
        assert len(memory) == 15
        np.testing.assert_array_equal(memory.X[:, 0], memory.y)
        assert len(set(memory.y)) == 15
        counts[memory.y.astype(int)] += 1
    # 500 each are expected; five standard errors.
    assert np.abs(counts - 500).max() < 5 * np.sqrt(500 * 0.75)


def test_the_rate_is_half_of_that_of_a_fit():
    assert policy.RESUMED_RATE == 0.5


@pytest.mark.parametrize("given", [np.array([1, 2]), "yes", None])
def test_a_warm_start_that_is_no_flag_is_named(given):
    with pytest.raises(ValueError, match=r"warm_start=.* is not valid"):
        CERFRegressor(warm_start=given).fit(X, NUMBERS)
