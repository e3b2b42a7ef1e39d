"""Dask collections for tests, and partitions that kill the worker that loads them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from cerflearn import CVEM, MaskedCERF

ROWS = np.random.default_rng(0).normal(size=(6000, 6))
LABELS = (ROWS[:, 0] > 0).astype(int)


def learner(**settings):
    selector = CVEM(max_stages=3, tol=0.0, n_closing_stages=1)
    return MaskedCERF(n_components=8, selector=selector, random_state=0, **settings)


def bits(estimator):
    names = ("frequencies_", "offsets_", "selected_", "feature_proba_", "rotation_", "gamma_",
             "lower_bounds_", "components_", "mean_", "inverse_weights_")  # fmt: skip
    found = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    assert len(found) > 2
    return {name: np.asarray(value).tobytes() for name, value in found.items()}


@contextmanager
def local_cluster(n_workers=2, **config):
    """Client of a cluster of processes on this machine."""
    settings = {"logging.distributed": "critical", **config}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=60
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def load(start, stop, folder, deadly):
    """Rows of a partition; the worker dies at some of the calls, counted over all workers."""
    count = 0
    while True:
        try:
            os.close(os.open(Path(folder) / f"call-{count}", os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            count += 1
    if count in deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return ROWS[start:stop]


def slow_rows(start, stop):
    time.sleep(0.5)
    return ROWS[start:stop]


def slowly():
    """Dask array of ROWS that takes ten seconds to load, by one worker."""
    parts = [
        da.from_delayed(dask.delayed(slow_rows)(i, i + 300), shape=(300, 6), dtype=float)
        for i in range(0, len(ROWS), 300)
    ]
    return da.concatenate(parts)


def n_calls(folder):
    return len(list(Path(folder).glob("call-*")))


def deadly_rows(folder, deadly, n_rows=1500):
    """Dask array of ROWS, loaded anew in every pass."""
    parts = [
        da.from_delayed(
            dask.delayed(load)(start, start + n_rows, str(folder), frozenset(deadly)),
            shape=(n_rows, ROWS.shape[1]),
            dtype=ROWS.dtype,
        )
        for start in range(0, len(ROWS), n_rows)
    ]
    return da.concatenate(parts)
