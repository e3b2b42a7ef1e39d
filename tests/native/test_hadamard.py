"""Walsh-Hadamard transform in place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from cerflearn import _native
from oracle.features import UNIT

quick = settings(max_examples=60, deadline=None, derandomize=True)
each_level = pytest.mark.parametrize("level", _native.levels())
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])


@each_level
@each_dtype
@pytest.mark.parametrize("size", [2**e for e in range(12)])
def test_equals_the_matrix_of_scipy(dtype, level, size):
    # Sums of small integers are exact in both types.
    rows = np.random.default_rng(size).integers(-999, 1000, (3, size)).astype(dtype)
    expected = rows @ hadamard(size).astype(np.float64)
    _native.walsh_hadamard(rows, level)
    np.testing.assert_array_equal(rows, expected)


@each_level
@each_dtype
def test_twice_is_the_size_times_the_identity(dtype, level):
    @quick
    @given(st.integers(0, 10), st.integers(1, 4), st.integers(0, 2**32 - 1))
    def check(exponent, n_rows, seed):
        size = 2**exponent
        rows = np.random.default_rng(seed).standard_normal((n_rows, size)).astype(dtype)
        twice = rows.copy()
        _native.walsh_hadamard(twice, level)
        _native.walsh_hadamard(twice, level)
        # 2 log2(size) additions, each on sums of absolute values through |H| twice.
        bound = UNIT[dtype] * 2 * exponent * size * np.abs(rows.astype(float)).sum(axis=1)
        assert (np.abs(twice - size * rows.astype(float)) <= bound[:, None]).all()

    check()


@each_level
@each_dtype
def test_unit_vectors_give_the_rows_of_the_matrix(dtype, level):
    rows = np.eye(64, dtype=dtype)
    _native.walsh_hadamard(rows, level)
    np.testing.assert_array_equal(rows, hadamard(64))


@each_level
@each_dtype
def test_misaligned_rows_are_transformed(dtype, level):
    buffer = np.zeros(4 * 16 + 1, dtype)
    rows = buffer[1:].reshape(4, 16)
    rows[:] = np.arange(64).reshape(4, 16)
    expected = rows @ hadamard(16).astype(float)
    _native.walsh_hadamard(rows, level)
    np.testing.assert_array_equal(rows, expected)
    assert buffer[0] == 0


@each_level
def test_no_rows_are_fine(level):
    _native.walsh_hadamard(np.zeros((0, 8)), level)


@pytest.mark.parametrize("size", [0, 3, 12, 100])
def test_sizes_that_are_no_power_of_two_are_refused(size):
    with pytest.raises(ValueError, match="power of two"):
        _native.walsh_hadamard(np.zeros((2, size)), "baseline")


def test_arrays_that_cannot_be_changed_in_place_are_refused():
    read_only = np.zeros((2, 8))
    read_only.flags.writeable = False
    for rows in (read_only, np.zeros((8, 2)).T, np.zeros(8), np.zeros((2, 8), int), [[1.0, 2.0]]):
        with pytest.raises(TypeError):
            _native.walsh_hadamard(rows, "baseline")
