"""The benchmark of streams runs at a small size, and the page has the tables of its results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_small_run_has_all_results(call, tmp_path):
    path = tmp_path / "stream.json"
    call("stream", "--tiny", "--output", path)
    results = json.loads(path.read_text())
    assert set(results["accuracy"]) == {"0", "1"}
    names = {"cvem, batch", "cvem, stream", "shared, batch", "shared, stream", "random, batch"}
    assert set(results["accuracy"]["1"]) == names
    assert set(results["memory"]["stream"]) == {"400", "800"}
    printed = call("stream", "--table", "--output", path)
    assert printed.count("\n") == 10


def test_the_page_has_the_tables_of_the_results(load):
    stream = load("stream")
    results = json.loads(stream.RESULTS.read_text())
    assert stream.tables(results) in (ROOT / "docs" / "theory.md").read_text()


def test_streams_are_within_half_a_point_of_batch_cvem_and_memory_does_not_grow(load):
    results = json.loads(load("stream").RESULTS.read_text())
    seeds = results["accuracy"].values()
    gains = [s["cvem, stream"]["accuracy"] - s["cvem, batch"]["accuracy"] for s in seeds]
    assert len(gains) >= 3
    assert sum(gains) / len(gains) > -0.5
    of_stream, of_batch = (list(results["memory"][way].values()) for way in ("stream", "batch"))
    # Six times the rows: all that is new is the second run of CVEM, from mini-batch 25 on.
    assert of_stream[-1] < 1.25 * of_stream[0]
    assert of_batch[-1] > 4.0 * of_batch[0]
