"""RandomFourierFeatures: drop-in for RBFSampler, kernels, gamma, budgets, seeds, memory."""

from __future__ import annotations

import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from cerflearn import RandomFourierFeatures
from cerflearn.spectral import (
    KERNELS,
    Cauchy,
    Gaussian,
    GaussianMixture,
    Laplace,
    SpectralLaw,
    StudentT,
)

RNG = np.random.default_rng(0)
X = RNG.normal(1.0, 2.0, size=(80, 6))


def test_features_are_cosines_and_sines_of_the_fitted_frequencies():
    paired = RandomFourierFeatures(n_components=20, random_state=0).fit(X)
    phases = X @ paired.frequencies_
    wanted = np.stack([np.cos(phases), np.sin(phases)], axis=2).reshape(80, 20) / np.sqrt(10)
    np.testing.assert_allclose(paired.transform(X), wanted, atol=1e-12)
    assert not paired.offsets_.any()

    single = RandomFourierFeatures(n_components=20, paired=False, random_state=0).fit(X)
    wanted = np.sqrt(2.0 / 20.0) * np.cos(X @ single.frequencies_ + single.offsets_)
    np.testing.assert_allclose(single.transform(X), wanted, atol=1e-12)
    assert (single.offsets_ >= 0.0).all()
    assert (single.offsets_ < 2.0 * np.pi).all()


@pytest.mark.parametrize("gamma", ["scale", 0.3])
def test_gamma_means_what_it_means_in_rbf_sampler(gamma):
    theirs = RBFSampler(gamma=gamma, n_components=4_000, random_state=0).fit(X)
    ours = RandomFourierFeatures(gamma=gamma, n_components=4_000, random_state=0).fit(X)
    used = theirs._gamma if gamma == "scale" else gamma
    assert ours.gamma_ == pytest.approx(used, rel=1e-12)
    ratio = ours.frequencies_.std() / theirs.random_weights_.std()
    assert ratio == pytest.approx(1.0, abs=5.0 / np.sqrt(2 * 6 * 2_000))


@pytest.mark.parametrize(
    ("kernel", "law"),
    [
        ("rbf", Gaussian(np.sqrt(0.6))),
        ("laplacian", Cauchy(0.3)),
        ("cauchy", Laplace(0.3)),
        ("matern32", StudentT(np.sqrt(0.6), 3.0)),
        ("matern52", StudentT(np.sqrt(0.6), 5.0)),
    ],
)
def test_each_kernel_has_its_law(kernel, law):
    assert RandomFourierFeatures(kernel=kernel, gamma=0.3).fit(X).law_ == law


def test_a_law_may_stand_for_the_kernel():
    law = GaussianMixture(RNG.normal(size=(3, 6)), 0.2)
    sampler = RandomFourierFeatures(kernel=law, n_components=40_000, random_state=0).fit(X)
    assert sampler.gamma_ is None
    assert sampler.law_ == law
    Z = sampler.transform(X[:10])
    # Means of 20,000 cosines: five standard errors of at most 1 / sqrt(20,000).
    assert np.abs(Z @ Z.T - law.kernel(X[:10])).max() < 5.0 / np.sqrt(20_000)


def test_scale_and_median_follow_their_definitions():
    def gamma(kernel, name):
        return RandomFourierFeatures(kernel=kernel, gamma=name).fit(X).gamma_

    for kernel in KERNELS:
        if kernel in ("laplacian", "cauchy"):
            scale, distances = np.abs(X - X.mean()).mean(), pdist(X, "cityblock")
        else:
            scale, distances = X.var(), pdist(X, "sqeuclidean")
        assert gamma(kernel, "scale") == pytest.approx(1.0 / (6 * scale), rel=1e-12)
        assert gamma(kernel, "median") == pytest.approx(1.0 / np.median(distances), rel=1e-12)


