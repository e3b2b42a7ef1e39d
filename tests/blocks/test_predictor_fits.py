"""Predictors fitted to rows that are not in memory: the bits of the fit in memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, random_array

from cerflearn import CERFClassifier, CERFRegressor
from cerflearn.blocks import from_blocks, from_npy, from_parquet
from cerflearn.estimators.predictors import training_rows
from cerflearn.estimators.targets import read_labels
from cerflearn.training import policy

N_ROWS = 40_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 5)).astype(np.float32)
X[5:9] = X[:4]  # rows that are merged
NUMBERS = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
LABELS = np.digitize(NUMBERS, [-0.5, 0.5])
QUICK = {"macs": 40, "effort": 0.02, "random_state": 0}


@pytest.fixture(autouse=True)
def read_in_blocks(monkeypatch):
    """Read rows block by block from 1,000 rows on, where it is 262,144 else."""
    monkeypatch.setattr(training_rows, "MEMORY_ROWS", 1000)


def bits(model):
    arrays = (
        model.head_coef_, model.head_intercept_, model.linear_coef_, model.tables_,
        model.feature_importances_, model.feature_map_.frequencies, model.feature_map_.offsets,
    )  # fmt: skip
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def frame_with(folder, **columns):
    path = folder / "x.parquet"
    pd.DataFrame(X, columns=list("abcde")).assign(**columns).to_parquet(path, row_group_size=17_000)
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "table"},
        {"activation": "cosine", "head": "ridge"},
        {"activation": "relu", "early_stopping": False},
        {"gamma": "scale"},
    ],
)
def test_a_classifier_has_the_same_bits_from_files(tmp_path, settings):
    model = CERFClassifier(**QUICK, **settings)
    expected = bits(model.fit(X, LABELS))
    np.save(tmp_path / "x.npy", X)
    assert bits(model.fit(from_parquet(frame_with(tmp_path, y=LABELS), target="y"))) == expected
    if "early_stopping" not in settings:
        return  # arrays in files are read by the same code for all settings
    assert bits(model.fit(from_npy(tmp_path / "x.npy", LABELS))) == expected
    assert bits(model.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), LABELS)) == expected


def test_selected_features_have_the_same_bits_from_files(tmp_path):
    model = CERFClassifier(macs=40, learn="selection", random_state=0)
    expected = bits(model.fit(X, LABELS))
    path = frame_with(tmp_path, y=LABELS)
    assert bits(model.fit(from_parquet(path, target="y"))) == expected


def test_a_regressor_has_the_same_bits_from_files(tmp_path):
    model = CERFRegressor(**QUICK)
    expected = bits(model.fit(X, NUMBERS))
    path = frame_with(tmp_path, y=NUMBERS)
    assert bits(model.fit(from_parquet(path, target="y"))) == expected
    assert model.feature_names_in_.tolist() == list("abcde")


def test_text_labels_and_weights_of_rows_that_are_not_in_memory(tmp_path):
    names = np.array(["low", "middle", "high"])[LABELS]
    weights = RNG.integers(3, size=N_ROWS).astype(float)
    model = CERFClassifier(**QUICK, activation="table")
    expected = bits(model.fit(X, names, sample_weight=weights))
    path = frame_with(tmp_path, y=names)
    assert bits(model.fit(from_parquet(path, target="y"), sample_weight=weights)) == expected
    assert model.classes_.tolist() == ["high", "low", "middle"]


@pytest.mark.parametrize("teacher", ["labels", "kernel"])
def test_sparse_rows_are_never_made_dense_as_a_whole(monkeypatch, teacher):
    monkeypatch.setattr(policy, "DENSE_ENTRIES", 0)
    sparse = csr_matrix(random_array((1100, 100), density=0.05, rng=RNG))
    y = np.asarray(sparse[:, :20].sum(axis=1)).ravel() > 0.5
    model = CERFClassifier(macs=60, effort=0.02, random_state=0, teacher=teacher)
    expected = bits(model.fit(sparse.toarray(), y))
    assert bits(model.fit(sparse, y)) == expected
    blocks = from_blocks([(sparse[:700], y[:700]), (sparse[700:], y[700:])])
    assert bits(model.fit(blocks)) == expected


def test_a_full_disk_is_said_with_the_folder(tmp_path):
    code = """
import resource, signal, sys, numpy as np
from cerflearn import CERFClassifier
from cerflearn.blocks import from_npy
from cerflearn.estimators.predictors import training_rows
from cerflearn.estimators.targets import read_labels
training_rows.MEMORY_ROWS = 1000
X = np.random.default_rng(0).normal(size=(40_000, 20))
np.save(sys.argv[1], X)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))
try:
    CERFClassifier(macs=40).fit(from_npy(sys.argv[1], X[:, 0] > 0))
except OSError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.npy")],
        env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(tmp_path) in run.stdout
    assert "TMPDIR" in run.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_fit_reads_a_source_twice():
    rows = np.concatenate([X] * 4)[:140_000]  # three blocks of the grid of training
    labels, read = np.resize(LABELS, len(rows)), []

    def blocks():
        for start in range(0, len(rows), 10_000):
            read.append(start)
            yield rows[start : start + 10_000], labels[start : start + 10_000]

    CERFClassifier(**QUICK, activation="cosine", gamma=1.0).fit(from_blocks(blocks))
    # Once to check all rows, and once to keep them in a file.
    assert len(read) == 2 * (len(rows) // 10_000)


def test_classes_of_rows_take_one_byte_each():
    found = read_labels(LABELS, np.ones(N_ROWS), None, "logistic")
    assert found.strata.itemsize == found.targets.codes.itemsize == 1
    many = read_labels(np.arange(N_ROWS) // 4, np.ones(N_ROWS), None, "logistic")
    assert many.strata.max() == many.targets.codes.max() == N_ROWS // 4 - 1
