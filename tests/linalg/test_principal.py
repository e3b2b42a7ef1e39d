"""Principal axes and the varimax rotation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group

from cerflearn.linalg.principal import principal_axes, principal_axes_of_rows, varimax


def criterion(rows):
    return np.square(rows).var(axis=1).sum()


@pytest.mark.parametrize(("n_rows", "n_columns"), [(2, 2), (2, 9), (5, 40), (9, 9), (1, 4)])
def test_varimax_rotates_within_the_space_and_never_lowers_the_criterion(n_rows, n_columns):
    rows = np.linalg.qr(np.random.default_rng(0).normal(size=(n_columns, n_rows)))[0].T
    found = varimax(rows)
    np.testing.assert_allclose(found @ found.T, np.eye(n_rows), atol=1e-10)
    np.testing.assert_allclose(rows @ found.T @ found, rows, atol=1e-10)  # the same space
    assert criterion(found) >= criterion(rows) - 1e-12
    assert (np.take_along_axis(found, np.abs(found).argmax(1)[:, None], 1) > 0.0).all()


@pytest.mark.parametrize("n", [2, 3, 6])
def test_no_small_rotation_raises_the_criterion(n):
    rng = np.random.default_rng(n)
    found = varimax(np.linalg.qr(rng.normal(size=(20, n)))[0].T)
    for _ in range(50):
        skew = rng.normal(size=(n, n))
        turn = np.linalg.qr(np.eye(n) + 1e-3 * (skew - skew.T))[0]
        assert criterion(turn @ found) <= criterion(found) + 1e-9


@pytest.mark.parametrize("n", [2, 3, 5])
def test_rotated_unit_vectors_are_found_again(n):
    rows = ortho_group.rvs(n, random_state=0)
    found = varimax(rows)
    np.testing.assert_allclose(np.sort(np.abs(found), axis=1)[:, -1], 1.0, atol=1e-6)


def test_saddle_points_are_left():
    half = np.sqrt(0.5)
    found = varimax(np.array([[half, half], [half, -half]]))
    np.testing.assert_allclose(np.abs(found).max(axis=1), 1.0, atol=1e-9)


def test_few_rows_have_the_axes_of_their_scatter():
    rows = np.random.default_rng(0).normal(size=(8, 30))
    rows -= rows.mean(axis=0)
    found, expected = principal_axes_of_rows(rows, 5), principal_axes(rows.T @ rows, 5)
    np.testing.assert_allclose(found.energies, expected.energies, rtol=1e-10)
    np.testing.assert_allclose(found.components, expected.components, atol=1e-8)
    # The last direction of centred rows has no variance.
    assert (principal_axes_of_rows(rows, 8).components[-1] == 0.0).all()
