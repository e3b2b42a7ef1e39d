"""Dask arrays and data frames in ``fit`` and ``transform``; a worker killed in the middle."""

from __future__ import annotations

from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask import delayed
from sklearn.exceptions import NotFittedError

from cerflearn import (
    CERFClassifier,
    CERFRegressor,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from cerflearn._native import levels, use_level
from cerflearn.blocks import from_blocks
from cerflearn.features.level import SameLevel, at_level, level_in_use
from dask_samples import LABELS, ROWS, bits, deadly_rows, learner, local_cluster, n_calls

ESTIMATORS = {
    "rff": RandomFourierFeatures(n_components=6, kernel="laplacian", random_state=0),
    "masked": MaskedFourierFeatures(n_components=6, gamma="median", random_state=0),
    "labels": MaskedCERF(n_components=6, teacher="labels", random_state=0),
    "nystroem": MaskedCERF(n_components=6, teacher="nystroem", weights="nnls", random_state=0),
    "cvem": learner(),
    "pca": RandomizedKernelPCA(n_components=2, random_state=0),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")


def unequal(values, *, unknown):
    """Partitions of different sizes, one of them empty."""
    cuts = [0, 700, 700, 2003, 2004, len(values)]
    parts = [
        da.from_delayed(
            delayed(values[start:stop]),
            shape=(np.nan if unknown else stop - start, *values.shape[1:]),
            dtype=values.dtype,
        )
        for start, stop in pairwise(cuts)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_have_the_bits_of_the_fit_in_memory(name):
    estimator = ESTIMATORS[name]
    expected = bits(estimator.fit(ROWS, LABELS))
    frame = pd.DataFrame(ROWS, columns=list("abcdef"))
    for X, y in (
        (da.from_array(ROWS, chunks=(1000, 4)), da.from_array(LABELS, chunks=777)),
        (unequal(ROWS, unknown=False), LABELS),
        (unequal(ROWS, unknown=True), unequal(LABELS, unknown=True)),
        (dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(LABELS), npartitions=3)),
    ):
        assert bits(estimator.fit(X, y)) == expected
    assert estimator.feature_names_in_.tolist() == list("abcdef")


@pytest.mark.parametrize("name", ["labels", "pca"])
def test_fits_of_single_precision_and_of_sparse_blocks(name):
    estimator, single = ESTIMATORS[name], ROWS.astype(np.float32)
    expected = bits(estimator.fit(single, LABELS))
    assert bits(estimator.fit(da.from_array(single, chunks=1111), LABELS)) == expected
    sparse = np.where(np.abs(ROWS) > 1.0, ROWS, 0.0)
    expected = bits(estimator.fit(sp.csr_matrix(sparse), LABELS))
    blocks = da.from_array(sparse, chunks=(1700, 6)).map_blocks(sp.csr_matrix)
    assert bits(estimator.fit(blocks, LABELS)) == expected


def test_cca_of_two_collections():
    views = ROWS[:, :3], ROWS[:, 3:]
    expected = RandomizedKernelCCA(random_state=0).fit(*views)
    found = RandomizedKernelCCA(random_state=0).fit(*(da.from_array(v, chunks=999) for v in views))
    np.testing.assert_array_equal(found.x_components_, expected.x_components_)
    np.testing.assert_array_equal(found.y_components_, expected.y_components_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("name", ["rff", "pca"])
def test_outputs_are_lazy_and_have_the_same_bits(tmp_path, name, dtype):
    estimator, rows = ESTIMATORS[name].fit(ROWS), (10 * ROWS).astype(dtype)
    expected = estimator.transform(rows)
    lazy = estimator.transform(unequal(rows, unknown=False))
    assert lazy.chunks == ((700, 1303, 1, 3996), (expected.shape[1],))
    assert lazy.dtype == expected.dtype
    assert lazy._meta.dtype == expected.dtype
    np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(estimator.transform(unequal(rows, unknown=True)), expected)
    written = estimator.transform_to(unequal(rows, unknown=False), tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(written), expected)


def test_outputs_of_data_frames_and_their_columns():
    frame = pd.DataFrame(ROWS, columns=list("abcdef"))
    sampler = ESTIMATORS["rff"].fit(frame)
    lazy = sampler.transform(dd.from_pandas(frame, npartitions=4))
    np.testing.assert_array_equal(lazy.compute(), sampler.transform(frame))
    with pytest.raises(ValueError, match="Column 0 of X is 'f', and was 'a' in fit"):
        sampler.transform(dd.from_pandas(frame[list("fbcdea")], npartitions=4))


@pytest.mark.parametrize("activation", ["cosine", "table"])
def test_predictions_of_collections_and_sources(activation):
    rows, names = ROWS[:400], list("abcdef")
    frame = pd.DataFrame(ROWS, columns=names)
    settings = {"activation": activation, "effort": 0.1, "random_state": 0}
    labels = np.array(["no", "yes"])[LABELS]
    classifier = CERFClassifier(macs=20, **settings).fit(frame[:400], labels[:400])
    regressor = CERFRegressor(macs=20, **settings).fit(rows, ROWS[:400, 0] * ROWS[:400, 1])
    for model, given in ((classifier, frame), (regressor, ROWS)):
        for name in ("predict", "predict_proba", "decision_function"):
            if hasattr(model, name):
                run = getattr(model, name)
                expected, lazy = run(given), run(unequal(ROWS, unknown=False))
                assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_array_equal(lazy.compute(), expected)
                blocks = run(from_blocks([ROWS[:3], ROWS[3:5000], ROWS[5000:]]))
                np.testing.assert_array_equal(np.concatenate(list(blocks)), expected)
    frames = dd.from_pandas(frame, npartitions=3)
    assert classifier.predict(frames).compute().tolist() == classifier.predict(frame).tolist()
    with pytest.raises(NotFittedError):
        CERFRegressor().predict(frames)


def test_a_bad_partition_is_named():
    bad = ROWS.copy()
    bad[3456, 2] = np.nan
    sampler = MaskedCERF(random_state=0).fit(ROWS)
    with pytest.raises(ValueError, match="partition 3 of X contains NaN in row 456"):
        sampler.fit(da.from_array(bad, chunks=1000))
    assert not hasattr(sampler, "feature_map_")
    frame = pd.DataFrame({"a": [1.0, 2.0], "text": ["x", "y"]})
    with pytest.raises(ValueError, match="The column 'text' of partition 0 of X has the type"):
        sampler.fit(dd.from_pandas(frame, npartitions=1))
    with pytest.raises(ValueError, match="has no rows"):
        sampler.fit(da.zeros((0, 3)))


@pytest.mark.skipif(len(levels()) < 2, reason="this CPU has one instruction level")
def test_work_for_others_is_done_at_their_level():
    with use_level(levels()[0]):
        work = SameLevel(level_in_use)
    assert level_in_use() == levels()[-1]
    assert work() == levels()[0]
    assert level_in_use() == levels()[-1]
    with pytest.raises(ValueError, match="cannot run on this CPU"), at_level("v99"):
        pass


@pytest.mark.skipif(len(levels()) < 2, reason="this CPU has one instruction level")
def test_workers_use_the_level_of_the_client_and_one_that_dies_changes_no_bit(tmp_path):
    with use_level(levels()[0]):
        other = bits(learner().fit(ROWS))
    expected = bits(learner().fit(ROWS))
    assert other != expected
    with local_cluster():
        assert bits(learner().fit(da.from_array(ROWS, chunks=1500))) == expected
        with use_level(levels()[0]):
            assert bits(learner().fit(da.from_array(ROWS, chunks=1500))) == other
        assert bits(learner().fit(deadly_rows(tmp_path, {18}))) == expected
    assert n_calls(tmp_path) > 25
