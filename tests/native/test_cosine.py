"""Cosine and sine of a stored phase: bound (i), range and symmetries at every level."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cerflearn import _native
from oracle.features import COSINE_BOUND, UNIT, cosine_of_turns, sine_of_turns

ROOT = Path(__file__).resolve().parents[2]
quick = settings(max_examples=200, deadline=None, derandomize=True)
each_level = pytest.mark.parametrize("level", _native.levels())
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
# From here on only the range of the result is promised.
LIMIT = {"float32": 2.0**22, "float64": 2.0**51}


def both(phases, dtype, level):
    phases = np.asarray(phases, dtype=dtype)
    return phases, _native.cosine_turns(phases, level), _native.sine_turns(phases, level)


def assert_within_bound(phases, dtype, level):
    phases, cosine, sine = both(phases, dtype, level)
    assert cosine.dtype == sine.dtype == np.dtype(dtype)
    assert np.abs(cosine - cosine_of_turns(phases)).max() <= COSINE_BOUND[dtype]
    assert np.abs(sine - sine_of_turns(phases)).max() <= COSINE_BOUND[dtype]


@each_level
@each_dtype
@pytest.mark.parametrize("turns", [0.25, 1, 10, 1000])
def test_error_is_within_the_bound_on_a_grid(dtype, level, turns):
    assert_within_bound(np.linspace(-turns, turns, 50_001), dtype, level)


@each_level
@each_dtype
def test_error_is_within_the_bound_near_every_eighth_of_a_turn(dtype, level):
    eighths = np.arange(-8000, 8001, dtype=dtype) / 8
    below, above = np.nextafter(eighths, -np.inf, dtype=dtype), np.nextafter(eighths, np.inf)
    assert_within_bound(np.concatenate([below, eighths, above.astype(dtype)]), dtype, level)


@each_level
@each_dtype
def test_error_is_within_the_bound_for_random_phases(dtype, level):
    rng = np.random.default_rng(0)
    assert_within_bound(rng.uniform(-1000, 1000, 50_000), dtype, level)
    assert_within_bound(10.0 ** rng.uniform(-30, 3, 20_000), dtype, level)


@each_level
@pytest.mark.parametrize(("dtype", "width"), [("float32", 32), ("float64", 64)])
def test_error_is_within_the_bound_for_any_float(dtype, width, level):
    @quick
    @given(st.lists(st.floats(-1000, 1000, width=width), min_size=1, max_size=40))
    def check(phases):
        assert_within_bound(phases, dtype, level)

    check()


@each_level
@pytest.mark.parametrize(("dtype", "width"), [("float32", 32), ("float64", 64)])
def test_range_is_kept_for_any_phase(dtype, width, level):
    largest = float(np.finfo(dtype).max)

    @quick
    @given(st.lists(st.floats(width=width, allow_nan=False), min_size=1, max_size=40))
    @example([1e30, -1e30, largest, -largest, np.inf, -np.inf, 0.0, -0.0, 5e-324, 2.0**22, 2.0**51])
    def check(phases):
        _, cosine, sine = both(phases, dtype, level)
        assert np.abs(cosine).max() <= 1 + COSINE_BOUND[dtype]
        assert np.abs(sine).max() <= 1 + COSINE_BOUND[dtype]

    check()


@each_level
@each_dtype
def test_squares_add_up_to_one(dtype, level):
    _, cosine, sine = both(np.linspace(-40, 40, 30_011), dtype, level)
    squares = cosine.astype(np.longdouble) ** 2 + sine.astype(np.longdouble) ** 2
    # (c + e)^2 + (s + f)^2 - 1 = 2 (c e + s f) + e^2 + f^2, and |c| + |s| <= sqrt(2)
    assert np.abs(squares - 1).max() <= 3 * COSINE_BOUND[dtype]


@each_level
@each_dtype
def test_cosine_is_even_and_sine_is_odd_to_the_bit(dtype, level):
    phases, cosine, sine = both(np.linspace(0, 999.7, 30_011), dtype, level)
    _, mirrored_cosine, mirrored_sine = both(-phases, dtype, level)
    np.testing.assert_array_equal(mirrored_cosine, cosine)
    np.testing.assert_array_equal(mirrored_sine, -sine)


@each_level
@each_dtype
def test_whole_turns_change_no_bit(dtype, level):
    phases = np.arange(-512, 512) / 1024  # exact after adding 1,000 turns, in float32 too
    _, cosine, sine = both(phases[1:], dtype, level)
    for n_turns in (-1000, -1, 1, 37, 1000):
        _, shifted_cosine, shifted_sine = both(phases[1:] + n_turns, dtype, level)
        np.testing.assert_array_equal(shifted_cosine, cosine)
        np.testing.assert_array_equal(shifted_sine, sine)


@each_level
@each_dtype
def test_quarter_turns(dtype, level):
    quarters = np.arange(-4000, 4001)
    _, cosine, sine = both(quarters / 4, dtype, level)
    exact_cosine = np.array([1, 0, -1, 0])[quarters % 4]
    exact_sine = np.array([0, 1, 0, -1])[quarters % 4]
    np.testing.assert_allclose(cosine, exact_cosine, rtol=0, atol=COSINE_BOUND[dtype])
    np.testing.assert_allclose(sine, exact_sine, rtol=0, atol=COSINE_BOUND[dtype])


@each_level
@each_dtype
def test_phases_below_the_limit_keep_their_fraction(dtype, level):
    limit = LIMIT[dtype]
    # Below the limit a phase has quarters of a turn.
    phases = np.concatenate([limit - np.arange(1, 4001) / 4, np.arange(1, 4001) / 4 - limit])
    assert_within_bound(phases, dtype, level)


@each_level
@each_dtype
def test_phases_beyond_the_limit_stay_within_one(dtype, level):
    limit = LIMIT[dtype]
    phases = [limit + 0.5, -limit - 0.5, 2 * limit, 3 * limit + 1, 1e30, np.inf, -np.inf, np.nan]
    _, cosine, sine = both(phases, dtype, level)
    assert (np.abs(cosine) <= 1 + COSINE_BOUND[dtype]).all()
    assert (np.abs(sine) <= 1 + COSINE_BOUND[dtype]).all()


@each_dtype
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 15, 16, 17, 33])
def test_levels_agree_for_any_length(dtype, n):
    phases = np.random.default_rng(n).uniform(-3, 3, n).astype(dtype)
    results = [_native.cosine_turns(phases, level) for level in _native.levels()]
    for result in results:
        assert result.shape == (n,)
        np.testing.assert_allclose(result, results[0], rtol=0, atol=2 * COSINE_BOUND[dtype])


@each_level
@each_dtype
@pytest.mark.parametrize("n", [1, 3, 8, 17])
@pytest.mark.parametrize("paired", [False, True])
def test_finish_phases_adds_the_offsets_and_multiplies_by_the_amplitudes(dtype, level, n, paired):
    rng = np.random.default_rng(n)
    phases, offsets, amplitudes = (rng.uniform(-2, 2, s).astype(dtype) for s in [(4, n), n, n])
    turns = (phases + offsets).astype(np.longdouble)
    out = np.empty((4, 2 * n - 1 if paired else n), dtype)
    _native.finish_phases(phases, offsets, amplitudes, out, paired, level, False)
    step = 2 if paired else 1
    bound = 2 * (COSINE_BOUND[dtype] + 2 * UNIT[dtype])
    np.testing.assert_allclose(
        out[:, ::step], (amplitudes * cosine_of_turns(turns)).astype(float), rtol=0, atol=bound
    )
    if paired:
        sines = (amplitudes * sine_of_turns(turns)).astype(float)[:, : n - 1]
        np.testing.assert_allclose(out[:, 1::2], sines, rtol=0, atol=bound)


@each_level
@each_dtype
@pytest.mark.parametrize("n", [1, 3, 8, 17])
def test_finish_phases_of_relu_maps_takes_positive_parts(dtype, level, n):
    rng = np.random.default_rng(n)
    phases, offsets, amplitudes = (rng.uniform(-2, 2, s).astype(dtype) for s in [(4, n), n, n])
    out = np.empty((4, n), dtype)
    _native.finish_phases(phases, offsets, amplitudes, out, False, level, True)
    # Two operations, each rounded once: the bits are known.
    np.testing.assert_array_equal(out, np.maximum(phases + offsets, 0) * amplitudes)


def test_coefficients_are_what_the_tool_writes():
    pytest.importorskip("mpmath")
    tool = ROOT / "cpp" / "tools" / "cosine_coefficients.py"
    result = subprocess.run(
        [sys.executable, str(tool), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
