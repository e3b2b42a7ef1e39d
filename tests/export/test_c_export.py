"""Exported C against Python: every kind of model in every arithmetic, and what is refused."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from c_samples import CASES, QUICK, case, digits, mixed_columns
from cerflearn import CERFClassifier, MaskedFourierFeatures
from cerflearn.export.c99 import c_export
from cerflearn.export.c99.c_export import export_c
from cerflearn.export.c99.c_verify import CExportError, find_compiler

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LEAST = {"float32": 1.0, "int16": 0.997, "int8": 0.99}
MOST_ERROR = {"float32": 1e-4, "int16": 2e-3, "int8": 0.06}


@pytest.fixture(scope="module")
def simple():
    X, y = digits()
    features = MaskedFourierFeatures(n_components=20, random_state=0)
    return make_pipeline(StandardScaler(), features, LogisticRegression(max_iter=1000)).fit(X, y)


@needs_compiler
@pytest.mark.parametrize("dtype", list(LEAST))
@pytest.mark.parametrize("name", [name for name in CASES if name != "two stages"])
def test_labels_and_values_are_those_of_python(tmp_path, name, dtype):
    estimator, X, _ = case(name)
    report = export_c(estimator, tmp_path / "m.h", X=X, dtype=dtype)
    assert report.verified
    assert report.n_rows == len(X)
    assert report.relative_error < MOST_ERROR[dtype]
    if hasattr(estimator, "classes_"):
        # Verifying a float export raises at any label that is not a near tie.
        least = 1.0 - report.near_ties / len(X) if dtype == "float32" else LEAST[dtype]
        assert report.label_agreement >= least
    else:
        assert report.label_agreement is None
    text = (tmp_path / "m.h").read_text()
    assert f"{report.flash_bytes} bytes of constants" in text
    assert "Verified: compiled by" in text


@needs_compiler
def test_maps_and_networks_follow_each_other_in_floats_alone(tmp_path):
    estimator, X, _ = case("two stages")
    assert export_c(estimator, tmp_path / "m.h", X=X).label_agreement == 1.0
    with pytest.raises(ValueError, match="no integer version"):
        export_c(estimator, tmp_path / "n.h", X=X, dtype="int8")
    assert not (tmp_path / "n.h").exists()


@needs_compiler
@pytest.mark.parametrize("dtype", list(LEAST))
@pytest.mark.parametrize("name", ["cosine", "multilabel", "values", "value of tables", "dense map"])
def test_the_example_reads_rows_and_prints_results(tmp_path, name, dtype):
    estimator, X, _ = case(name)
    export_c(estimator, tmp_path / "m.h", X=X, dtype=dtype, verify=False)
    compiler = find_compiler()
    command = [*compiler, "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
    subprocess.run([*command, "example_main.c", "-o", "example"], cwd=tmp_path, check=True)
    rows = "\n".join(" ".join(map(repr, row)) for row in X[:40].tolist())
    out = subprocess.run(
        [tmp_path / "example"], input=rows, check=True, capture_output=True, text=True
    ).stdout
    found = np.array([line.split() for line in out.splitlines()], dtype=np.float64)
    wanted = estimator.predict(X[:40]) if hasattr(estimator, "predict") else None
    if wanted is None:
        wanted = estimator.transform(X[:40])
    wanted = np.asarray(wanted, dtype=np.float64).reshape(40, -1)
    if name in ("cosine", "multilabel"):
        assert np.mean(found == wanted) >= LEAST[dtype]
    else:
        error = (found - wanted) / wanted.std(axis=0)
        assert np.sqrt(np.mean(np.square(error))) < MOST_ERROR[dtype]


@pytest.mark.parametrize("name", ["cosine", "relu", "table"])
def test_digits_agree_on_rows_that_were_not_calibrated_on(tmp_path, name):
    if find_compiler() is None:
        pytest.skip("no C compiler")
    estimator, X, y = case(name)
    accuracy = estimator.score(X[1::2], y[1::2])
    for dtype, least in LEAST.items():
        model, code, whole = c_export.make_code(estimator, "m", dtype, X[::2])
        found = c_export.run_code("m", model, code, whole, X[1::2], find_compiler())
        labels = estimator.classes_[found.labels]
        assert np.mean(labels == estimator.predict(X[1::2])) >= least
        assert abs(np.mean(labels == y[1::2]) - accuracy) <= 0.003


def test_verification_needs_a_compiler_and_says_so(tmp_path, monkeypatch, simple):
    monkeypatch.setattr(c_export, "find_compiler", lambda: None)
    report = export_c(simple, tmp_path / "m.h", X=digits()[0])
    assert not report.verified
    assert report.label_agreement is None
    assert "NOT VERIFIED: no C compiler was found" in (tmp_path / "m.h").read_text()
    assert "not verified" in str(report)


def test_without_verification_floats_need_no_rows(tmp_path, simple):
    assert not export_c(simple, tmp_path / "m.h", verify=False).verified
    assert "it was not asked for" in (tmp_path / "m.h").read_text()


@needs_compiler
def test_wrong_c_is_not_written(tmp_path, monkeypatch, simple):
    whole = c_export.float_code

    def wrong(name, model):
        code = whole(name, model)
        return c_export.ModelCode(code.body.replace("0.25f", "0.2501f"), code.sizes)

    monkeypatch.setattr(c_export, "float_code", wrong)
    with pytest.raises(CExportError, match="more than rounding explains"):
        export_c(simple, tmp_path / "m.h", X=digits()[0])
    assert list(tmp_path.iterdir()) == []


@needs_compiler
def test_c_that_does_not_compile_is_not_written(tmp_path, monkeypatch, simple):
    whole = c_export.float_code

    def broken(name, model):
        code = whole(name, model)
        return c_export.ModelCode(code.body + "\nint", code.sizes)

    monkeypatch.setattr(c_export, "float_code", broken)
    with pytest.raises(CExportError, match="does not compile"):
        export_c(simple, tmp_path / "m.h", X=digits()[0])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype='float16' is not valid"),
        ({"dtype": "int8", "X": None}, "needs rows X"),
        ({"X": np.zeros((3, 5))}, "must have rows of 64 inputs"),
        ({"X": np.zeros((0, 64))}, "must have rows of 64 inputs"),
        ({"X": np.full((3, 64), np.nan)}, "which the model does not fill"),
        ({"X": np.full((3, 64), np.inf)}, "infinity"),
        ({"X": [["a"] * 64]}, "must hold numbers"),
    ],
)
def test_bad_requests_are_refused(tmp_path, simple, options, message):
    given = {"X": digits()[0]} | options
    with pytest.raises(ValueError, match=message):
        export_c(simple, tmp_path / "m.h", **given)
    assert list(tmp_path.iterdir()) == []


def test_bad_paths_are_refused(tmp_path, simple):
    with pytest.raises(FileNotFoundError, match="no folder"):
        export_c(simple, tmp_path / "absent" / "m.h", verify=False)
    with pytest.raises(ValueError, match=r"must end in '.h'"):
        export_c(simple, tmp_path / "m.c", verify=False)


def test_estimators_without_c_are_named(tmp_path):
    X, y = digits()
    with pytest.raises(NotFittedError):
        export_c(CERFClassifier(), tmp_path / "m.h", verify=False)
    unsupported = make_pipeline(PCA(3), RidgeClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="PCA cannot be exported"):
        export_c(unsupported, tmp_path / "m.h", verify=False)
    X, y = mixed_columns()
    X = np.nan_to_num(X)[:, [1]]
    scaled = make_pipeline(StandardScaler(), OneHotEncoder(), LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="after a scaler"):
        export_c(scaled, tmp_path / "m.h", verify=False)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, simple):
    export_c(simple, tmp_path / "m.h", verify=False)
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="cannot be written: No space left"):
        export_c(simple, tmp_path / "m.h", verify=False, name="other")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


@needs_compiler
def test_the_same_model_gives_the_same_bytes(tmp_path):
    estimator, X, _ = case("table")
    texts = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        export_c(estimator, tmp_path / folder / "m.h", X=X, dtype="int8")
        texts.append((tmp_path / folder / "m.h").read_bytes())
    assert texts[0] == texts[1]


def test_the_report_prints_what_matters(tmp_path):
    if find_compiler() is None:
        pytest.skip("no C compiler")
    X, y = digits()
    model = CERFClassifier(macs=100, activation="relu", **QUICK).fit(X, y)
    text = str(export_c(model, tmp_path / "m.h", X=X, dtype="int16"))
    for part in ("int16, 100 MACs", "bytes of constants", "labels equal", "largest error"):
        assert part in text


def test_floats_without_rows_are_compared_on_drawn_ones(tmp_path, simple):
    report = export_c(simple, tmp_path / "m.h")
    assert report.verified
    assert report.drawn
    assert report.n_rows == 1_000
    assert "1,000 drawn rows" in str(report)
    assert "1000 drawn rows" in (tmp_path / "m.h").read_text()
    assert not export_c(simple, tmp_path / "m.h", X=digits()[0]).drawn
