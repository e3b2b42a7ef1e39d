"""The benchmark of predictors runs at a small size, takes itself up, and compares as it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PARTS = ("accuracy", "mnist60k", "frontier", "regression", "speed")


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return tmp_path_factory.mktemp("results") / "predictors.json"


@pytest.fixture(scope="module")
def said(output, call):
    """What each sub-command prints when run alone."""
    options = ("--tiny", "--seeds", 1, "--output", output)
    return {part: call("predictors", part, *options) for part in PARTS}


@pytest.fixture
def summary(load):
    return load("_predictors_summary")


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("accuracy", "few digits, 300 MACs:"),
        ("mnist60k", "MLPClassifier with"),
        ("frontier", "few digits, 640 MACs: cerf"),
        ("regression", "diabetes, 64 MACs: cerf"),
        ("speed", "RBFSampler + ridge"),
    ],
)
def test_each_part_runs_alone_and_prints_its_figures(said, part, line):
    assert line in said[part]


def test_models_stay_within_their_budgets(said, output):
    results = json.loads(output.read_text())
    assert results["accuracy"]["few digits"]["300"]["0"]["macs"] <= 300
    assert results["mnist60k"]["cerf"]["400"]["macs"] <= 400
    assert {p["macs"] for p in results["mnist60k"]["mlp"]["400"].values()} == {5 * 74}
    for part, name in (("frontier", "few digits"), ("regression", "diabetes")):
        for rows in results[part][name]["0"].values():
            for row in rows:
                assert (row["macs"] or 0) <= row["budget"]
                assert (row["score"] is None) == bool(row["note"])


def test_what_was_measured_is_not_measured_again(said, output, call):
    before = output.read_bytes()
    again = call("predictors", "all", "--tiny", "--seeds", 1, "--output", output)
    assert "] accuracy" not in again
    assert f"all there: {output}" in again
    assert output.read_bytes() == before


def test_the_script_shows_what_was_measured(said, output):
    script = Path(__file__).parents[2] / "benchmarks" / "predictors.py"
    command = [sys.executable, str(script), "show", "--output", str(output)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert all(f"\n{part}\n" in shown for part in PARTS)


def test_no_piece_starts_when_time_is_up(tmp_path, call):
    out = call(
        "predictors", "accuracy", "--tiny", "--minutes", -1, "--output", tmp_path / "new.json"
    )
    assert out.splitlines()[-1] == "time is up: run again to go on"


def test_accuracy_has_a_standard_error_over_seeds(summary):
    def line(*accuracies):
        seeds = {str(i): {"accuracy": value} for i, value in enumerate(accuracies)}
        return summary.accuracies({"RAW": {"2000": seeds}})[0]

    assert line(93.0, 94.0) == "RAW, 2,000 MACs: 93.50 ± 0.50 % (2 seeds)"
    assert line(93.9) == "RAW, 2,000 MACs: 93.90 % (1 seeds)"  # one seed has no error


def frontier_results(cerf, rival, other=(0.1, 0.1)):
    def rows(score):
        return [{"budget": 50, "score": score}, {"budget": 9, "score": None}]

    scores = {"cerf": cerf, "mlp": rival, "rff": other}
    return {
        "RAW": {
            str(seed): {method: rows(values[seed]) for method, values in scores.items()}
            for seed in range(2)
        }
    }


@pytest.mark.parametrize(
    ("cerf", "rival", "place"),
    [
        ((0.95, 0.95), (0.90, 0.90), "above"),
        ((0.90, 0.90), (0.95, 0.95), "below"),
        ((0.90, 0.92), (0.92, 0.90), "above"),  # 0 on average
        ((0.90, 0.92), (0.905, 0.945), "below"),  # -1.5, standard error 1
        ((0.90, 0.92), (0.90, 0.935), "within"),  # -.75, standard error .75
    ],
)
def test_points_are_counted_by_the_paired_difference(summary, cerf, rival, place):
    (found,) = summary.comparisons(frontier_results(cerf, rival), 100.0)
    assert found.rival == "mlp"
    assert found.ours - found.theirs == pytest.approx(found.difference)
    expected = {"above": (1, 0, 0), "within": (0, 1, 0), "below": (0, 0, 1)}[place]
    text = summary.counts([found], 2)
    above, within, below = expected
    assert f"at {above} of 1 points, below it by at most one standard error at {within}," in text
    assert f"by more at {below}" in text
    assert ("RAW at 50 MACs (-" in text) == (place == "below")


def test_the_rival_is_the_best_of_all_others(summary):
    found = frontier_results((0.9, 0.9), (0.8, 0.8), other=(0.95, 0.95))
    (row,) = summary.comparisons(found, 1.0)
    assert (row.rival, row.theirs, row.error) == ("rff", 0.95, 0.0)
    assert row.difference == pytest.approx(-0.05)
    line = "RAW, 50 MACs: cerf 0.900, best other rff 0.950, difference -0.050 ± 0.000"
    assert summary.lines_of([row], 3)[0] == line


def test_seeds_that_lack_a_method_do_not_count(summary):
    found = frontier_results((0.9, 0.9), (0.8, 0.8))
    del found["RAW"]["1"]["mlp"]
    assert summary.points(found)["RAW", 50]["cerf"] == [0.9]


def test_rate_and_epochs_of_the_rival_are_chosen_on_held_out_rows(summary):
    looks = [
        {"epochs": 5, "held out": 96.0, "accuracy": 97.5},
        {"epochs": 10, "held out": 97.0, "accuracy": 96.5},
    ]
    found = {"cerf": {"20000": {"accuracy": 97.0}}, "mlp": {"20000": {"0.01": {"looks": looks}}}}
    (line,) = summary.large(found)
    assert "97.00 %; dense MLP of equal MACs 96.50 % (rate 0.01, 10 epochs), difference" in line
    assert line.endswith("+0.50")


@pytest.mark.skipif("CERF_DATA" not in os.environ, reason="needs the data in CERF_DATA")
def test_letter_has_the_paper_split_and_raw_hides_a_column(load):
    data = load("_predictors_data")
    letter = data.letter(0)
    assert letter.X_train.shape == (5_375, 70)
    assert letter.X_test.shape == (46_777, 70)
    assert data.linear_macs(letter) == 70 * 26
    column = data.raw_column(0)
    assert column.X_train.shape == (4_000, 380)
    assert column.y_train.shape == (4_000, 20)
    assert data.linear_macs(column) == 380 * 20
    images = (data.read("digits_raw")[0] / 255.0).reshape(-1, 20, 20)
    rows = {image[:, 10].tobytes(): np.delete(image, 10, axis=1).tobytes() for image in images}
    # Columns may be equal for several images: only unique ones can be looked up.
    first = next(y for y in column.y_test if (images[:, :, 10] == y).all(axis=1).sum() == 1)
    index = int(np.flatnonzero((column.y_test == first).all(axis=1))[0])
    assert rows[first.tobytes()] == column.X_test[index].tobytes()
    assert data.linear_macs(data.whole("pima")(0)) == 8


@pytest.fixture
def render(load):
    return load("render_predictors")


def test_the_page_shows_what_was_measured(render):
    assert render.PAGE.read_text() == render.page(json.loads(render.RESULTS.read_text()))


def test_the_page_shows_every_part_and_marks_the_best(render, said, output):
    results = json.loads(output.read_text())
    text = render.page(results)
    for title in (
        "Accuracy at total MACs",
        "All of MNIST",
        "Ten datasets",
        "Regression",
        "Time of",
    ):
        assert f"## {title}" in text
    rows = [line for line in text.splitlines() if line.startswith("| few digits | 640 |")]
    assert len(rows) == 2  # all methods, and the best other
    assert rows[0].count("**") == 2
    assert "| few digits | 300 |" in text


def test_a_method_that_is_too_dear_shows_a_dash(render):
    row = {"budget": 9, "score": 0.5, "microseconds": 1.0}
    none = {"budget": 9, "score": None, "microseconds": None}
    found = {
        "data": {"0": {"linear": [none], "cerf": [row]}, "1": {"linear": [none], "cerf": [row]}}
    }
    assert "| data | 9 | - | **50.0 ± 0.0** |" in render.frontier_table(found, 100.0, 1)
    assert "| data | - | 1.00 |" in render.time_table(found)
