"""Odd models that users have: what is written can be read, or saving is an error."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ARDRegression,
    LassoLars,
    LogisticRegression,
    MultiTaskElasticNet,
    OrthogonalMatchingPursuit,
    QuantileRegressor,
    TheilSenRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from cerflearn import load, save
from persistence.stored_models import classes, incomplete, rows
from persistence.test_round_trip import assert_same, outputs


def assert_comes_back(model, X, path):
    save(model, path)
    loaded = load(path)
    assert_same(outputs(loaded, X), outputs(model, X))
    before = path.read_bytes()
    save(loaded, path)
    assert path.read_bytes() == before


def test_a_step_that_is_none(tmp_path):
    steps = [("idle", None), ("scaled", StandardScaler()), ("model", LogisticRegression())]
    model = Pipeline(steps).fit(rows(), classes(2))
    assert_comes_back(model, rows(), tmp_path / "m.cerf")
    assert load(tmp_path / "m.cerf").steps[0] == ("idle", None)


def test_a_branch_without_columns_is_never_fitted(tmp_path):
    columns = ColumnTransformer(
        [("some", StandardScaler(), [0, 1]), ("none", StandardScaler(), [])]
    )
    model = make_pipeline(columns, LogisticRegression()).fit(rows(), classes(2))
    assert_comes_back(model, rows(), tmp_path / "m.cerf")


@pytest.mark.parametrize(
    "last",
    [
        ARDRegression(),
        LassoLars(alpha=0.01),
        OrthogonalMatchingPursuit(),
        QuantileRegressor(alpha=0.01),
        TheilSenRegressor(random_state=0),
        MultiTaskElasticNet(alpha=0.01),
    ],
)
def test_further_linear_models(last, tmp_path):
    y = rows()[:, :2] if isinstance(last, MultiTaskElasticNet) else rows()[:, 0] ** 2
    model = make_pipeline(StandardScaler(), last).fit(rows(), y)
    assert_comes_back(model, rows(), tmp_path / "m.cerf")


def test_half_a_surrogate_pair_is_refused_at_save(tmp_path):
    y = np.array(["\ud800", "b"], dtype=object)[classes(2)]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows(), y)
    with pytest.raises(ValueError, match=r"classes_.*surrogates not allowed"):
        save(model, tmp_path / "m.cerf")
    assert not list(tmp_path.iterdir())


def test_a_marker_of_missing_values_that_cannot_be_stored(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(incomplete()).convert_dtypes()
    frame.columns = list("abcdef")
    model = make_pipeline(SimpleImputer(missing_values=pandas.NA), LogisticRegression())
    model.fit(frame, classes(2))
    with pytest.raises(ValueError, match="missing_values=<NA>"):
        save(model, tmp_path / "m.cerf")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([("idle", "passthrough")], "has no steps"),
        ([("near", KNeighborsClassifier())], "step 'near'.*KNeighborsClassifier"),
        ([("logs", FunctionTransformer(np.abs)), ("m", LogisticRegression())], "step 'logs'.*func"),
        (
            [("columns", ColumnTransformer([("size", FunctionTransformer(np.abs), [0])]))],
            "step 'columns'.*branch 'size'.*func",
        ),
    ],
)
def test_what_could_not_be_loaded_is_not_written(steps, message, tmp_path):
    model = Pipeline(steps).fit(rows(), classes(2))
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "m.cerf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 250, "ü" * 120])
def test_names_of_files_up_to_what_the_system_takes(name, tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows(), classes(2))
    assert_comes_back(model, rows(), tmp_path / name)


def test_of_a_search_the_best_estimator_can_be_stored(tmp_path):
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(rows(), classes(2))
    with pytest.raises(ValueError, match="Save its best_estimator_"):
        save(search, tmp_path / "m.cerf")
    assert_comes_back(search.best_estimator_, rows(), tmp_path / "m.cerf")


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(min_frequency=1),
        OneHotEncoder(max_categories=10, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=10, drop="first"),
        MinMaxScaler((np.float32(-1.0), 2), clip=True),
    ],
)
def test_parameters_that_change_nothing_or_are_numbers_of_numpy(encoder, tmp_path):
    X = np.random.default_rng(0).integers(0, 5, size=(len(rows()), 2)).astype(float)
    model = make_pipeline(encoder, LogisticRegression()).fit(X, classes(2))
    assert_comes_back(model, X, tmp_path / "m.cerf")
