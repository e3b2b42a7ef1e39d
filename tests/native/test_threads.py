"""The cap on threads, calls side by side, and the release of the interpreter lock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from cerflearn import _native
from oracle.random_maps import dense_map, fastfood_map, inputs, masked_map

each_level = pytest.mark.parametrize("level", _native.levels())
MAPS = {
    "dense": dense_map(40, 33, "odd"),
    "independent": masked_map(200, 33, 1, 1),
    "shared": masked_map(60, 32, 16, 4, "paired"),
    "relu": masked_map(60, 33, 16, 4, relu=True),
    "fastfood": fastfood_map(50, 64, 2, "odd"),
}


@pytest.fixture(autouse=True)
def _restored_cap():
    before = _native.get_num_threads()
    yield
    _native.set_num_threads(before)


def test_cap_is_the_number_of_available_cores_unless_set():
    assert _native.available_cores() == joblib.cpu_count()
    _native.set_num_threads(0)
    assert _native.get_num_threads() == _native.available_cores()
    _native.set_num_threads(3)
    assert _native.get_num_threads() == 3
    _native.set_num_threads(-1)
    assert _native.get_num_threads() == _native.available_cores()
    assert _native.backend_info()["threads"] == _native.get_num_threads()


def cap_of_a_new_process(command=(), **environment):
    """Cap and available cores that a fresh interpreter finds, after ``command``."""
    code = "from cerflearn import _native as n; print(n.get_num_threads(), n.available_cores())"
    result = subprocess.run(
        [*command, sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(int(number) for number in result.stdout.split())


@pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed")
@pytest.mark.parametrize("n_cores", [1, 2])
def test_default_cap_follows_the_affinity_mask(n_cores):
    allowed = sorted(os.sched_getaffinity(0))[:n_cores]
    cores = ",".join(str(core) for core in allowed)
    assert cap_of_a_new_process(["taskset", "-c", cores]) == (len(allowed), len(allowed))


def test_default_cap_follows_what_limits_joblib():
    # LOKY_MAX_CPU_COUNT goes the way of a CPU quota, which a test cannot set.
    assert cap_of_a_new_process(LOKY_MAX_CPU_COUNT="1") == (1, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_call_goes_on_when_threads_cannot_start():
    # A thread's stack of 8 MiB does not fit the address space that is left: the caller works alone.
    code = """
import resource, threading
import numpy as np
from cerflearn import _native
from oracle.random_maps import dense_map, inputs
case = dense_map(40, 33)
model = case.model(_native, "float64", "baseline")
X, expected, out = inputs(2000, 40, "float64"), np.empty((2000, 33)), np.empty((2000, 33))
assert model.transform(X, expected, 1)
_native.set_num_threads(4)
size = resource.getrlimit(resource.RLIMIT_AS)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (6 << 20), size[1]))
try:
    threading.Thread(target=int).start()
except RuntimeError:
    pass
else:
    raise SystemExit("a thread was started")
assert model.transform(X, out, 4)
assert (out == expected).all()
"""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=True)


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
