"""The counter of crossed files: functions in all threads, and fits inside other fits."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from cerflearn import (
    CERFClassifier,
    MaskedCERF,
    RandomFourierFeatures,
    RandomizedKernelPCA,
)
from files_crossed import Reentry, files_crossed

X = np.random.default_rng(0).normal(size=(40, 5))


def test_files_of_called_functions_are_counted_and_no_others():
    crossing = files_crossed(lambda: RandomFourierFeatures(random_state=0).fit(X))
    assert {"features/dense.py", "spectral/laws.py"} <= crossing.files
    assert not any(name.startswith(("cli/", "learning/", "comparison/")) for name in crossing.files)
    assert crossing.reentries == []


def test_calls_in_other_threads_count():
    def run():
        thread = threading.Thread(target=RandomFourierFeatures(random_state=0).fit, args=(X,))
        thread.start()
        thread.join()

    assert "features/dense.py" in files_crossed(run).files


def test_a_fit_inside_the_fit_of_another_estimator_is_found():
    inner = RandomFourierFeatures(n_components=20)
    model = RandomizedKernelPCA(n_components=3, feature_map=inner, random_state=0)
    found = files_crossed(lambda: model.fit(X)).reentries
    assert [(entry.inner, entry.outer) for entry in found] == [
        ("RandomFourierFeatures", "RandomizedKernelPCA")
    ]
    assert isinstance(found[0], Reentry)


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (MaskedCERF(n_components=6, random_state=0), 24),
        (MaskedCERF(n_components=6, selector="cvem", random_state=0), 30),
        (CERFClassifier(macs=30, random_state=0), 33),
    ],
    ids=["greedy", "cvem", "classifier"],
)
def test_fits_go_down_and_come_back_once(model, most):
    crossing = files_crossed(lambda: model.fit(X, (X[:, 0] > 0).astype(int)))
    assert crossing.reentries == []
    assert 10 < len(crossing.files) <= most


@pytest.mark.parametrize(
    "model", [MaskedCERF(n_components=6, random_state=0), CERFClassifier(macs=30, random_state=0)]
)
def test_a_fit_in_memory_runs_no_code_for_checkpoints_streams_and_clusters(model):
    crossing = files_crossed(lambda: model.fit(X, (X[:, 0] > 0).astype(int)))
    words = ("saved", "checkpoint", "files/", "blocks/", "dask", "streamed", "worker", "online")
    others = {f for f in crossing.files if any(word in f.removeprefix("engine/") for word in words)}
    assert not others


def test_one_fit_after_the_other_is_none():
    def run():
        RandomFourierFeatures(random_state=0).fit(X)
        RandomFourierFeatures(random_state=1).fit(X)

    assert files_crossed(run).reentries == []


def test_the_profiler_is_gone_afterwards():
    before = sys.getprofile()
    files_crossed(lambda: None)
    assert sys.getprofile() is before
