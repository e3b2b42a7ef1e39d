"""Exports that users try sooner or later: odd labels, names, scales and steps."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from cerflearn import (
    CERFClassifier,
    CERFRegressor,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    cost,
    export_c,
)
from cerflearn.export.c99.c_calibrate import quantized
from cerflearn.export.c99.c_fold import staged
from cerflearn.export.c99.c_quantize import MOST
from cerflearn.export.c99.c_scales import QuantizeOptions
from cerflearn.export.c99.c_verify import STRICT_FLAGS, CExportError, find_compiler
from cerflearn.export.program import program_of

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
X = np.random.default_rng(0).normal(size=(200, 4))
FAR = (X + np.array([1e6, 3e4, 0.0, -2e3])).astype(np.float32).astype(np.float64)


def classifier(labels):
    y = np.asarray(labels)[(X[:, 0] > 0).astype(int)]
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)


def run_example(folder, text):
    """Compile the example, and run it on text."""
    command = [*find_compiler(), *STRICT_FLAGS, "-Wno-unused-function"]
    subprocess.run([*command, "example_main.c", "-o", "example"], cwd=folder, check=True)
    return subprocess.run(
        [folder / "example"], input=text, capture_output=True, text=True, check=False
    )


def as_text(rows):
    return "\n".join(" ".join(map(repr, row)) for row in rows.tolist())


@needs_compiler
@pytest.mark.parametrize(
    "labels",
    [
        [2**40, 2**62],
        [-(2**31), 5],
        np.array([5, 2**63 + 1], dtype=np.uint64),
        np.array([-3, 4], dtype=np.int8),
        [False, True],
        [1.0, 2.0],
    ],
)
def test_labels_of_any_number_are_printed(labels, tmp_path):
    model = classifier(labels)
    export_c(model, tmp_path / "m.h", X=X)
    found = run_example(tmp_path, as_text(X[:20])).stdout.split()
    assert found == [str(label) for label in model.predict(X[:20]).tolist()]


@needs_compiler
@pytest.mark.parametrize("name", ["gr\u00f6\u00dfe.h", "\u65e5\u672c.h", "a b's.h"])
def test_the_example_includes_headers_of_any_name(name, tmp_path):
    export_c(classifier([0, 1]), tmp_path / name, X=X)
    assert run_example(tmp_path, as_text(X[:5])).returncode == 0


@pytest.mark.parametrize("name", ['a"b.h', "a\\.h", "a\nb.h"])
def test_names_that_no_include_can_hold(name, tmp_path):
    with pytest.raises(ValueError, match="quotes, backslashes"):
        export_c(classifier([0, 1]), tmp_path / name, X=X)
    assert not list(tmp_path.iterdir())


@needs_compiler
@pytest.mark.parametrize("text", ["a b c d\n", "1 2 3\n", "1 2 3 x4\n"])
def test_the_example_refuses_what_is_no_row_of_numbers(text, tmp_path):
    export_c(classifier([0, 1]), tmp_path / "m.h", X=X)
    done = run_example(tmp_path, text)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "number" in done.stderr


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_inputs_beyond_single_precision_are_refused(dtype, tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X * 1e60, X[:, 0] > 0)
    with pytest.raises(ValueError, match="beyond single precision"):
        export_c(model, tmp_path / "m.h", X=X * 1e60, dtype=dtype)


def test_weights_of_branches_are_refused(tmp_path):
    columns = ColumnTransformer([("a", MinMaxScaler(), [0, 1])], transformer_weights={"a": 3.0})
    model = make_pipeline(columns, Ridge()).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="ColumnTransformer with transformer_weights"):
        export_c(model, tmp_path / "m.h", X=X)


class Doubled(StandardScaler):
    """A scaler of the user's, which does something else."""

    def transform(self, X, copy=None):
        return 2.0 * super().transform(X, copy=copy)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "int16"])
