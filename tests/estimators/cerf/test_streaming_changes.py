"""Streams whose parameters, input types or budgets are unusual: what changes and what does not."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier

from cerflearn import CVEM, MaskedCERF, Shared

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 10))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def stream(**parameters):
    return MaskedCERF(**({"n_components": 20, "selector": "cvem", "random_state": 0} | parameters))


@pytest.mark.parametrize("macs", [50, 200])
@pytest.mark.parametrize("drift", [0.0, 3.0])
def test_the_number_of_outputs_stays_and_features_keep_their_columns(macs, drift):
    model = MaskedCERF.paper_setting(macs=macs, solver="procrustes", random_state=0)
    head = SGDClassifier(random_state=0)
    before: dict[int, int] = {}
    for start in range(0, 3000, 300):
        rows = X[start : start + 300] * (1.0 + drift * start / 3000)
        model.partial_fit(rows)
        head.partial_fit(model.transform(rows), Y[start : start + 300], classes=[0, 1])
        places = {int(feature): place for place, feature in enumerate(model.selected_)}
        assert model.n_macs_ <= macs
        assert not before or len(places) == len(before)
        assert all(places[feature] == before[feature] for feature in places.keys() & before.keys())
        before = places


CHANGES = {
    "noise": ({}, {"selector__noise_std": 5.0}, "selector__noise_std"),
    "normalisation": ({}, {"selector__normalize": "center"}, "selector__normalize"),
    "of shared": ({"selector": Shared()}, {"selector__normalize": None}, "selector__normalize"),
    "teacher": ({"teacher": PCA(3)}, {"teacher__n_components": 2}, "teacher__n_components"),
    "gamma": ({}, {"gamma": 0.3}, "gamma=0.3 cannot replace 'scale'"),
    "seed": ({}, {"random_state": 7}, "random_state=7 cannot replace 0"),
    "kind of teacher": ({}, {"teacher": "labels"}, "teacher='labels' cannot replace 'rff'"),
}


@pytest.mark.parametrize("n_rows", [10, 300], ids=["waiting", "begun"])
@pytest.mark.parametrize("case", CHANGES)
def test_parameters_cannot_be_changed_in_a_stream(case, n_rows):
    parameters, change, message = CHANGES[case]
    model = clone(stream(**({"selector": CVEM()} | parameters)))
    model.partial_fit(X[:n_rows], Y[:n_rows])
    model.set_params(**change)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[n_rows : n_rows + 300], Y[n_rows : n_rows + 300])
    assert pickle.dumps(model) == before


def test_equal_parameters_and_those_of_execution_are_taken():
    model = stream(selector=CVEM(), gamma=0.5, teacher=PCA(2)).partial_fit(X[:300])
    model.set_params(
        gamma=np.float64(0.5), teacher=PCA(2), selector="cvem", n_jobs=2, verbose=0
    ).partial_fit(X[300:600])
    model.set_params(selector=CVEM(learning_decay=0.9, cache_bytes=0)).partial_fit(X[600:900])
    assert model.n_iter_ == 3


@pytest.mark.parametrize("teacher", ["rff", LogisticRegression()])
def test_frames_of_other_types_are_taken_while_rows_wait(teacher):
    frame = pl.DataFrame(np.round(X), schema=[f"x{i}" for i in range(10)])
    model = stream(teacher=teacher).partial_fit(frame[:20].cast(pl.Int64), Y[:20])
    model.partial_fit(frame[20:], Y[20:])
    plain = stream(teacher=teacher).partial_fit(np.round(X[:20]), Y[:20])
    plain.partial_fit(np.round(X[20:]), Y[20:])
    np.testing.assert_array_equal(model.transform(frame[:50]), plain.transform(np.round(X[:50])))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_an_error_leaves_the_generator_as_it_was(make):
    model = stream(n_candidates=5, random_state=make(3))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="n_candidates"):
        model.partial_fit(X)
    assert pickle.dumps(model) == before


def test_a_stream_that_starts_anew_has_nothing_of_the_fit_before():
    model = stream().fit(X).partial_fit(X[:20, :4])
    for name in ("selected_", "feature_proba_", "gamma_", "law_", "feature_map_", "lower_bounds_"):
        assert not hasattr(model, name)
    for ask in (
        lambda: model.n_components_,
        lambda: model.frequencies_,
        lambda: model.get_feature_names_out(),
        lambda: model.transform(X[:5, :4]),
    ):
        with pytest.raises(NotFittedError, match="has seen 20 rows and begins to learn with"):
            ask()


def test_a_column_of_labels_is_taken_as_labels_while_rows_wait():
    model = stream(teacher="labels").partial_fit(X[:20], Y[:20, None]).partial_fit(X[20:], Y[20:])
    assert model.transform(X).shape == (3000, 20)


def test_a_call_with_all_rows_draws_once_and_does_not_copy_them(monkeypatch):
    draws = []
    draw = MaskedCERF._draw_candidates
    monkeypatch.setattr(
        MaskedCERF, "_draw_candidates", lambda *args: draws.append(1) or draw(*args)
    )
    rows = np.random.default_rng(1).normal(size=(200_000, 20))
    model = stream(n_components=4, gamma=0.1, selector=CVEM(cache_bytes=0))
    tracemalloc.start()
    model.partial_fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(draws) == 1
    assert peak < 0.6 * rows.nbytes
