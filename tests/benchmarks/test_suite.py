"""The benchmark of the suite runs on small sets, takes itself up, and counts as it says."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "suite.py"


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tmp_path_factory):
    """Folder with two small sets, named by CERF_DATA."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "suite").mkdir()
    X, y = load_iris(return_X_y=True)
    np.savez(folder / "suite" / "iris.npz", X=X.astype(np.float32), y=y.astype(np.uint8))
    X, y = load_diabetes(return_X_y=True)
    np.savez(folder / "suite" / "sugar.npz", X=X[:120].astype(np.float32), y=y[:120])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CERF_DATA", str(folder))
        yield folder


@pytest.fixture(scope="module", name="out")
def fixture_out(folder, call):
    """Results of a run."""
    out = folder / "suite.json"
    methods = "cerf,linear,trees,trees_bytes"
    call("suite", "run", "--methods", methods, "--splits", 2, "--jobs", 1, "--out", out)
    return out


def read(path):
    return json.loads(path.read_text())


def test_there_is_a_record_for_each_dataset_split_budget_and_method(out, load):
    data = load("_suite_data")
    records = read(out)
    keys = {(r["dataset"], r["split"], r["budget"], r["method"]) for r in records}
    budgets = {"iris": (16, 48), "sugar": (16, 40)}  # linear models of 12 and 10 MACs
    assert {name: data.facts(name).budgets for name in budgets} == budgets
    methods = ("cerf", "linear", "trees", "trees_bytes")
    assert len(records) == len(keys) == 2 * 2 * 2 * 4
    assert keys == {
        (name, split, budget, method)
        for name in budgets
        for split in range(2)
        for budget in budgets[name]
        for method in methods
    }


def test_models_stay_within_operations_or_bytes(out):
    records = {(r["dataset"], r["split"], r["budget"], r["method"]): r for r in read(out)}
    for (name, split, budget, method), record in records.items():
        assert record["linear_macs"] == {"iris": 12, "sugar": 10}[name]
        if record["score"] is None:  # the model of cerf may be smaller than any tree
            assert method == "trees_bytes"
            assert "bytes" in record["note"]
            continue
        if method != "trees_bytes":
            assert 0 < record["macs"] <= budget
        else:
            assert 0 < record["bytes"] <= records[name, split, budget, "cerf"]["bytes"]
        assert record["fit_seconds"] > 0.0
        assert record["microseconds"] > 0.0
        assert ("settings" in record) == (method != "linear")
        assert record["version"]
    scores = [r["score"] for key, r in records.items() if key[0] == "iris" and key[3] == "cerf"]
    assert min(scores) > 85.0  # in points
    assert max(scores) <= 100.0


def test_what_is_there_is_not_measured_again_unless_asked(out, call):
    before = out.read_bytes()
    call("suite", "run", "--methods", "cerf,trees_bytes", "--splits", 2, "--jobs", 1, "--out", out)
    assert out.read_bytes() == before
    options = ("--splits", 2, "--jobs", 1, "--sets", "iris", "--out", out)
    call("suite", "run", "--methods", "linear", "--again", "linear", *options)
    one, other = (
        {(r["dataset"], r["split"], r["budget"], r["method"]): r["score"] for r in part}
        for part in (json.loads(before), read(out))
    )
    assert one == other


def test_the_script_runs_in_processes_and_shows_and_merges(folder, out, tmp_path):
    more, both = tmp_path / "more.json", tmp_path / "both.json"

    def run(*arguments):
        command = [sys.executable, str(SCRIPT), *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True)

    found = run("run", "--methods", "rff,cerf_table,masked", "--sets", "iris", "--splits", 1,
                "--jobs", 2, "--out", more)  # fmt: skip
    assert "/3] " in found.stderr
    assert "iris, split 0; rff 16: " in found.stderr
    run("merge", out, more, "--out", both)
    assert len(read(both)) == len(read(out)) + len(read(more))
    shown = run("show", "--out", both).stdout
    assert "2 datasets, 4 points" in shown
    assert "| worse than linear, at its budget or more |" in shown
    assert "| iris | 16 | 2 |" in shown


def test_methods_that_do_not_exist_are_left_out_with_a_note(load, monkeypatch):
    runs = load("_suite_runs")
    monkeypatch.setitem(runs.PREDICTORS, "cerf_odd", {"activation": "odd"})
    kept, notes = runs.valid_methods(["linear", "cerf_odd", "cerf_relu"])
    assert kept == ["linear", "cerf_relu"]
    assert "activation" in notes["cerf_odd"]
    assert "not valid" in notes["cerf_odd"]


def test_unknown_names_are_refused(folder, call, tmp_path):
    with pytest.raises(SystemExit, match="no method: svm"):
        call("suite", "run", "--methods", "svm", "--out", tmp_path / "new.json")
    with pytest.raises(SystemExit, match=r"not in .*: nowhere"):
        call("suite", "run", "--sets", "nowhere", "--out", tmp_path / "new.json")


