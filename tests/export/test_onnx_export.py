"""export_onnx: what it checks, refuses, writes and reports."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import onnx_samples as samples

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

import onnx

from cerflearn import CERFClassifier, MaskedFourierFeatures, cost
from cerflearn.export.onnx import onnx_export, onnx_nodes, onnx_verify
from cerflearn.export.onnx.onnx_bounds import Bounded, bounded_steps
from cerflearn.export.onnx.onnx_export import export_onnx
from cerflearn.export.program import program_of

OPSETS = tuple(range(15, 23))


def small_map():
    return MaskedFourierFeatures(n_components=10, random_state=0).fit(samples.rows())


def pipeline():
    model = make_pipeline(
        StandardScaler(), MaskedFourierFeatures(random_state=0), RidgeClassifier()
    )
    return model.fit(samples.rows(), samples.targets("text"))


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_opsets(opset, dtype, tmp_path):
    if opset > onnx_export_latest():
        pytest.skip(f"skl2onnx does not know opset {opset}")
    for model in (pipeline(), samples.predictor("table", "multiclass"), small_map()):
        report = export_onnx(model, tmp_path / "m.onnx", target_opset=opset, dtype=dtype)
        assert report.verified
        versions = {o.domain: o.version for o in onnx.load(tmp_path / "m.onnx").opset_import}
        assert versions[""] == report.opset == opset


def onnx_export_latest():
    from skl2onnx.proto import get_latest_tested_opset_version

    return get_latest_tested_opset_version()


def test_the_default_opset_is_old_and_the_file_valid(tmp_path):
    report = export_onnx(pipeline(), tmp_path / "m.onnx")
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert report.opset == onnx_export.DEFAULT_OPSET == 17
    assert model.ir_version <= 8


def test_the_report_prints_what_was_done(tmp_path):
    report = export_onnx(pipeline(), tmp_path / "m.onnx", X=samples.rows())
    text = str(report)
    assert "verified in ONNX Runtime on 300 given rows" in text
    assert "equal labels: 100 %" in text
    assert "inputs: X; outputs: label, scores" in text
    assert report.n_bytes == (tmp_path / "m.onnx").stat().st_size
    assert "not verified" in str(export_onnx(pipeline(), tmp_path / "m.onnx", verify=False))


def test_metadata_and_names(tmp_path):
    model = pipeline()
    export_onnx(model, tmp_path / "m.onnx", input_name="my rows */")
    loaded = onnx.load(tmp_path / "m.onnx")
    notes = {note.key: note.value for note in loaded.metadata_props}
    assert notes["macs"] == str(cost(model).macs)
    assert notes["estimator"] == "Pipeline"
    assert notes["cerflearn_version"]
    X = samples.rows(20).astype(np.float32)
    labels, _ = samples.run(tmp_path / "m.onnx", X, name="my rows */")
    assert labels.tolist() == model.predict(X).tolist()


SCRIPT = """
import sys
sys.path[:0] = sys.argv[2:]
import onnx_samples as samples
from cerflearn.export.onnx.onnx_export import export_onnx
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.linear_model import RidgeClassifier
from cerflearn import MaskedFourierFeatures
model = make_pipeline(StandardScaler(), MaskedFourierFeatures(random_state=0), RidgeClassifier())
export_onnx(model.fit(samples.rows(), samples.targets("text")), sys.argv[1], verify=False)
"""


def test_the_same_model_gives_the_same_bytes_in_every_process(tmp_path):
    folder = [entry for entry in sys.path if entry.endswith("tests")]
    contents = set()
    for seed in ("0", "1"):
        path = tmp_path / "m.onnx"
        command = [sys.executable, "-c", SCRIPT, str(path), *folder]
        subprocess.run(command, check=True, env=environment(PYTHONHASHSEED=seed))
        contents.add(path.read_bytes())
    assert len(contents) == 1


def environment(**more):
    import os

    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", **more}


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("onnxruntime", "False UserWarning onnxruntime is not installed: the file is written"),
        ("skl2onnx", "ImportError export_onnx needs skl2onnx: pip install 'cerflearn[onnx]'."),
        ("onnx", "ImportError export_onnx needs onnx and skl2onnx: pip install 'cerflearn[onnx]'."),
    ],
)
def test_packages_that_are_not_installed(missing, expected, tmp_path):
    script = f"""
