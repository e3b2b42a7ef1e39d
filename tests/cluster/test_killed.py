"""Workers, scheduler and client that go away in the middle of a fit."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from distributed import Client, Future

from cerflearn import CERFClassifier, CERFRegressor, RandomizedKernelPCA
from cerflearn.engine.dask_engine import map_on_workers
from dask_samples import LABELS, ROWS, bits, deadly_rows, learner, local_cluster, n_calls, slowly

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:.*did not converge"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def kill_one_that_trains(client, killed):
    """Kill a worker that has trainings to run, once there is one."""
    while not killed:
        time.sleep(0.05)
        for worker, tasks in client.processing().items():
            if any("_run_item" in str(task) for task in tasks):
                killed.append(client.run(os.getpid, workers=[worker])[worker])
                os.kill(killed[0], signal.SIGKILL)
                return


@pytest.fixture(scope="module")
def expected():
    return bits(learner().fit(ROWS))


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_bits(expected, n_workers):
    pca = RandomizedKernelPCA(n_components=3, random_state=0)
    of_pca = bits(pca.fit(ROWS))
    with local_cluster(n_workers):
        for chunks in (6000, 1024, 333):
            assert bits(learner().fit(da.from_array(ROWS, chunks=chunks))) == expected
        assert bits(pca.fit(da.from_array(ROWS, chunks=500))) == of_pca


@pytest.mark.parametrize("deadly", [{2}, {9}, {14}, {19}, {25}, {6, 13, 20, 27}])
def test_killed_workers_change_no_bit(tmp_path, expected, deadly):
    with local_cluster():
        assert bits(learner().fit(deadly_rows(tmp_path, deadly))) == expected
    assert n_calls(tmp_path) > max(deadly)


@pytest.mark.parametrize("kind", [CERFClassifier, CERFRegressor])
def test_killed_workers_change_no_bit_of_predictors(tmp_path, kind):
    # Some die while rows are read, some while settings are compared.
    y = LABELS if kind is CERFClassifier else np.sin(2.0 * ROWS[:, 0]) + ROWS[:, 1]
    model = kind(macs=30, effort=0.05, random_state=0)
    names = ("head_coef_", "head_intercept_", "linear_coef_", "tables_", "feature_importances_")
    model.fit(ROWS, y)
    known = [np.asarray(getattr(model, name)).tobytes() for name in names]
    deadly = {1, 3, 6}
    with local_cluster() as client:
        targets = da.from_array(y, chunks=1500)
        killed = []
        killer = threading.Thread(target=kill_one_that_trains, args=(client, killed), daemon=True)
        killer.start()
        model.fit(deadly_rows(tmp_path, deadly), targets)
        assert killed
    assert n_calls(tmp_path) > max(deadly)
    assert [np.asarray(getattr(model, name)).tobytes() for name in names] == known


def test_a_pass_that_is_given_up_begins_anew(tmp_path, expected):
    with local_cluster(**{"distributed.scheduler.allowed-failures": 0}):
        assert bits(learner().fit(deadly_rows(tmp_path, {9, 12}))) == expected


def test_workers_that_always_die_are_an_error_and_nothing_is_fitted(tmp_path):
    sampler = learner().fit(ROWS)
    config = {"distributed.scheduler.allowed-failures": 0}
    message = "died under each of 4 attempts"
    with local_cluster(**config), pytest.raises(RuntimeError, match=message):
        sampler.fit(deadly_rows(tmp_path, range(10, 10_000)))
    assert not hasattr(sampler, "feature_map_")


def test_an_interrupt_cancels_the_tasks_and_leaves_nothing_fitted(expected):
    with local_cluster() as client:
        sampler = learner().fit(ROWS)
        threading.Timer(1.5, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            sampler.fit(slowly())
        assert not hasattr(sampler, "feature_map_")
        for _ in range(50):
            left = sum(map(len, client.processing().values()))
            if not left:
                break
            time.sleep(0.1)
        assert not left
        assert bits(learner().fit(da.from_array(ROWS, chunks=1000))) == expected


def test_an_interrupt_while_results_are_released_is_not_lost(monkeypatch):
    released = []

    def release(future, plain=Future.release):
        if not future._cleared:
            released.append(future.key)
            _thread.interrupt_main()
        plain(future)

    with local_cluster(1):
        monkeypatch.setattr(Future, "release", release)
        with pytest.raises(KeyboardInterrupt):
            map_on_workers(abs, [-1])
    assert released


def test_a_dead_scheduler_is_a_clear_error():
    address = "tcp://127.0.0.1:18797"
    commands = (
        ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "18797"],
        ["distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1"],
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-m", *command, "--no-dashboard"],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    try:
        with Client(address, timeout=30):
            sampler = learner().fit(ROWS)
            threading.Timer(2.0, running[0].kill).start()
            with pytest.raises(RuntimeError, match="connection to the Dask scheduler is lost"):
                sampler.fit(slowly())
            assert not hasattr(sampler, "feature_map_")
    finally:
        for process in running:
            process.kill()
            process.wait()
    np.testing.assert_array_equal(sampler.fit(ROWS).selected_, learner().fit(ROWS).selected_)
