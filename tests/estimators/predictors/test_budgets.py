"""CERFClassifier and CERFRegressor stay within operations and bytes, whatever is asked of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from cerflearn import CERFClassifier, CERFRegressor, cost

KINDS = ("cosine", "relu", "table")
STORAGES = ("float32", "int16", "int8")
QUICK = {"teacher": "labels", "effort": 0.03, "random_state": 0}


def drawn_case(number: int) -> dict[str, int | str]:
    """Numbers of inputs and scores, shape of blocks, and a budget of one block or more."""
    rng = np.random.default_rng(number)
    n_features, n_scores = int(rng.integers(1, 40)), int(rng.choice([1, 1, 3, 5, 12]))
    group_size, features_per_mask = int(rng.choice([1, 1, 2, 8])), int(rng.choice([1, 1, 2, 5]))
    least = features_per_mask * (min(group_size, n_features) + n_scores)
    macs = int(least * rng.choice([1.0, 1.3, 4.0, 20.0]))
    return {
        "n_features": n_features, "n_scores": n_scores, "group_size": group_size,
        "features_per_mask": features_per_mask, "macs": macs, "kind": KINDS[number % 3],
    }  # fmt: skip


def data_of(n_features: int, n_scores: int, n_samples: int = 48):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_samples, n_features))
    return X, X @ rng.normal(size=(n_features, n_scores)) + 0.1 * rng.normal(size=(n_samples, 1))


def operations_of(model) -> int:
    """Operations counted by hand: inputs and scores of features, entries of the linear part."""
    masks = model.feature_map_.masks
    n_linear = np.count_nonzero(model.linear_coef_)
    return int(masks.sum() + masks.shape[1] * len(model.head_intercept_) + n_linear)


@pytest.mark.parametrize("number", range(48))
def test_operations_are_within_the_budget(number):
    case = drawn_case(number)
    macs, group_size = int(case["macs"]), int(case["group_size"])
    X, Y = data_of(int(case["n_features"]), int(case["n_scores"]))
    blocks = {name: case[name] for name in ("macs", "group_size", "features_per_mask")}
    kind = str(case["kind"])
    model = CERFRegressor(activation=kind, alpha=1e-2, **blocks, **QUICK).fit(X, Y)
    assert 0 < model.n_macs_ <= macs
    assert model.n_macs_ == cost(model).macs == operations_of(model)
    masks = model.feature_map_.masks
    for start in range(0, len(masks), group_size):  # read together, or not at all
        group = masks[start : start + group_size]
        assert (group.all(axis=0) == group.any(axis=0)).all()
    width = int(case["features_per_mask"])
    for start in range(0, masks.shape[1], width):
        assert (masks[:, start : start + width] == masks[:, [start]]).all()


@pytest.mark.parametrize("kind", ["auto", *KINDS])
@pytest.mark.parametrize("macs", [4, 13, 60, 400])
def test_classifiers_are_within_the_budget(kind, macs):
    X, Y = data_of(6, 3)
    model = CERFClassifier(macs=macs, activation=kind, **QUICK).fit(X, Y.argmax(axis=1))
    assert 0 < model.n_macs_ <= macs
    assert model.n_macs_ == cost(model).macs == operations_of(model)


@pytest.mark.parametrize("head", ["ridge", "svm", "svm_ovo"])
def test_scores_of_every_head_count(head):
    X, Y = data_of(6, 5)
    model = CERFClassifier(macs=60, head=head, **QUICK).fit(X, Y.argmax(axis=1))
    assert len(model.head_intercept_) == (10 if head == "svm_ovo" else 5)
    assert not model.linear_coef_.any()
    assert model.n_macs_ == operations_of(model) <= 60


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kind", ["auto", *KINDS])
@pytest.mark.parametrize(("n_scores", "max_bytes"), [(1, 40), (1, 300), (3, 150), (3, 900)])
def test_bytes_are_within_the_budget(storage, kind, n_scores, max_bytes):
    X, Y = data_of(9, n_scores)
    model = CERFRegressor(
        macs=200, max_bytes=max_bytes, storage=storage, activation=kind, **QUICK
    )  # fmt: skip
    if kind == "table" and max_bytes < 400:
        with pytest.raises(ValueError, match=r"the smallest model has \d+ bytes") as caught:
            model.set_params(max_bytes=20).fit(X, Y)
        least = int(str(caught.value).split("max_bytes=")[-1].split()[0])
        model.set_params(max_bytes=max(max_bytes, least))
    model.fit(X, Y)
    assert cost(model).n_bytes <= model.max_bytes
    assert model.n_macs_ <= 200


def test_bytes_hold_for_classifiers_and_given_settings():
    X, Y = data_of(9, 3)
    y = Y.argmax(axis=1)
    tables = {"activation": "table", "n_components": 15}
    free = CERFClassifier(macs=200, **tables, **QUICK).fit(X, y)
    assert cost(free).n_bytes > 2_000
    for given in (tables, {"settings": free.settings_}):
        model = CERFClassifier(macs=200, max_bytes=2_000, **given, **QUICK).fit(X, y)
        assert cost(model).n_bytes <= 2_000
        assert model.activation_ == "table"


def test_storage_counts_bytes_and_changes_nothing_else():
    X, Y = data_of(5, 2)
    models = [CERFRegressor(macs=60, storage=storage, **QUICK).fit(X, Y) for storage in STORAGES]
    sizes = [cost(model).n_bytes for model in models]
    assert sizes[0] > sizes[1] > sizes[2]
    for model in models[1:]:
        assert np.array_equal(model.predict(X), models[0].predict(X))
        assert cost(model).macs == cost(models[0]).macs


# --- the linear part alone --------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["auto", *KINDS])
def test_no_features_leave_a_linear_model(kind):
    X, Y = data_of(5, 2, 200)
    model = CERFRegressor(n_components=0, activation=kind, random_state=0).fit(X, Y)
    linear = model.linear_coef_ @ X.T + model.head_intercept_[:, None]
    assert model.predict(X) == pytest.approx(linear.T, rel=1e-9)
    assert model.feature_map_.masks.shape == (5, 0)
    assert model.head_coef_.shape == (2, 0)
    assert model.tables_.shape[0] == 0
    assert model.score(X, Y) > 0.98
    assert model.n_components_ == 0
    assert model.n_macs_ == np.count_nonzero(model.linear_coef_) <= 10
    assert "no features, 2 scores" in model.report()


def test_a_linear_model_reads_the_inputs_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = 3.0 * X[:, 4] - 2.0 * X[:, 11] + 0.1 * rng.normal(size=300)
    model = CERFRegressor(macs=2, n_components=0, random_state=0).fit(X, y)
    assert model.inputs_read_.tolist() == [4, 11]
    assert model.linear_coef_[0, [4, 11]] == pytest.approx([3.0, -2.0], abs=0.1)
    assert np.flatnonzero(model.feature_importances_).tolist() == [4, 11]


@pytest.mark.parametrize(
    "parameters", [{"head": "ridge"}, {"learn": "features"}, {"learn": "selection"}]
)
def test_no_features_need_a_linear_part(parameters):
    X, Y = data_of(5, 1)
    with pytest.raises(ValueError, match=r"n_components=0 is not valid: .* has a linear part"):
        CERFRegressor(n_components=0, **parameters).fit(X, Y)


# --- refusals ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"macs": 3}, "macs=3 is not valid: one feature with its 3 scores costs 4 MACs"),
        ({"macs": 10, "group_size": 8}, "Pass macs=11 or more"),
        ({"macs": 39, "group_size": 2, "features_per_mask": 8}, "Pass macs=40 or more"),
        ({"max_bytes": 0}, "max_bytes=0 is not valid: it must be a positive integer"),
        ({"max_bytes": 10}, r"max_bytes=10 is not valid: the smallest model has \d+ bytes"),
        ({"max_bytes": 2.5}, "max_bytes=2.5 is not valid"),
        ({"storage": "float16"}, "storage='float16' is not valid: it must be 'float32', 'int16'"),
        ({"effort": 0.0}, "effort=0.0 is not valid: it must be a number from .01 to 1,000"),
    ],
    ids=str,
)
def test_budgets_that_are_too_small_name_the_least(parameters, message):
    X, Y = data_of(9, 3)
    with pytest.raises(ValueError, match=message):
        CERFClassifier(**parameters).fit(X, Y.argmax(axis=1))


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
@pytest.mark.parametrize("storage", STORAGES)
def test_the_least_bytes_that_are_named_are_enough(kind, storage):
    X, Y = data_of(9, 3)
    model = CERFRegressor(macs=50, max_bytes=1, storage=storage, activation=kind, **QUICK)
    with pytest.raises(ValueError, match="max_bytes=1 is not valid") as caught:
        model.fit(X, Y)
    least = int(str(caught.value).split("Pass max_bytes=")[1].split()[0])
    model.set_params(max_bytes=least).fit(X, Y)
    assert cost(model).n_bytes <= least


@pytest.mark.parametrize("storage", ["float32", "int8"])
def test_a_model_within_bytes_can_be_pickled(storage):
    X = np.random.default_rng(0).normal(size=(80, 4))
    model = CERFRegressor(max_bytes=400, storage=storage, effort=0.05, random_state=0)
    model.fit(X, X[:, 0] ** 2)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