@pytest.mark.parametrize(
    "last",
    [Ridge(), LogisticRegression(C=1e-3), MaskedFourierFeatures(n_components=8, random_state=0)],
)
def test_numbers_are_compared_with_those_of_the_estimator_itself(last, dtype, tmp_path):
    y = X[:, 0] > 0 if isinstance(last, LogisticRegression) else X[:, 0]
    model = make_pipeline(Doubled(), last).fit(X, y)
    with pytest.raises(CExportError, match="not what the estimator itself gives"):
        export_c(model, tmp_path / "m.h", X=X, dtype=dtype)
    assert not list(tmp_path.iterdir())


@needs_compiler
@pytest.mark.parametrize(
    "first",
    [
        [StandardScaler()],
        [MinMaxScaler(clip=True)],
        [SimpleImputer(), RobustScaler()],
        [StandardScaler(), SimpleImputer(), MinMaxScaler(clip=True)],
        [ColumnTransformer([("a", StandardScaler(), [0, 1])], remainder=MaxAbsScaler())],
    ],
)
def test_a_scaler_of_inputs_far_from_zero_is_not_folded(first, tmp_path):
    far = FAR.copy()
    if any(isinstance(step, SimpleImputer) for step in first):
        far[::7, 0] = np.nan
    features = MaskedFourierFeatures(n_components=20, random_state=0)
    model = make_pipeline(*first, features, Ridge()).fit(far, X[:, 0] > 0)
    report = export_c(model, tmp_path / "m.h", X=far)
    assert report.largest_error < 1e-5
    assert cost(model).flash["float32"] == report.flash_bytes
    assert cost(model).ram["float32"] == report.ram_bytes
    report = export_c(model, tmp_path / "m.h", X=far, dtype="int16")
    assert report.relative_error < 0.01


@needs_compiler
@pytest.mark.parametrize("activation", ["cosine", "relu", "table"])
def test_a_predictor_of_inputs_far_from_zero_keeps_its_digits(activation, tmp_path):
    model = CERFClassifier(macs=60, activation=activation, effort=0.03, random_state=0)
    model.fit(FAR, X[:, 0] * X[:, 1] > 0)
    report = export_c(model, tmp_path / "m.h", X=FAR)
    assert report.label_agreement == 1.0
    assert report.near_ties < 5
    assert report.largest_error < (1e-2 if activation == "table" else 1e-4)
    found = run_example(tmp_path, as_text(FAR[:20])).stdout.split()
    assert found == [str(label) for label in model.predict(FAR[:20]).tolist()]


@needs_compiler
def test_a_large_bias_does_not_take_digits_from_what_is_added(tmp_path):
    model = CERFRegressor(macs=60, activation="cosine", effort=0.03, random_state=0)
    report = export_c(model.fit(X, np.sin(X[:, 0]) + 3e4), tmp_path / "m.h", X=X)
    assert report.largest_error < 4 * 2.0**-24 * 3e4


def test_a_map_of_inputs_far_from_zero_keeps_its_digits(tmp_path):
    features = RandomFourierFeatures(n_components=10, random_state=0).fit(FAR)
    assert export_c(features, tmp_path / "m.h", X=FAR).largest_error < 1e-5


def test_sums_that_do_not_fit_are_refused():
    features = MaskedFourierFeatures(n_components=20, random_state=0)
    model = make_pipeline(MinMaxScaler(clip=True), features, Ridge()).fit(FAR, X[:, 0] > 0)
    stages = staged(program_of(model), one_stage=True)
    whole = quantized(stages, "int16", np.array([[-1.0] * 4, [1.0] * 4]), QuantizeOptions())
    whole.check_bounds(room=1.0)
    beyond = replace(whole, intercept=np.full(1, MOST - 1000))
    with pytest.raises(ValueError, match="rows like those that the model was fitted on"):
        beyond.check_bounds(room=1.0)
    assert cost(model).flash.keys() == {"float32", "int16", "int8"}


@needs_compiler
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_codes_need_more_digits_than_other_inputs(dtype, tmp_path):
    codes = np.random.default_rng(0).choice([0.0, 1.0, 7.0, 30_000.0], size=(300, 1))
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(codes, codes[:, 0] % 2)
    assert export_c(model, tmp_path / "m.h", X=codes, dtype=dtype).label_agreement == 1.0
    wider = np.where(codes == 7.0, 1e6, codes)
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(wider, codes[:, 0] % 2)
    with pytest.raises(ValueError, match="Codes of input 0 do not fit"):
        export_c(model, tmp_path / "m.h", X=wider, dtype=dtype)