def test_median_uses_at_most_1000_evenly_spaced_rows():
    many = RNG.normal(size=(4_000, 2))
    chosen = many[np.linspace(0, 3_999, 1_000).round().astype(int)]
    found = RandomFourierFeatures(gamma="median").fit(many).gamma_
    assert found == 1.0 / np.median(pdist(chosen, "sqeuclidean"))


@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gamma_is_the_same_for_sparse_dense_and_float32(kernel, gamma):
    data = np.where(RNG.random(X.shape) < 0.4, X, 0.0).astype(np.float32).astype(np.float64)
    sampler = RandomFourierFeatures(kernel=kernel, gamma=gamma)
    dense = sampler.fit(data).gamma_
    n_rows, n_columns = data.shape
    halves = np.repeat(data.ravel() / 2.0, 2), np.tile(np.repeat(np.arange(n_columns), 2), n_rows)
    pointers = 2 * n_columns * np.arange(n_rows + 1)
    doubled = sp.csr_array((*halves, pointers), data.shape)
    for other in (data.astype(np.float32), sp.csr_array(data), sp.csc_matrix(data), doubled):
        assert sampler.fit(other).gamma_ == pytest.approx(dense, rel=1e-12)
    assert doubled.nnz == 2 * data.size  # the caller's matrix is as it was


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_gamma_of_constant_data_is_one(gamma):
    assert RandomFourierFeatures(gamma=gamma).fit(np.full((5, 3), 2.0)).gamma_ == 1.0
    assert RandomFourierFeatures(gamma=gamma).fit(np.ones((1, 3))).gamma_ == 1.0


def test_both_sizes_missing_give_100_columns():
    assert RandomFourierFeatures().fit(X).transform(X).shape == (80, 100)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("macs", [6, 11, 12, 1_000])
def test_a_budget_buys_whole_projections(paired, macs):
    sampler = RandomFourierFeatures(macs=macs, paired=paired).fit(X)
    assert sampler.n_projections_ == macs // 6
    assert sampler.n_components_ == sampler.n_projections_ * (2 if paired else 1)
    assert macs - 6 < sampler.n_macs_ <= macs
    assert sampler.transform(X).shape == (80, sampler.n_components_)


def test_orthogonal_frequencies_are_orthogonal_and_have_the_bits_of_one_thread():
    sampler = RandomFourierFeatures(orthogonal=True, n_components=24, random_state=0).fit(X)
    for block in (sampler.frequencies_[:, :6], sampler.frequencies_[:, 6:]):
        gram = block.T @ block
        np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-12)
    again = clone(sampler).fit(X)
    np.testing.assert_array_equal(again.frequencies_, sampler.frequencies_)


def test_fitted_attributes_have_their_shapes():
    sampler = RandomFourierFeatures(n_components=7).fit(X)
    assert sampler.frequencies_.shape == sampler.masks_.shape == (6, 4)
    assert sampler.offsets_.shape == (4,)
    assert sampler.masks_.all()
    assert sampler.inputs_read_.tolist() == list(range(6))
    assert (sampler.n_components_, sampler.n_projections_, sampler.n_macs_) == (7, 4, 24)
    assert isinstance(sampler.law_, SpectralLaw)
    assert not hasattr(RandomFourierFeatures(), "frequencies_")


@pytest.mark.parametrize(
    "make_state",
    [lambda: 3, lambda: np.int64(3), lambda: np.random.RandomState(3),
     lambda: np.random.default_rng(3)],
    ids=["int", "numpy int", "RandomState", "Generator"],
)  # fmt: skip
def test_equal_random_states_give_equal_maps(make_state):
    first, second = (
        RandomFourierFeatures(random_state=make_state(), paired=False).fit(X) for _ in range(2)
    )
    np.testing.assert_array_equal(first.frequencies_, second.frequencies_)
    np.testing.assert_array_equal(first.offsets_, second.offsets_)


def test_generators_move_on_and_none_is_fresh():
    for state in (np.random.RandomState(3), np.random.default_rng(3), None):
        sampler = RandomFourierFeatures(random_state=state)
        first = sampler.fit(X).frequencies_
        assert not np.array_equal(sampler.fit(X).frequencies_, first)


