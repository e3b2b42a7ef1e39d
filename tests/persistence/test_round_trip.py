"""What was saved is what is loaded: bits, parameters, bytes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import Ridge

from cerflearn import CERFClassifier, MaskedCERF, MaskedFourierFeatures, load, save
from persistence.stored_models import MODELS, classes, rows

METHODS = ("predict", "predict_proba", "decision_function", "transform")


def outputs(model, X):
    """All that a model says of rows."""
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            result = getattr(model, method)(X)
            found[method] = result.toarray() if issparse(result) else np.asarray(result)
    return found


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        other = second[name]
        assert (value.dtype, value.shape) == (other.dtype, other.shape)
        same = value.tolist() == other.tolist() if value.dtype == object else False
        assert same or value.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_outputs_have_the_same_bits(name, tmp_path):
    model, X = MODELS[name]()
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert type(loaded) is type(model)
    assert_same(outputs(loaded, X), outputs(model, X))
    if isinstance(X, np.ndarray) and X.dtype != object:
        single = X.astype(np.float32)
        assert_same(outputs(loaded, single), outputs(model, single))
    assert_same(outputs(load(tmp_path / "m.cerf", mmap=True), X), outputs(model, X))


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_gives_the_same_bytes(name, tmp_path):
    model, _ = MODELS[name]()
    save(model, tmp_path / "1.cerf")
    save(model, tmp_path / "2.cerf")
    save(load(tmp_path / "1.cerf"), tmp_path / "3.cerf")
    first = (tmp_path / "1.cerf").read_bytes()
    assert (tmp_path / "2.cerf").read_bytes() == first
    assert (tmp_path / "3.cerf").read_bytes() == first


SCRIPT = """
import sys
import numpy as np
from cerflearn import load, save
model = load(sys.argv[1])
X = np.load(sys.argv[2])
np.save(sys.argv[3], model.predict_proba(X))
save(model, sys.argv[4])
"""


def test_another_process_gets_the_same_bits_and_writes_the_same_bytes(tmp_path):
    model, X = MODELS["cosine"]()
    save(model, tmp_path / "m.cerf")
    np.save(tmp_path / "X.npy", X)
    paths = [str(tmp_path / name) for name in ("m.cerf", "X.npy", "out.npy", "again.cerf")]
    subprocess.run([sys.executable, "-c", SCRIPT, *paths], check=True)
    assert np.load(tmp_path / "out.npy").tobytes() == model.predict_proba(X).tobytes()
    assert (tmp_path / "again.cerf").read_bytes() == (tmp_path / "m.cerf").read_bytes()


def test_parameters_and_attributes_come_back(tmp_path):
    parameters = {"macs": 60, "effort": 0.05, "random_state": 3, "class_weight": {0: 1.0, 2: 2.5}}
    model = CERFClassifier(**parameters).fit(rows(), 2 * classes(2))
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert loaded.get_params() == model.get_params()
    assert loaded.settings_ == model.settings_
    assert loaded.report() == model.report()
    assert loaded.n_macs_ == model.n_macs_
    refitted = clone(loaded).fit(rows(), 2 * classes(2))
    assert_same(outputs(refitted, rows()), outputs(model, rows()))


def test_names_of_inputs_and_the_container_of_outputs_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows(), columns=["a", "b", "ä", "d", "*/", "f"])
    model = MaskedFourierFeatures(n_components=5).set_output(transform="pandas").fit(frame)
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    pandas.testing.assert_frame_equal(loaded.transform(frame), model.transform(frame))
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (MaskedCERF(n_components=6, teacher=RandomForestRegressor(5)), rows()[:, 0]),
        (
            CERFClassifier(macs=40, effort=0.05, teacher=RandomForestClassifier(5)),
            classes(2),
        ),
    ],
)
def test_a_teacher_is_named_and_fit_raises_until_there_is_another(model, y, tmp_path):
    model.fit(rows(), y)
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert_same(outputs(loaded, rows()), outputs(model, rows()))
    with pytest.raises(ValueError, match="teacher=<not stored in the model file: R"):
        loaded.fit(rows(), y)
    loaded.set_params(teacher="labels").fit(rows(), y)


def test_a_teacher_that_can_be_stored_comes_back(tmp_path):
    model = MaskedCERF(n_components=6, teacher=Ridge(alpha=2.0), random_state=0)
    save(model.fit(rows(), rows()[:, 0]), tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert loaded.teacher.alpha == 2.0
    assert not hasattr(loaded.teacher, "coef_")
    assert_same(outputs(loaded.fit(rows(), rows()[:, 0]), rows()), outputs(model, rows()))


def test_partial_fit_does_not_silently_begin_anew(tmp_path):
    model, X = MODELS["streamed"]()
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    with pytest.raises(ValueError, match="do not hold its statistics"):
        loaded.partial_fit(X)
    assert_same(outputs(loaded, X), outputs(model, X))
    loaded.fit(X).partial_fit(X)


def test_moments_of_kernel_pca_come_back_for_partial_fit(tmp_path):
    model, X = MODELS["pca"]()
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert_same(outputs(loaded.partial_fit(X), X), outputs(model.partial_fit(X), X))


def test_a_random_generator_is_named(tmp_path):
    model, _ = MODELS["masked"]()
    save(model, tmp_path / "m.cerf")
    loaded = load(tmp_path / "m.cerf")
    assert repr(loaded.random_state) == "<not stored in the model file: Generator(PCG64)>"
    with pytest.raises(ValueError, match="random_state=<not stored"):
        loaded.fit(rows())
