"""scikit-learn's own estimator checks, with nothing failed, skipped or excused."""

from __future__ import annotations

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cerflearn import FastfoodFeatures, MaskedCERF, RandomFourierFeatures

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
