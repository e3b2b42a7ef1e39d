"""Pipelines of a scaler, a map and a linear model, by export_onnx and by skl2onnx alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    Perceptron,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import onnx_samples as samples

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from skl2onnx import to_onnx

import cerflearn.onnx
from cerflearn import (
    CERFClassifier,
    KernelImputer,
    MaskedFourierFeatures,
    RandomizedKernelPCA,
)
from cerflearn.onnx import export_onnx

HEADS = {
    "logistic": LogisticRegression(max_iter=500),
    "ridge": RidgeClassifier(),
    "svm": LinearSVC(),
}
MAPS = samples.MAPS | {"nystroem": Nystroem(n_components=20, random_state=0)}


def fitted(name, head, kind="multiclass"):
    model = make_pipeline(StandardScaler(), clone(MAPS[name]), clone(HEADS[head]))
    return model.fit(samples.rows(), samples.targets(kind))


def probabilities(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_export_onnx_gives_labels_and_numbers(name, head, dtype, tmp_path):
    model, X = fitted(name, head), samples.rows(200, seed=1).astype(dtype)
    report = export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    labels, numbers = samples.run(tmp_path / "m.onnx", X)
    assert report.agreement.label_agreement == 1.0
    assert (labels == model.predict(X)).all()
    assert numbers.dtype == dtype
    tolerance = 2e-5 if dtype == "float32" else 1e-10
    assert np.abs(numbers - probabilities(model, X.astype(float))).max() < tolerance
    assert report.outputs == ("label", "probabilities" if head == "logistic" else "scores")


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("head", HEADS)
def test_skl2onnx_converts_what_holds_our_maps(name, head):
    model, X = fitted(name, head), samples.rows(200, seed=1).astype(np.float32)
    options = {"zipmap": False} if head == "logistic" else None
    found = to_onnx(model, X[:1], target_opset=17, options=options and {id(model): options})
    labels, numbers = samples.run(found, X)
    assert (labels == model.predict(X)).all()
    assert np.abs(numbers - probabilities(model, X.astype(float))).max() < 2e-5


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", ["binary", "text"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_labels_are_integers_or_text(head, kind, dtype, tmp_path):
    model, X = fitted("masked", head, kind), samples.rows(200, seed=1).astype(dtype)
    export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    labels, numbers = samples.run(tmp_path / "m.onnx", X)
    assert labels.shape == (200,)
    assert labels.tolist() == model.predict(X).tolist()
    n_columns = 1 if kind == "binary" and head != "logistic" else len(model.classes_)
    assert numbers.shape == (200, n_columns)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "head",
    [
        SGDClassifier(random_state=0),
        SGDClassifier(loss="log_loss", random_state=0),
        Perceptron(random_state=0),
        RidgeClassifierCV(),
        GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=["hinge", "log", "perceptron", "ridge_cv", "search"],
)
def test_other_linear_models(head, kind, dtype, tmp_path):
    check_linear_model(head, kind, dtype, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_liblinear_of_two_classes(dtype, tmp_path):
    check_linear_model(LogisticRegression(solver="liblinear"), "binary", dtype, tmp_path)


def check_linear_model(head, kind, dtype, tmp_path):
    X = samples.rows()
    model = make_pipeline(StandardScaler(), clone(MAPS["masked"]), clone(head))
    model.fit(X, samples.targets(kind))
    report = export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    assert report.agreement.label_agreement == 1.0


def test_zipmap_is_there_if_asked_for(tmp_path):
    model, X = fitted("masked", "logistic", "text"), samples.rows(20, seed=1).astype(np.float32)
    export_onnx(model, tmp_path / "m.onnx", X=X, zipmap=True)
    _, maps = samples.run(tmp_path / "m.onnx", X)
    assert list(maps[0]) == model.classes_.tolist()
    with pytest.raises(ValueError, match="zipmap=True needs dtype='float32'"):
        export_onnx(model, tmp_path / "m.onnx", X=X, zipmap=True, dtype="float64")


def test_several_labels_and_several_numbers(tmp_path):
    X = samples.rows().astype(np.float32)
    model = make_pipeline(StandardScaler(), clone(MAPS["masked"]), RidgeClassifier())
    model.fit(X, samples.targets("multilabel"))
    export_onnx(model, tmp_path / "m.onnx", X=X)
    assert (samples.run(tmp_path / "m.onnx", X)[0] == model.predict(X)).all()
    model = make_pipeline(MinMaxScaler(), clone(MAPS["masked"]), Ridge())
    model.fit(X, samples.targets("numbers"))
    export_onnx(model, tmp_path / "m.onnx", X=X)
    found = samples.run(tmp_path / "m.onnx", X)[0]
    expected = model.predict(X.astype(float))
    assert (np.abs(found - expected) < 1e-5 * np.abs(expected).max(axis=0)).all()


def mixed_rows(n_samples=300):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    colours = rng.choice(["*/", "??/ \\", "é", ""], n_samples)
    return pd.DataFrame(
        {
            "length": 100.0 + rng.normal(size=n_samples),
            "colour, \"of\" 'it'": colours,
            "count": rng.integers(0, 5, n_samples),
        }
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tables", [False, True])
def test_columns_of_text_are_inputs_of_their_own(dtype, tables, tmp_path):
    X = mixed_rows()
    numbers, text = ["length", "count"], [X.columns[1]]
    columns = ColumnTransformer(
        [("n", StandardScaler(), numbers), ("t", OneHotEncoder(sparse_output=False), text)]
    )
    y = (X["length"] > 100).astype(int) + (X[text[0]] == "é")
    last = (
        [CERFClassifier(activation="table", macs=60, effort=0.02, random_state=0)]
        if tables
        else [MaskedFourierFeatures(n_components=20, random_state=0), RidgeClassifier()]
    )
    model = make_pipeline(columns, *last).fit(X, y)
    report = export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    assert report.inputs == tuple(X.columns)
    assert report.agreement.label_agreement == 1.0
    feeds = {name: X[[name]].to_numpy(dtype) for name in numbers}
    feeds[text[0]] = X[text].to_numpy(object)
    assert (samples.run(tmp_path / "m.onnx", feeds)[0] == model.predict(X)).all()


def test_a_part_that_is_not_known_is_named(tmp_path):
    X = samples.rows()
    with pytest.raises(ValueError, match="KernelImputer cannot be exported to ONNX"):
        export_onnx(KernelImputer(random_state=0).fit(X), tmp_path / "m.onnx", X=X)

    class Odd(StandardScaler):
        pass

    model = make_pipeline(Odd(), MaskedFourierFeatures(random_state=0)).fit(X)
    with pytest.raises(ValueError, match="Odd"):
        export_onnx(model, tmp_path / "m.onnx", X=X)
    assert not list(tmp_path.iterdir())


def test_a_map_of_scikit_learn_inside_kernel_pca(tmp_path):
    X = samples.rows().astype(np.float32)
    inner = make_pipeline(StandardScaler(), clone(MAPS["rbf_sampler"]))
    model = RandomizedKernelPCA(n_components=3, feature_map=inner, random_state=0).fit(X)
    export_onnx(model, tmp_path / "m.onnx", X=X)
    assert np.abs(samples.run(tmp_path / "m.onnx", X)[0] - model.transform(X)).max() < 1e-5


def test_registering_twice_does_no_harm():
    cerflearn.onnx.register_converters()
    model, X = fitted("masked", "svm"), samples.rows(20).astype(np.float32)
    assert (samples.run(to_onnx(model, X[:1], target_opset=17), X)[0] == model.predict(X)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    "head", [Ridge(), LinearRegression(), Lasso(0.01), HuberRegressor(), MultiTaskLasso(0.01)]
)
def test_linear_regressors(head, fit_intercept, dtype, tmp_path):
    X = samples.rows()
    several = isinstance(head, MultiTaskLasso)
    y = samples.targets("numbers" if several else "number")
    model = make_pipeline(StandardScaler(), clone(head).set_params(fit_intercept=fit_intercept))
    export_onnx(model.fit(X, y), tmp_path / "m.onnx", X=X, dtype=dtype)
    (found,) = samples.run(tmp_path / "m.onnx", X.astype(dtype))
    assert found.shape == (len(X), 2 if several else 1)
    wanted = model.predict(X).reshape(found.shape)
    assert np.abs(found - wanted).max() < (1e-3 if dtype == "float32" else 1e-12)