def test_all_datasets_get_the_first_split_before_the_next(folder, load):
    runs = load("_suite_runs")
    found = list(runs.tasks(["iris", "sugar"], 2, ["cerf", "rff", "trees_bytes"], []))
    assert [task.split for task in found] == [0] * 4 + [1] * 4
    assert [(task.name, [*task.budgets]) for task in found[:3]] == [
        ("iris", ["cerf", "trees_bytes"]),
        ("iris", ["rff"]),
        ("sugar", ["cerf", "trees_bytes"]),
    ]
    assert found[0].budgets["cerf"] == (16, 48)


def test_trees_by_bytes_wait_for_the_model_they_are_compared_with(folder, load):
    runs = load("_suite_runs")
    (task,) = runs.tasks(["iris"], 1, ["trees_bytes"], [])
    assert runs.measure(task, "") == []


def test_splits_are_those_of_the_name_and_number(folder, load):
    data = load("_suite_data")
    whole = np.load(folder / "suite" / "iris.npz")
    rows = np.random.default_rng(zlib.crc32(b"iris") + 1).permutation(150)
    found = data.split("iris", 1)
    assert found.training.n_samples == 105
    assert found.training.seed == 1
    np.testing.assert_array_equal(found.training.y, whole["y"][rows[:105]])
    np.testing.assert_array_equal(found.y_test, whole["y"][rows[105:]])


def test_budgets_follow_a_linear_model(load):
    facts = load("_suite_data").Facts
    assert facts(100, 0).budgets == (25, 100, 400)
    assert facts(100, 2).budgets == (25, 100, 400)
    assert facts(20, 26).budgets == (130, 520, 2080)
    assert facts(3, 26).budgets == (27, 78, 312)  # one feature and its 26 scores
    assert facts(5, 0).budgets == (16, 20)


@pytest.fixture(name="summary")
def fixture_summary(load):
    return load("_suite_summary")


def records_of(scores, dataset="made", budget=50, linear_macs=40):
    return [
        {
            "dataset": dataset, "split": split, "budget": budget, "method": method,
            "linear_macs": linear_macs, "score": value, "fit_seconds": 2.0, "microseconds": 0.1,
        }
        for method, values in scores.items()
        for split, value in enumerate(values)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "rival", "worse"),
    [
        ([90.0, 90.0], [90.4, 90.4], False),  # within half a point
        ([90.0, 90.0], [90.6, 90.6], True),
        ([90.0, 90.0], [91.0, 93.0], False),  # -2, standard error 1
        ([90.0, 90.0], [91.9, 92.3], True),
        ([90.0], [90.4], False),  # one split: half a point counts
        ([90.0], [91.0], True),
        ([95.0, 95.0], [90.0, 90.0], False),
    ],
)
def test_worse_is_below_two_standard_errors_and_half_a_point(summary, ours, rival, worse):
    points = summary.points_of(records_of({"cerf": ours, "mlp": rival}))
    (found,) = summary.compare(points, "cerf", ("mlp",))
    assert found.is_worse == worse
    assert summary.share_worse([found]).startswith(f"{int(worse)} of 1 ")


def test_the_rival_is_the_best_of_several_at_each_point(summary):
    scores = {"cerf": [90.0, 92.0], "mlp": [91.0, 91.0], "rff": [80.0, 99.0], "nystroem": [None]}
    points = summary.points_of(records_of(scores))
    (found,) = summary.compare(points, "cerf", summary.OTHERS)
    assert found.rival == "mlp"
    assert found.difference == 0.0
    assert found.error == pytest.approx(1.0)


def test_differences_are_of_the_splits_that_both_have(summary):
    points = summary.points_of(records_of({"cerf": [90.0, 50.0], "mlp": [89.0]}))
    (found,) = summary.compare(points, "cerf", ("mlp",))
    assert found.difference == 1.0
    assert np.isnan(found.error)


def test_linear_counts_from_its_own_budget_on(summary):
    low = records_of({"cerf": [1.0], "linear": [9.0]}, budget=39)
    high = records_of({"cerf": [1.0], "linear": [9.0]}, budget=40)
    ask = summary.QUESTIONS["worse than linear, at its budget or more"]
    assert [c.point.budget for c in ask(summary.points_of(low + high))] == [40]


def test_the_summary_has_all_figures(summary):
    first = {"cerf": [80.0, 82.0], "cerf_relu": [85.0, 87.0], "pruned_mlp": [79.0, 81.0]}
    second = {"cerf": [70.0, 70.0], "pruned_mlp": [67.0, 67.0], "trees": [75.0, 75.0]}
    records = records_of(first) + records_of(second, dataset="simulated")
    text = "\n".join(summary.summary(records, ("simulated",)))
    assert "| `cerf` - `pruned_mlp`, mean | +2.00 ± 1.00 (median +2.00, 2 points) | +1.00 (" in text
    assert "| worse than its best single activation | 1 of 1 (100.0 %) | 1 of 1 (100.0 %) |" in text
    assert "| worse than trees of equal operations | 1 of 1 (100.0 %) | - |" in text
    assert "| worse than linear, at its budget or more | - | - |" in text
    assert "| cerf | 4 | 2.00 | 0.100 |" in text
    row = "| made | 50 | 2 | 81.0 | **86.0** | 80.0 | - | cerf_relu -5.0 |"
    assert row in text
    assert "| simulated | 50 | 2 | **70.0**" not in text
    assert summary.summary([], ()) == ["nothing measured"]
