"""Predictors and encoders in ONNX Runtime: all kinds of features and of targets; real rows."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onnx_samples as samples

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from skl2onnx import to_onnx

from cerflearn import (
    CERFClassifier,
    KernelAutoencoder,
    MaskedFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from cerflearn.onnx import export_onnx

ACTIVATIONS = ("cosine", "relu", "table")
CLASSES = ("binary", "multiclass", "text", "multilabel")
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


def near_an_edge(model, X, dtype):
    """Rows with a phase so close to the edge of a bin that rounding decides."""
    if model.activation_ != "table":
        return np.zeros(len(X), dtype=bool)
    tables = model.feature_map_
    unit = {"float32": 2.0**-24, "float64": 2.0**-53}[dtype]
    phases = X.astype(float) @ tables.frequencies + tables.offsets
    size = np.abs(X).astype(float) @ np.abs(tables.frequencies) + np.abs(tables.offsets)
    reach = 2 * unit * (tables.masks.sum(axis=0) + 2) * size
    return (np.abs(phases - np.round(phases)) <= reach).any(axis=1)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_classifiers(activation, kind, dtype, tmp_path):
    model, X = samples.predictor(activation, kind), samples.rows(500, seed=1).astype(dtype)
    report = export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    labels, proba = samples.run(tmp_path / "m.onnx", X)
    clear = ~near_an_edge(model, X, dtype)
    assert clear.mean() > 0.98
    assert report.outputs == ("label", "probabilities")
    assert labels[clear].tolist() == model.predict(X)[clear].tolist()
    expected = model.predict_proba(X)
    assert proba.shape == expected.shape
    assert np.abs(proba - expected)[clear].max() < TOLERANCE[dtype]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kind", ["number", "numbers"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_regressors_within_their_range(activation, kind, dtype, tmp_path):
    model, X = samples.predictor(activation, kind), samples.rows(500, seed=1).astype(dtype)
    X[:5] *= 1e3  # beyond the range of predictions
    export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    (found,) = samples.run(tmp_path / "m.onnx", X)
    expected = model.predict(X).reshape(len(X), -1)
    clear = ~near_an_edge(model, X, dtype)
    clear[:5] = activation == "table"  # large phases: the bound, which export_onnx checks
    size = np.maximum(1.0, np.abs(expected).max(axis=0))
    assert (np.abs(found - expected)[clear] < TOLERANCE[dtype] * size).all()


def test_one_against_one_heads_vote(tmp_path):
    X, y = samples.rows(), samples.targets("multiclass")
    model = CERFClassifier(head="svm_ovo", learn="selection", macs=300, random_state=0).fit(X, y)
    for dtype in ("float32", "float64"):
        Z = samples.rows(500, seed=1).astype(dtype)
        export_onnx(model, tmp_path / "m.onnx", X=Z, dtype=dtype)
        labels, proba = samples.run(tmp_path / "m.onnx", Z)
        assert (labels == model.predict(Z)).all()
        assert np.abs(proba - model.predict_proba(Z)).max() < TOLERANCE[dtype]


@pytest.mark.parametrize(
    ("options", "check"),
    [
        ({"raw_scores": True}, lambda m, X: m.decision_function(X)),
        ({"nocl": True}, lambda m, X: m.predict_proba(X)),
        ({"output_class_labels": True}, lambda m, X: m.predict_proba(X)),
    ],
)
def test_options_of_skl2onnx(options, check):
    model, X = samples.predictor("cosine", "text"), samples.rows(50).astype(np.float32)
    given = {id(model): {"zipmap": False, **options}}
    outputs = samples.run(to_onnx(model, X[:1], target_opset=17, options=given), X)
    assert np.abs(outputs[1] - check(model, X)).max() < 1e-5
    if "nocl" in options:
        assert (model.classes_[outputs[0]] == model.predict(X)).all()
    else:
        assert outputs[0].tolist() == model.predict(X).tolist()
    if "output_class_labels" in options:
        assert outputs[2].tolist() == model.classes_.tolist()


@pytest.mark.parametrize("kind", ["text", "multilabel"])
def test_zipmap_of_skl2onnx_is_on_by_default_where_it_exists(kind):
    model, X = samples.predictor("cosine", kind), samples.rows(5).astype(np.float32)
    _, proba = samples.run(to_onnx(model, X[:1], target_opset=17), X)
    assert isinstance(proba, list) == (kind == "text")
    _, proba = samples.run(to_onnx(model, X[:1].astype(float), target_opset=17), X.astype(float))
    assert isinstance(proba, np.ndarray)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "model",
    [
        RandomizedKernelPCA(n_components=3, random_state=0),
        RandomizedKernelPCA(n_components=3, macs=40, random_state=0),
        KernelAutoencoder(n_components=3, macs=40, random_state=0),
        RandomizedKernelCCA(n_components=2, random_state=0),
    ],
    ids=["pca", "trained pca", "autoencoder", "cca"],
)
def test_encoders(model, dtype, tmp_path):
    X = samples.rows()
    second = X[:, :3] + samples.rows(seed=2)[:, :3]
    model.fit(X, second if isinstance(model, RandomizedKernelCCA) else None)
    X = X.astype(dtype)
    report = export_onnx(model, tmp_path / "m.onnx", X=X, dtype=dtype)
    (found,) = samples.run(tmp_path / "m.onnx", X)
    assert found.shape == model.transform(X).shape
    assert report.agreement.largest_ratio <= 1.0
    assert report.agreement.largest_difference < TOLERANCE[dtype]


def test_tables_of_rows_that_are_not_finite_do_not_fail(tmp_path):
    model, X = samples.predictor("table", "multiclass"), samples.rows(4).astype(np.float32)
    export_onnx(model, tmp_path / "m.onnx")
    X[0], X[1], X[2] = np.nan, np.inf, -np.inf
    labels, _ = samples.run(tmp_path / "m.onnx", X)
    assert labels[3] == model.predict(X[3:])[0]


def real(name, n_rows):
    folder = os.environ.get("CERF_DATA", "")
    path = Path(folder) / f"{name}.npz"
    if not folder or not path.is_file():
        pytest.skip(f"needs {name} in CERF_DATA")
    with np.load(path, allow_pickle=False) as data:
        order = np.random.default_rng(0).permutation(len(data["X"]))[:n_rows]
        return np.asarray(data["X"][order], dtype=np.float32), data["y"][order]


def assert_equal_labels(model, X, path):
    """Labels of all rows equal those of float32, but for few near-ties."""
    report = export_onnx(model, path, X=X)
    other = samples.run(path, X)[0] != model.predict(X)
    ordered = np.sort(model.decision_function(X.astype(float)), axis=1)
    near = ordered[:, -1] - ordered[:, -2] < 1e-4
    if hasattr(model, "feature_map_"):
        near |= near_an_edge(model, X, "float32")
    assert near.mean() < 0.01
    assert not (other & ~near).any()
    assert other.sum() <= 10
    assert report.agreement.n_rows == len(X) == 10_000
    assert report.agreement.n_wrong == 0


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_labels_of_ten_thousand_rows_of_covtype(activation, tmp_path):
    X, y = real("covtype", 12_000)
    model = CERFClassifier(activation=activation, macs=500, effort=0.02, random_state=0)
    assert_equal_labels(model.fit(X[10_000:], y[10_000:]), X[:10_000], tmp_path / "m.onnx")


def test_labels_of_ten_thousand_rows_of_mnist(tmp_path):
    X, y = real("mnist", 11_000)
    model = make_pipeline(
        StandardScaler(),
        MaskedFourierFeatures(n_components=256, random_state=0),
        RidgeClassifier(),
    )
    assert_equal_labels(model.fit(X[10_000:], y[10_000:]), X[:10_000], tmp_path / "m.onnx")
