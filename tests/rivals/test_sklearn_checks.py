"""scikit-learn's own estimator checks of the rivals, with nothing failed, skipped or excused."""

from __future__ import annotations

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cerflearn.rivals import ALaCarte, BaNK, MultipleKernelLearning, RandomKitchenSinks

EXPECTED_FAILURES: dict[str, str] = {}

ESTIMATORS = [
    RandomKitchenSinks(),
    RandomKitchenSinks(n_components=20, gamma="scale", alpha=1e-3, bound=30.0),
    MultipleKernelLearning(),
    MultipleKernelLearning(gamma="median", single_inputs=True, alpha=1.0),
    ALaCarte(n_components=30, max_iter=5),
    ALaCarte(n_components=7, gamma=0.5, n_groups=1, max_iter=3),
    BaNK(n_components=30, n_sweeps=5),
    BaNK(n_components=8, n_sweeps=4, n_average=2, gamma="median", max_mixture=3),
]

_checks = parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda _: EXPECTED_FAILURES)


# As a list: scikit-learn 1.6 hands over a generator, which pytest deprecates.
@pytest.mark.parametrize(_checks.args[0], list(_checks.args[1]), **_checks.kwargs)
def test_rival_passes_the_checks_of_scikit_learn(estimator, check, monkeypatch):
    # Without it scikit-learn skips the check that array-API dispatch changes nothing.
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        check(estimator)
    except SkipTest as skipped:  # a check that was skipped has checked nothing
        pytest.fail(f"skipped: {skipped}")
