"""Containers in and out: arrays of any kind, data frames, sparse matrices, feature names."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cerflearn import (
    BlockedCERF,
    FastfoodFeatures,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
)

ESTIMATORS = [
    RandomFourierFeatures(n_components=9, random_state=0),
    FastfoodFeatures(n_components=9, random_state=0),
    MaskedFourierFeatures(n_components=9, random_state=0),
    MaskedCERF(n_components=9, random_state=0),
    BlockedCERF(n_components=9, random_state=0),
]
X = np.random.default_rng(0).normal(size=(40, 5))
NAMES = list("abcde")


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__, name="sampler")
def fixture_sampler(request):
    return clone(request.param)


def frames():
    return [pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES)]


def has_names(frame):
    """Whether this scikit-learn reads the names: 1.6 does not see those of polars 2."""
    return hasattr(StandardScaler().fit(frame), "feature_names_in_")


def memory_map(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def read_only():
    copied = X.copy()
    copied.setflags(write=False)
    return copied


@pytest.mark.parametrize(
    "rows",
    [
        X.tolist(),
        np.asfortranarray(X),
        read_only(),
        np.repeat(X, 2, axis=1)[:, ::2],
        X[::-1].copy()[::-1],
        X.astype(">f8"),
        X.astype(object),
        X.astype(np.longdouble),
    ],
    ids=["list", "fortran", "read-only", "strided", "reversed", "big-endian", "object", "long"],
)
def test_equal_values_have_equal_features(sampler, rows):
    wanted = sampler.fit(X).transform(X)
    np.testing.assert_array_equal(sampler.transform(rows), wanted)
    np.testing.assert_array_equal(clone(sampler).fit(rows).transform(X), wanted)


def test_memory_maps_are_read_in_place(sampler, tmp_path):
    rows = memory_map(tmp_path)
    wanted = sampler.fit(X).transform(X)
    np.testing.assert_array_equal(sampler.transform(rows), wanted)
    np.testing.assert_array_equal(clone(sampler).fit(rows).transform(rows), wanted)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint16, np.bool_])
def test_other_numbers_become_float64(sampler, dtype):
    rows = (np.abs(X * 3) // 2).astype(dtype)
    features = sampler.fit(rows).transform(rows)
    assert features.dtype == np.float64
    np.testing.assert_array_equal(features, sampler.transform(rows.astype(np.float64)))


def test_float32_is_kept_whatever_fit_saw(sampler):
    single = X.astype(np.float32)
    for fitted in (sampler.fit(X), clone(sampler).fit(single)):
        assert fitted.transform(single).dtype == np.float32
        assert fitted.transform(X).dtype == np.float64
        assert fitted.transform(sp.csr_array(single)).dtype == np.float32
        np.testing.assert_allclose(fitted.transform(single), fitted.transform(X), atol=1e-5)


@pytest.mark.parametrize(
    "container",
    [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix],
)
@pytest.mark.parametrize("density", [0.02, 0.6])
def test_sparse_rows_are_read_like_dense_ones(sampler, container, density):
    rows = np.where(np.random.default_rng(1).random(X.shape) < density, X, 0.0)
    sparse = container(rows)
    sampler.set_params(gamma=0.3).fit(rows)
    features = sampler.transform(sparse)
    assert isinstance(features, np.ndarray)
    np.testing.assert_allclose(features, sampler.transform(rows), atol=1e-12)
    fitted = clone(sampler).fit(sparse)
    np.testing.assert_array_equal(fitted.frequencies_, sampler.frequencies_)
    np.testing.assert_array_equal(sparse.toarray(), rows)


def test_sparse_input_is_not_changed(sampler):
    # Duplicate and unsorted entries, which SciPy likes to tidy up in place.
    sparse = sp.csr_array((np.ones(6), [3, 1, 1, 0, 0, 4], [0, 3, 6]), shape=(2, 5))
    data, indices = sparse.data.copy(), sparse.indices.copy()
    sampler.fit(sparse).transform(sparse)
    np.testing.assert_array_equal(sparse.data, data)
    np.testing.assert_array_equal(sparse.indices, indices)


@pytest.mark.parametrize("frame", frames(), ids=["pandas", "polars"])
def test_data_frames_come_in_with_their_names(sampler, frame):
    wanted = clone(sampler).fit(X).transform(X)
    np.testing.assert_array_equal(sampler.fit(frame).transform(frame), wanted)
    if has_names(frame):
        assert sampler.feature_names_in_.tolist() == NAMES
        with pytest.raises(ValueError, match=r"(?s)feature names should match.*order"):
            sampler.transform(frame[NAMES[::-1]])


@pytest.mark.parametrize("frame", frames(), ids=["pandas", "polars"])
def test_frames_and_arrays_are_not_mixed_in_silence(sampler, frame):
    if not has_names(frame):
        return
    sampler.fit(frame)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        sampler.transform(X)
    sampler.fit(X)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        sampler.transform(frame)


@pytest.mark.parametrize("frame", [X, *frames()], ids=["array", "pandas", "polars"])
@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_data_frames_go_out_with_names(sampler, frame, output, kind):
    wanted = clone(sampler).fit(frame).transform(frame)
    prefix = type(sampler).__name__.lower()
    names = [f"{prefix}{i}" for i in range(9)]
    for features in (
        clone(sampler).set_output(transform=output).fit(frame).transform(frame),
        clone(sampler).set_output(transform=output).fit_transform(frame),
    ):
        assert isinstance(features, kind)
        assert list(features.columns) == names
        np.testing.assert_array_equal(features.to_numpy(), wanted)
    with config_context(transform_output=output):
        assert isinstance(sampler.fit(frame).transform(frame), kind)
    assert isinstance(sampler.transform(frame), np.ndarray)
    assert sampler.get_feature_names_out().tolist() == names


def test_pandas_output_keeps_the_index(sampler):
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(40) + 100)
    features = sampler.set_output(transform="pandas").fit_transform(frame)
    assert features.index.equals(frame.index)


def test_pipelines_and_column_transformers_take_the_estimators(sampler):
    frame = frames()[0]
    columns = make_column_transformer((sampler, ["a", "c"]), ("passthrough", ["e"]))
    model = make_pipeline(columns, StandardScaler()).set_output(transform="pandas")
    features = model.fit_transform(frame)
    assert features.shape == (40, 10)
    assert features.columns[-1] == "passthrough__e"


def test_a_single_row_of_a_large_array_warns_of_nothing(sampler):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sampler.fit(X).transform(X[:1]).shape == (1, 9)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("estimator", [type(e) for e in ESTIMATORS])
def test_float32_frames_stay_float32(estimator, frame):
    values = np.random.default_rng(0).normal(size=(30, 6)).astype(np.float32)
    rows = frame(dict(zip("abcdef", values.T, strict=True)))
    sampler = estimator(random_state=0).fit(rows)
    assert np.asarray(sampler.transform(rows)).dtype == np.float32
    np.testing.assert_array_equal(
        np.asarray(sampler.transform(rows)), estimator(random_state=0).fit_transform(values)
    )
