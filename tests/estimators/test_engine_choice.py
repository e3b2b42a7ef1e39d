"""``engine`` of ``fit``: the same bits, workers that read files, engines without effect."""

from __future__ import annotations

import threading

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed.protocol.pickle import dumps

from cerflearn import (
    BlockedCERF,
    CERFClassifier,
    MaskedCERF,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from cerflearn.blocks import from_blocks, from_csv, from_npy, from_parquet
from cerflearn.blocks import row_source as reading
from cerflearn.estimators import input as reader
from cerflearn.estimators.predictors import fitting
from cerflearn.estimators.worker_rows import WorkerRows, _check_some
from dask_samples import LABELS, ROWS, bits, local_cluster

TEXT = np.array(["no", "yes"], dtype=object)[LABELS]
COLUMNS = list("abcdef")
ESTIMATORS = {
    "greedy": MaskedCERF(n_components=6, gamma="median", random_state=0),
    "labels": MaskedCERF(n_components=6, teacher="labels", weights="nnls", random_state=0),
    "nystroem": MaskedCERF(n_components=6, teacher="nystroem", selector="shared", random_state=0),
    "blocked": BlockedCERF(n_components=8, mask_density=0.5, random_state=0),
    "pca": RandomizedKernelPCA(n_components=2, random_state=0),
}


@pytest.fixture(scope="module")
def cluster():
    with local_cluster() as client:
        yield client


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of the rows, of which 700 at most are read at once."""
    path = tmp_path_factory.mktemp("files")
    np.save(path / "x.npy", ROWS)
    frame = pd.DataFrame(ROWS, columns=COLUMNS).assign(kind=TEXT)
    frame.to_parquet(path / "x.parquet", row_group_size=1500)
    frame.to_csv(path / "x.csv", index=False)
    return path


@pytest.fixture(autouse=True)
def _few_rows_at_once(monkeypatch):
    monkeypatch.setattr(reading, "READ_ROWS", 700)


def pieces():
    """Blocks of a function, one of them empty."""
    yield ROWS[:0], TEXT[:0]
    for start in range(0, len(ROWS), 999):
        yield ROWS[start : start + 999], TEXT[start : start + 999]


# Before all tests with the cluster, which stays until the last of them.
def test_a_cluster_must_be_there(folder):
    with pytest.raises(ValueError, match=r"there is no active client.*import Client"):
        ESTIMATORS["greedy"].fit(str(folder / "x.npy"), engine="dask")


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_workers_that_read_files_give_the_bits_of_the_fit_in_memory(folder, name):
    estimator = ESTIMATORS[name]
    expected = bits(estimator.fit(ROWS, TEXT))
    for X, y in (
        (str(folder / "x.npy"), TEXT),
        (from_parquet(folder / "x.parquet", target="kind"), None),
        (from_csv(folder / "x.csv", target="kind"), None),
        (from_blocks(pieces), None),
        (da.from_array(ROWS, chunks=1000), TEXT),
    ):
        assert bits(estimator.fit(X, y, engine="dask")) == expected


@pytest.mark.usefixtures("cluster")
def test_two_views_that_workers_read(folder, tmp_path):
    np.save(tmp_path / "y.npy", ROWS[:, :2] ** 2)
    expected = RandomizedKernelCCA(random_state=0).fit(ROWS, ROWS[:, :2] ** 2)
    for y in (from_npy(tmp_path / "y.npy"), ROWS[:, :2] ** 2):
        found = RandomizedKernelCCA(random_state=0)
        found.fit(from_npy(folder / "x.npy"), y, engine="dask")
        np.testing.assert_array_equal(found.x_components_, expected.x_components_)
        np.testing.assert_array_equal(found.y_components_, expected.y_components_)


@pytest.mark.usefixtures("cluster")
def test_rows_that_are_asked_for_are_sent_and_tasks_hold_no_data(folder):
    rows = WorkerRows(from_npy(folder / "x.npy", target=LABELS))
    for start, stop in ((0, 3), (650, 2200), (5999, 6000), (7, 7)):
        np.testing.assert_array_equal(rows[start:stop], ROWS[start:stop])
    np.testing.assert_array_equal(rows[np.array([3, 700, 5000])], ROWS[[3, 700, 5000]])
    np.testing.assert_array_equal(rows.y, LABELS)
    assert len(dumps(rows._partitions.cut)) < 5_000


def test_settings_of_predictors_are_compared_on_the_threads_of_the_engine(monkeypatch):
    seen = []

    class Recorded(fitting.Search):
        def __init__(self, task, options, seed):
            seen.append(options.n_threads)
            super().__init__(task, options, seed)

    monkeypatch.setattr(fitting, "Search", Recorded)
    monkeypatch.setattr(reader, "cpu_count", lambda: 3)
    model = CERFClassifier(macs=20, effort=0.01, activation="relu", alpha=1.0, random_state=0)
    for engine in (None, "serial", "threads"):
        model.fit(ROWS[:300], LABELS[:300], engine=engine)
    model.set_params(n_jobs=2).fit(ROWS[:300], LABELS[:300], engine="threads")
    assert seen == [1, 1, 3, 2]


@pytest.mark.parametrize("engine", ["serial", "threads"])
def test_engines_of_this_process_give_the_same_bits(folder, engine):
    for estimator in (ESTIMATORS["greedy"], ESTIMATORS["pca"]):
        expected = bits(estimator.fit(ROWS))
        assert bits(estimator.fit(ROWS, engine=engine)) == expected
        assert bits(estimator.fit(str(folder / "x.npy"), engine=engine)) == expected
    cca = RandomizedKernelCCA(random_state=0)
    expected = cca.fit(ROWS, ROWS).x_components_
    np.testing.assert_array_equal(cca.fit(ROWS, ROWS, engine=engine).x_components_, expected)


@pytest.mark.usefixtures("cluster")
def test_a_bad_block_is_named():
    def days(bad):
        for i in range(50):
            block = ROWS[i * 10 : i * 10 + 10].copy()
            yield bad(block) if i == 37 else block

    def with_nan(block):
        block[4, 1] = np.nan
        return block

    sampler = ESTIMATORS["greedy"]
    for bad, message in (
        (with_nan, "block 37 of days contains NaN in row 4"),
        (lambda block: block[:, :5], "block 37 of days has 5 columns, the blocks before it have 6"),
        (lambda block: (block, LABELS[:10]), "block 37 of days and block 0 differ in whether"),
        (lambda block: block.astype(str), "block 37 of days holds values of the type <U"),
    ):
        with pytest.raises(ValueError, match=message):
            sampler.fit(from_blocks(lambda bad=bad: days(bad), name="days"), engine="dask")
    with pytest.raises(ValueError, match="nobody has no rows"):
        sampler.fit(from_blocks(lambda: [ROWS[:0]], name="nobody"), engine="dask")


@pytest.mark.usefixtures("cluster")
def test_a_source_that_changes_between_passes_is_named(tmp_path):
    def other_rows():
        yield np.random.default_rng().normal(size=(50, 6))

    with pytest.raises(ValueError, match="block 0 of days is not what it was in the first pass"):
        ESTIMATORS["greedy"].fit(from_blocks(other_rows, name="days"), engine="dask")
    np.save(tmp_path / "x.npy", ROWS)
    rows = WorkerRows(from_npy(tmp_path / "x.npy"))
    np.save(tmp_path / "x.npy", ROWS[:100])
    with pytest.raises(ValueError, match=r"x\.npy has changed since it was first read"):
        rows[0:10]
    (tmp_path / "x.npy").unlink()
    source = rows._seen.source
    found = _check_some((source, rows._seen.version), 0, 1)
    assert found.startswith(f"There is no file {tmp_path / 'x.npy'}.")
    assert "All workers of the cluster must be able to read it" in found


@pytest.mark.usefixtures("cluster")
def test_sources_that_workers_cannot_read_are_refused():
    lock = threading.Lock()

    def locked():
        with lock:
            yield ROWS

    sampler = ESTIMATORS["greedy"]
    for source, kind, message in (
        (ROWS, ValueError, "engine='dask' and X is in memory: pass a Dask array, or a source"),
        (from_blocks([ROWS], name="days"), ValueError, "days holds its blocks in memory here"),
        (from_blocks(iter([ROWS])), ValueError, "can be read once only, and workers read it one"),
        (from_blocks(locked), TypeError, r"CalledSource\(the source\) cannot be sent to the wor"),
    ):
        with pytest.raises(kind, match=message):
            sampler.fit(source, engine="dask")


def test_an_engine_without_effect_is_refused():
    collection = da.from_array(ROWS, chunks=1000)
    two = MaskedCERF(n_jobs=2)
    one = RandomizedKernelPCA(n_jobs=1)
    for estimator, X, engine, message in (
        (two, ROWS, "spark", "engine='spark' is not valid: it must be 'serial', 'threads', 'dask"),
        (two, collection, "threads", "engine='threads' has no effect: the sums of a Dask coll"),
        (two, collection, "serial", "engine='serial' has no effect"),
        (two, ROWS, "serial", "engine='serial' and n_jobs=2 contradict"),
        (one, ROWS, "threads", "engine='threads' and n_jobs=1 contradict"),
        (RandomizedKernelPCA(macs=50), ROWS, "threads", "has no effect with macs=50"),
    ):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, engine=engine)
