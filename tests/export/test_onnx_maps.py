"""Feature maps in ONNX Runtime: the numbers of transform."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onnx_samples as samples

pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from cerflearn import MaskedFourierFeatures
from cerflearn.export.onnx.onnx_export import export_onnx
from cerflearn.export.onnx.onnx_nodes import form_of
from cerflearn.onnx import register_converters

KERNELS = ("rbf", "linear", "poly", "sigmoid", "laplacian", "cosine")


def one_turn(feature_map, X):
    """Rows scaled so that no product of them and a frequency exceeds a turn."""
    largest = (np.abs(X) @ np.abs(feature_map.frequencies)).max()
    return (X * 2.0 * np.pi / largest).astype(np.float32)


@pytest.mark.parametrize("name", samples.MAPS)
def test_float32_is_that_of_transform(name, tmp_path):
    X = samples.rows().astype(np.float32)
    model = clone(samples.MAPS[name]).fit(X)
    if hasattr(model, "feature_map_"):
        X = one_turn(model.feature_map_, X)
    export_onnx(model, tmp_path / "map.onnx", X=X)
    (found,) = samples.run(tmp_path / "map.onnx", X)
    assert found.dtype == np.float32
    assert np.abs(found - model.transform(X)).max() < 1e-5


@pytest.mark.parametrize("name", samples.MAPS)
def test_float64_is_that_of_transform(name, tmp_path):
    X = samples.rows()
    model = clone(samples.MAPS[name]).fit(X)
    export_onnx(model, tmp_path / "map.onnx", X=X, dtype="float64")
    (found,) = samples.run(tmp_path / "map.onnx", X)
    assert found.dtype == np.float64
    assert np.abs(found - model.transform(X)).max() < 1e-13


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turns", [1, 10, 1000])
def test_many_turns_stay_within_the_bound_of_the_core(dtype, turns, tmp_path):
    X = samples.rows().astype(dtype)
    model = MaskedFourierFeatures(gamma=turns**2.0, n_components=40, random_state=0).fit(X)
    export_onnx(model, tmp_path / "map.onnx", X=X, dtype=dtype)
    (found,) = samples.run(tmp_path / "map.onnx", X)
    feature_map = model.feature_map_
    exact = X.astype(np.longdouble) @ feature_map.frequencies + feature_map.offsets
    expected = np.stack([np.cos(exact), np.sin(exact)], 2).reshape(len(X), -1)
    unit, trig = {"float32": (2.0**-24, 3e-7), "float64": (2.0**-53, 2e-15)}[dtype]
    size = np.abs(X).astype(float) @ np.abs(feature_map.frequencies) + np.abs(feature_map.offsets)
    # The quarter of a turn that float64 adds counts as an offset.
    size = size + (0.5 * np.pi if dtype == "float64" else 0.0)
    bound = trig + unit * (feature_map.active + 2) * size
    amplitudes = np.repeat(feature_map.amplitudes, 2)
    assert (np.abs(found - amplitudes * expected) <= amplitudes * np.repeat(bound, 2, 1)).all()


@pytest.mark.parametrize("form", ["dense", "shared"])
@pytest.mark.parametrize("paired", [True, False])
def test_both_forms_give_the_features(form, paired, tmp_path):
    X = samples.rows().astype(np.float32)
    model = MaskedFourierFeatures(
        n_components=50, features_per_mask=10, paired=paired, random_state=0
    ).fit(X)
    export_onnx(model, tmp_path / "map.onnx", X=X, form=form)
    assert np.abs(samples.run(tmp_path / "map.onnx", X)[0] - model.transform(X)).max() < 1e-5
    import onnx

    kinds = [node.op_type for node in onnx.load(tmp_path / "map.onnx").graph.node]
    n_masks = model.feature_map_.n_masks
    assert kinds.count("MatMul") == (n_masks if form == "shared" else 1)
    assert kinds.count("Gather") == (n_masks if form == "shared" else 0)


@pytest.mark.parametrize(
    ("per_mask", "density", "expected"),
    [(16, 0.1, "dense"), (256, 0.1, "shared"), (256, 0.5, "dense"), (1, 0.05, "dense")],
)
def test_the_form_is_the_one_that_was_quicker(per_mask, density, expected):
    X = np.random.default_rng(0).normal(size=(10, 784))
    model = MaskedFourierFeatures(
        n_components=1024, mask_density=density, features_per_mask=per_mask, random_state=0
    ).fit(X)
    assert form_of(model.feature_map_, "auto") == expected
    assert form_of(model.feature_map_, "shared") == "shared"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nystroem_is_that_of_scikit_learn(kernel, dtype, tmp_path):
    X = samples.rows().astype(dtype)
    X[0] = 0.0  # the direction of which the cosine kernel does not know
    model = Nystroem(kernel=kernel, n_components=20, random_state=0).fit(samples.rows())
    report = export_onnx(model, tmp_path / "map.onnx", X=X, dtype=dtype)
    (found,) = samples.run(tmp_path / "map.onnx", X)
    expected = model.transform(X)
    assert found.dtype == dtype
    assert report.agreement.largest_ratio <= 1.0
    assert np.abs(found - expected).max() < (1e-5 if dtype == "float32" else 1e-8)


def test_nystroem_with_parameters_is_that_of_scikit_learn(tmp_path):
    X = samples.rows()
    model = Nystroem(kernel="poly", gamma=0.2, degree=2, coef0=0.5, n_components=20, random_state=0)
    export_onnx(model.fit(X), tmp_path / "map.onnx", X=X, dtype="float64")
    assert np.allclose(samples.run(tmp_path / "map.onnx", X)[0], model.transform(X), atol=1e-8)


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2", lambda a, b: float(a @ b)])
def test_nystroem_of_other_kernels_is_refused(kernel, tmp_path):
    X = np.abs(samples.rows(40))
    model = Nystroem(kernel=kernel, n_components=5, random_state=0).fit(X)
    with pytest.raises(ValueError, match="cannot be exported: kernel must be one of rbf"):
        export_onnx(model, tmp_path / "map.onnx", X=X)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["masked", "rbf_sampler"])
def test_integers_become_floats(name):
    from skl2onnx import to_onnx

    register_converters()
    X = np.random.default_rng(0).integers(-3, 4, size=(50, 5))
    model = make_pipeline(clone(samples.MAPS[name])).fit(X)
    (found,) = samples.run(to_onnx(model, X[:1], target_opset=17), X)
    assert np.abs(found - model.transform(X)).max() < 1e-5


def test_several_inputs_are_joined(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X = pd.DataFrame(samples.rows()[:, :3], columns=["a b", "*/", "é"])
    model = make_pipeline(MaskedFourierFeatures(random_state=0)).fit(X)
    report = export_onnx(model, tmp_path / "map.onnx", X=X, by_column=True)
    assert report.inputs == ("a b", "*/", "é")
    feeds = {name: X[[name]].to_numpy(np.float32) for name in X}
    found = samples.run(tmp_path / "map.onnx", feeds)[0]
    assert np.abs(found - model.transform(X)).max() < 1e-5


def test_scaler_before_a_map_far_from_zero(tmp_path):
    X = 1000.0 + samples.rows()
    model = make_pipeline(StandardScaler(), MaskedFourierFeatures(random_state=0)).fit(X)
    report = export_onnx(model, tmp_path / "map.onnx", X=X)
    assert 1e-7 < report.agreement.largest_difference < 1e-3
    assert report.agreement.largest_ratio < 1.0
