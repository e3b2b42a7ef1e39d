"""RandomizedKernelPCA: PCA of the features, without ever storing them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from cerflearn import (
    BlockedCERF,
    FastfoodFeatures,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelPCA,
    cost,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 4)) @ rng.normal(size=(4, 7)) + 3.0
MAPS = [
    MaskedFourierFeatures(n_components=40, random_state=0),
    RandomFourierFeatures(n_components=40, random_state=0),
    FastfoodFeatures(n_components=40, random_state=0),
    BlockedCERF(n_components=40, random_state=0),
    Nystroem(n_components=40, gamma=0.1, random_state=0),
    PolynomialFeatures(degree=2),
    make_pipeline(PolynomialFeatures(degree=1), RandomFourierFeatures(random_state=0)),
]


@pytest.mark.parametrize("feature_map", MAPS, ids=lambda m: type(m).__name__)
def test_codes_are_those_of_pca_on_the_features(feature_map):
    pca = RandomizedKernelPCA(n_components=5, feature_map=feature_map).fit(X)
    features = clone(feature_map).fit(X).transform(X)
    oracle = PCA(n_components=5, svd_solver="full").fit(features)
    np.testing.assert_allclose(pca.mean_, oracle.mean_, rtol=1e-9, atol=1e-9)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(pca, name), getattr(oracle, name), rtol=1e-6)
    signs = np.sign(np.sum(pca.components_ * oracle.components_, axis=1))
    wanted = oracle.transform(features) * signs
    np.testing.assert_allclose(pca.transform(X), wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_inverse_transform_is_a_ridge_regression_from_codes_to_inputs(alpha):
    pca = RandomizedKernelPCA(n_components=4, alpha=alpha, random_state=0).fit(X)
    codes = pca.transform(X)
    penalty = alpha * len(X) * codes.var(axis=0).mean()
    oracle = Ridge(alpha=penalty, solver="svd").fit(codes, X)
    np.testing.assert_allclose(pca.inverse_transform(codes), oracle.predict(codes), rtol=1e-6)


def test_spectrum_approaches_that_of_exact_kernel_pca():
    rows = np.random.default_rng(1).normal(size=(300, 3))
    exact = KernelPCA(n_components=4, kernel="rbf", gamma=0.2).fit(rows).eigenvalues_
    errors = []
    for n_outputs in (16, 128, 1024):
        dense = RandomFourierFeatures(n_components=n_outputs, gamma=0.2)
        found = [
            RandomizedKernelPCA(n_components=4, feature_map=dense, random_state=seed).fit(rows)
            for seed in range(4 if n_outputs > 1000 else 20)
        ]
        errors.append(np.mean([np.abs(p.singular_values_**2 / exact - 1).mean() for p in found]))
    # Monte-Carlo: eight times the features, 2.8 times less error; we ask for 1.8 times.
    assert errors[1] < errors[0] / 1.8
    assert errors[2] < errors[1] / 1.8
    assert errors[2] < 0.06


def test_components_are_orthonormal_and_their_signs_are_fixed():
    pca = RandomizedKernelPCA(n_components=6, random_state=0).fit(X)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(6), atol=1e-10)
    largest = np.abs(pca.components_).argmax(axis=1)
    assert (pca.components_[np.arange(6), largest] > 0).all()


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_bits_do_not_depend_on_the_threads(n_jobs):
    rows = np.random.default_rng(2).normal(size=(5000, 6))
    serial, threads = (
        RandomizedKernelPCA(n_components=5, n_jobs=n, random_state=0).fit(rows)
        for n in (None, n_jobs)
    )
    for name in ("components_", "mean_", "explained_variance_", "inverse_weights_"):
        np.testing.assert_array_equal(getattr(serial, name), getattr(threads, name))
    np.testing.assert_array_equal(serial.transform(rows), threads.transform(rows))


def test_batches_give_the_result_of_all_rows():
    feature_map = FrozenEstimator(MaskedFourierFeatures(n_components=60, random_state=0).fit(X))
    whole = RandomizedKernelPCA(n_components=4, feature_map=feature_map).fit(X)
    parts = RandomizedKernelPCA(n_components=4, feature_map=feature_map)
    for batch in (X[:700], X[700:701], X[701:]):
        parts.partial_fit(batch)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == len(X)
    np.testing.assert_allclose(parts.explained_variance_, whole.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-8)
    codes = whole.transform(X)
    np.testing.assert_allclose(
        parts.inverse_transform(codes), whole.inverse_transform(codes), rtol=1e-6
    )


def test_fit_and_transform_never_store_all_features():
    rows = np.random.default_rng(3).normal(size=(30_000, 8)).astype(np.float32)
    pca = RandomizedKernelPCA(
        n_components=5, feature_map=MaskedFourierFeatures(n_components=256), random_state=0
    )
    tracemalloc.start()
    pca.fit(rows)
    pca.transform(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30_000 * 256 * 4 / 2  # half of the features in float32


def test_float32_sparse_and_frames_go_in_and_out():
    pca = RandomizedKernelPCA(n_components=3, random_state=0).fit(X)
    codes = pca.transform(X)
    single = pca.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert pca.inverse_transform(single).dtype == np.float32
    np.testing.assert_allclose(single, codes, atol=1e-4)
    sparse = sp.csr_array(X)
    np.testing.assert_allclose(pca.transform(sparse), codes, atol=1e-10)
    fitted = RandomizedKernelPCA(n_components=3, random_state=0).fit(sparse)
    np.testing.assert_allclose(fitted.transform(sparse), codes, atol=1e-8)
    np.testing.assert_allclose(fitted.inverse_weights_, pca.inverse_weights_, atol=1e-7)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    named = RandomizedKernelPCA(n_components=3, random_state=0).set_output(transform="pandas")
    found = named.fit(frame).transform(frame)
    assert list(found.columns) == [f"randomizedkernelpca{i}" for i in range(3)]
    np.testing.assert_array_equal(found.to_numpy(), codes)
    assert named.feature_names_in_.tolist() == list("abcdefg")
    assert isinstance(named.set_output(transform="polars").transform(frame), pl.DataFrame)


def test_cost_counts_the_map_and_the_codes():
    pca = RandomizedKernelPCA(
        n_components=5, feature_map=MaskedFourierFeatures(n_components=40), random_state=0
    ).fit(X)
    inner = cost(pca.feature_map_)
    found = cost(pca)
    assert found.macs == inner.macs + 40 * 5
    assert found.trig == inner.trig
    assert found.n_parameters == inner.n_parameters + 40 * 5 + 5


def test_seeds_decide_the_map_unless_it_has_its_own():
    def fit(seed, **parameters):
        feature_map = MaskedFourierFeatures(n_components=30, **parameters)
        return RandomizedKernelPCA(n_components=2, feature_map=feature_map, random_state=seed).fit(
            X
        )

    np.testing.assert_array_equal(fit(0).components_, fit(0).components_)
    assert (fit(0).components_ != fit(1).components_).any()
    own = [fit(seed, random_state=7).components_ for seed in (0, 1)]
    np.testing.assert_array_equal(*own)


def test_targets_reach_a_map_that_needs_them():
    labels = (X[:, 0] > 3).astype(int)
    learned = MaskedCERF(n_components=20, selector="greedy", teacher="labels")
    pca = RandomizedKernelPCA(n_components=2, feature_map=learned, random_state=0)
    assert pca.__sklearn_tags__().target_tags.required
    assert pca.fit(X, labels).transform(X).shape == (len(X), 2)
    with pytest.raises(ValueError, match="requires y to be passed"):
        pca.fit(X)


def test_the_inverse_can_be_left_out():
    pca = RandomizedKernelPCA(n_components=2, fit_inverse_transform=False, random_state=0).fit(X)
    assert not hasattr(pca, "inverse_transform")
    assert pca.moments_.cross_scatter.size == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components=0 is not valid: it must be a positive integer or None"),
        ({"n_components": 2.0}, "n_components=2.0 is not valid"),
        ({"n_components": 513}, "n_components=513 is not valid: it must be at most 512, the small"),
        ({"alpha": -1}, "alpha=-1 is not valid: it must be a number that is not negative"),
        ({"alpha": "cv"}, "alpha='cv' is not valid"),
        ({"feature_map": "rff"}, "feature_map='rff' is not valid: it must be None or a transform"),
        ({"feature_map": MaskedCERF}, "must be None or a transformer"),
        ({"n_jobs": 0}, "n_jobs=0 is not valid"),
        ({"random_state": "a"}, "random_state='a' is not valid"),
        ({"fit_inverse_transform": 1}, "fit_inverse_transform=1 is not valid: it must be True or"),
    ],
)
def test_bad_parameters_are_named_with_value_and_remedy(parameters, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        RandomizedKernelPCA(**parameters).fit(X)


def test_bad_data_are_refused_with_a_reason():
    pca = RandomizedKernelPCA(n_components=2, random_state=0)
    for rows, message in [
        (X[:1], "one sample"),
        (np.ones((20, 3)), "X is constant"),
        (np.where(X > 6, np.nan, X), "NaN"),
        (np.empty((0, 3)), "at least one row"),
    ]:
        with pytest.raises(ValueError, match=message):
            pca.fit(rows)
    with pytest.raises(NotFittedError):
        pca.transform(X)
    pca.fit(X)
    with pytest.raises(ValueError, match="expecting 7 features"):
        pca.transform(X[:, :5])
    with pytest.raises(ValueError, match="X has 3 columns, but codes have 2"):
        pca.inverse_transform(np.ones((4, 3)))
    with pytest.raises(ValueError, match="at most 3, the smaller of n_samples=3"):
        RandomizedKernelPCA(n_components=4).fit(X[:3])
    with pytest.raises(ValueError, match="features of X are constant"):
        RandomizedKernelPCA(feature_map=PolynomialFeatures(0)).fit(X)


def test_by_default_there_are_15_codes_or_as_many_as_there_can_be():
    assert RandomizedKernelPCA().fit(X).n_components_ == 15
    assert RandomizedKernelPCA().fit(X[:6]).n_components_ == 6
