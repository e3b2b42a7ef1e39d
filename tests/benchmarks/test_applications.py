"""The benchmark of applications: its arms cost the same, its verdict can go both ways."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cerflearn import cost

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(name="module")
def fixture_module(load):
    return load("applications")


def rows_of(module, error):
    """Rows of one data set, with errors from ``error(arm's place, seed)``."""
    return [
        {"data": "raw", "K": size, "arm": arm, "seed": seed, "error": error(place, seed)}
        for size in module.SIZES
        for place, arm in enumerate(module.ARMS)
        for seed in range(5)
    ]


def test_the_verdict_lists_arms_that_lose(module):
    falling = module.verdict(rows_of(module, lambda place, seed: 1.0 - 0.1 * place + 0.01 * seed))
    assert falling["reached"]
    assert falling["points"] == 9
    assert falling["exceptions"] == []
    rising = module.verdict(rows_of(module, lambda place, seed: 0.1 * place**2 + 0.001 * seed))
    assert not rising["reached"]
    assert rising["share"] == 0.0
    assert rising["exceptions"][0]["point"] == "raw, K=40: rff to untrained"


def test_arms_cost_the_same(module):
    X = np.random.default_rng(0).normal(size=(300, 64))
    macs = {
        arm: cost(module.make_map(arm, 40, 64, 0.01).set_params(random_state=0).fit(X)).macs
        for arm in ("rff", "untrained", "default")
    }
    assert macs["untrained"] == 40 * 26
    assert all(0.98 * 40 * 26 <= value <= 40 * 26 for value in macs.values())


def test_published_verdicts_follow_from_the_published_errors(module):
    report = json.loads((BENCHMARKS / "results" / "applications.json").read_text())
    for task in ("reconstruction", "completion"):
        rows = [row for row in report["rows"] if row["task"] == task]
        assert len(rows) == 3 * 5 * (3 * 4 + 1)
        assert report[f"{task}_verdict"] == module.verdict(rows)
    assert report["memory"]["reached"] == (report["memory"]["peak_above_input_MiB"] < 1024)
