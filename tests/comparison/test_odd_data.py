"""``frontier`` on odd data: results stay right, failures are told in their row, work is bounded."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cerflearn import CERFClassifier, frontier
from cerflearn.comparison.methods import METHODS


@pytest.fixture(scope="module")
def normal():
    """80 rows of 5 normal inputs, and whether the first is positive."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    return X, (X[:, 0] > 0).astype(np.int64)


def rows_by_method(found):
    return {row["method"]: row for row in found.rows}


@pytest.mark.parametrize("method", ["linear", "mlp", "cerf", "refined"])
def test_a_class_absent_from_the_training_rows_does_not_shift_the_others(normal, method):
    X, y = normal
    y = np.r_[-1, y[1:]]
    assert absent(y, 6)
    assert frontier(X, y, [60], [method], random_state=6).rows[0]["score"] >= 0.8


def absent(y, seed):
    """Whether the split of a seed leaves class -1 out of its training rows."""
    from sklearn.model_selection import train_test_split

    return -1 not in train_test_split(y, test_size=0.25, random_state=seed)[0]


def test_predictors_with_an_absent_class_score_as_the_estimator_does(normal):
    from cerflearn.comparison.dataset import read_dataset, split_dataset

    X, y = normal
    y = np.r_[-1, y[1:]]
    seed = next(s for s in range(50) if absent(y, s))
    found = rows_by_method(frontier(X, y, 60, ["cerf", "linear"], random_state=seed))
    part = split_dataset(read_dataset(X, y, "auto"), 0.25, None, seed)
    model = CERFClassifier(macs=60, random_state=seed, n_jobs=1)
    model.fit(part.training.X, part.training.y)
    assert found["cerf"]["score"] == np.mean(model.predict(part.X_test) == part.y_test)


@pytest.mark.parametrize("scale", [1e200, 1.7e308, 1e-200, 1e-310])
def test_scores_of_huge_and_tiny_targets_are_those_of_the_plain_ones(normal, scale):
    X, _ = normal
    noise = np.random.default_rng(1).uniform(-1.0, 1.0, size=80)
    plain = frontier(X, noise, 30, ["linear"]).rows[0]["score"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled = frontier(X, scale * noise, 30, ["linear"]).rows[0]["score"]
    assert plain < 0.5
    # 1e-310 keeps 13 binary digits fewer than other numbers: about 1e-12 of a target.
    assert scaled == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_test_targets_that_are_not_finite_are_refused(normal, value):
    X, _ = normal
    y = X[:, 0] + X[:, 1]
    y_test = y[60:].copy()
    y_test[3] = value
    with pytest.raises(ValueError, match=r"y of test_set contains (NaN|infinity)"):
        frontier(X[:60], y[:60], 30, ["linear"], test_set=(X[60:], y_test))
    y[3] = value
    with pytest.raises(ValueError, match=r"y contains (NaN|infinity)"):
        frontier(X, y, 30, ["linear"])


def test_missing_labels_are_refused(normal):
    X, y = normal
    labels = np.where(y > 0, "yes", "no").astype(object)
    for missing in (None, np.nan):
        labels[3] = missing
        with pytest.raises(ValueError, match="y has a missing label in row 3"):
            frontier(X, labels, 30, ["linear"])
        with pytest.raises(ValueError, match="y of test_set has a missing label in row 3"):
            frontier(X[4:], labels[4:], 30, ["linear"], test_set=(X[:8], labels[:8]))


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["a", 1] * 40, {}, "y has labels of different types"),
        (["a", "b"] * 40, {"task": "regression"}, "y has labels that are no numbers"),
        ([0.5] * 80, {}, "y has one value"),
        (np.full(80, b"a"), {}, "y has labels .* neither text nor numbers"),
        (3, {}, "y has 0 dimensions"),
        (np.ones((80, 0)), {}, "y has no columns"),
        (np.ones((80, 2, 2)), {}, "y has 3 dimensions"),
        (0.5 + np.arange(80), {"test_size": 0.01}, "R2 needs two or more test rows"),
        (["a", "b"] * 40, {"test_size": 0.999}, "test_size=0.999 leaves 0 of 80 rows to train on"),
    ],
)
def test_targets_that_cannot_be_compared_are_refused(normal, y, options, message):
    y = np.array(y, dtype=object) if isinstance(y, list) and y[1] == 1 else np.asarray(y)
    with pytest.raises(ValueError, match=message):
        frontier(normal[0], y, 30, ["linear"], **options)


@pytest.mark.parametrize("kind", ["category", "string", "Int64", "boolean", "float16", "object"])
def test_labels_may_be_of_any_type_of_pandas(normal, kind):
    pd = pytest.importorskip("pandas")
    X, y = normal
    plain = frontier(X, y, 30, ["linear"]).rows[0]["score"]
    if kind in ("category", "string", "object"):
        labels = pd.Series(np.where(y > 0, "yes", "no"), dtype=kind)
    else:
        labels = pd.Series(y).astype(kind)
    assert frontier(X, labels, 30, ["linear"]).rows[0]["score"] == plain


def test_too_few_rows_are_refused(normal):
    with pytest.raises(ValueError, match="X has 3 rows: a comparison needs 4 or more"):
        frontier(normal[0][:3], [0, 1, 0], 30, ["linear"])