def test_the_draw_depends_neither_on_the_dtype_nor_on_the_global_seed():
    np.random.seed(0)  # noqa: NPY002
    first = RandomFourierFeatures(random_state=1, gamma=0.5).fit(X)
    np.random.seed(1)  # noqa: NPY002
    second = RandomFourierFeatures(random_state=1, gamma=0.5).fit(X.astype(np.float32))
    np.testing.assert_array_equal(first.frequencies_, second.frequencies_)


def test_threads_do_not_change_the_bits():
    rows = RNG.normal(size=(700, 6))
    sampler = RandomFourierFeatures(random_state=0).fit(X)
    wanted = sampler.transform(rows)
    for n_jobs in (1, 2, -1):
        np.testing.assert_array_equal(sampler.set_params(n_jobs=n_jobs).transform(rows), wanted)
    with joblib.parallel_config(n_jobs=2):
        np.testing.assert_array_equal(sampler.set_params(n_jobs=None).transform(rows), wanted)


@pytest.mark.parametrize(("n_jobs", "asked"), [(None, 1), (1, 1), (2, 2)])
def test_n_jobs_is_the_number_of_threads(n_jobs, asked, monkeypatch):
    seen = []
    sampler = RandomFourierFeatures(n_jobs=n_jobs).fit(X)
    kind = type(sampler.feature_map_)
    run = kind.transform_if_finite
    monkeypatch.setattr(
        kind, "transform_if_finite", lambda self, X, n: (seen.append(n), run(self, X, n))[1]
    )
    sampler.transform(RNG.normal(size=(300, 6)))
    with joblib.parallel_config(n_jobs=2):
        sampler.transform(RNG.normal(size=(300, 6)))
    sampler.transform(X)  # too few rows for a second thread
    assert seen == [asked, 2 if n_jobs is None else asked, 1]


def test_plain_arrays_skip_the_validation(monkeypatch):
    sampler = RandomFourierFeatures().fit(X)
    wanted = sampler.transform(X)

    def fail(*args, **kwargs):
        raise AssertionError("validated")

    monkeypatch.setattr("cerflearn.estimators.input.validate_data", fail)
    for rows in (X, np.asfortranarray(X), X[::2], X[:1]):
        sampler.transform(rows)
    np.testing.assert_array_equal(sampler.transform(X), wanted)
    for rows in (X.tolist(), X.astype(int), X[0], X[:, :3], X[:0], X.astype(">f8")):
        with pytest.raises(AssertionError, match="validated"):
            sampler.transform(rows)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_allocates_its_output_and_little_else(order, dtype):
    rows = np.asarray(RNG.normal(size=(8_000, 50)), dtype=dtype, order=order)  # 4 MB at most
    sampler = RandomFourierFeatures(n_components=64).fit(rows[:100])
    sampler.transform(rows[:100])
    tracemalloc.start()
    out = sampler.transform(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - out.nbytes < 2**16


def test_fit_does_not_copy_the_data_for_gamma():
    rows = RNG.normal(size=(40_000, 50))
    tracemalloc.start()
    RandomFourierFeatures().fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows.nbytes / 2


def test_pickles_are_small_and_give_the_same_bits():
    sampler = RandomFourierFeatures(random_state=0).fit(X)
    size = len(pickle.dumps(sampler))
    wanted = sampler.transform(X)
    assert len(pickle.dumps(sampler)) == size
    again = pickle.loads(pickle.dumps(sampler))
    np.testing.assert_array_equal(again.transform(X), wanted)


def test_parameters_can_be_searched():
    model = make_pipeline(RandomFourierFeatures(random_state=0), RBFSampler(n_components=3))
    names = {"randomfourierfeatures__gamma": [0.1, 1.0]}
    search = GridSearchCV(model, names, cv=2, scoring=lambda *_: 1.0).fit(X)
    assert search.best_params_["randomfourierfeatures__gamma"] == 0.1