import sys, warnings
import numpy as np
sys.modules[{missing!r}] = None
from cerflearn import MaskedFourierFeatures
from cerflearn.export.onnx.onnx_export import export_onnx
model = MaskedFourierFeatures(n_components=4, random_state=0).fit(np.eye(5))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        report = export_onnx(model, "m.onnx")
        message = caught[-1]
        print(report.verified, message.category.__name__, message.message)
    except ImportError as error:
        print("ImportError", error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.stdout.startswith(expected), done.stdout + done.stderr
    assert (tmp_path / "m.onnx").exists() == (missing == "onnxruntime")


def test_cerflearn_does_without_onnx():
    script = """
import sys
for name in ("onnx", "skl2onnx", "onnxruntime"):
    sys.modules[name] = None
import cerflearn.export.onnx.onnx_converters, cerflearn.export.onnx.onnx_export
try:
    import cerflearn.onnx
except ImportError as error:
    assert "pip install 'cerflearn[onnx]'" in str(error), error
else:
    raise SystemExit("cerflearn.onnx needs skl2onnx")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype='float16' is not valid"),
        ({"form": "fast"}, "form='fast' is not valid"),
        ({"target_opset": 14}, "target_opset=14 is not valid: it must be a whole number from 15"),
        ({"target_opset": 99}, "target_opset=99 is not valid"),
        ({"target_opset": True}, "target_opset=True is not valid"),
        ({"X": np.zeros(12)}, "X must be rows and columns"),
        ({"X": np.zeros((0, 12))}, "X must be rows and columns"),
        ({"X": np.array([["a"] * 12])}, "X holds text: pass a DataFrame"),
        ({"X": np.zeros((3, 12)), "by_column": True}, "by_column=True needs X as a DataFrame"),
        ({"by_column": True}, "by_column=True needs names of columns"),
    ],
)
def test_what_is_not_valid_is_refused(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_onnx(small_map(), tmp_path / "m.onnx", **options)
    assert not list(tmp_path.iterdir())


def test_sparse_rows_and_some_of_many(tmp_path):
    from scipy.sparse import csr_array

    X = csr_array(np.tile(samples.rows(), (40, 1)))
    model = small_map()
    report = export_onnx(model, tmp_path / "m.onnx", X=X)
    assert report.agreement.n_rows == 10_000


def test_folder_and_fit_are_needed(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*none: make it first"):
        export_onnx(small_map(), tmp_path / "none" / "m.onnx")
    with pytest.raises(NotFittedError):
        export_onnx(MaskedFourierFeatures(), tmp_path / "m.onnx")


def test_numbers_beyond_float32_are_refused(tmp_path):
    model = MaskedFourierFeatures(gamma=1e80, random_state=0).fit(samples.rows())
    with pytest.raises(ValueError, match="numbers beyond float32: pass dtype='float64'"):
        export_onnx(model, tmp_path / "m.onnx")


def test_rows_that_cannot_be_drawn_are_asked_for(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pd.DataFrame({"a": ["x", "y", "z"] * 20})
    encoder = ColumnTransformer([("a", OneHotEncoder(sparse_output=False), ["a"])])
    model = make_pipeline(encoder, MaskedFourierFeatures(random_state=0)).fit(X)
    with pytest.raises(ValueError, match="X is needed"):
        export_onnx(model, tmp_path / "m.onnx")
    assert export_onnx(model, tmp_path / "m.onnx", X=X).inputs == ("a",)


def test_rows_are_drawn_where_the_model_tells_them_apart(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([1e4 + rng.normal(size=200), 1e-3 * rng.normal(size=200)])
    X = np.column_stack([X, rng.integers(0, 3, 200)])
    numbers = make_pipeline(SimpleImputer(), MinMaxScaler())
    codes = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = ColumnTransformer([("n", numbers, [0, 1]), ("c", codes, [2])])
    model = make_pipeline(columns, MaskedFourierFeatures(random_state=0)).fit(X)
    rows = onnx_export.drawn_rows(program_of(model), "float64", "X", None).data
    features = model.transform(rows)
    assert np.isnan(rows).mean() == pytest.approx(0.1, abs=0.02)
    assert features.std(axis=0).min() > 0.1 * np.abs(features).max()
    report = export_onnx(model, tmp_path / "m.onnx")
    assert report.drawn
    assert "drawn rows" in str(report)


def test_rows_are_drawn_where_positive_parts_begin(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + np.array([1e4, -1e5, 3e3])
    model = CERFClassifier(macs=40, effort=0.1, activation="relu", random_state=0)
    model.fit(X, (X[:, 0] > 1e4).astype(int) + (X[:, 2] > 3e3))
    rows = onnx_export.drawn_rows(program_of(model), "float64", "X", None).data
    assert len(np.unique(model.predict(rows))) == 3
    assert export_onnx(model, tmp_path / "m.onnx", dtype="float64").drawn


def test_what_skl2onnx_cannot_convert_is_said(tmp_path):
    columns = ColumnTransformer([("n", StandardScaler(), [1, 2])])
    model = make_pipeline(SimpleImputer(), columns, MaskedFourierFeatures(random_state=0))
    with pytest.raises(RuntimeError, match="A ColumnTransformer must be the first"):
        export_onnx(model.fit(samples.rows()), tmp_path / "m.onnx")


def test_names_of_columns_stay_in_the_file(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pd.DataFrame(samples.rows()[:, :3], columns=["a", "label", "*/ é"])
    model = make_pipeline(StandardScaler(), MaskedFourierFeatures(random_state=0)).fit(X)
    assert export_onnx(model, tmp_path / "m.onnx").inputs == ("X",)
    notes = {n.key: n.value for n in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert notes["columns"] == r'["a", "label", "*/ \u00e9"]'
    report = export_onnx(model, tmp_path / "m.onnx", by_column=True)
    assert report.inputs == tuple(X.columns)


def changed(monkeypatch, factor):
    """Let all constants of graphs be off by a factor."""
    plain = onnx_nodes.GraphWriter.floats

    def floats(self, values):
        return plain(self, factor * np.asarray(values, dtype=np.float64))

    monkeypatch.setattr(onnx_nodes.GraphWriter, "floats", floats)


@pytest.mark.parametrize("kind", ["map", "regressor", "classifier"])
@pytest.mark.parametrize(("dtype", "factor"), [("float32", 1.001), ("float64", 1 + 1e-9)])
def test_a_wrong_graph_is_refused_and_the_old_file_stays(
    kind, dtype, factor, tmp_path, monkeypatch
):
    model = {
        "map": small_map(),
        "regressor": samples.predictor("cosine", "number"),
        "classifier": samples.predictor("relu", "multiclass"),
    }[kind]
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    changed(monkeypatch, factor)
    with pytest.raises(RuntimeError, match="does not agree with the estimator, and no file was"):
        export_onnx(model, path, X=samples.rows(), dtype=dtype)
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["m.onnx"]


def test_labels_that_are_swapped_are_refused(tmp_path, monkeypatch):
    model = samples.predictor("cosine", "text")
    plain = onnx_verify.run_graph

    def swapped(content, rows):
        labels, proba = plain(content, rows)
        return [np.where(labels == labels[0], model.classes_[0], model.classes_[1]), proba]

    monkeypatch.setattr(onnx_export, "run_graph", swapped)
    with pytest.raises(RuntimeError, match="have another label"):
        export_onnx(model, tmp_path / "m.onnx")


def test_a_graph_that_does_not_run_is_refused(tmp_path, monkeypatch):
    plain = onnx_nodes.GraphWriter.node

    def node(self, kind, *inputs, **rest):
        return plain(self, "Tan" if kind == "Cos" else kind, *inputs[:1], **rest)

    monkeypatch.setattr(onnx_nodes.GraphWriter, "node", node)
    with pytest.raises(RuntimeError, match="cannot run the graph, and no file was written"):
        export_onnx(small_map(), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("activation", ["cosine", "relu", "table"])
@pytest.mark.parametrize("kind", ["multiclass", "numbers"])
def test_bounds_hold_for_the_core_in_float32(activation, kind):
    model = samples.predictor(activation, kind)
    X = (3.0 * samples.rows(2000, seed=3)).astype(np.float32)
    exact = X.astype(np.float64)
    found = bounded_steps(program_of(model).steps, Bounded(exact, 0.0 * exact), "float32")
    scores = model.raw_scores(X).astype(np.float64)
    apart = np.abs(scores - found.values)
    assert (apart <= found.errors).all()
    assert (found.errors < 1e-3).mean() > 0.95  # bounds that say something


@pytest.mark.parametrize("name", ["", "label", "variable", 3])
def test_names_that_no_input_can_have(name, tmp_path):
    with pytest.raises(ValueError, match="input_name="):
        export_onnx(small_map(), tmp_path / "m.onnx", X=samples.rows(), input_name=name)


def test_rows_of_another_width_are_refused(tmp_path):
    X = samples.rows()
    with pytest.raises(ValueError, match=f"must have rows of {X.shape[1]} inputs"):
        export_onnx(small_map(), tmp_path / "m.onnx", X=X[:, :2])


def test_of_a_search_the_best_estimator_is_written(tmp_path):
    X = samples.rows()
    search = GridSearchCV(RidgeClassifier(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, X[:, 0] > 0)
    export_onnx(search, tmp_path / "a.onnx", X=X)
    export_onnx(search.best_estimator_, tmp_path / "b.onnx", X=X)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
