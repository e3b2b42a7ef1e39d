"""Codes within a budget: RandomizedKernelPCA and KernelAutoencoder with ``macs``."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from cerflearn import KernelAutoencoder, RandomizedKernelPCA, cost

DIGITS = load_digits().data / 16.0
TRAIN, TEST = DIGITS[:1200], DIGITS[1200:]
CODES = 15


def pca_error(n_codes=CODES):
    pca = PCA(n_codes).fit(TRAIN)
    lost = np.square(TEST - pca.inverse_transform(pca.transform(TEST))).sum()
    return lost / np.square(TEST - TRAIN.mean(axis=0)).sum()


@pytest.fixture(scope="module")
def quarter():
    """Encoder of a quarter of the operations of linear PCA."""
    return KernelAutoencoder(macs=240, random_state=0).fit(TRAIN)


def test_a_quarter_of_the_operations_of_pca_has_nearly_its_error(quarter):
    assert cost(quarter).macs <= 240
    assert quarter.reconstruction_error(TEST) <= 1.02 * pca_error()


def test_linear_codes_are_taken_where_they_lose_less(capsys):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 20))
    model = KernelAutoencoder(n_components=4, macs=80, random_state=0, verbose=1).fit(rows)
    assert "errors: linear codes 0.00000" in capsys.readouterr().out
    assert model.reconstruction_error(rows) < 1e-4  # the rows have four dimensions


@pytest.mark.parametrize(("seed", "linear"), [(0, False), (3, True)])
def test_the_codes_that_lose_less_on_held_out_rows_are_taken(seed, linear, capsys):
    """Noisy columns follow the sign of the first input: two of them tell it, or that one alone."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1000, 1))
    rows = np.hstack([x, np.sign(x) + rng.normal(size=(1000, 10))])
    train, test = rows[:700], rows[700:]
    model = KernelAutoencoder(n_components=1, macs=2, random_state=0, verbose=1).fit(train)
    told = re.search("errors: linear codes (.*), network (.*)\n", capsys.readouterr().out)
    assert (float(told[1]) < float(told[2])) == linear
    assert (model.encoder_.settings["alpha"] == 0.0) == linear  # codes of a network have a penalty
    lost = [
        np.square(test - LinearRegression().fit(train[:, [d]], train).predict(test[:, [d]])).sum()
        for d in range(rows.shape[1])
    ]
    assert np.square(test - model.reconstruct(test)).sum() < min(lost)


def test_inputs_of_different_units_are_decoded_as_well_as_by_pca():
    """Variances of codes fall by seven orders, and no penalty wipes out the last ones."""
    rows = load_breast_cancer().data
    train, test = rows[:400], rows[400:]
    pca = PCA(6).fit(train)
    least = np.square(test - pca.inverse_transform(pca.transform(test))).sum()
    model = KernelAutoencoder(n_components=6, macs=45, random_state=0).fit(train)
    assert cost(model).macs <= 45
    lost = np.square(test - model.reconstruct(test)).sum()
    assert lost <= 1.02 * least


def test_reconstruction_is_better_than_random_features_of_many_more_operations(quarter):
    exact = KernelAutoencoder(random_state=0).fit(TRAIN)
    assert cost(exact).macs > 20 * cost(quarter).macs
    assert quarter.reconstruction_error(TEST) < exact.reconstruction_error(TEST)


def test_more_operations_lower_the_error():
    errors = [
        KernelAutoencoder(macs=macs, random_state=0).fit(TRAIN).reconstruction_error(TEST)
        for macs in (30, 120, 960)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] <= 1.005 * pca_error()


def test_codes_are_centred_and_variances_are_theirs(quarter):
    codes = quarter.encode(TRAIN)
    assert codes.shape == (1200, CODES)
    assert np.abs(codes.mean(axis=0)).max() < 1e-10
    np.testing.assert_allclose(codes.var(axis=0, ddof=1), quarter.explained_variance_, rtol=1e-8)
    ratio = quarter.explained_variance_ / TRAIN.var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(quarter.explained_variance_ratio_, ratio, rtol=1e-8)


