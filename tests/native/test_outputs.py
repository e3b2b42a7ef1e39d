"""Memory of outputs: used again when an array is gone, and never while one is in use."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

from cerflearn import _native
from oracle.random_maps import dense_map, fastfood_map, masked_map

MEGABYTE = 2**20
ROWS = np.random.default_rng(0).normal(size=(500, 12))
MAPS = {
    "dense": dense_map(12, 128, "single"),
    "shared, paired": masked_map(12, 64, 16, 2, "paired"),
    "independent": masked_map(12, 128, 1, 1),
    "fastfood": fastfood_map(12, 16, 8),
    "odd": dense_map(12, 127, "single"),
    "relu": masked_map(12, 128, 4, 1, relu=True),
}


@pytest.fixture(autouse=True)
def _nothing_kept():
    before = _native.kept_output_limit()
    _native.set_kept_output_limit(0)
    _native.set_kept_output_limit(before)
    yield
    _native.set_kept_output_limit(before)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (4097, 257), (1_000_003, 3)])
def test_outputs_are_plain_arrays(shape, dtype):
    out = _native.empty_output(*shape, np.dtype(dtype))
    assert type(out) is np.ndarray
    assert out.shape == shape
    assert out.dtype == dtype
    assert out.flags.c_contiguous
    assert out.flags.writeable
    out.fill(1.0)
    assert out.sum() == out.size


def test_other_types_stay_as_they_are():
    for dtype in (np.float16, np.int64, ">f4"):
        assert _native.empty_output(2048, 2048, np.dtype(dtype)).dtype == dtype


def test_memory_of_an_output_that_is_gone_is_used_again():
    first = _native.empty_output(MEGABYTE, 1, np.dtype(float))
    place = address(first)
    assert place % 64 == 0
    assert _native.kept_output_bytes() == 0
    del first
    assert _native.kept_output_bytes() == 8 * MEGABYTE
    again = _native.empty_output(2, MEGABYTE, np.dtype(np.float32))
    assert address(again) == place
    assert _native.kept_output_bytes() == 0


def test_a_view_keeps_the_memory():
    first = _native.empty_output(MEGABYTE, 2, np.dtype(float))
    first[:] = 3.0
    view = first[::7, 1:].T
    del first
    assert _native.kept_output_bytes() == 0
    other = _native.empty_output(MEGABYTE, 2, np.dtype(float))
    other[:] = 4.0
    assert not np.shares_memory(view, other)
    assert (view == 3.0).all()


def test_outputs_side_by_side_do_not_touch_each_other():
    outs = [_native.empty_output(MEGABYTE, 1, np.dtype(float)) for _ in range(5)]
    for index, out in enumerate(outs):
        out[:] = index
    del outs[1], outs[2]
    outs += [_native.empty_output(MEGABYTE - 3, 1, np.dtype(float)) for _ in range(3)]
    for out in outs[3:]:
        out[:] = -1.0
    assert [out[0, 0] for out in outs[:3]] == [0.0, 2.0, 4.0]
    assert all((out == out[0, 0]).all() for out in outs)


def test_no_more_is_kept_than_the_limit():
    _native.set_kept_output_limit(20 * MEGABYTE)
    outs = [_native.empty_output(MEGABYTE, 1, np.dtype(float)) for _ in range(4)]
    outs.append(_native.empty_output(MEGABYTE, 3, np.dtype(float)))  # larger than the limit
    del outs
    assert _native.kept_output_bytes() == 16 * MEGABYTE
    _native.set_kept_output_limit(10 * MEGABYTE)
    assert _native.kept_output_bytes() == 8 * MEGABYTE
    _native.set_kept_output_limit(0)
    del_me = _native.empty_output(MEGABYTE, 1, np.dtype(float))
    del del_me
    assert _native.kept_output_bytes() == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("level", _native.levels())
def test_large_outputs_have_the_bits_of_small_ones(name, level, dtype):
    model = MAPS[name].model(_native, np.dtype(dtype).name, level)
    n_rows = 35 * MEGABYTE // (model.n_outputs * np.dtype(dtype).itemsize)
    X = np.resize(ROWS, (n_rows, 12)).astype(dtype)
    small = np.empty((len(ROWS), model.n_outputs), dtype)
    assert model.transform(X[: len(ROWS)], small, 1)
    for n_threads in (1, 2):
        out = _native.empty_output(n_rows, model.n_outputs, np.dtype(dtype))
        assert model.transform(X, out, n_threads)
        whole = n_rows // len(ROWS) * len(ROWS)
        assert (out[:whole].reshape(-1, *small.shape) == small).all()
        np.testing.assert_array_equal(out[whole:], small[: n_rows - whole])


def _fill(value):
    out = _native.empty_output(MEGABYTE, 1, np.dtype(float))
    out[:] = value
    return float(out.sum())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_memory_of_its_own():
    _fill(1.0)
    assert _native.kept_output_bytes() > 0
    with multiprocessing.get_context("fork").Pool(1) as pool:
        out = _native.empty_output(MEGABYTE, 1, np.dtype(float))
        out[:] = 2.0
        assert pool.apply(_fill, (3.0,)) == 3.0 * MEGABYTE
        assert (out == 2.0).all()


def run(limit):
    code = "from cerflearn import _native; print(_native.kept_output_limit())"
    environment = {**os.environ, "CERF_OUTPUT_CACHE": limit}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )


def test_the_limit_can_be_set_from_outside():
    assert run("1000000").stdout.strip() == "1000000"
    assert run("0").stdout.strip() == "0"
    assert run("9" * 30).stdout.strip() == str(sys.maxsize)  # as much as there is


@pytest.mark.parametrize("limit", ["much", "-1", "1e6", ""])
def test_a_limit_that_is_no_number_is_refused(limit):
    result = run(limit)
    assert result.returncode != 0
    assert f"CERF_OUTPUT_CACHE={limit!r}" in result.stderr
    assert "0 to keep none" in result.stderr


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (-1, 2), (2**40, 2**40)])
def test_impossible_shapes_are_refused(shape):
    with pytest.raises((ValueError, MemoryError)):
        _native._core.large_output_float64(*shape)


def test_more_memory_than_there_is_is_an_error_of_memory():
    with pytest.raises(MemoryError):
        _native._core.large_output_float64(2**29, 2**28)
