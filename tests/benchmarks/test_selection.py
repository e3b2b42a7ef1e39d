"""The benchmark of selectors runs at a small size, takes itself up, and its page is up to date."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


WIDTHS = (0.01, 1.0)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory, load, call):
    """Results of two seeds, of a grid of settings that is smaller than the usual one."""
    path = tmp_path_factory.mktemp("results") / "selection.json"
    smaller = {"WIDTHS": WIDTHS, "C_GRID": (0.1, 1.0), "N_DRAWS": 1, "WIDTH_BUDGET": 4}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in smaller.items():
            patch.setattr(load("_selection_accuracy"), name, value)
        call("selection", "all", "--tiny", "--seeds", 2, "--output", path)
    return path


@pytest.fixture
def published():
    return json.loads((BENCHMARKS / "results" / "selection.json").read_text())


def test_every_method_stays_within_the_macs_of_dense_features(tiny):
    results = json.loads(tiny.read_text())
    seeds = results["accuracy"]["few digits"]
    assert set(seeds) == {"0", "1"}
    for seed in seeds.values():
        methods = {name: row for name, row in seed.items() if name not in ("width", "C")}
        assert len(methods) == 10
        assert methods["dense RFF"]["macs"] == [256, 512]
        for row in methods.values():
            assert all(0 < macs <= most for macs, most in zip(row["macs"], (256, 512), strict=True))
            assert all(10.0 < value <= 100.0 for head in ("ridge", "svm") for value in row[head])
            assert all(0.0 < error < 1.0 for error in row["kernel error"])


def test_trained_and_untrained_masks_differ_in_the_choice_alone(tiny):
    for seed in json.loads(tiny.read_text())["accuracy"]["few digits"].values():
        trained, untrained = seed["paper_setting"], seed["untrained masks"]
        assert trained["outputs"] == untrained["outputs"]
        assert trained["macs"] == untrained["macs"]
        assert trained["ridge"] != untrained["ridge"]


def test_what_was_measured_is_not_measured_again(tiny):
    before = tiny.read_bytes()
    command = [sys.executable, str(BENCHMARKS / "selection.py"), "all", "--tiny", "--seeds", "2"]
    command += ["--output", str(tiny)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == [f"all there: {tiny}"]
    assert tiny.read_bytes() == before


def test_tables_can_be_made_of_any_results(tiny, load, monkeypatch):
    results = json.loads(tiny.read_text())
    tables = load("_selection_tables")
    monkeypatch.setattr(tables, "WIDTHS", WIDTHS)
    accuracy = ("accuracy", "gains", "widths", "wide")
    for name in (*accuracy, "mnist", "seconds", "solvers", "memory", "defaults"):
        text = getattr(tables, name)(results)
        assert "nan" not in text, name
        widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
        assert len(widths) == 1, name


def test_page_shows_what_was_measured(call):
    call("render_selection", "--check")


@pytest.mark.parametrize(
    "part", ["accuracy", "wide", "widths", "mnist", "time", "defaults", "linear"]
)
def test_page_would_not_match_other_results(part, published, load):
    render = load("render_selection")
    page = render.PAGE.read_text()
    assert render.filled(page, published) == page

    def changed(node):
        if isinstance(node, dict):
            return {key: changed(value) for key, value in node.items()}
        if isinstance(node, list):
            return [changed(value) for value in node]
        return 1.5 * node if isinstance(node, float) else node  # sizes stay whole

    other = copy.deepcopy(published)
    other[part] = changed(other[part])
    assert render.filled(page, other) != page


def results_with_gain(gains):
    """Two seeds of one dataset whose trained masks gain so much at each of two budgets."""
    untrained = {"svm": [50.0, 60.0], "ridge": [50.0, 60.0]}
    seeds = {}
    for seed, gain in enumerate(gains):
        row = (np.array([50.0, 60.0]) + gain).tolist()
        trained = {"svm": row, "ridge": row}
        seeds[str(seed)] = {"untrained masks": untrained, "paper_setting": trained}
    return {"accuracy": {"RAW": seeds}}


def test_gain_is_shown_on_average_and_where_it_is_least(load):
    found = load("render_selection").gains(results_with_gain([[9.0, -2.0], [9.0, -4.0]]))
    assert found == [
        (
            f"RAW, {head}: `paper_setting` minus untrained masks, points",
            "+3.0 ± 0.5 on average; least -3.0 ± 1.0, at budget 2",
        )
        for head in ("svm", "ridge")
    ]


def test_missing_data_are_named(load, monkeypatch, tmp_path):
    datasets = load("datasets")
    datasets.read.cache_clear()
    for folder in (None, str(tmp_path)):
        if folder is None:
            monkeypatch.delenv("CERF_DATA", raising=False)
        else:
            monkeypatch.setenv("CERF_DATA", folder)
        with pytest.raises(FileNotFoundError, match=r"digits_raw\.npz .* CERF_DATA .* OpenCV"):
            datasets.read("digits_raw")


def test_folds_of_five_seeds_cover_all_rows_once(load):
    fold = load("datasets").fold
    X, y = np.arange(23.0)[:, None], np.arange(23)
    splits = [fold(X, y, seed) for seed in range(5)]
    assert sorted(np.concatenate([split.y_test for split in splits])) == list(range(23))
    for split in splits:
        assert set(split.y_train) | set(split.y_test) == set(range(23))
        assert set(split.X_train[:, 0]) == set(split.y_train)
