"""Running feature maps: values, layouts of memory, sparse rows, threads and bits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cerflearn.spectral import Gaussian
from map_samples import ATOL, DRAWS, N_FEATURES, expected_features, rows


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_samples", [0, 1, 5, 24, 100])
def test_transform_is_the_cosine_of_the_phases(feature_map, dtype, n_samples):
    X = rows(n_samples, dtype)
    features = feature_map.transform(X)
    assert features.shape == (n_samples, 150)
    assert features.dtype == dtype
    np.testing.assert_allclose(features, expected_features(feature_map, X), atol=ATOL[dtype])


@pytest.mark.parametrize("n_outputs", [1, 2, 7, 129])
def test_any_number_of_outputs_is_legal_and_an_odd_one_drops_the_last_sine(kind, n_outputs):
    feature_map = DRAWS[kind](N_FEATURES, n_outputs, Gaussian(0.4), np.random.default_rng(0))
    assert feature_map.n_projections == (n_outputs + 1) // 2
    features = feature_map.transform(rows(30))
    assert features.shape == (30, n_outputs)
    np.testing.assert_allclose(features, expected_features(feature_map, rows(30)), atol=1e-12)


def misaligned(X):
    raw = np.empty(X.nbytes + 1, dtype=np.uint8)[1:]
    view = raw.view(X.dtype).reshape(X.shape)
    view[:] = X
    return view


def record_field(X):
    records = np.zeros(len(X), dtype=[("flag", "i1"), ("values", X.dtype, X.shape[1:])])
    records["values"] = X
    return records["values"]


def read_only(X):
    copied = X.copy()
    copied.setflags(write=False)
    return copied


LAYOUTS = {
    "fortran": np.asfortranarray,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "every_second": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "misaligned": misaligned,
    "record_field": record_field,
    "read_only": read_only,
}


@pytest.mark.parametrize("layout", [*LAYOUTS])
@pytest.mark.parametrize("n_samples", [3, 70])
def test_memory_layout_does_not_change_the_bits(feature_map, layout, n_samples):
    X = rows(n_samples, "float32")
    other = LAYOUTS[layout](X)
    np.testing.assert_array_equal(other, X)
    np.testing.assert_array_equal(feature_map.transform(other), feature_map.transform(X))


def test_rows_without_stride_are_read_as_they_are(feature_map):
    X = np.broadcast_to(rows(1), (30, N_FEATURES))
    np.testing.assert_array_equal(feature_map.transform(X), feature_map.transform(X.copy()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_and_splits_do_not_change_the_bits(feature_map, dtype):
    X = rows(1_000, dtype)
    whole = feature_map.transform(X)
    np.testing.assert_array_equal(feature_map.transform(X, n_threads=2), whole)
    least = feature_map.model(X.dtype).one_row_below
    assert least <= 24
    for cuts in ([least], [25, 700], [64, 128, 1_000 - max(1, least)], [333, 357]):
        parts = [feature_map.transform(part) for part in np.split(X, cuts)]
        np.testing.assert_array_equal(np.vstack(parts), whole)


def test_single_rows_agree_with_the_batch(feature_map):
    X = rows(30)
    single = np.vstack([feature_map.transform(X[i : i + 1]) for i in range(30)])
    np.testing.assert_allclose(single, feature_map.transform(X), atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n_samples", [2, 50])
def test_values_that_are_not_finite_are_refused(feature_map, bad, n_samples):
    X = rows(n_samples)
    X[-1, -1] = bad
    assert feature_map.transform_if_finite(X) is None
    with pytest.raises(ValueError, match="NaN or infinity; impute or drop"):
        feature_map.transform(X)
    with pytest.raises(ValueError, match="NaN or infinity"):
        feature_map.scores(X, np.ones((1, 150)), np.zeros(1))
    for density in (0.01, 1.0):
        stored = np.random.default_rng(0).random(X.shape) < density
        stored[-1, -1] = True
        with pytest.raises(ValueError, match="NaN or infinity"):
            feature_map.transform_sparse(sp.csr_array(np.where(stored, X, 0.0)))


def test_other_dtypes_and_widths_are_refused(feature_map):
    with pytest.raises(ValueError, match="int64 must be converted"):
        feature_map.transform(np.ones((3, N_FEATURES), dtype=np.int64))
    with pytest.raises(ValueError, match=">f8 must be converted"):
        feature_map.transform(rows(3).astype(">f8"))
    with pytest.raises(ValueError, match="width"):
        feature_map.transform(np.ones((3, N_FEATURES + 1)))
    with pytest.raises(ValueError, match="X has 41 features, the map 40"):
        feature_map.transform_sparse(sp.csr_array((3, N_FEATURES + 1)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_samples", [1, 30, 300])
def test_scores_are_a_linear_head_on_the_features(feature_map, dtype, n_samples):
    X, rng = rows(n_samples, dtype), np.random.default_rng(3)
    coef, intercept = rng.normal(size=(3, 150)), rng.normal(size=3)
    scores = feature_map.scores(X, coef, intercept, n_threads=2)
    assert scores.dtype == dtype
    wanted = expected_features(feature_map, X) @ coef.T + intercept
    np.testing.assert_allclose(scores, wanted, atol=100 * ATOL[dtype])


def thinned(X, density):
    kept = np.random.default_rng(1).random(X.shape) < density
    return np.where(kept, X, X.dtype.type(0))


@pytest.mark.parametrize("density", [0.0, 0.02, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_samples", [1, 11, 24, 200])
def test_sparse_rows_have_the_features_of_dense_rows(feature_map, density, dtype, n_samples):
    X = thinned(rows(n_samples, dtype), density)
    features = feature_map.transform_sparse(sp.csr_matrix(X), n_threads=2)
    assert features.dtype == dtype
    np.testing.assert_allclose(features, feature_map.transform(X), atol=ATOL[dtype])


def test_sparse_input_is_read_in_blocks_that_do_not_change_the_bits(feature_map, monkeypatch):
    for density in (0.02, 0.5):
        X = sp.csr_array(thinned(rows(150), density))
        whole = feature_map.transform_sparse(X)
        with monkeypatch.context() as patch:
            patch.setattr("cerflearn.features.sparse.DENSE_AT_ONCE", 7 * N_FEATURES)
            np.testing.assert_array_equal(feature_map.transform_sparse(X), whole)
            np.testing.assert_array_equal(feature_map.transform_sparse(X, n_threads=2), whole)


@pytest.mark.parametrize("density", [0.02, 0.5])
def test_sparse_formats_and_duplicate_entries_are_read_right(feature_map, density):
    X = sp.coo_array(thinned(rows(30), density))
    doubled = sp.coo_array(
        (np.tile(X.data / 2.0, 2), (np.tile(X.row, 2), np.tile(X.col, 2))), X.shape
    )
    wanted = feature_map.transform(X.toarray())
    for other in (doubled, X.tocsc(), sp.csc_matrix(X)):
        np.testing.assert_allclose(feature_map.transform_sparse(other), wanted, atol=1e-12)
