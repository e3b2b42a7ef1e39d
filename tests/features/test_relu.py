"""Relu masked maps: values, sparse rows, bits, selection, copies, cost."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from cerflearn import _native
from cerflearn.features.dense import draw_dense_map
from cerflearn.features.masked import MaskedMap
from cerflearn.spectral import Gaussian
from map_samples import ATOL, N_FEATURES, draw_masked, rows

each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])


def draw_relu(per_mask, density=0.3):
    rng = np.random.default_rng(5)
    drawn = draw_masked(
        N_FEATURES, 75, Gaussian(0.4), rng, paired=False, per_mask=per_mask, density=density
    )
    # Offsets of several turns: a relu map may not drop them.
    offsets, amplitudes = rng.uniform(-20.0, 20.0, 75), rng.uniform(-1.0, 1.0, 75)
    return replace(drawn, offsets=offsets, amplitudes=amplitudes, relu=True)


@pytest.fixture(params=[1, 4, 75], ids=["independent", "shared", "one_mask"], name="relu_map")
def fixture_relu_map(request):
    return draw_relu(request.param)


def positive_parts(feature_map, X):
    phases = X.astype(np.longdouble) @ feature_map.frequencies + feature_map.offsets
    return np.maximum(phases, 0) * feature_map.amplitudes


@each_dtype
@pytest.mark.parametrize("n_samples", [0, 1, 5, 24, 100])
def test_transform_is_the_positive_part_of_the_phases(relu_map, dtype, n_samples):
    X = rows(n_samples, dtype)
    wanted = positive_parts(relu_map, X)
    for level in _native.levels():
        with _native.use_level(level):
            features = relu_map.transform(X)
        assert features.shape == (n_samples, 75)
        assert features.dtype == dtype
        np.testing.assert_allclose(features, wanted, atol=ATOL[dtype])


def test_all_inputs_in_one_mask_are_a_dense_relu_layer():
    feature_map = draw_relu(75, density=1.0)
    np.testing.assert_array_equal(feature_map.active, N_FEATURES)
    X = rows(50)
    np.testing.assert_allclose(
        feature_map.transform(X), positive_parts(feature_map, X), atol=ATOL["float64"]
    )


def test_inner_products_approximate_the_arc_cosine_kernel():
    n = 40_000
    weights = np.random.default_rng(0).standard_normal((3, n))
    feature_map = MaskedMap(
        n_inputs=3,
        mask_pointers=[0, 3],
        mask_inputs=[0, 1, 2],
        projection_pointers=[0, n],
        values=weights.ravel(),
        offsets=np.zeros(n),
        amplitudes=np.full(n, np.sqrt(2.0 / n)),
        n_outputs=n,
        paired=False,
        relu=True,
    )
    X = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    features = feature_map.transform(X)
    norms = np.linalg.norm(X, axis=1)
    angle = np.arccos(np.clip(X @ X.T / np.outer(norms, norms), -1.0, 1.0))
    # Order 1 (Cho and Saul, 2009): |x| |y| (sin t + (pi - t) cos t) / pi.
    shape = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    np.testing.assert_allclose(features @ features.T, np.outer(norms, norms) * shape, atol=0.1)


@each_dtype
@pytest.mark.parametrize("density", [0.0, 0.02, 0.5])  # through SciPy's product, and made dense
@pytest.mark.parametrize("n_samples", [1, 24, 200])
def test_sparse_rows_have_the_features_of_dense_rows(relu_map, density, dtype, n_samples):
    kept = np.random.default_rng(1).random((n_samples, N_FEATURES)) < density
    X = np.where(kept, rows(n_samples, dtype), 0).astype(dtype)
    features = relu_map.transform_sparse(sp.csr_array(X), n_threads=2)
    assert features.dtype == dtype
    np.testing.assert_allclose(features, positive_parts(relu_map, X), atol=ATOL[dtype])


@each_dtype
@pytest.mark.parametrize("n_samples", [1, 30, 300])
def test_scores_are_a_linear_head_on_the_features(relu_map, dtype, n_samples):
    X, rng = rows(n_samples, dtype), np.random.default_rng(3)
    coef, intercept = rng.normal(size=(3, 75)), rng.normal(size=3)
    scores = relu_map.scores(X, coef, intercept, n_threads=2)
    wanted = positive_parts(relu_map, X) @ coef.T + intercept
    np.testing.assert_allclose(scores, wanted, atol=100 * ATOL[dtype])


@each_dtype
def test_threads_and_splits_do_not_change_the_bits(relu_map, dtype):
    X = rows(1_000, dtype)
    whole = relu_map.transform(X)
    np.testing.assert_array_equal(relu_map.transform(X, n_threads=2), whole)
    parts = [relu_map.transform(part) for part in np.split(X, [25, 333, 700])]
    np.testing.assert_array_equal(np.vstack(parts), whole)


def test_selected_map_is_relu(relu_map):
    chosen = [0, 3, 4, 41, 70]
    selected = relu_map.select(chosen)
    assert selected.relu
    X = rows(30)
    wanted = relu_map.transform(X)[:, chosen]
    np.testing.assert_allclose(selected.transform(X), wanted, atol=1e-12)
    assert relu_map.with_amplitudes(np.ones(75)).relu


@pytest.mark.parametrize(
    "duplicate",
    [
        lambda m: MaskedMap.from_arrays(m.to_arrays()),
        lambda m: pickle.loads(pickle.dumps(m)),
    ],
    ids=["arrays", "pickle"],
)
def test_copies_are_relu_and_have_the_same_bits(relu_map, duplicate):
    again = duplicate(relu_map)
    assert again.relu is True
    np.testing.assert_array_equal(again.transform(rows(30)), relu_map.transform(rows(30)))


def test_arrays_and_states_from_before_give_cosines(relu_map):
    cosines = replace(relu_map, relu=False)
    wanted = cosines.transform(rows(30))
    arrays = cosines.to_arrays()
    assert arrays.pop("relu") == np.False_
    again = MaskedMap.from_arrays(arrays)
    state = cosines.__getstate__()
    del state["relu"]
    unpickled = MaskedMap.__new__(MaskedMap)
    unpickled.__setstate__(state)
    for old in (again, unpickled):
        assert old.relu is False
        np.testing.assert_array_equal(old.transform(rows(30)), wanted)


def test_cost_is_that_of_cosines_without_the_cosines(relu_map):
    cosines = replace(relu_map, relu=False).cost()
    assert cosines.trig == 75
    assert relu_map.cost() == replace(cosines, trig=0)


def test_pairs_are_refused(relu_map):
    with pytest.raises(ValueError, match="relu=True needs paired=False"):
        replace(relu_map, paired=True, n_outputs=150)


def test_only_masked_maps_can_be_relu():
    dense = draw_dense_map(N_FEATURES, 8, Gaussian(1.0), np.random.default_rng(0))
    assert dense.relu is False
    with pytest.raises(TypeError):
        replace(dense, relu=True)


def test_values_that_are_not_finite_are_refused(relu_map):
    for n_samples in (2, 50):
        X = rows(n_samples)
        X[-1, -1] = np.nan
        assert relu_map.transform_if_finite(X) is None
