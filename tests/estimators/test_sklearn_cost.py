"""Costs of scikit-learn's pipelines: what runs for a row, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from cerflearn import MaskedFourierFeatures, RandomFourierFeatures, cost
from cerflearn.features.cost import Cost

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 7))
Y = np.arange(60) % 3


def stored(macs, n_parameters, n_indices=0, trig=0):
    return Cost(macs, trig, n_parameters, 4 * (n_parameters + n_indices))


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (PCA(3), stored(21, 24)),
        (TruncatedSVD(3), stored(21, 21)),
        (StandardScaler(), stored(7, 14)),
        (StandardScaler(with_mean=False), stored(7, 7)),
        (StandardScaler(with_mean=False, with_std=False), stored(0, 0)),
        (MinMaxScaler(), stored(7, 14)),
        (MaxAbsScaler(), stored(7, 7)),
        (RobustScaler(), stored(7, 14)),
        (RobustScaler(with_centering=False), stored(7, 7)),
        (SimpleImputer(), stored(0, 7)),
        (SelectKBest(k=4), stored(0, 0, 4)),
        (VarianceThreshold(), stored(0, 0, 7)),
        (SelectFromModel(LogisticRegression(), max_features=2, threshold=-np.inf), stored(0, 0, 2)),
        (OneVsRestClassifier(LogisticRegression()), stored(21, 24)),
        (OneVsOneClassifier(LinearSVC()), stored(21, 24)),
        (TransformedTargetRegressor(Ridge(), func=np.exp, inverse_func=np.log), stored(7, 8)),
    ],
    ids=str,
)
def test_an_estimator_costs_what_a_row_needs(estimator, expected):
    assert cost(estimator.fit(X, Y)) == expected


def test_calibration_costs_a_curve_for_each_class_and_fold():
    linear = CalibratedClassifierCV(LogisticRegression(), cv=2).fit(X, Y)
    assert cost(linear) == stored(2 * (21 + 3), 2 * (24 + 6))
    tables = CalibratedClassifierCV(LogisticRegression(), cv=2, method="isotonic").fit(X, Y)
    n_knots = sum(
        len(curve.X_thresholds_)
        for pair in tables.calibrated_classifiers_
        for curve in pair.calibrators
    )
    assert cost(tables) == stored(2 * (21 + 3), 2 * 24 + 2 * n_knots)


def test_columns_are_counted_for_those_that_transform_them():
    table = np.c_[X, RNG.integers(4, size=60)]
    columns = ColumnTransformer(
        [
            ("scaled", StandardScaler(), [0, 1, 2]),
            ("codes", OneHotEncoder(), [7]),
            ("kept", "passthrough", [3]),
            ("left out", "drop", [4]),
        ]
    )
    model = make_pipeline(columns, LogisticRegression()).fit(table, Y)
    assert cost(model) == stored(3, 6) + stored(0, 4) + stored(8 * 3, 8 * 3 + 3)


def test_unions_and_searches_are_the_sum_of_what_runs():
    maps = FeatureUnion(
        [
            ("masked", MaskedFourierFeatures(n_components=10, random_state=0)),
            ("dense", RandomFourierFeatures(n_components=6, random_state=0)),
            ("as they are", "passthrough"),
            ("nothing", FunctionTransformer()),
        ]
    )
    model = make_pipeline(maps, LogisticRegression())
    search = GridSearchCV(model, {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    fitted = search.best_estimator_[0]
    parts = [cost(part) for _, part in fitted.transformer_list[:2]]
    n_features = 10 + 6 + 7 + 7
    head = stored(3 * n_features, 3 * n_features + 3)
    assert cost(search) == parts[0] + parts[1] + head


def test_outputs_of_their_own_models_add_up():
    model = MultiOutputRegressor(LinearRegression()).fit(X, X[:, :2])
    assert cost(model) == stored(14, 16)


@pytest.mark.parametrize(
    "estimator",
    [
        PCA(),
        ColumnTransformer([("scaled", StandardScaler(), [0])]),
        make_pipeline(StandardScaler(), LogisticRegression()),
        OneVsRestClassifier(LogisticRegression()),
        CalibratedClassifierCV(),
    ],
    ids=str,
)
def test_what_is_not_fitted_is_refused(estimator):
    with pytest.raises(NotFittedError):
        cost(estimator)


def test_a_function_that_is_not_known_is_refused():
    model = make_pipeline(FunctionTransformer(np.exp), LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match=r"FunctionTransformer.* cannot be counted"):
        cost(model)


@pytest.mark.filterwarnings("ignore:Label .* is present in all")
def test_a_label_that_never_varies_costs_nothing():
    labels = np.column_stack([X[:, 0] > 0.0, np.ones(60), X[:, 1] > 0.0]).astype(int)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, labels)
    assert cost(model) == stored(14, 16)
