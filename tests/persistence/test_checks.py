"""Each check of a file, by a change that only it can find; checksums are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cerflearn import CerfFormatError, load, save
from cerflearn.files.container import METADATA_KEY, unpack
from cerflearn.files.strict_json import canonical, parse
from persistence.stored_models import MODELS, classes, codes, rows
from persistence.test_model_file import rewrite


def at(document: Any, path: str) -> Any:
    """Value of a document by a path such as ``steps.0.estimator``, through its fields."""
    value = document["model"]
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)]
        else:
            value = value["fields"].get(part) if "fields" in value else value[part]
    return value


def put(path: str, value: Any) -> Any:
    """Change that sets a field."""

    def change(document: Any, _: Any) -> None:
        parent, _, name = path.rpartition(".")
        owner = at(document, parent) if parent else document["model"]
        owner.get("fields", owner)[name] = value

    return change


def parameter(path: str, name: str, value: Any) -> Any:
    def change(document: Any, _: Any) -> None:
        owner = at(document, path) if path else document["model"]
        owner["parameters"][name] = value

    return change


def array(name: str, value: Any) -> Any:
    """Change that replaces an array; a function is given the old one."""

    def change(_: Any, tensors: Any) -> None:
        assert name in tensors, sorted(tensors)
        tensors[name] = np.asarray(value(tensors[name]) if callable(value) else value)

    return change


def branch(index: int, *, name: str | None = None, estimator: Any = None) -> Any:
    """Change of an entry of the parameter ``transformers``; without it if nothing is given."""

    def change(document: Any, _: Any) -> None:
        given = at(document, "steps.0.estimator")["fields"]["transformers"]
        if name is None and estimator is None:
            del given[index]
        elif name is not None:
            given[index]["tuple"][0] = name
        else:
            given[index]["tuple"][1] = estimator

    return change


def drop(name: str) -> Any:
    """Change that leaves a field and its array out."""

    def change(document: Any, tensors: Any) -> None:
        del document["model"]["fields"][name]
        for key in [key for key in tensors if key.startswith(f"model.{name}")]:
            del tensors[key]

    return change


def text(items: Any) -> Any:
    return np.frombuffer(canonical(items).encode(), np.uint8)


CHANGES: list[tuple[str, Any]] = [
    ("rff", array("model.feature_map_.weights", np.zeros((0, 5)))),
    ("rff", lambda d, _: d["model"].update(output="excel")),
    ("rff", lambda d, _: d["model"].update(parameters=[])),
    ("masked", array("model.feature_map_.projection_pointers", lambda a: np.r_[a[:1], a])),
    ("blocked", put("feature_map_.blocks.centres", {"tensor": "c"})),
    ("fastfood", array("model.feature_map_.blocks.signs", lambda a: 2 * a)),
    ("fastfood", array("model.feature_map_.blocks.row_scale", lambda a: a[:, :4])),
    ("regressor", array("model.feature_map_.tables", lambda a: a[:, :1])),
    ("regressor", array("model.prediction_range_", lambda a: a[::-1].copy())),
    ("regressors", put("outputs_2d_", False)),
    ("regressor", put("settings_", 3)),
    ("regressor", put("settings_", {"pairs": [[{"pairs": []}, 1]]})),
    ("cosine", array("model.classes_", np.arange(4))),
    ("cosine", array("model.classes_", np.array([0, 1, 1]))),
    ("relu", array("model.classes_", text(["a", ["b"], "c"]))),
    ("relu", array("model.classes_", text(["a", 1, "c"]))),
    ("relu", array("model.classes_", text({"a": 1}))),
    ("relu", array("model.classes_", text(["a", {"float": "x"}, "c"]))),
    ("pairs", parameter("", "head", "logistic")),
    ("multilabel", put("outputs_2d_", False)),
    ("pca", drop("components_")),
    ("pca", drop("mean_")),
    ("pca", put("_n_codes", 2)),
    ("pca", parameter("", "fit_inverse_transform", False)),
    ("pca", array("model.moments_.right_mean", np.zeros(7))),
    ("pca", array("model.components_", lambda a: np.c_[a, a])),
    (
        "pca_inner",
        parameter(
            "",
            "feature_map",
            {"object": {"kind": "Pipeline", "parameters": {"steps": [{"tuple": []}]}}},
        ),
    ),
    ("pca_budget", put("n_features_in_", 7)),
    ("pca_budget", put("encoder_.intercept", {"tensor": "model.encoder_.linear_coef"})),
    ("imputer", parameter("", "add_indicator", False)),
    ("imputer", put("n_iter_", 99)),
    ("imputer", array("model.scale_", np.zeros(6))),
    ("imputer", put("indicator_._precomputed", True)),
    ("imputer", put("indicator_._n_features", 5)),
    ("imputer", array("model.stages_.0.mean", lambda a: a[:-1])),
    ("imputer", array("model.stages_.0.weights", lambda a: a[:, :-1])),
    ("imputer_budget", array("model.stages_.0.observed", lambda a: a[:-1])),
    ("imputer_budget", array("model.stages_.0.hidden", np.array([0]))),
    ("imputer_budget", put("stages_.0.n_features", 9)),
    ("cca", put("n_features_y_", 4)),
    ("cca", array("model.y_components_", lambda a: a[:, :-1])),
    ("pipeline", array("model.steps.0.estimator.scale_", np.zeros(6))),
    ("pipeline", parameter("steps.0.estimator", "feature_range", {"tuple": [2, 1]})),
    ("pipeline", parameter("steps.0.estimator", "feature_range", [0, 1])),
    ("pipeline", put("steps.0.name", "a__b")),
    ("pipeline", put("steps.0.name", "")),
    ("pipeline", put("steps", [])),
    ("pipeline", lambda d, _: at(d, "steps").reverse()),
    ("pipeline", lambda d, _: at(d, "steps").pop(1)),
    ("pipeline", parameter("", "transform_input", ["a"])),
    ("sgd", array("model.steps.1.estimator.coef_", np.zeros((3, 5)))),
    ("sgd", array("model.steps.1.estimator.coef_", np.zeros((3, 6), int))),
    ("sgd", array("model.steps.1.estimator.intercept_", np.zeros(2))),
    ("sgd", array("model.steps.1.estimator.classes_", np.arange(5))),
    ("sgd", put("steps.0.estimator.mean_", None)),
    ("filled", parameter("steps.0.estimator", "add_indicator", False)),
    ("filled", put("steps.0.estimator.indicator_._precomputed", False)),
    ("filled", put("steps.0.estimator._fit_dtype", {"dtype": "object"})),
    ("encoded", array("model.steps.0.estimator.branches.0.indices", np.array([0, 1, 9]))),
    ("encoded", array("model.steps.0.estimator.branches.0.indices", np.array([0, 1, 3]))),
    ("encoded", array("model.steps.0.estimator.branches.0.indices", np.array([0, 1]))),
    ("encoded", put("steps.0.estimator.branches.1.columns", 5)),
    ("encoded", parameter("steps.0.estimator", "transformer_weights", {"pairs": []})),
    ("encoded", put("steps.0.estimator.branches.0.estimator", "drop")),
    ("encoded", put("steps.0.estimator.branches.1.estimator.categories_", [])),
    ("encoded", put("steps.0.estimator.transformers", [1])),
    ("frame", branch(1)),
    ("frame", branch(1, name="cities")),
    ("frame", branch(1, estimator="drop")),
    (
        "encoded",
        array("model.steps.0.estimator.branches.1.estimator.categories_.0", np.zeros(0)),
    ),
    (
        "frame",
        array("model.steps.0.estimator.branches.1.estimator.drop_idx_", text([{"float": "nan"}])),
    ),
    ("frame", array("model.steps.0.estimator.branches.1.estimator.drop_idx_", text([3]))),
    ("frame", put("steps.0.estimator.branches.0.columns", {"slice": ["a", "c", None]})),
    ("frame", array("model.steps.0.estimator.feature_names_in_", text(["a", "b", "c", 4]))),
    ("frame", parameter("steps.0.estimator.branches.2.estimator", "func", {"dtype": "float64"})),
    ("columns", put("steps.0.estimator.branches.0.columns", [True, True])),
    ("columns", parameter("steps.0.estimator", "n_jobs", [])),
    ("columns", parameter("steps.0.estimator", "n_jobs", 10**6)),
    ("columns", parameter("steps.0.estimator", "verbose_feature_names_out", "{feature_name:>9}")),
    ("columns", parameter("steps.0.estimator", "verbose_feature_names_out", "{transformer_name")),
    ("completed", parameter("steps.1.estimator._label_binarizer", "neg_label", "x")),
    ("completed", parameter("steps.1.estimator._label_binarizer", "pos_label", -1)),
    ("completed", array("model.steps.1.estimator._label_binarizer.classes_", np.arange(3))),
    ("constant", array("model.prediction_range_", np.full((2, 1), np.nan))),
    ("filled", parameter("steps.0.estimator.indicator_", "features", None)),
    ("text", parameter("steps.1.estimator", "dtype", "x")),
    ("text", parameter("steps.1.estimator", "dtype", 3)),
    ("text", parameter("steps.1.estimator", "feature_name_combiner", None)),
    (
        "text",
        parameter("steps.1.estimator", "handle_unknown", {"array": ["error", "ignore"]}),
    ),
]


@pytest.mark.parametrize("index", range(len(CHANGES)))
def test_the_change_is_found(index, tmp_path):
    name, change = CHANGES[index]
    model, _ = MODELS[name]()
    path = tmp_path / "m.cerf"
    save(model, path)
    load(path)
    rewrite(path, change)
    with pytest.raises(CerfFormatError):
        load(path)


def header_change(path, change):
    """Change the header itself."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = parse(raw[8 : 8 + length], "")
    change(header)
    text_ = canonical(header).encode()
    text_ += b" " * (-len(text_) % 8)
    path.write_bytes(len(text_).to_bytes(8, "little") + text_ + raw[8 + length :])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["__metadata__"].update({METADATA_KEY: "{}"}), "lacks an entry"),
        (lambda h: h["__metadata__"].update({METADATA_KEY: "[]"}), "lacks an entry"),
        (lambda h: h["__metadata__"].update({METADATA_KEY: 1}), "not text"),
        (lambda h: h["__metadata__"].update(more="x"), "no entry for it"),
        (lambda h: h.pop("__metadata__"), "no entry for it"),
        (lambda h: h.update({"a b": h.pop("model.feature_map_.offsets")}), "not allowed"),
        (lambda h: h["model.feature_map_.offsets"].update(shape=[2**60, 0]), "list of sizes"),
        (lambda h: h["model.feature_map_.offsets"].update(shape=[-1]), "list of sizes"),
        (lambda h: h["model.feature_map_.offsets"].update(dtype="F8"), "not known"),
        (lambda h: h["model.feature_map_.offsets"].update(dtype="F32"), "are not in the file"),
        (
            lambda h: h["model.feature_map_.offsets"].update(data_offsets=[4, 44]),
            "not aligned",
        ),
        (
            lambda h: h["model.feature_map_.offsets"].update(data_offsets=[0, 40]),
            "overlap|twice|belong",
        ),
        (lambda h: h.pop("model.feature_map_.weights"), "belong to no|overlap"),
    ],
)
def test_changes_of_the_header_are_found(change, message, tmp_path):
    model, _ = MODELS["rff"]()
    path = tmp_path / "m.cerf"
    save(model, path)
    header_change(path, change)
    with pytest.raises(CerfFormatError, match=message):
        load(path)