@needs_compiler
@pytest.mark.parametrize("size", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int16"])
def test_inputs_of_any_size_in_single_precision(dtype, size, tmp_path):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    features = MaskedFourierFeatures(n_components=20, random_state=0)
    model = make_pipeline(features, LogisticRegression()).fit(X * size, y)
    report = export_c(model, tmp_path / "m.h", X=X * size, dtype=dtype)
    assert report.label_agreement >= 0.98


@pytest.mark.parametrize("dtype", ["float32", "int8", "int16"])
def test_inputs_below_single_precision_are_refused(dtype, tmp_path):
    features = MaskedFourierFeatures(n_components=20, random_state=0)
    model = make_pipeline(features, LogisticRegression()).fit(X * 1e-44, X[:, 0] > 0)
    with pytest.raises(ValueError, match="scale the inputs of the model"):
        export_c(model, tmp_path / "m.h", X=X * 1e-44, dtype=dtype)


def test_of_a_search_the_best_estimator_is_written(tmp_path):
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, X[:, 0] > 0)
    export_c(search, tmp_path / "a.h", X=X, name="m")
    export_c(search.best_estimator_, tmp_path / "b.h", X=X, name="m")
    assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "int16", "int8"])
def test_errors_are_compared_with_what_varies(dtype, tmp_path):
    nearly_constant = X * np.array([1.0, 1.0, 1e-6, 1e-6])
    features = MaskedFourierFeatures(n_components=20, gamma=1.0, mask_density=0.25, random_state=0)
    report = export_c(
        features.fit(nearly_constant), tmp_path / "m.h", X=nearly_constant, dtype=dtype
    )
    assert report.relative_error < 0.01


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "int16", "int8"])
@pytest.mark.parametrize("value", [5.0, 0.0])
def test_a_constant_is_written(value, dtype, tmp_path):
    model = CERFRegressor(macs=40, effort=0.03, random_state=0).fit(X, np.full(len(X), value))
    report = export_c(model, tmp_path / "m.h", X=X, dtype=dtype)
    assert report.largest_error <= 1e-6
    assert report.relative_error < 1e-6
    assert cost(model).flash[dtype] == report.flash_bytes
    assert float(run_example(tmp_path, as_text(X[:1])).stdout) == pytest.approx(value)


@pytest.fixture(scope="module")
def with_a_huge_feature():
    """A model of relu features, one of which is huge in one row and 0 in all others."""
    rows = np.column_stack([X, np.zeros(200)])
    rows[5, 4] = 1.0
    labels = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    settings = {"macs": 100, "activation": "relu", "effort": 0.3, "random_state": 0}
    model = CERFClassifier(**settings).fit(rows, labels)
    feature_map = model.feature_map_
    widths, counts = np.diff(feature_map.mask_pointers), np.diff(feature_map.projection_pointers)
    mask = int(np.flatnonzero(counts == 1)[0])
    last = int((widths * counts)[: mask + 1].sum()) - 1
    values, inputs = feature_map.values.copy(), feature_map.mask_inputs.copy()
    values[last - widths[mask] + 1 : last + 1] = 0.0
    values[last], inputs[feature_map.mask_pointers[mask + 1] - 1] = 3e5, 4
    offsets = feature_map.offsets.copy()
    offsets[feature_map.projection_pointers[mask]] = -1.0
    model.feature_map_ = replace(feature_map, values=values, mask_inputs=inputs, offsets=offsets)
    return model, rows


@needs_compiler
def test_integers_that_do_not_stand_for_the_model_are_warned_of(with_a_huge_feature, tmp_path):
    # Weights of 8 bits cannot hold 300,000 beside others.
    model, rows = with_a_huge_feature
    with pytest.warns(UserWarning, match="has the labels of the model on .* pass dtype='int16'"):
        export_c(model, tmp_path / "m.h", X=rows, dtype="int8")
    assert (tmp_path / "m.h").exists()
