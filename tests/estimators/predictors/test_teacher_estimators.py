"""Boosted trees and estimators as the teacher of CERFClassifier and CERFRegressor."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_multilabel_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.estimators.predictors.distilled import boosted_trees
from cerflearn.training.compared import compared_teachers
from cerflearn.training.policy import BOOSTING_ROUNDS, SEARCH_ROWS
from cerflearn.training.pruning import Budget
from cerflearn.training.task import Task

X, Y = make_friedman1(n_samples=400, noise=0.5, random_state=0)
CLASSES = np.digitize(Y, [11.0, 17.0])
TRAIN, TEST = slice(0, 300), slice(300, None)
QUICK = {"macs": 120, "alpha": 3e-3, "effort": 0.2, "random_state": 0}


@pytest.mark.parametrize("y", [CLASSES, CLASSES > 1], ids=["three", "two"])
def test_boosted_trees_teach_a_classifier(y):
    teacher = HistGradientBoostingClassifier(max_iter=20)
    model = CERFClassifier(teacher=teacher, **QUICK).fit(X[TRAIN], y[TRAIN])
    assert model.teacher_ == model.settings_["teacher"] == "estimator"
    assert not hasattr(teacher, "classes_")  # a clone was fitted
    usual = np.bincount(y[TRAIN].astype(int)).max() / 300
    assert model.score(X[TEST], y[TEST]) > usual + 0.1
    assert model.n_macs_ <= 120
    again = CERFClassifier(teacher=teacher, **QUICK).fit(X[TRAIN], y[TRAIN])
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("n_targets", [1, 2])
def test_a_regressor_is_taught(n_targets):
    teacher = HistGradientBoostingRegressor(max_iter=30)
    target = Y
    if n_targets == 2:  # which boosted trees do not take
        teacher, target = KNeighborsRegressor(5), np.column_stack([Y, X[:, 0]])
    model = CERFRegressor(teacher=teacher, **QUICK).fit(X[TRAIN], target[TRAIN])
    assert model.teacher_ == "estimator"
    assert model.score(X[TEST], target[TEST]) > 0.8


def test_the_features_follow_the_teacher():
    """A teacher that knows the first input only: so does the network, whatever labels say."""
    teacher = make_pipeline(OnlyFirst(), LogisticRegression())
    labels = Y[TRAIN] > 14.0
    model = CERFClassifier(teacher=teacher, **QUICK).fit(X[TRAIN], labels)
    taught = teacher.fit(X[TRAIN], labels).decision_function(X)
    assert np.corrcoef(model.decision_function(X), taught)[0, 1] > 0.99


class OnlyFirst(StandardScaler):
    """Transformer that leaves the first column alone."""

    def transform(self, X, copy=None):
        return super().transform(X, copy)[:, :1]


def test_random_states_of_a_teacher_are_set():
    teacher = make_pipeline(StandardScaler(), ExtraTreesClassifier(5))
    fits = [CERFClassifier(teacher=teacher, **QUICK).fit(X, CLASSES) for _ in range(2)]
    assert np.array_equal(fits[0].decision_function(X), fits[1].decision_function(X))
    assert teacher[-1].random_state is None


def test_settings_of_a_taught_model_need_the_teacher():
    teacher = HistGradientBoostingRegressor(max_iter=10)
    model = CERFRegressor(teacher=teacher, **QUICK).fit(X, Y)
    given = {"settings": model.settings_, "macs": 120, "effort": 0.2, "random_state": 0}
    with pytest.raises(ValueError, match="needs the estimator: pass it as teacher, too"):
        CERFRegressor(**given).fit(X, Y)
    again = CERFRegressor(teacher=teacher, **given).fit(X, Y)
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "teacher", "message"),
    [
        (CERFClassifier, "trees", "teacher='trees' is not valid: .* or an estimator"),
        (CERFClassifier, 3, "teacher=3 is not valid"),
        (CERFClassifier, RidgeClassifier(), "must be a classifier with fit and predict_proba"),
        (CERFClassifier, StandardScaler(), "must be a classifier with fit and predict_proba"),
        (CERFRegressor, StandardScaler(), "must be a regressor with fit and predict, or 'auto'"),
        (CERFRegressor, LogisticRegression(), "a regressor is needed here; CERFClassifier takes"),
        (CERFClassifier, KNeighborsRegressor(), "must be a classifier with fit and predict_proba"),
    ],
    ids=str,
)
def test_a_teacher_that_cannot_teach_is_refused(model, teacher, message):
    with pytest.raises(ValueError, match=message):
        model(teacher=teacher).fit(X[:60], CLASSES[:60])


def test_several_labels_need_another_teacher():
    rows, labels = make_multilabel_classification(60, random_state=0)
    with pytest.raises(ValueError, match="'labels' or 'kernel' where y has several labels"):
        CERFClassifier(teacher=LogisticRegression()).fit(rows, labels)


@pytest.mark.parametrize("y", [CLASSES, CLASSES > 1, Y, np.column_stack([Y, X[:, 0]])])
def test_boosted_trees_can_be_asked_for_by_name(y):
    kind = CERFRegressor if y.dtype == float else CERFClassifier
    fits = [kind(teacher="boosting", n_jobs=n, **QUICK).fit(X[TRAIN], y[TRAIN]) for n in (1, 2)]
    assert fits[0].teacher_ == fits[0].settings_["teacher"] == "boosting"
    assert fits[0].score(X[TEST], y[TEST]) > 0.5
    np.testing.assert_array_equal(fits[0].predict(X[TEST]), fits[1].predict(X[TEST]))


def test_boosted_trees_teach_no_several_labels():
    rows, labels = make_multilabel_classification(60, random_state=0)
    with pytest.raises(ValueError, match="'labels' or 'kernel' where y has several labels"):
        CERFClassifier(teacher="boosting", **QUICK).fit(rows, labels)


def task_of(n_samples, n_features, n_scores, kind="multiclass"):
    inputs = np.zeros((n_samples, n_features), dtype=np.float32)
    targets, budget = np.zeros((n_samples, n_scores)), Budget(100, n_scores)
    ones = np.ones(n_samples)
    usable = np.ones(n_features, dtype=bool)
    return Task(inputs, targets, ones, ones.astype(int), kind, budget, usable, {})


def test_teachers_are_compared_where_all_rows_are_and_trees_where_they_are_fast():
    assert compared_teachers(task_of(2000, 30, 1, "regression")) == ("kernel", "boosting")
    assert compared_teachers(task_of(2000, 30, 3)) == ("kernel", "boosting")
    assert compared_teachers(task_of(2000, 30, 100)) == ("kernel",)
    assert compared_teachers(task_of(2000, 30, 3, "multilabel")) == ("kernel",)
    assert compared_teachers(task_of(SEARCH_ROWS + 1, 2, 1, "regression")) == ()


def test_trees_that_take_long_have_fewer_rounds_and_a_higher_rate():
    few, many = (
        boosted_trees(task_of(2000, 30, 1, "regression")),
        boosted_trees(task_of(500, 90, 9)),
    )
    assert few.max_iter == BOOSTING_ROUNDS[1]
    assert BOOSTING_ROUNDS[0] <= many.max_iter < few.max_iter
    for trees in (few, many):
        assert trees.max_iter * trees.learning_rate == pytest.approx(10.0)