def test_the_decoder_is_the_ridge_regression_of_inputs_on_codes(quarter):
    codes = quarter.encode(TRAIN)
    gram = codes.T @ codes
    penalty = quarter.alpha * np.linalg.eigvalsh(gram)[0]  # no code is wiped out
    expected = np.linalg.solve(
        gram + penalty * np.eye(CODES), codes.T @ (TRAIN - TRAIN.mean(axis=0))
    )
    np.testing.assert_allclose(quarter.inverse_weights_, expected, atol=1e-9)


def test_encoder_and_decoder_are_counted_apart(quarter):
    assert quarter.encoder_cost_ == cost(quarter)
    assert quarter.decoder_cost_.macs == CODES * 64
    assert quarter.encoder_.inputs_read.max() < 64


def components_of(teacher, n_components):
    """Exact components of a teacher of training and test rows."""
    pca = PCA(n_components, svd_solver="full").fit(teacher.fit_transform(TRAIN))
    return pca.transform(teacher.transform(TRAIN)), pca.transform(teacher.transform(TEST))


def test_codes_are_the_leading_components_of_the_teacher():
    teacher = Nystroem(gamma=0.02, n_components=200, random_state=0)
    model = RandomizedKernelPCA(n_components=8, macs=2000, teacher=teacher, random_state=0)
    codes = model.fit(TRAIN).transform(TEST)
    _, exact = components_of(teacher, 8)
    exact *= np.sign((exact * codes).sum(axis=0))  # of each component free
    explained = 1.0 - np.square(codes - exact).sum() / np.square(exact).sum()
    assert explained > 0.95
    assert cost(model).macs <= 2000


def test_an_objective_of_a_teacher_has_its_components_and_a_worse_reconstruction(quarter):
    model = KernelAutoencoder(macs=240, objective="teacher", random_state=0).fit(TRAIN)
    assert model.encode(TEST).shape == (597, CODES)
    assert quarter.reconstruction_error(TEST) < model.reconstruction_error(TEST) < 0.3


@pytest.mark.parametrize("cls", [RandomizedKernelPCA, KernelAutoencoder])
def test_bits_do_not_depend_on_threads_or_the_blas(cls):
    models = []
    for n_jobs, blas in ((1, 1), (2, 2)):
        with threadpool_limits(blas):
            model = cls(macs=100, n_jobs=n_jobs, random_state=3)
            models.append(model.fit(TRAIN[:600]).transform(TEST))
    np.testing.assert_array_equal(*models)


def test_sparse_and_single_precision_rows_give_the_same_codes(quarter):
    codes = quarter.encode(TEST)
    np.testing.assert_allclose(quarter.encode(csr_array(TEST)), codes, atol=1e-10)
    single = quarter.encode(TEST.astype(np.float32))
    assert single.dtype == np.float32
    apart = np.abs(single - codes).max(axis=1)
    # A projection next to the edge of a bin may be rounded into the next one.
    assert np.median(apart) < 1e-5
    assert (apart < 1e-4).mean() > 0.97
    dense, sparse = (
        KernelAutoencoder(macs=60, random_state=0).fit(kind(TRAIN[:300])).encode(TEST)
        for kind in (np.asarray, csr_array)
    )
    np.testing.assert_allclose(sparse, dense, atol=1e-6)


def test_a_fitted_encoder_can_be_pickled_and_cloned(quarter):
    copy = pickle.loads(pickle.dumps(quarter))
    np.testing.assert_array_equal(copy.reconstruct(TEST), quarter.reconstruct(TEST))
    assert clone(quarter).get_params() == quarter.get_params()


def test_progress_is_printed_when_asked(capsys):
    KernelAutoencoder(macs=60, random_state=0).fit(TRAIN[:200])
    assert capsys.readouterr().out == ""
    KernelAutoencoder(macs=60, random_state=0, verbose=1).fit(TRAIN[:200])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert all(line.startswith("[KernelAutoencoder] ") for line in lines)


