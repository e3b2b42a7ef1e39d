"""Ridge paths against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from cerflearn.linalg.ridge import fit_ridge_path

RNG = np.random.default_rng(0)


def test_leave_one_out_predictions_are_those_of_fits_without_the_row():
    features, targets = RNG.normal(size=(25, 6)), RNG.normal(size=(25, 2))
    weights = RNG.integers(1, 4, 25).astype(float)
    share = weights / weights.sum()
    fit = fit_ridge_path(features, targets, share, (0.1,))
    for row in (0, 7, 24):
        others = np.arange(25) != row
        # The penalty stays what it was for all rows.
        model = Ridge(alpha=fit.penalty).fit(
            features[others], targets[others], sample_weight=share[others]
        )
        expected = model.predict(features[row : row + 1])[0]
        assert fit.left_out[row] == pytest.approx(expected, rel=1e-8)


def test_the_path_takes_the_penalty_of_the_least_error():
    features = RNG.normal(size=(60, 30))
    targets = features[:, :1] + 2.0 * RNG.normal(size=(60, 1))
    weights = np.full(60, 1 / 60)
    best = fit_ridge_path(features, targets, weights)
    ridges = (1e-5, 1e-3, 1e-1, 1.0, 10.0)
    assert best.error <= min(fit_ridge_path(features, targets, weights, (r,)).error for r in ridges)
    model = Ridge(alpha=best.penalty * 60).fit(features, targets)
    assert best.head == pytest.approx(model.coef_.reshape(best.head.shape), rel=1e-8)
