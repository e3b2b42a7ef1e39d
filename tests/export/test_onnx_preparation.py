"""Imputers, encoders and steps that pass rows on, where skl2onnx has no graph that runs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

import onnx_samples as samples

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from cerflearn import CERFClassifier, MaskedFourierFeatures
from cerflearn.export.onnx import onnx_preparation
from cerflearn.onnx import export_onnx

DTYPES = ("float32", "float64")
needs_clip = pytest.mark.skipif(
    "clip" not in MaxAbsScaler().get_params(), reason="MaxAbsScaler has no clip"
)


def features():
    return MaskedFourierFeatures(n_components=20, random_state=0)


def incomplete(marker=np.nan):
    X = samples.rows()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = marker
    return X


def codes():
    return np.random.default_rng(2).integers(-1, 4, size=(300, 3)).astype(float)


def check(model, X, dtype, path):
    """Export with given and with drawn rows, and compare labels."""
    report = export_onnx(model, path, X=X, dtype=dtype)
    assert report.verified
    found = samples.run(path, X.astype(dtype))[0]
    assert (found == model.predict(X.astype(dtype))).all()
    assert export_onnx(model, path, dtype=dtype).drawn


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("marker", [np.nan, -1.0, 0])
def test_imputers(marker, dtype, tmp_path):
    X = incomplete(marker)
    model = make_pipeline(
        SimpleImputer(missing_values=marker), StandardScaler(), features(), RidgeClassifier()
    )
    check(model.fit(X, samples.targets("multiclass")), X, dtype, tmp_path / "m.onnx")


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_without_a_value_are_dropped(dtype, tmp_path):
    X = incomplete()
    X[:, 2] = np.nan
    model = make_pipeline(SimpleImputer(), features(), RidgeClassifier())
    check(model.fit(X, samples.targets("binary")), X, dtype, tmp_path / "m.onnx")


def test_an_indicator_is_refused_by_name(tmp_path):
    X = incomplete()
    model = make_pipeline(SimpleImputer(add_indicator=True), features()).fit(X)
    with pytest.raises(ValueError, match="add_indicator=True"):
        export_onnx(model, tmp_path / "m.onnx", X=X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize(
    "last", [LogisticRegression(), CERFClassifier(macs=40, effort=0.02, random_state=0)]
)
def test_encoders_of_numbers(last, drop, dtype, tmp_path):
    X = codes()
    encoder = OneHotEncoder(drop=drop, sparse_output=False)
    model = make_pipeline(encoder, last).fit(X, samples.targets("multiclass"))
    check(model, X, dtype, tmp_path / "m.onnx")


@pytest.mark.parametrize("dtype", DTYPES)
def test_text_beside_numbers(dtype, tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pd.DataFrame(incomplete()[:, :3], columns=["a", "b", "c"])
    X["code"] = codes()[:, 0]
    X["town"] = np.array(["Ulm", "Bonn"])[(codes()[:, 1] > 0).astype(int)]
    columns = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b", "c"]),
            ("c", OneHotEncoder(sparse_output=False), ["code"]),
            ("t", OneHotEncoder(sparse_output=False), ["town"]),
        ]
    )
    model = make_pipeline(columns, features(), RidgeClassifier())
    model.fit(X, samples.targets("multiclass"))
    report = export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    assert report.agreement.label_agreement == 1.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_drawn_for_columns_that_are_chosen_by_name(dtype, tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pd.DataFrame(incomplete()[:, :3], columns=["a b", "c*/", "d"])
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("n", numbers, ["a b", "d"])], remainder="drop")
    model = make_pipeline(columns, features(), RidgeClassifier())
    model.fit(X, samples.targets("multiclass"))
    report = export_onnx(model, tmp_path / "m.onnx", dtype=dtype)
    assert report.drawn
    assert report.inputs == tuple(X.columns)


def frame():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    return pd.DataFrame(incomplete()[:, :5], columns=list("abcde"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("columns", "inputs"),
    [
        (slice("b", "d"), "abcde"),
        (slice("d", None), "abcde"),
        (slice(None, "c"), "abcde"),
        (slice(1, 4), "X"),
        (slice(-2, None), "X"),
        ([-1, 0], "X"),
        ([True, False, True, False, True], "X"),
    ],
)
def test_columns_as_slices_and_masks(columns, inputs, dtype, tmp_path):
    X = frame()
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    model = make_pipeline(ColumnTransformer([("n", numbers, columns)]), features())
    model.fit(X)
    for given in (X, None):
        report = export_onnx(model, tmp_path / "m.onnx", X=given, dtype=dtype)
        assert report.verified
        assert report.inputs == tuple(inputs)
    feeds = X.to_numpy(dtype)
    if inputs != "X":
        feeds = {name: X[[name]].to_numpy(dtype) for name in inputs}
    found = samples.run(tmp_path / "m.onnx", feeds)[0]
    expected = model.transform(X.astype(dtype).astype(float))
    assert np.abs(found - expected).max() < (1e-5 if dtype == "float32" else 1e-12)


def test_columns_in_another_order_and_text_that_is_not_read(tmp_path):
    X = frame().assign(town="Ulm")
    columns = ColumnTransformer([("n", SimpleImputer(), ["b", "d"])])
    model = make_pipeline(columns, features()).fit(X)
    other = X[X.columns[::-1]].assign(more=1.0)
    report = export_onnx(model, tmp_path / "m.onnx", X=other)
    assert report.verified
    assert report.inputs == tuple(X.columns)
    with pytest.raises(ValueError, match=r"X lacks columns that the model was fitted with: \['a'"):
        export_onnx(model, tmp_path / "m.onnx", X=X[["b", "d", "town"]])


def test_codes_in_a_union_beside_text(tmp_path):
    X = frame()
    X["code"], X["town"] = codes()[:, 0], np.where(codes()[:, 1] > 0, "Ulm", "Bonn")
    both = FeatureUnion([("o", OneHotEncoder(sparse_output=False)), ("s", StandardScaler())])
    columns = ColumnTransformer(
        [("t", OneHotEncoder(sparse_output=False), ["town"]), ("u", both, ["code"])]
    )
    model = make_pipeline(columns, features()).fit(X)
    assert export_onnx(model, tmp_path / "m.onnx", X=X).verified


@pytest.mark.parametrize("idle", ["passthrough", None])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_steps_that_pass_rows_on(place, idle, tmp_path):
    X = samples.rows()
    steps = [("s", StandardScaler()), ("f", features()), ("r", RidgeClassifier())]
    steps.insert(place, ("p", idle))
    model = Pipeline(steps).fit(X, samples.targets("multiclass"))
    check(model, X, "float32", tmp_path / "m.onnx")
    assert model.steps[place][1] == idle


def test_a_pipeline_that_ends_in_passthrough(tmp_path):
    X = samples.rows()
    inner = Pipeline([("p", "passthrough"), ("s", StandardScaler())])
    model = Pipeline([("i", inner), ("f", features()), ("p", "passthrough")]).fit(X)
    assert export_onnx(model, tmp_path / "m.onnx", X=X).verified


@needs_clip
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_clipping_scaler_clips_in_the_file(dtype, tmp_path):
    X = samples.rows()
    X[::9, 1] = np.nan
    scaler = MaxAbsScaler().set_params(clip=True)
    model = make_pipeline(scaler, SimpleImputer(), RidgeClassifier())
    model.fit(X, samples.targets("multiclass"))
    for rows in (X, None):
        export_onnx(model, tmp_path / "m.onnx", X=rows, dtype=dtype)
        beyond = (5.0 * X).astype(dtype)
        assert (samples.run(tmp_path / "m.onnx", beyond)[0] == model.predict(beyond)).all()


@needs_clip
def test_rows_outside_the_range_of_those_given_are_compared_too(tmp_path, monkeypatch):
    X = samples.rows()
    model = make_pipeline(MaxAbsScaler().set_params(clip=True), RidgeClassifier())
    model.fit(X, samples.targets("multiclass"))
    monkeypatch.setattr(onnx_preparation, "preparation_conversions", lambda *_: {})
    with pytest.raises(RuntimeError, match="outside the range of X"):
        export_onnx(model, tmp_path / "m.onnx", X=X)
    assert not list(tmp_path.iterdir())


def test_markers_that_float32_cannot_hold(tmp_path):
    X = incomplete(-999.9)
    model = make_pipeline(
        SimpleImputer(missing_values=-999.9), StandardScaler(), RidgeClassifier()
    ).fit(X, samples.targets("multiclass"))
    report = export_onnx(model, tmp_path / "m.onnx", X=X)
    assert report.agreement.n_near_ties == 0
    assert (samples.run(tmp_path / "m.onnx", X.astype("float32"))[0] == model.predict(X)).all()
    by_column = ColumnTransformer([("a", SimpleImputer(missing_values=-999.9), [0, 2])])
    model = make_pipeline(by_column, RidgeClassifier()).fit(X, samples.targets("binary"))
    export_onnx(model, tmp_path / "m.onnx", X=X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["text first", "numbers first", "text alone"])
def test_text_is_encoded_in_the_numbers_of_the_graph(order, dtype, tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pd.DataFrame(samples.rows()[:, :2], columns=["a", "b"])
    X["town"] = np.array(["Ulm", "Bonn", "Kiel"])[samples.targets("multiclass") - 3]
    branches = [("t", OneHotEncoder(), ["town"]), ("n", StandardScaler(), ["a", "b"])]
    chosen = {"text first": branches, "numbers first": branches[::-1], "text alone": branches[:1]}
    model = make_pipeline(ColumnTransformer(chosen[order]), LogisticRegression())
    model.fit(X, samples.targets("binary"))
    report = export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    assert report.agreement.label_agreement == 1.0
    if dtype == "float64":
        assert report.agreement.largest_difference < 1e-14
