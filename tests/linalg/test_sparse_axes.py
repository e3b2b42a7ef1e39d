"""Linear codes of few inputs."""

from __future__ import annotations

import numpy as np
import pytest

from cerflearn.linalg.principal import principal_axes, varimax
from cerflearn.linalg.sparse_axes import sparse_axes


def covariance_of(n_columns: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(60, n_columns))
    mixed = rows @ np.random.default_rng(seed + 1).normal(size=(n_columns, n_columns))
    return np.cov(mixed.T)


def lost_by(covariance: np.ndarray, weights: np.ndarray, decoder: np.ndarray) -> float:
    left = np.eye(len(covariance)) - decoder.T @ weights
    return float(np.trace(left @ covariance @ left.T) / np.trace(covariance))


@pytest.mark.parametrize("n_entries", [4, 10, 25, 60])
def test_entries_are_those_asked_for_and_the_loss_is_that_of_the_result(n_entries):
    covariance = covariance_of(20)
    found = sparse_axes(covariance, principal_axes(covariance, 4).components, n_entries)
    assert np.count_nonzero(found.weights) <= n_entries
    assert (found.weights != 0.0).any(axis=1).all()
    assert found.lost == pytest.approx(lost_by(covariance, found.weights, found.decoder), abs=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found.decoder, axis=1), 1.0, rtol=1e-9)


def test_with_all_entries_they_are_as_good_as_principal_axes():
    covariance = covariance_of(12)
    axes = principal_axes(covariance, 3)
    found = sparse_axes(covariance, axes.components, 36)
    best = 1.0 - axes.energies.sum() / np.trace(covariance)
    assert found.lost == pytest.approx(best, abs=1e-9)


def test_no_better_entries_of_one_code_by_trying_all():
    covariance = np.diag([1.0, 2.0, 3.0, 0.5]) + 0.4
    found = sparse_axes(covariance, principal_axes(covariance, 1).components, 1)
    # One input as code: what regressions on it leave of all inputs.
    left = [np.trace(covariance) - (row @ row) / row[i] for i, row in enumerate(covariance)]
    assert found.lost == pytest.approx(min(left) / np.trace(covariance), abs=1e-6)
    assert np.flatnonzero(found.weights[0]) == [int(np.argmin(left))]


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_constant_and_equal_inputs_at_any_scale(scale):
    covariance = covariance_of(6)
    doubled = np.zeros((9, 9))
    doubled[:6, :6] = covariance
    doubled[6:8] = doubled[:2]
    doubled[:, 6:8] = doubled[:, :2]  # column 8 is constant
    axes = varimax(principal_axes(scale * doubled, 3).components)
    found = sparse_axes(scale * doubled, axes, 9)
    assert np.isfinite(found.weights).all()
    assert not found.weights[:, 8].any()
    assert 0.0 < found.lost < 1.0


def test_more_codes_than_directions():
    factors = np.random.default_rng(3).normal(size=(2, 8))
    covariance = factors.T @ factors
    found = sparse_axes(covariance, principal_axes(covariance, 4).components, 12)
    assert found.lost < 1e-6
    assert np.isfinite(found.weights).all()
