"""scikit-learn's own estimator checks, with nothing failed, skipped or excused."""

from __future__ import annotations

from unittest import SkipTest

import pytest
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cerflearn import (
    BlockedCERF,
    CERFClassifier,
    CERFRegressor,
    FastfoodFeatures,
    KernelAutoencoder,
    KernelImputer,
    MaskedCERF,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from cerflearn.spectral import Cauchy, Gaussian, Product

EXPECTED_FAILURES: dict[str, str] = {}

ESTIMATORS = [
    RandomFourierFeatures(),
    RandomFourierFeatures(kernel="laplacian", paired=False, gamma="median"),
    RandomFourierFeatures(kernel="matern32", orthogonal=True, n_jobs=2),
    FastfoodFeatures(),
    FastfoodFeatures(kernel="matern52", paired=False, shared_signs=True),
    MaskedCERF(),
    MaskedCERF(kernel="cauchy", paired=False, mask_law="beta_bernoulli", mask_density=0.4),
    MaskedCERF(kernel="laplacian", group_size=8, features_per_mask=1),
    MaskedCERF(selector="greedy"),
    MaskedCERF(selector="greedy", mask_law="beta_bernoulli", features_per_mask=4, weights="nnls"),
    MaskedCERF(selector="shared", teacher="nystroem", weights="nnls", n_jobs=2),
    MaskedCERF(selector="greedy", teacher="labels", paired=False, cache_bytes=0),
    MaskedCERF(teacher=PCA(n_components=1), selector="shared", n_components=9),
    MaskedCERF(selector="greedy", teacher=RidgeClassifier(), n_components=9),
    # A wide tolerance: checks treat the warning that CVEM has not converged as an error.
    MaskedCERF(selector="cvem", n_components=10, tol=1.0),
    MaskedCERF.paper_setting(n_components=10, tol=1.0),
    BlockedCERF(),
    BlockedCERF(selector="random", shared_signs=True, paired=False),
    BlockedCERF(kernel="laplacian", spread=0.5, select="outputs", weights="nnls"),
    BlockedCERF(selector="cvem", teacher="kernel_pca", n_components=10, tol=1.0),
    BlockedCERF(teacher="labels", selector="shared", scale_spread=0.5),
    BlockedCERF(teacher=Product(Cauchy(1.0), Gaussian(0.5)), n_components=10),
    RandomizedKernelPCA(),
    RandomizedKernelPCA(feature_map=Nystroem(n_components=5), fit_inverse_transform=False),
    RandomizedKernelPCA(feature_map=MaskedCERF(selector="greedy", teacher="labels"), n_jobs=2),
    KernelAutoencoder(),
    KernelImputer(),
    KernelImputer(missing_values=-1, patterns=0.3, linear_part=False, n_jobs=2),
    KernelImputer(add_indicator=True, alpha=0.1, max_iter=1),
    RandomizedKernelCCA(),
    RandomizedKernelCCA(y_feature_map=RandomFourierFeatures(), n_jobs=2),
    CERFClassifier(),
    CERFClassifier(macs=60, head="ridge", learn="features", alpha=1e-3, n_jobs=2),
    CERFClassifier(macs=60, head="svm", learn="selection"),
    CERFRegressor(),
    CERFRegressor(macs=500, learn="features", head="ridge"),
]


_checks = parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: EXPECTED_FAILURES)


# As a list: scikit-learn 1.6 hands over a generator, which pytest deprecates.
@pytest.mark.parametrize(_checks.args[0], list(_checks.args[1]), **_checks.kwargs)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    # Without it scikit-learn skips the check that array-API dispatch changes nothing.
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        check(estimator)
    except SkipTest as skipped:  # a check that was skipped has checked nothing
        pytest.fail(f"skipped: {skipped}")
