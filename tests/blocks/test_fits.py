"""Fits from sources of blocks have the bits of fits in memory; outputs of sources, too."""

from __future__ import annotations

import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler

from cerflearn import (
    CVEM,
    BlockedCERF,
    CERFClassifier,
    CERFRegressor,
    FastfoodFeatures,
    KernelImputer,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from cerflearn.blocks import from_blocks, from_npy, from_parquet, from_svmlight

N_ROWS = 3000
RNG = np.random.default_rng(0)
X = np.where(RNG.random((N_ROWS, 6)) < 0.4, RNG.normal(size=(N_ROWS, 6)), 0.0)
X[:, 4] = 2.0  # constant
Y = (X[:, 0] + X[:, 1] > 0).astype(int)

ESTIMATORS = {
    "rff": RandomFourierFeatures(n_components=10),
    "rff laplacian": RandomFourierFeatures(n_components=10, kernel="laplacian"),
    "rff median": RandomFourierFeatures(n_components=10, gamma="median"),
    "masked": MaskedFourierFeatures(n_components=10),
    "fastfood": FastfoodFeatures(n_components=10),
    "greedy": MaskedCERF(n_components=8, n_jobs=2),
    "shared": MaskedCERF(n_components=8, selector="shared", teacher="nystroem"),
    "cvem": MaskedCERF(n_components=8, selector=CVEM(cache_bytes=0, max_stages=3)),
    "labels": MaskedCERF(n_components=8, teacher="labels", n_jobs=2),
    "weights": MaskedCERF(n_components=8, weights="nnls", gamma="median"),
    "random": MaskedCERF(n_components=8, selector="random"),
    "blocked": BlockedCERF(n_components=8, mask_density=0.5),
    "pca": RandomizedKernelPCA(n_components=3, n_jobs=2),
}
NAMES = ("frequencies_", "offsets_", "selected_", "feature_proba_", "rotation_", "gamma_",
         "components_", "mean_", "inverse_weights_", "explained_variance_")  # fmt: skip


def fitted(name, data, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVEM has not converged in three stages
        estimator = ESTIMATORS[name].set_params(random_state=0)
        return arrays(type(estimator)(**estimator.get_params(deep=False)).fit(data, y))


def arrays(estimator):
    found = {name: getattr(estimator, name) for name in NAMES if hasattr(estimator, name)}
    return {name: np.asarray(value).tobytes() for name, value in found.items()}


def in_pieces(values, *sizes):
    """Pieces of given sizes, over and over, with one that is empty."""

    def blocks():
        start, turn = 0, 0
        yield values[:0], Y[:0]
        while start < len(values):
            stop = start + sizes[turn % len(sizes)]
            yield values[start:stop], Y[start:stop]
            start, turn = stop, turn + 1

    return from_blocks(blocks)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_have_the_bits_of_the_fit_in_memory(tmp_path, name):
    expected = fitted(name, X, Y)
    assert len(expected) >= 2
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "order.npy", np.asfortranarray(X))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.assign(y=Y).to_parquet(tmp_path / "x.parquet", row_group_size=700)
    assert fitted(name, in_pieces(X, 1500, 3, 999)) == expected
    assert fitted(name, from_npy(tmp_path / "order.npy", target=Y)) == expected
    assert fitted(name, str(tmp_path / "x.npy"), Y) == expected
    assert fitted(name, np.load(tmp_path / "x.npy", mmap_mode="r"), Y) == expected
    assert fitted(name, from_parquet(tmp_path / "x.parquet", target="y")) == expected
    assert fitted(name, frame, Y) == expected


@pytest.mark.parametrize("name", ["rff", "labels", "cvem", "pca"])
def test_fits_in_single_precision_and_of_sparse_rows(tmp_path, name):
    single = X.astype(np.float32)
    assert fitted(name, in_pieces(single, 640)) == fitted(name, single, Y)
    path = str(tmp_path / "x.txt")
    dump_svmlight_file(X, Y, path)
    whole, _ = load_svmlight_file(path)  # text has fewer digits than X
    assert fitted(name, from_svmlight(path)) == fitted(name, whole, Y)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_gamma_of_sparse_rows_has_the_bits_of_dense_ones(kernel):
    gammas = [
        RandomFourierFeatures(kernel=kernel).fit(rows).gamma_
        for rows in (X, sp.csr_matrix(X), np.asfortranarray(X))
    ]
    assert gammas[0] == gammas[1] == gammas[2]


def test_cca_of_two_sources_and_of_a_source_with_targets():
    views = X[:, :4], np.ascontiguousarray(X[:, 3:])
    model = RandomizedKernelCCA(random_state=0).fit(*views)

    def pairs():
        for start in range(0, N_ROWS, 800):
            yield views[0][start : start + 800], views[1][start : start + 800]

    first, second = (from_blocks(np.split(view, [17, 1200])) for view in views)
    for other in (
        RandomizedKernelCCA(random_state=0).fit(first, second),
        RandomizedKernelCCA(random_state=0).fit(from_blocks(pairs)),
    ):
        np.testing.assert_array_equal(other.x_components_, model.x_components_)
        np.testing.assert_array_equal(other.correlations_, model.correlations_)
    codes = np.concatenate(list(model.transform(first)))
    np.testing.assert_array_equal(codes, model.transform(views[0]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RandomizedKernelCCA().fit(first, from_blocks([views[1][:100]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 3, 4096, 8195, 20001])
def test_outputs_of_sources_come_in_blocks_with_the_same_bits(tmp_path, n_rows, dtype):
    rows = np.resize(X, (n_rows, 6)).astype(dtype)
    for estimator in (RandomFourierFeatures(n_components=6), RandomizedKernelPCA(n_components=2)):
        estimator.set_params(random_state=0).fit(X)
        expected = estimator.transform(rows)
        blocks = list(estimator.transform(in_pieces_of(rows, 1001)))
        assert len(blocks) >= n_rows // 8192
        np.testing.assert_array_equal(np.concatenate(blocks), expected)
        assert blocks[0].dtype == dtype
        written = estimator.transform_to(in_pieces_of(rows, 5000), tmp_path / "out.npy")
        np.testing.assert_array_equal(np.load(written), expected)
        estimator.transform_to(rows, tmp_path / "out.npy")
        np.testing.assert_array_equal(np.load(written), expected)


def test_outputs_of_rows_not_in_memory_are_blocks_whatever_the_container_of_others(tmp_path):
    sampler = RandomFourierFeatures(n_components=6, random_state=0).fit(X)
    expected = sampler.transform(X)
    sampler.set_output(transform="pandas")
    assert isinstance(sampler.transform(X), pd.DataFrame)
    np.testing.assert_array_equal(
        np.concatenate(list(sampler.transform(in_pieces_of(X, 700)))), expected
    )
    lazy = sampler.transform(da.from_array(X, chunks=700))
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), expected)
    written = sampler.transform_to(in_pieces_of(X, 700), tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(written), expected)


def in_pieces_of(rows, size):
    return from_blocks([rows[i : i + size] for i in range(0, len(rows), size)])


def test_columns_must_be_those_that_fit_saw(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.to_parquet(tmp_path / "x.parquet")
    sampler = RandomFourierFeatures(random_state=0).fit(frame)
    swapped = from_parquet(tmp_path / "x.parquet", columns=list("abdcef"))
    with pytest.raises(ValueError, match=r"Column 2 of .*x\.parquet is 'd', and was 'c' in fit"):
        list(sampler.transform(swapped))
    with pytest.raises(ValueError, match="has 3 columns, but RandomFourierFeatures is expecting 6"):
        list(sampler.transform(in_pieces(X[:, :3], 100)))


def test_what_needs_all_rows_in_memory_says_so():
    source = in_pieces(X, 1000)
    for estimator, message in (
        (MaskedCERF(teacher=KMeans(3)), r"Fitting teacher=KMeans\(.* needs all rows in memory"),
        (MaskedCERF(selector="trained"), "Training a map needs all rows in memory"),
        (RandomizedKernelPCA(macs=50), "macs=50 needs all rows in memory"),
        (RandomizedKernelPCA(feature_map=RBFSampler()), r"Fitting feature_map=RBFSampler\(\) nee"),
    ):
        with pytest.raises(ValueError, match=message):
            estimator.fit(source)
    with pytest.raises(TypeError, match="KernelImputer needs X in memory here"):
        KernelImputer().fit(source)
    with pytest.raises(ValueError, match="has a target and y is passed too"):
        MaskedCERF().fit(source, Y)
    frozen = MaskedCERF(n_components=4, teacher=FrozenEstimator(PCA(3).fit(X)), random_state=0)
    expected = frozen.fit(X).selected_
    np.testing.assert_array_equal(frozen.fit(source).selected_, expected)


@pytest.mark.parametrize("predictor", [CERFClassifier, CERFRegressor])
def test_predictors_read_sources_into_memory(tmp_path, predictor):
    rows, targets = X[:300], Y[:300] if predictor is CERFClassifier else X[:300, 0] ** 2
    model = predictor(macs=20, effort=0.1, random_state=0)
    expected = model.fit(rows, targets).predict(X)
    frame = pd.DataFrame(rows, columns=list("abcdef")).assign(y=targets)
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=70)
    model.fit(from_parquet(tmp_path / "x.parquet", target="y"))
    assert model.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X, columns=list("abcdef"))), expected)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(from_parquet(tmp_path / "x.parquet"))


