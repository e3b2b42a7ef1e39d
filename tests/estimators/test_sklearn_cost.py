"""Costs of scikit-learn's pipelines: what runs for a row, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
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


@pytest.mark.parametrize(
    "empty",
    [[], np.zeros(7, dtype=bool), [False] * 7, lambda _: []],
    ids=["list", "mask", "list of False", "callable"],
)
def test_branches_without_columns_cost_nothing(empty):
    branches = [("none", StandardScaler(), empty), ("scaled", StandardScaler(), slice(0, 3))]
    assert cost(ColumnTransformer(branches).fit(X)) == stored(3, 6)


@pytest.mark.parametrize("selector", [RFE, RFECV])
def test_a_selector_that_predicts_costs_what_its_model_does(selector):
    size = "n_features_to_select" if selector is RFE else "min_features_to_select"
    made = selector(LogisticRegression(), **{size: 2})
    n_kept = int(made.fit(X, Y).get_support().sum())
    model = stored(3 * n_kept, 3 * n_kept + 3)
    assert cost(made) == stored(0, 0, n_kept) + model
    assert cost(make_pipeline(StandardScaler(), made).fit(X, Y)) == stored(7, 14) + cost(made)
    # Before the last step it selects and does not predict.
    assert cost(make_pipeline(made, LogisticRegression()).fit(X, Y)) == cost(made)
    union = FeatureUnion([("selected", made)])
    assert cost(union.fit(X, Y)) == stored(0, 0, n_kept)


@pytest.mark.parametrize(
    ("step", "transforms", "predicts"),
    [
        (LinearDiscriminantAnalysis(n_components=1), stored(7, 8), stored(21, 24)),
        (LinearDiscriminantAnalysis(), stored(14, 16), stored(21, 24)),
        (LinearDiscriminantAnalysis(solver="eigen"), stored(14, 14), stored(21, 24)),
        (PLSRegression(n_components=2), stored(14, 16), stored(7, 8)),
        (PLSCanonical(n_components=1), stored(7, 8), stored(7, 8)),
        (CCA(n_components=1), stored(7, 8), stored(7, 8)),
    ],
    ids=lambda value: "" if isinstance(value, Cost) else str(value),
)
def test_what_transforms_and_predicts_is_counted_for_what_it_does(step, transforms, predicts):
    assert cost(step.fit(X, Y)) == predicts
    assert cost(make_pipeline(StandardScaler(), step).fit(X, Y)) == stored(7, 14) + predicts
    # PLS has a fit_transform of its own, with two results, that no pipeline can use.
    fitted = FrozenEstimator(step.fit(X, Y))
    model = make_pipeline(make_pipeline(StandardScaler(), fitted), LogisticRegression()).fit(X, Y)
    n_outputs = model[:-1].transform(X).shape[1]
    head = stored(3 * n_outputs, 3 * n_outputs + 3)
    assert cost(model) == stored(7, 14) + transforms + head
    columns = ColumnTransformer([("reduced", fitted, slice(0, 7))]).fit(X, Y)
    assert cost(columns) == transforms
    assert cost(FeatureUnion([("reduced", fitted)]).fit(X, Y)) == transforms


class Halves(TransformerMixin, LinearRegression):
    """Has coefficients, which are not what it transforms by."""

    def transform(self, rows):
        return rows / 2.0


def test_a_transformer_with_coefficients_that_is_not_known_is_refused():
    model = make_pipeline(Halves(), LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match=r"Halves.* cannot be counted as a transformer"):
        cost(model)


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


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("n_inputs", [7, 300])
def test_boosted_trees_cost_a_comparison_a_level_and_an_addition(depth, n_inputs):
    wide = RNG.normal(size=(400, n_inputs))
    shared = {"max_iter": 4, "max_depth": depth, "min_samples_leaf": 5}
    regressor = HistGradientBoostingRegressor(**shared).fit(wide, wide[:, 0] + wide[:, 1] ** 2)
    classifier = HistGradientBoostingClassifier(**shared).fit(wide, np.arange(400) % 3)
    index_bytes = 1 if n_inputs <= 256 else 2
    for model, n_sums in ((regressor, 1), (classifier, 3)):
        nodes = [tree.nodes for trees in model._predictors for tree in trees]
        assert len(nodes) == 4 * n_sums
        n_inner = sum(int((table["left"] > 0).sum()) for table in nodes)
        n_leaves = n_inner + len(nodes)  # of a binary tree
        counted = cost(model)
        assert counted.macs == len(nodes) * (depth + 1)
        assert counted.trig == 0
        assert counted.n_parameters == n_inner + n_leaves + n_sums
        assert counted.n_bytes == n_inner * (8 + index_bytes) + 4 * (n_leaves + n_sums)
    scaled = make_pipeline(StandardScaler(), regressor).fit(wide, wide[:, 0])
    assert cost(scaled) == stored(n_inputs, 2 * n_inputs) + cost(regressor)


def test_a_split_of_categories_stores_a_set():
    codes = RNG.integers(6, size=(200, 1)).astype(float)
    y = np.isin(codes[:, 0], [1, 4]).astype(float)
    model = HistGradientBoostingRegressor(max_iter=1, max_depth=1, categorical_features=[0])
    assert cost(model.fit(codes, y)) == Cost(2, 0, 4, (32 + 1 + 4) + 3 * 4)


def test_many_nodes_have_longer_indices():
    X = RNG.normal(size=(3_000, 2))
    model = HistGradientBoostingRegressor(
        max_iter=12, max_leaf_nodes=None, min_samples_leaf=1, early_stopping=False
    )
    model.fit(X, RNG.normal(size=3_000))
    n_nodes = sum(len(trees[0].nodes) for trees in model._predictors)
    n_inner = (n_nodes - 12) // 2
    child_bytes = 2 if n_nodes < 65_536 else 4
    assert n_nodes > 60_000
    assert cost(model).n_bytes == n_inner * (5 + 2 * child_bytes) + 4 * (n_nodes - n_inner + 1)


def test_trees_that_cannot_be_read_are_told():
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, X[:, 0])
    del model._predictors
    with pytest.raises(RuntimeError, match="cannot be read in this version of scikit-learn"):
        cost(model)
