"""Parameters of scikit-learn's estimators in files: any value loads and runs, or is refused."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from cerflearn import CerfFormatError, MaskedCERF, load, save
from cerflearn.files.container import digest_of, header_of, unpack
from cerflearn.files.strict_json import canonical, parse
from cerflearn.persistence.model_file import decoded, stored_kinds
from persistence.stored_models import MODELS, classes, codes, rows
from persistence.test_mutations import run

ODD: tuple[Any, ...] = (
    None, True, 0, 0.5, 2**63, "x", [], [0], {"float": "inf"}, {"tuple": [1, 2]},
    {"pairs": [[1, 2]]}, {"array": ["a"]}, {"dtype": "float64"}, {"not_stored": "x"},
)  # fmt: skip
OF_FIELDS = ("self", "steps", "transformers")  # are stored with what was fitted


def estimators_in(value: Any) -> Any:
    """JSON of all estimators of scikit-learn in a file."""
    fitted = isinstance(value, dict) and "parameters" in value and "fields" in value
    if fitted and not stored_kinds().table[value["kind"]].is_ours:
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from estimators_in(item)


@pytest.mark.parametrize(
    "name", ["pipeline", "ridge", "sgd", "filled", "columns", "text", "completed", "frame"]
)
def test_every_value_of_every_parameter(name, tmp_path):
    model, X = MODELS[name]()
    save(model, tmp_path / "m.cerf")
    content = unpack(memoryview((tmp_path / "m.cerf").read_bytes()))
    document, data = parse(content.document, "document"), bytes(content.data)
    for entry in estimators_in(document["model"]):
        given = entry["parameters"]
        known = inspect.signature(stored_kinds().table[entry["kind"]].cls.__init__).parameters
        for parameter in known.keys() - set(OF_FIELDS):
            for odd in ODD:
                entry["parameters"] = given | {parameter: odd}
                document["digest"] = digest_of(document, content.table, data)
                raw = header_of(content.table, canonical(document)) + data
                try:
                    loaded = decoded(memoryview(bytearray(raw)))
                except CerfFormatError:
                    continue
                run(loaded, X[:20])
        entry["parameters"] = given


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int8, "float32", bool, np.uint64])
def test_types_of_codes_come_back(dtype, tmp_path):
    X = codes()[:, 5:]
    model = make_pipeline(OneHotEncoder(dtype=dtype), LogisticRegression()).fit(X, classes(2))
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert loaded[0].transform(X).dtype == model[0].transform(X).dtype
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def combined(column, category):
    return f"{column}={category}"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (OneHotEncoder(feature_name_combiner=combined), "cannot be stored: feature_name_combiner="),
        (OneHotEncoder(dtype=np.longdouble), "cannot be stored: dtype="),
        (
            ColumnTransformer([("a", StandardScaler(), [0])], verbose_feature_names_out=combined),
            "cannot be stored: verbose_feature_names_out=",
        ),
    ],
)
def test_what_transform_needs_and_no_file_holds_is_named(columns, message, tmp_path):
    model = make_pipeline(columns, LogisticRegression()).fit(codes()[:, 4:], classes(2))
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "m.cerf")
    assert not (tmp_path / "m.cerf").exists()


def test_names_of_columns_by_a_pattern(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rows()[:, :2], columns=["a", "b"])
    pattern = "{feature_name}@{transformer_name}"
    columns = ColumnTransformer([("n", StandardScaler(), ["b"])], verbose_feature_names_out=pattern)
    model = make_pipeline(columns, LogisticRegression()).fit(X, classes(2))
    save(model, tmp_path / "m.cerf")
    assert load(tmp_path / "m.cerf")[:-1].get_feature_names_out().tolist() == ["b@n"]


def test_a_teacher_may_hold_functions(tmp_path):
    teacher = make_pipeline(FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 1}), Ridge())
    model = MaskedCERF(n_components=6, teacher=teacher, random_state=0)
    save(model.fit(rows(), rows()[:, 0]), tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert np.array_equal(loaded.transform(rows()), model.transform(rows()))
