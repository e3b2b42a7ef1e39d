"""``frontier``: budgets are kept, settings see no test rows, results repeat, bad input is named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, make_friedman1

from cerflearn import frontier
from cerflearn.comparison.dataset import read_dataset, read_test_set, split_dataset
from cerflearn.comparison.methods import METHODS

BUDGETS = (14, 90, 400)


@pytest.fixture(scope="module")
def digits():
    """160 digits of three classes with 16 inputs: small enough for all methods."""
    X, y = load_digits(n_class=3, return_X_y=True)
    X = X.reshape(-1, 8, 8)[:, ::2, ::2].reshape(len(X), -1)
    return X[:160], y[:160]


@pytest.fixture(scope="module")
def found(digits):
    return frontier(*digits, macs=BUDGETS)


def rows_of(found, method):
    return [row for row in found.rows if row["method"] == method]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_stays_within_every_budget(found, method):
    rows = rows_of(found, method)
    assert [row["budget"] for row in rows] == list(BUDGETS)
    for row in rows:
        if row["score"] is None:
            assert "costs" in row["note"]
            assert row["macs"] is None
        else:
            assert row["note"] == ""
            assert 0 < row["macs"] <= row["budget"]
            assert row["microseconds"] > 0.0
            assert row["fit_seconds"] > 0.0
    assert rows[-1]["score"] > 0.8


@pytest.mark.parametrize(
    ("method", "least", "price"),
    [  # 16 inputs, 3 scores
        ("linear", 48, lambda size: size * 3),
        ("mlp", 19, lambda size: size * (16 + 3)),
        ("rff", 19, lambda size: math.ceil(size / 2) * 16 + size * 3),
        ("nystroem", 20, lambda size: size * (16 + size) + size * 3),
        # One block of 16: 2 * 16 * 4 + 3 * 16, paid whole.
        ("fastfood", 179, lambda size: math.ceil(size / 32) * 176 + size * 3),
        ("blocked", 179, lambda size: math.ceil(size / 32) * 176 + size * 3),
    ],
)
def test_macs_are_those_of_the_size_and_no_larger_size_would_fit(found, method, least, price):
    for row in rows_of(found, method):
        if row["budget"] < least:
            assert f"costs {least} MACs" in row["note"]
        else:
            assert row["macs"] == price(row["size"])
            assert method == "linear" or price(row["size"] + 1) > row["budget"]


@pytest.mark.parametrize("method", ["pruned_mlp", "masked", "cvem", "refined", "cerf"])
def test_methods_that_read_few_inputs_use_small_budgets(found, method):
    for row in rows_of(found, method):
        if method in ("masked", "cvem") and row["budget"] < 19:
            # The masks of "auto" together read every input that varies: 13 of 16.
            assert "one feature costs 16 MACs" in row["note"]
        else:
            # The linear part alone, 13 inputs times 3 scores, may be the best.
            linear = row["size"] == 0 and row["macs"] <= 39
            # Few rows bound the number of trained features, which may be left with few inputs.
            most = 90 if method in ("cerf", "refined", "pruned_mlp") else row["budget"]
            assert linear or row["macs"] > 0.75 * min(row["budget"], most)


def test_linear_model_is_the_same_at_all_budgets_that_pay_for_it(found):
    assert [row["macs"] for row in rows_of(found, "linear")] == [None, 48, 48]
    _, second, third = rows_of(found, "linear")
    np.testing.assert_equal({**second, "budget": 400}, third)


def without_times(found):
    times = ("microseconds", "fit_seconds")
    return [{k: v for k, v in row.items() if k not in times} for row in found.rows]


def test_same_seed_gives_the_same_result(digits, found):
    again = frontier(*digits, macs=BUDGETS[1:2], methods=[m for m in METHODS if m != "cvem"])
    expected = [row for row in without_times(found) if row["budget"] == 90]
    expected = [row for row in expected if row["method"] != "cvem"]
    np.testing.assert_equal(without_times(again), expected)


def test_seeds_are_averaged(digits):
    methods = ["linear", "masked"]
    found = frontier(*digits, macs=60, methods=methods, n_seeds=3, random_state=5)
    listed = frontier(*digits, macs=60, methods=methods, random_state=[5, 6, 7])
    assert without_times(found) == without_times(listed)
    alone = [frontier(*digits, macs=60, methods=methods, random_state=seed) for seed in (5, 6, 7)]
    for index, row in enumerate(found.rows):
        scores = [one.rows[index]["score"] for one in alone]
        assert row["scores"] == scores
        assert row["score"] == pytest.approx(np.mean(scores))
        assert row["error"] == pytest.approx(np.std(scores, ddof=1) / math.sqrt(3))
    assert "3 seeds" in str(found)
    assert "±" in str(found)


def test_no_seed_draws_one(digits):
    found = frontier(*digits, macs=60, methods="linear", random_state=None)
    assert len(found.rows[0]["scores"]) == 1


def test_training_does_not_depend_on_test_rows(digits):
    X, y = digits
    data = read_dataset(X, y, "auto")
    parts = [
        split_dataset(data, 0.25, read_test_set(data, (X_test, y[:40])), seed=1)
        for X_test in (X[:40], 1e3 + X[40:80])
    ]
    first, second = (part.training for part in parts)
    np.testing.assert_array_equal(first.X, second.X)
    assert first.n_samples == len(X)
    assert not np.array_equal(parts[0].X_test, parts[1].X_test)


def test_given_test_rows_are_the_ones_judged(digits):
    X, y = digits
    found = frontier(X[:120], y[:120], 60, ["linear"], test_set=(X[120:], y[120:]))
    wrong = frontier(X[:120], y[:120], 60, ["linear"], test_set=(X[120:], (y[120:] + 1) % 3))
    assert found.rows[0]["score"] > 0.9
    assert wrong.rows[0]["score"] < 0.1
    assert "120 training rows and 40 test rows" in str(found)


def test_names_and_budgets_may_be_of_numpy(digits):
    found = frontier(*digits, np.array([60]), np.array(["linear"]))
    assert found.rows[0]["score"] > 0.9
    assert type(found.rows[0]["method"]) is str
    assert type(found.rows[0]["budget"]) is int


def test_labels_may_be_words_and_rows_sparse(digits):
    X, y = digits
    plain = frontier(X, y, 60, ["linear", "masked"])
    words = frontier(csr_matrix(X), np.array(["none", "one", "two"])[y], 60, ["linear", "masked"])
    np.testing.assert_equal(without_times(plain), without_times(words))


def test_two_classes_have_one_score(digits):
    X, y = digits
    found = frontier(X[y < 2], y[y < 2], 50, ["linear", "mlp", "rff", "pruned_mlp", "nystroem"])
    macs = {row["method"]: row["macs"] for row in found.rows}
    assert macs["linear"] == 16
    assert macs["mlp"] == 2 * 17
    assert macs["rff"] == 2 * (16 + 2)
    assert all(row["score"] > 0.9 for row in found.rows)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_numbers_are_regressed(n_targets):
    X, y = make_friedman1(n_samples=160, noise=0.1, random_state=0)
    y = np.column_stack([y, 100.0 - 3.0 * y])[:, :n_targets]
    methods = ["linear", "mlp", "pruned_mlp", "rff", "masked", "cerf"]
    found = frontier(X, y, 120, methods)
    assert found.metric == "R2"
    score = {row["method"]: row["score"] for row in found.rows}
    assert all(row["macs"] <= 120 for row in found.rows)
    # A linear model explains about .74 of Friedman's function.
    assert 0.5 < score["linear"] < 0.85
    assert min(score["mlp"], score["pruned_mlp"], score["cerf"]) > score["linear"]


def test_whole_numbers_may_be_regressed_on_request():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = np.round(20.0 * X[:, 0])
    with pytest.raises(ValueError, match="different values in 100 rows: pass task='regression'"):
        frontier(X, y, 20, ["linear"])
    assert frontier(X, y, 20, ["linear"], task="regression").rows[0]["score"] > 0.99


def test_progress_goes_to_the_error_stream(digits, capsys):
    frontier(*digits, macs=[20, 60], methods=["linear", "rff"], verbose=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "rff, 60 MACs" in said.err
    frontier(*digits, macs=60, methods=["linear"])
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"macs": []}, r"macs=\[\] is not valid: it must be an integer from 1 to"),
        ({"macs": [0]}, "macs=0 is not valid"),
        ({"macs": "500"}, "macs='500' is not valid"),
        ({"macs": 50.5}, "macs=50.5 is not valid"),
        ({"methods": ["linear", "svm"]}, r"methods=\['linear', 'svm'\] .* 'pruned_mlp'"),
        ({"methods": []}, r"methods=\[\] is not valid"),
        ({"n_seeds": 0}, "n_seeds=0 is not valid"),
        ({"random_state": -1}, "random_state=-1 is not valid"),
        ({"random_state": "a"}, "random_state='a' is not valid"),
        ({"random_state": [1, 2], "n_seeds": 3}, "random_state=.*n_seeds=3"),
        ({"macs": np.array(10)}, r"macs=array\(10\) is not valid: it must be an integer from"),
        ({"methods": np.array("rff")}, r"methods=array\('rff', .*\) is not valid"),
        ({"random_state": np.array(3)}, r"random_state=array\(3\) is not valid"),
        ({"test_size": 1.5}, "test_size=1.5 is not valid"),
        (
            {"test_size": -5, "test_set": (np.zeros((2, 16)), [0, 1])},
            "test_size=-5 is not valid",
        ),
        (
            {"test_size": 0.5, "test_set": (np.zeros((2, 16)), [0, 1])},
            "test_size=0.5 has no effect with test_set, .* leave test_size at 0.25",
        ),
        ({"task": "ranking"}, "task='ranking' is not valid"),
        ({"y": np.zeros(160)}, r"y has one class, \[0.0\]: pass rows of two or more"),
        ({"y": np.zeros(5)}, "inconsistent numbers of samples"),
        ({"y": np.full(160, np.nan)}, "y contains NaN"),
        ({"X": np.full((160, 2), np.nan)}, "X contains NaN.*cerflearn.KernelImputer"),
        ({"test_set": 3}, "test_set is not valid: it must be a pair"),
        ({"test_set": (np.zeros((2, 3)), [0, 1])}, "test_set has 3 inputs and X 16"),
        ({"test_set": (np.zeros((2, 16)), [0, 9])}, r"test_set has labels \[9\]"),
    ],
)
def test_bad_input_is_refused(digits, change, message):
    arguments = {"X": digits[0], "y": digits[1], "macs": [50], "methods": ["linear"]} | change
    with pytest.raises(ValueError, match=message):
        frontier(**arguments)
