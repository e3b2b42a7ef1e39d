"""What users pass to exports: frames in another order, odd types, parts that are left out."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import (
    LogisticRegression,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

import onnx_samples as samples
from cerflearn import export_c, export_onnx, save

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

X = np.random.default_rng(0).normal(size=(150, 3))
Y = np.digitize(X[:, 0] + X[:, 1], [-0.4, 0.4])
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
EXPORTS = {"C": (export_c, "m.h"), "ONNX": (export_onnx, "m.onnx")}


def export(kind, model, rows, folder, **options):
    function, name = EXPORTS[kind]
    return function(model, folder / name, X=rows, **options)


def by_name(frame):
    columns = ColumnTransformer([("n", StandardScaler(), ["a", "b"])])
    return make_pipeline(columns, LogisticRegression()).fit(frame, Y)


@pytest.mark.parametrize("kind", EXPORTS)
def test_columns_by_name_are_given_in_any_order(kind, tmp_path):
    model = by_name(FRAME)
    export(kind, model, FRAME[["c", "b", "a"]].assign(town="Ulm"), tmp_path)
    with pytest.raises(ValueError, match="X lacks columns"):
        export(kind, model, FRAME[["c", "b"]], tmp_path)


def test_a_column_of_text_is_named(tmp_path):
    frame = FRAME.assign(town="Ulm")
    with pytest.raises(ValueError, match=r"X must hold numbers \(column 'town' does not\)"):
        export_c(by_name(frame), tmp_path / "m.h", X=frame)


def test_the_name_must_be_text(tmp_path):
    with pytest.raises(ValueError, match="name=3 is not valid: it must be text"):
        export_c(LogisticRegression().fit(X, Y), tmp_path / "m.h", X=X, name=3)


def test_codes_that_onnx_does_not_take_are_named(tmp_path):
    codes = np.random.default_rng(0).choice([0.1, 0.2, 0.7], size=(150, 1))
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    model.fit(codes, Y > 0)
    with pytest.raises(ValueError, match=r"such as 0\.1, .*dtype='float64'"):
        export_onnx(model, tmp_path / "m.onnx", X=codes)
    assert export_onnx(model, tmp_path / "m.onnx", X=codes, dtype="float64").verified
    codes[:20] = np.nan
    model.fit(codes, Y > 0)
    for dtype in ("float32", "float64"):
        with pytest.raises(ValueError, match="NaN as a category"):
            export_onnx(model, tmp_path / "m.onnx", X=codes, dtype=dtype)


@pytest.mark.parametrize("kind", EXPORTS)
def test_numbers_of_type_object(kind, tmp_path):
    export(kind, LogisticRegression().fit(X, Y), X.astype(object), tmp_path)


def test_an_opset_of_any_integer_type(tmp_path):
    model = LogisticRegression().fit(X, Y)
    report = export_onnx(model, tmp_path / "m.onnx", X=X, target_opset=np.int64(18))
    assert report.opset == 18


@pytest.mark.parametrize("kind", EXPORTS)
def test_a_part_of_a_union_may_be_dropped(kind, tmp_path):
    union = FeatureUnion([("a", StandardScaler()), ("b", "drop"), ("c", "passthrough")])
    model = make_pipeline(union, LogisticRegression()).fit(X, Y)
    assert export(kind, model, X, tmp_path)
    assert [name for name, _ in model[0].transformer_list] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "head", [LogisticRegression(), SGDClassifier(random_state=0), LinearSVC(), SGDRegressor()]
)
def test_sparse_coefficients(head, tmp_path):
    model = make_pipeline(StandardScaler(), clone(head)).fit(X, Y)
    model[-1].sparsify()
    for kind in EXPORTS:
        export(kind, model, X, tmp_path)
    with pytest.raises(ValueError, match=re.escape("coef_ is sparse: call densify()")):
        save(model, tmp_path / "m.cerf")
    assert hasattr(model[-1].coef_, "toarray")


@pytest.mark.filterwarnings("ignore:Attribute `prob:FutureWarning")  # skl2onnx reads it
@pytest.mark.parametrize("head", [SVC(), NuSVC()])
def test_classifiers_with_a_score_and_its_negative(head, tmp_path):
    model = clone(head).fit(X, Y > 0)
    export_onnx(model, tmp_path / "m.onnx", X=X)
    labels, scores = samples.run(tmp_path / "m.onnx", X.astype(np.float32))
    assert (labels == model.predict(X)).all()
    size = np.abs(model.decision_function(X))
    np.testing.assert_allclose(np.abs(scores).T, [size, size], atol=1e-4)


def test_a_loss_that_skl2onnx_computes_otherwise_is_named(tmp_path):
    model = SGDClassifier(loss="modified_huber", random_state=0)
    assert export_onnx(model.fit(X, Y > 0), tmp_path / "m.onnx", X=X).verified
    with pytest.raises(ValueError, match="loss='modified_huber'"):
        export_onnx(model.fit(X, Y), tmp_path / "m.onnx", X=X)