def test_test_targets_of_another_shape_are_refused(normal):
    X, _ = normal
    y = X[:, :2] + 0.5
    with pytest.raises(ValueError, match=r"y of test_set has shape \(20, 3\).*2 columns"):
        frontier(X[:60], y[:60], 30, ["linear"], test_set=(X[60:], X[60:, :3]))


def test_frames_with_other_columns_are_refused(normal):
    pd = pytest.importorskip("pandas")
    X, y = normal
    frame = pd.DataFrame(X, columns=list("abcde"))
    other = frame[list("edcba")]
    with pytest.raises(ValueError, match="columns of test_set are not those of X"):
        frontier(frame, y, 30, ["linear"], test_set=(other, y))
    assert frontier(frame, y, 30, ["linear"], test_set=(frame, y)).rows[0]["score"] > 0.9


def test_test_rows_far_beyond_the_training_rows_are_refused(normal):
    X, y = normal
    with pytest.raises(ValueError, match=r"test_set.* too far from the training rows"):
        frontier(X, y, 30, ["linear"], test_set=(1e60 * X, y))


@pytest.mark.parametrize("value", [1e120, 1e308])
def test_test_targets_far_beyond_the_training_targets_are_refused(normal, value):
    X, _ = normal
    y = X[:, 1]
    with pytest.raises(ValueError, match="Test targets are too far from the training targets"):
        frontier(X, y, 30, ["linear"], test_set=(X, np.r_[value, y[1:]]))


def test_a_method_that_raises_is_told_in_its_row(normal, monkeypatch):
    def broken(training, macs):
        raise MemoryError("no room\nfor this")

    monkeypatch.setitem(METHODS, "rff", broken)
    found = frontier(*normal, [30, 60], ["linear", "rff"])
    rows = [row for row in found.rows if row["method"] == "rff"]
    assert [row["note"] for row in rows] == 2 * ["failed with MemoryError: no room for this"]
    assert all(row["score"] is None and row["macs"] is None for row in rows)
    assert found.best(60)["method"] == "linear"
    assert str(found).count("left out: failed with MemoryError: no room for this") == 2
    legend = found.plot().get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["linear", "rff (no model)"]


def test_long_errors_are_cut(normal, monkeypatch):
    def broken(training, macs):
        raise ValueError(1000 * "word ")

    monkeypatch.setitem(METHODS, "rff", broken)
    note = frontier(*normal, 30, ["rff"]).rows[0]["note"]
    assert len(note) < 220
    assert note.endswith("word ...")


def test_interruption_is_not_taken_for_a_failure(normal, monkeypatch):
    def interrupted(training, macs):
        raise KeyboardInterrupt

    monkeypatch.setitem(METHODS, "rff", interrupted)
    with pytest.raises(KeyboardInterrupt):
        frontier(*normal, 30, ["rff"])


def test_a_seed_that_fails_is_named(normal, monkeypatch):
    linear = METHODS["linear"]

    def sometimes(training, macs):
        if training.seed == 2:
            raise ValueError("bad luck")
        return linear(training, macs)

    monkeypatch.setitem(METHODS, "linear", sometimes)
    row = frontier(*normal, 30, ["linear"], random_state=[1, 2, 3]).rows[0]
    assert row["note"] == "failed with ValueError: bad luck (seed 2)"


def test_predictions_that_are_not_numbers_are_a_failure(normal, monkeypatch):
    linear = METHODS["linear"]

    def broken(training, macs):
        model = linear(training, macs)
        return type(model)(lambda X: np.full(len(X), np.nan), model.cost, model.size)

    monkeypatch.setitem(METHODS, "rff", broken)
    found = frontier(normal[0], normal[0][:, 1], 30, ["rff", "linear"])
    assert "predictions are not finite" in found.rows[0]["note"]
    assert found.best(30)["method"] == "linear"


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_beyond_the_rows_is_not_used_up(normal, method):
    X, y = normal
    row = frontier(X, y, 10**7, [method]).rows[0]
    assert row["score"] > 0.7, row["note"]
    assert row["macs"] < 10**6
    limited = method not in ("linear", "pruned_mlp", "trees", "refined", "cerf")
    assert limited == row["note"].startswith("limited to ")


def test_the_note_of_a_limited_model_is_in_the_table(normal):
    found = frontier(*normal, 10**7, ["rff"])
    assert found.rows[0]["note"] in str(found)


@pytest.mark.parametrize("macs", [10**13, 10**400, -5])
def test_budgets_outside_the_range_are_refused(normal, macs):
    with pytest.raises(ValueError, match=r"macs=.* is not valid: it must be .* 1 to 10\*\*12"):
        frontier(*normal, macs, ["linear"])


def test_one_hot_targets_take_memory_of_rows_times_classes():
    from cerflearn.comparison.training_set import TrainingSet

    n_classes = 200_000  # the square would be 320 GB
    training = TrainingSet(np.zeros((3, 1), np.float32), np.array([0, 7, 9]), n_classes, 0)
    targets = training.targets
    assert targets.shape == (3, n_classes)
    np.testing.assert_array_equal(targets.nonzero(), [[0, 1, 2], [0, 7, 9]])


@pytest.mark.parametrize("method", ["linear", "mlp"])
def test_classes_of_few_rows_are_no_warning(method):
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = frontier(X, np.arange(60) % 25, 200, [method], task="classification")
    assert found.rows[0]["note"] == ""
