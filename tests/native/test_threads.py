"""The cap on threads, calls side by side, and the release of the interpreter lock."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cerflearn import _native
from oracle.random_maps import dense_map, fastfood_map, inputs, masked_map

each_level = pytest.mark.parametrize("level", _native.levels())
N_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
MAPS = {
    "dense": dense_map(40, 33, "odd"),
    "independent": masked_map(200, 33, 1, 1),
    "shared": masked_map(60, 32, 16, 4, "paired"),
    "rectified": masked_map(60, 33, 16, 4, rectified=True),
    "fastfood": fastfood_map(50, 64, 2, "odd"),
}


@pytest.fixture(autouse=True)
def _restored_cap():
    before = _native.get_num_threads()
    yield
    _native.set_num_threads(before)


def test_cap_is_the_number_of_usable_cores_unless_set():
    _native.set_num_threads(0)
    assert _native.get_num_threads() == N_CORES
    _native.set_num_threads(3)
    assert _native.get_num_threads() == 3
    _native.set_num_threads(-1)
    assert _native.get_num_threads() == N_CORES
    assert _native.backend_info()["threads"] == _native.get_num_threads()


def test_threadpoolctl_sets_the_cap():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    _native.set_num_threads(5)
    with threadpoolctl.threadpool_limits(1, user_api="cerflearn"):
        assert _native.get_num_threads() == 1
    assert _native.get_num_threads() == 5


@each_level
@pytest.mark.parametrize("cap", [1, 2, 7])
def test_cap_changes_no_bit(cap, level):
    case = MAPS["dense"]
    model = case.model(_native, "float32", level)
    X = inputs(1000, case.n_features, "float32")
    results = []
    for threads in (1, cap):
        _native.set_num_threads(threads)
        out = np.empty((1000, case.n_outputs), np.float32)
        assert model.transform(X, out, 7)
        results.append(out)
    np.testing.assert_array_equal(*results)


@each_level
@pytest.mark.parametrize("kind", MAPS)
def test_calls_from_several_threads_give_equal_bits(kind, level):
    case = MAPS[kind]
    X = inputs(600, case.n_features, "float64")
    # A fresh model: its one-row layout is built by whoever comes first.
    model, reference = (case.model(_native, "float64", level) for _ in range(2))

    def run(used, n_rows):
        out = np.empty((n_rows, case.n_outputs))
        assert used.transform(X[:n_rows], out, 2)
        return out

    row_counts = [1, 600, 3, 80] * 6
    expected = {n: run(reference, n) for n in set(row_counts)}
    with ThreadPoolExecutor(4) as pool:
        for n, result in zip(
            row_counts, pool.map(lambda n: run(model, n), row_counts), strict=True
        ):
            np.testing.assert_array_equal(result, expected[n])


def ticks_during(call):
    """How often this thread gets to run while another one is inside ``call``."""
    times = {}

    def work():
        times["begin"] = time.perf_counter()
        call()
        times["end"] = time.perf_counter()

    thread = threading.Thread(target=work)
    ticks = []
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    # The first and the last tenth do not count: Python runs there, before and after the call.
    margin = (times["end"] - times["begin"]) / 10
    return sum(times["begin"] + margin < tick < times["end"] - margin for tick in ticks)


@pytest.mark.parametrize("method", ["transform", "scores"])
def test_interpreter_lock_is_released_during_a_call(method):
    case = dense_map(200, 400)
    model = case.model(_native, "float64", "baseline")
    X = inputs(8000, 200, "float64")  # about a tenth of a second or more
    arrays = [X, np.empty((8000, 400))]
    if method == "scores":
        arrays = [X, np.ones((2, 400)), np.zeros(2), np.empty((8000, 2))]
    assert ticks_during(lambda: getattr(model, method)(*arrays, 1)) >= 5
