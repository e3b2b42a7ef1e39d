"""KernelAutoencoder: encode, decode, reconstruct, and the error it reports."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

from cerflearn import KernelAutoencoder, MaskedFourierFeatures, RandomizedKernelPCA, cost

DIGITS = load_digits().data / 16
TRAIN, TEST = DIGITS[:1200], DIGITS[1200:]


@pytest.fixture(name="fitted", scope="module")
def fixture_fitted():
    return KernelAutoencoder(random_state=0).fit(TRAIN)


def test_codes_are_those_of_kernel_pca(fitted):
    pca = RandomizedKernelPCA(random_state=0).fit(TRAIN)
    np.testing.assert_array_equal(fitted.encode(TEST), pca.transform(TEST))
    np.testing.assert_array_equal(fitted.encode(TEST), fitted.transform(TEST))
    assert fitted.encode(TEST).shape == (597, 15)


def test_decoding_is_one_ridge_regressor_for_each_input(fitted):
    codes = fitted.encode(TRAIN)
    penalty = fitted.alpha * len(TRAIN) * codes.var(axis=0).mean()
    new = fitted.encode(TEST)
    decoded = fitted.decode(new)
    for column in (10, 20, 43):
        oracle = Ridge(alpha=penalty).fit(codes, TRAIN[:, column])
        np.testing.assert_allclose(decoded[:, column], oracle.predict(new), atol=1e-8)
    np.testing.assert_array_equal(fitted.inverse_transform(new), decoded)
    np.testing.assert_array_equal(fitted.reconstruct(TEST), decoded)


def test_score_is_minus_the_normalised_error(fitted):
    lost = np.square(TEST - fitted.reconstruct(TEST)).sum()
    wanted = lost / np.square(TEST - TRAIN.mean(axis=0)).sum()
    np.testing.assert_allclose(fitted.reconstruction_error(TEST), wanted, rtol=1e-9)
    np.testing.assert_allclose(fitted.score(TEST), -wanted, rtol=1e-9)
    np.testing.assert_allclose(fitted.score(sp.csr_array(TEST)), -wanted, rtol=1e-6)
    framed = KernelAutoencoder(random_state=0).set_output(transform="pandas")
    frame = pd.DataFrame(TRAIN)
    np.testing.assert_allclose(framed.fit(frame).score(pd.DataFrame(TEST)), -wanted, rtol=1e-9)


def test_longer_codes_lose_less():
    errors = [
        KernelAutoencoder(n_components=n, random_state=0).fit(TRAIN).reconstruction_error(TEST)
        for n in (2, 15, 60)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] < 0.3  # the mean digit would have 1


def test_it_can_be_tuned_by_its_score():
    search = GridSearchCV(
        KernelAutoencoder(
            n_components=5, feature_map=MaskedFourierFeatures(n_components=50), random_state=0
        ),
        {"feature_map__gamma": [0.01, 1000.0]},
        cv=3,
    )
    assert search.fit(TRAIN[:300]).best_params_ == {"feature_map__gamma": 0.01}


def test_cost_counts_encoding(fitted):
    assert cost(fitted).macs == cost(fitted.feature_map_).macs + 512 * 15


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_bits_do_not_depend_on_the_threads(fitted, n_jobs):
    other = KernelAutoencoder(random_state=0, n_jobs=n_jobs).fit(TRAIN)
    np.testing.assert_array_equal(other.reconstruct(TEST), fitted.reconstruct(TEST))


def test_float32_is_kept(fitted):
    single = fitted.reconstruct(TEST.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, fitted.reconstruct(TEST), atol=1e-4)


def test_bad_input_is_refused_with_a_reason():
    with pytest.raises(NotFittedError):
        KernelAutoencoder().score(TEST)
    with pytest.raises(ValueError, match="n_components=600 is not valid: it must be at most 512"):
        KernelAutoencoder(n_components=600).fit(TRAIN)
    with pytest.raises(ValueError, match="one sample"):
        KernelAutoencoder().fit(TRAIN[:1])
    with pytest.raises(ValueError, match="X is constant"):
        KernelAutoencoder().fit(np.ones((9, 2)))