def test_mini_batches_come_from_sources_and_partitions():
    def learner():
        return MaskedCERF(n_components=4, selector="cvem", teacher="labels", random_state=0)

    expected = learner()
    for start in range(0, N_ROWS, 1000):
        expected.partial_fit(X[start : start + 1000], Y[start : start + 1000])
    for rows, targets in (
        (in_pieces(X, 1000), None),
        (da.from_array(X, chunks=1000), da.from_array(Y, chunks=1000)),
        (
            dd.from_pandas(pd.DataFrame(X), chunksize=1000),
            dd.from_pandas(pd.Series(Y), chunksize=1000),
        ),
    ):
        assert arrays(learner().partial_fit(rows, targets)) == arrays(expected)
    with pytest.raises(ValueError, match="targets must come from the source"):
        learner().partial_fit(in_pieces(X, 1000), Y)
    bad = learner().partial_fit(X[:1000], Y[:1000])
    before = arrays(bad)
    with pytest.raises(ValueError, match="NaN"):
        bad.partial_fit(from_blocks([(X[:500], Y[:500]), (np.full((2, 6), np.nan), Y[:2])]))
    assert arrays(bad) == before


def test_a_fit_that_fails_leaves_an_estimator_that_is_not_fitted():
    sampler = MaskedCERF(n_components=4, random_state=0).fit(X)
    bad = X.copy()
    bad[2000] = np.inf
    with pytest.raises(ValueError, match="block 2 of the source contains infinity in row 0"):
        sampler.fit(in_pieces_of(bad, 1000))
    assert not hasattr(sampler, "feature_map_")