@pytest.mark.parametrize(
    ("cls", "parameters", "message"),
    [
        (KernelAutoencoder, {"macs": 15}, "macs=15 .* costs 16 MACs.* Pass macs=16 or more"),
        (KernelAutoencoder, {"macs": 99, "n_components": 65}, "at most 64, .* 64 inputs"),
        (RandomizedKernelPCA, {"macs": 0}, "macs=0 is not valid"),
        (RandomizedKernelPCA, {"macs": 2.5}, "macs=2.5 is not valid"),
        (KernelAutoencoder, {"macs": 10**400}, "at most 1,000,000,000,000"),
        (
            RandomizedKernelPCA,
            {"macs": 99, "teacher": FunctionTransformer(lambda rows: 1e200 * rows)},
            "too large for their variance",
        ),
        (RandomizedKernelPCA, {"macs": 99, "teacher": "labels"}, "teacher='labels' is not valid"),
        (RandomizedKernelPCA, {"macs": 99, "teacher": PCA}, "teacher=.* is not valid"),
        (
            RandomizedKernelPCA,
            {"macs": 99, "n_components": 2, "teacher": PCA(1)},
            "at most 1, .* the 1 column of teacher",
        ),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(cls, parameters, message):
    with pytest.raises(ValueError, match=message):
        cls(**parameters).fit(TRAIN[:100])


def test_more_codes_than_rows_are_refused():
    with pytest.raises(ValueError, match="at most 9, the smaller of n_samples=9"):
        KernelAutoencoder(macs=99, n_components=10).fit(TRAIN[:9])


@pytest.mark.parametrize("cls", [RandomizedKernelPCA, KernelAutoencoder])
def test_rows_without_components_are_refused(cls):
    with pytest.raises(ValueError, match="X is constant"):
        cls(macs=50).fit(np.ones((20, 4)))
    with pytest.raises(ValueError, match="one sample"):
        cls(macs=50).fit(np.ones((1, 4)))


def test_a_constant_teacher_is_refused():
    class Constant(PCA):
        def transform(self, X):
            return np.ones((len(X), 3))

    with pytest.raises(ValueError, match="constant on X: there is nothing to imitate"):
        RandomizedKernelPCA(macs=50, teacher=Constant(2)).fit(TRAIN[:50])


def test_constant_inputs_are_never_read(quarter):
    constant = np.flatnonzero(TRAIN.max(axis=0) == TRAIN.min(axis=0))
    assert len(constant) > 0
    assert not np.isin(quarter.encoder_.inputs_read, constant).any()


def test_batches_are_for_exact_components_only():
    model = RandomizedKernelPCA(macs=50)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=r"partial_fit|not possible with macs=50"):
        model.partial_fit(TRAIN)
    assert hasattr(RandomizedKernelPCA(), "partial_fit")


def test_another_fit_leaves_nothing_of_the_last_one():
    model = RandomizedKernelPCA(n_components=3, random_state=0).fit(TRAIN[:100])
    model.set_params(macs=40).fit(TRAIN[:100])
    assert not hasattr(model, "components_")
    model.set_params(macs=None).fit(TRAIN[:100])
    assert not hasattr(model, "encoder_")
    assert model.transform(TEST).shape == (597, 3)


@pytest.mark.parametrize("n_rows", [2, 3, 5, 9])
def test_few_rows_have_few_codes(n_rows):
    model = KernelAutoencoder(macs=40, random_state=0).fit(TRAIN[:n_rows])
    assert model.n_components_ == n_rows
    assert np.isfinite(model.reconstruct(TEST)).all()


def test_two_correlated_inputs_cost_an_operation_each():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(400, 2)) @ np.array([[2.0, 1.0], [0.0, 1.0]])
    model = KernelAutoencoder(macs=3, n_components=2, random_state=0).fit(some)
    assert cost(model).macs == 2
    assert model.reconstruction_error(some) < 1e-4
