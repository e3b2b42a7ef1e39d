"""``cerf frontier``: what it prints and writes, and what it says of bad options."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cerflearn.cli.frontier import METHOD_NAMES
from cerflearn.cli.main import main
from cerflearn.comparison.methods import METHODS

needs_full_device = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="no device that is always full"
)


@pytest.fixture
def table(tmp_path):
    """CSV with two classes, told apart by the first of three inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{'high' if a > 0 else 'low'}" for a, b, c in X]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["one,two,three,label", *lines]) + "\n")
    return path


def run(path, *more, stdin=None, **options):
    given = {"target": "label", "macs": "10", "methods": "linear"} | options
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    return CliRunner().invoke(main, ["frontier", str(path), *words, *more], input=stdin)


def one_line(text):
    return " ".join(text.split())


def test_rows_and_picture_are_written(table, tmp_path):
    output, picture = tmp_path / "rows.json", tmp_path / "rows.png"
    result = run(table, macs="10,40", methods="linear,rff", output=output, picture=picture)
    assert result.exit_code == 0, result.output
    assert "60 training rows and 20 test rows of 3 inputs, 2 classes" in result.stdout
    rows = json.loads(output.read_text())
    assert [(row["method"], row["budget"]) for row in rows] == [
        ("linear", 10), ("linear", 40), ("rff", 10), ("rff", 40)
    ]  # fmt: skip
    assert rows[0]["score"] > 0.9
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_rows_go_to_the_standard_output(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(table, output="-", picture=tmp_path / "rows.png")
    assert result.exit_code == 0, result.output
    assert [row["method"] for row in json.loads(result.stdout)] == ["linear"]
    assert "Picture: " in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "rows.png"]


def test_json_has_null_where_there_is_no_number(table, tmp_path):
    output = tmp_path / "rows.json"
    assert run(table, macs="1,10", output=output).exit_code == 0

    def refuse(name):
        pytest.fail(f"{name} is not JSON")

    rows = json.loads(output.read_text(), parse_constant=refuse)
    assert rows[0]["score"] is None
    assert rows[0]["note"] == "a linear model costs 3 MACs"
    assert rows[1]["error"] is None  # one seed
    assert rows[1]["score"] > 0.9


def test_progress_goes_to_the_error_stream(table):
    result = run(table)
    assert "linear, 10 MACs" in result.stderr
    assert "linear, 10 MACs" not in result.stdout


def test_numbers_are_regressed(table):
    table.write_text("\n".join(line.rpartition(",")[0] for line in table.read_text().split()))
    result = run(table, target="two")
    assert result.exit_code == 0, result.output
    assert "regression" in result.stdout


def test_standard_input_is_read(table):
    result = run("-", stdin=table.read_text())
    assert result.exit_code == 0, result.output
    assert "standard input: 60 training rows" in result.stdout


def test_a_method_that_fails_is_told_in_table_and_rows(table, tmp_path, monkeypatch):
    def broken(training, macs):
        raise ValueError("no luck")

    monkeypatch.setitem(METHODS, "rff", broken)
    output, picture = tmp_path / "rows.json", tmp_path / "rows.svg"
    result = run(table, methods="rff", output=output, picture=picture)
    assert result.exit_code == 0, result.output
    assert "left out: failed with ValueError: no luck" in result.stdout
    assert json.loads(output.read_text())[0]["note"] == "failed with ValueError: no luck"
    assert b"<svg" in picture.read_bytes()


def test_names_of_the_methods_are_those_of_the_comparison():
    assert list(METHODS) == list(METHOD_NAMES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"macs": "many"}, "'many' is no list of positive integers such as 500,1000,2000"),
        ({"macs": "0,5"}, "'0,5' is no list of positive integers"),
        ({"macs": "9" * 20}, "more than 1,000,000,000,000 MACs"),
        ({"methods": "svm"}, "'svm' is no method; the methods are linear, mlp, pruned_mlp"),
        ({"methods": "linear,"}, "'' is no method"),
        ({"test_size": "2"}, "2.0 is not in the range 0.0<x<1.0"),
        ({"seeds": "0"}, "0 is not in the range"),
    ],
)
def test_bad_options_are_named(table, change, message):
    result = run(table, **change)
    assert result.exit_code == 2
    assert message in one_line(result.stderr)
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_size": "nan"}, "Error: --test-size nan is not valid: it must be a share"),
        ({"test_size": "0.99"}, "Error: --test-size 0.99 leaves 0 of 80 rows to train on"),
        ({"target": "price"}, "no column 'price'; its columns are one, two, three, label."),
        ({"task": "regression"}, "--task regression needs numbers"),
    ],
)
def test_errors_speak_of_options_and_columns(table, change, message):
    result = run(table, **change)
    assert result.exit_code == 1
    (line,) = (line for line in result.stderr.splitlines() if not line.startswith("["))
    assert message in line


def test_an_unclear_task_names_the_option(tmp_path):
    path = tmp_path / "whole.csv"
    path.write_text("one,price\n" + "".join(f"{i % 7},{i}\n" for i in range(40)))
    result = run(path, target="price")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: Column 'price' has 40 different values in 40 rows: pass --task regression if they "
        "are numbers, --task classification if they are labels.\n"
    )
    assert run(path, target="price", task="regression").exit_code == 0


@pytest.mark.parametrize("option", ["output", "picture"])
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("missing/a.png", "the folder .*missing does not exist"),
        ("folder.png", "it is a folder"),
        ("x" * 300 + ".png", "File name too long"),
        ("data.png", "is another file of this command"),
    ],
)
def test_files_that_cannot_be_written_are_noticed_before_the_run(
    table, tmp_path, monkeypatch, option, place, message
):
    monkeypatch.setattr("cerflearn.frontier", lambda *_, **__: pytest.fail("the run has started"))
    data = table.rename(tmp_path / "data.png")
    (tmp_path / "folder.png").mkdir()
    result = run(data, **{option: tmp_path / place})
    assert result.exit_code == 2
    assert re.search(rf"Invalid value for --{option}: .*{message}", one_line(result.stderr))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.png", "folder.png"]


def test_rows_and_picture_must_be_two_files(table, tmp_path):
    result = run(table, output=tmp_path / "a.png", picture=tmp_path / "a.png")
    assert result.exit_code == 2
    assert "is another file of this command" in one_line(result.stderr)


@needs_full_device
@pytest.mark.parametrize("option", ["output", "picture"])
def test_a_full_disk_is_an_error_after_the_table(table, tmp_path, option):
    place = tmp_path / "full.png"
    place.symlink_to("/dev/full")
    result = run(table, **{option: place})
    assert result.exit_code == 1
    assert "linear" in result.stdout
    assert "could not be written: No space left on device" in result.stderr


def test_a_file_that_was_there_is_kept_if_the_run_fails(table, tmp_path):
    output = tmp_path / "rows.json"
    output.write_text("old")
    assert run(table, output=output, target="price").exit_code == 1
    assert output.read_text() == "old"


def test_no_file_is_left_behind_if_the_run_fails(table, tmp_path):
    output = tmp_path / "rows.json"
    assert run(table, output=output, target="price").exit_code == 1
    assert not output.exists()


@pytest.mark.parametrize("title", ["cost_$_of_$", "a\\b^2", "価格"])
def test_names_of_columns_may_have_any_characters(tmp_path, table, title):
    path = tmp_path / "odd.csv"
    path.write_text(table.read_text().replace("label", title, 1))
    result = run(path, target=title, picture=tmp_path / "odd.png")
    assert result.exit_code == 0, result.output