def test_booleans_are_zero_or_one(tmp_path):
    model, _ = MODELS["imputer_budget"]()
    path = tmp_path / "m.cerf"
    save(model, path)
    header = unpack(memoryview(path.read_bytes()))
    begin = header.table["model._covered"]["data_offsets"][0]
    raw = bytearray(path.read_bytes())
    raw[len(raw) - len(header.data) + begin] = 2
    path.write_bytes(raw)
    with pytest.raises(CerfFormatError, match="neither true nor false"):
        load(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ColumnTransformer([("a", StandardScaler(), [0, 1])], transformer_weights={"a": 2.0}),
            "transformer_weights",
        ),
        (ColumnTransformer([("a", OneHotEncoder(max_categories=2), [5])]), "infrequent"),
    ],
)
def test_columns_that_cannot_be_stored(columns, message, tmp_path):
    model = make_pipeline(columns, LogisticRegression()).fit(codes(), classes(2))
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "m.cerf")


def test_odd_labels_and_parameters(tmp_path):
    labels = np.array(["x", "y"], dtype=object)
    labels[0] = complex(1)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows(), classes(2))
    model[-1].classes_ = labels
    with pytest.raises(ValueError, match="labels must be text or numbers"):
        save(model, tmp_path / "m.cerf")
    model, X = MODELS["rff"]()
    for odd in (int, dict, np.array(["a"]), np.array([1j]), np.float32(2.5), range(3)):
        model.set_params(random_state=odd)
        save(model, tmp_path / "m.cerf")
        assert np.array_equal(load(tmp_path / "m.cerf").transform(X), model.transform(X))


def test_a_callable_choice_of_columns_is_named(tmp_path):
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import make_column_selector

    frame = pandas.DataFrame(rows()[:, :2], columns=["a", "b"])
    columns = ColumnTransformer([("a", StandardScaler(), make_column_selector("a"))])
    model = make_pipeline(columns, LogisticRegression()).fit(frame, classes(2))
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert "not stored" in repr(loaded[0].transformers)
