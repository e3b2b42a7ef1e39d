"""``partial_fit`` refuses bad input and leaves the estimator as it was."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import RidgeClassifier

from cerflearn import CVEM, MaskedCERF, Shared

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 8))
Y = np.where(X[:, 0] * X[:, 1] > 0.0, "yes", "no")
SMALL = {"n_components": 32, "n_candidates": 64, "selector": "cvem", "random_state": 0}


def streamed(model, rows, y, size):
    for start in range(0, len(rows), size):
        model.partial_fit(rows[start : start + size], y[start : start + size])
    return model


def small(**parameters):
    return MaskedCERF(**(SMALL | parameters))


class Broken(TransformerMixin, BaseEstimator):
    """Squares, until it sees a large value in the first input."""

    def __init__(self, how="nan"):
        self.how = how

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        if np.abs(X[:, 0]).max() < 50.0:
            return X**2
        return {"nan": X * np.nan, "rows": X[:-1], "columns": X[:, :-1]}[self.how]


LARGE = np.vstack([X[:1] * 0 + 100.0, X[1:40]])
WITH_NAN = np.where(np.arange(8) == 3, np.nan, X[:40])
BAD = {
    "another width": ({}, (X[:40, :5],), "X has 5 features"),
    "one row": ({}, (X[:1],), "X has one sample.*2 rows or more"),
    "NaN": ({}, (WITH_NAN,), "contains NaN"),
    "no labels": ({"teacher": "labels"}, (X[:40], None), "requires y to be passed"),
    "fewer labels": ({"teacher": "labels"}, (X[:40], Y[:39]), "X and y must have as many rows"),
    "no target": ({"teacher": RidgeClassifier()}, (X[:40], None), "requires y to be passed"),
    "a new class": (
        {"teacher": "labels"},
        (X[:40], np.array(["yes", "no", "maybe", "no"] * 10)),
        "has the class 'maybe'.*begin with rows of all classes",
    ),
    "NaN of the teacher": ({"teacher": Broken("nan")}, (LARGE,), "gives NaN or infinity"),
    "rows of the teacher": ({"teacher": Broken("rows")}, (LARGE,), r"shape \(39, 8\) for 40 rows"),
    "columns of the teacher": ({"teacher": Broken("columns")}, (LARGE,), "gives 7 columns.*8"),
    "another selector": ({}, (X[:40],), "selector='Shared' cannot replace 'CVEM'"),
    "fewer outputs": ({}, (X[:40],), "n_components=8 cannot replace 32"),
    "another teacher": (
        {"teacher": Broken()},
        (X[:40],),
        "teacher__how='rows' cannot replace 'nan'",
    ),
    "a parameter": ({}, (X[:40],), "learning_decay=0.5 is not valid"),
}


def spoil(model, case):
    """Change the parameter that a case is about."""
    if case == "fewer outputs":
        model.set_params(n_components=8)
    elif case == "another teacher":
        model.set_params(teacher=Broken("rows"))
    elif case == "another selector":
        model.set_params(selector=Shared())
    elif case == "a parameter":
        model.set_params(selector=CVEM(learning_decay=0.5))


# Rows before; the teacher is there from 128 on, and then needs no target.
STAGES = {"unseen": 0, "waiting": 40, "begun": 600}
NOT_AT = {
    "another width": {"unseen"},
    "no target": {"begun"},
    "a new class": {"unseen", "waiting"},
    "NaN of the teacher": {"unseen", "waiting"},
    "rows of the teacher": {"unseen", "waiting"},
    "columns of the teacher": {"unseen", "waiting"},
    "another selector": {"unseen", "waiting"},
    "fewer outputs": {"unseen", "waiting"},
    "another teacher": {"unseen", "waiting"},
}
CASES = [(case, stage) for case in BAD for stage in STAGES if stage not in NOT_AT.get(case, ())]


@pytest.mark.parametrize(("case", "stage"), CASES)
def test_bad_input_is_refused_and_leaves_everything_as_it_was(case, stage):
    parameters, arguments, message = BAD[case]
    n_before = STAGES[stage]
    model = small(**parameters)
    if n_before:
        streamed(model, X[:n_before], Y[:n_before], size=40)
    spoil(model, case)
    before, copy = dict(model.__dict__), pickle.dumps(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*arguments)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[name] is before[name] for name in before)
    assert pickle.dumps(model.__dict__) == copy


@pytest.mark.parametrize("how", ["nan", "rows"])
def test_a_teacher_that_fails_on_the_first_rows_is_refused(how):
    model = small(teacher=Broken(how))
    model.partial_fit(X[:100])
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="teacher"):
        model.partial_fit(LARGE)
    assert all(model.__dict__[name] is before[name] for name in before)
    model.partial_fit(X[100:200])
    assert model.transform(X).shape == (900, 32)


def test_a_stream_cannot_begin_with_constant_rows_and_goes_on_with_others():
    model = small()
    with pytest.raises(ValueError, match="X is constant"):
        model.partial_fit(np.ones((200, 8)))
    assert "_stream" not in model.__dict__
    model.partial_fit(np.ones((100, 8)))
    model.partial_fit(X)
    assert model.transform(X).shape == (900, 32)


def test_labels_of_text_and_numbers_are_not_mixed_while_rows_wait():
    model = small(teacher="labels").partial_fit(X[:20], Y[:20])
    with pytest.raises(ValueError, match="text in some mini-batches"):
        model.partial_fit(X[:20], np.arange(20))
    with pytest.raises(ValueError, match="A row of y has the shape"):
        model.partial_fit(X[:20], np.stack([Y[:20], Y[:20]], axis=1))
