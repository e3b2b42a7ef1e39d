"""Distances, evenly spaced rows and signs against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from cerflearn.linalg.distances import centred_squared_distances, squared_distances
from cerflearn.linalg.row_slices import evenly_spaced_rows
from cerflearn.linalg.signs import fixed_signs

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 4)), RNG.normal(size=(20, 4))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_distances_are_those_of_scipy(dtype):
    found = squared_distances(X.astype(dtype), Y.astype(dtype))
    assert found.dtype == dtype
    tolerance = 1e-12 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(found, cdist(X, Y, "sqeuclidean"), atol=tolerance)
    np.testing.assert_allclose(
        centred_squared_distances(X, Y), cdist(X, Y, "sqeuclidean"), atol=1e-12
    )


def test_centring_keeps_the_digits_of_rows_far_from_zero():
    far = X + 1e6
    wanted = cdist(far, far, "sqeuclidean")
    centred = centred_squared_distances(far, far)
    np.testing.assert_allclose(centred, wanted, atol=1e-7)
    assert (np.diag(centred) == 0.0).all()
    assert np.abs(squared_distances(far, far) - wanted).max() > 1e-4


@pytest.mark.parametrize("distances", [squared_distances, centred_squared_distances])
def test_distances_are_never_negative(distances):
    rows = np.repeat(X, 2, axis=0)
    assert (distances(rows, rows) >= 0.0).all()
    assert (distances(rows, rows.copy()) >= 0.0).all()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(n_samples=st.integers(1, 5000), n_rows=st.integers(1, 1200))
def test_evenly_spaced_rows_are_distinct_and_reach_both_ends(n_samples, n_rows):
    rows = evenly_spaced_rows(n_samples, n_rows)
    assert len(rows) == min(n_samples, n_rows)
    assert rows[0] == 0
    if len(rows) > 1:
        steps = np.diff(rows)
        assert rows[-1] == n_samples - 1
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 2
    if n_rows >= n_samples:
        np.testing.assert_array_equal(rows, np.arange(n_samples))


def test_the_first_of_the_largest_entries_becomes_positive():
    rows = np.array([[1.0, -3.0], [2.0, -2.0], [-2.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(fixed_signs(rows), [[-1.0], [1.0], [-1.0], [1.0]])
