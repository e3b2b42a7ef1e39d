"""Processes that are killed in the middle of a fit with a checkpoint, and the same call again."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

from dask_samples import local_cluster
from killed_fits import LEARNERS, PREDICTORS, ROWS, fit, fitted_bits, kill_at, start

pytestmark = pytest.mark.cluster

# States, and how many times they were written when the process is killed; 0: in the middle of it.
MOMENTS = {
    "cvem": [("fingerprint", 1), ("stages", 1), ("stages", 4), ("stages", 8), ("stages", 0)],
    "literal": [("embedding", 1), ("stages", 1), ("stages", 2), ("stages", 4), ("stages", 0)],
    "incremental": [("embedding", 1), ("stages", 1), ("stages", 2), ("stages", 5), ("stages", 0)],
    "shared": [("fingerprint", 1), ("sums", 1), ("rounds", 1), ("rounds", 20), ("sums", 0)],
    "greedy": [("embedding", 1), ("sums", 1), ("rounds", 1), ("rounds", 3), ("rounds", 0)],
    "classifier": [
        ("fingerprint", 1),
        ("round_0", 1),
        ("round_2", 0),
        ("start_0", 1),
        ("start_0", 3),
    ],
    "nnls": [("fingerprint", 1), ("sums", 0), ("rounds", 1), ("rounds", 2), ("selection", 1)],
}


@pytest.fixture(scope="module")
def undisturbed():
    return {name: fitted_bits(fit(name)) for name in LEARNERS | PREDICTORS}


@pytest.mark.parametrize(
    ("name", "state", "n_writes"),
    [(name, *moment) for name, moments in MOMENTS.items() for moment in moments],
)
def test_the_same_call_goes_on_to_the_same_bits(tmp_path, undisturbed, name, state, n_writes):
    kill_at(start(name, tmp_path), tmp_path, state, n_writes)
    assert fitted_bits(fit(name, tmp_path)) == undisturbed[name]


def test_a_process_that_is_killed_five_times_gets_to_the_same_bits(tmp_path, undisturbed):
    for _ in range(5):
        kill_at(start("cvem", tmp_path), tmp_path, "stages", 2)  # one more than it begins with
    assert fitted_bits(fit("cvem", tmp_path)) == undisturbed["cvem"]


@pytest.mark.parametrize(("state", "n_writes"), [("fingerprint", 1), ("stages", 1), ("stages", 3)])
def test_a_killed_client_of_a_cluster_goes_on(tmp_path, undisturbed, state, n_writes):
    with local_cluster() as client:
        process = start("cvem", tmp_path, client.scheduler.address)
        kill_at(process, tmp_path, state, n_writes)
        again = fit("cvem", tmp_path, da.from_array(ROWS, chunks=2048))
    assert fitted_bits(again) == undisturbed["cvem"]


@pytest.mark.parametrize(("state", "n_writes"), [("round_0", 1), ("start_0", 1)])
def test_a_killed_client_that_compares_settings_on_a_cluster_goes_on(
    tmp_path, undisturbed, state, n_writes
):
    with local_cluster() as client:
        process = start("classifier", tmp_path, client.scheduler.address)
        kill_at(process, tmp_path, state, n_writes)
        again = fit("classifier", tmp_path, da.from_array(ROWS, chunks=2048))
    assert fitted_bits(again) == undisturbed["classifier"]


def test_rows_in_memory_go_on_from_the_checkpoint_of_a_cluster(tmp_path, undisturbed):
    with local_cluster() as client:
        process = start("cvem", tmp_path, client.scheduler.address)
        kill_at(process, tmp_path, "stages", 2)
    np.save(tmp_path / "x.npy", ROWS)
    again = fit("cvem", tmp_path, str(tmp_path / "x.npy"))
    assert fitted_bits(again) == undisturbed["cvem"]
