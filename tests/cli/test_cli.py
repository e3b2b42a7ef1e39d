"""The command ``cerf``: help, info, demo, frontier, and how fast it starts."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from cerflearn.cli import demo
from cerflearn.cli.main import COMMANDS, main
from cerflearn.comparison.table import Frontier


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_help_lists_every_command():
    result = run("--help")
    assert result.exit_code == 0
    for name, (_, text) in COMMANDS.items():
        assert name in result.output
        assert text.split(",")[0] in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert f"cerf {name}" in result.output


def test_unknown_command_is_refused():
    result = run("no-such-command")
    assert result.exit_code == 2
    assert "no-such-command" in result.output


def test_version_is_the_package_version():
    import cerflearn

    assert cerflearn.__version__ in run("--version").output


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from cerflearn.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_info_tells_level_and_threads():
    result = run("info", "--json")
    facts = json.loads(result.output)
    assert facts["level"] in facts["levels"]
    assert facts["threads"] >= 1
    assert "level" in run("info").output


def test_info_measures_the_peak():
    facts = json.loads(run("info", "--peak", "--json").output)
    assert facts["float32 peak (GFLOP/s)"] > facts["float64 peak (GFLOP/s)"] > 0


@pytest.fixture
def small_demo(monkeypatch):
    monkeypatch.setattr(demo, "BUDGETS", (150, 300))
    monkeypatch.setattr(demo, "METHODS", ("linear", "rff", "masked"))
    monkeypatch.setattr(demo, "_verdict", lambda found: f"best: {found.best(300)['method']}")


def test_demo_prints_a_table_and_writes_the_picture(small_demo, tmp_path):
    picture = tmp_path / "demo.png"
    result = run("demo", "--picture", str(picture))
    assert result.exit_code == 0, result.output
    table = [tuple(line.split()[:2]) for line in result.stdout.splitlines()]
    for method in demo.METHODS:
        assert table.count(("150", method)) == table.count(("300", method)) == 1
    assert "left out: a linear model costs 640 MACs" in result.stdout
    assert "best: masked" in result.stdout
    assert f"Picture: {picture.resolve()}" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_tells_how_far_it_is_on_the_error_stream(small_demo, tmp_path):
    result = run("demo", "--picture", str(tmp_path / "demo.png"))
    assert "masked, 300 MACs" in result.stderr
    assert "masked, 300 MACs" not in result.stdout


@pytest.mark.parametrize("place", ["missing/demo.png", "demo.unknown"])
def test_demo_without_a_writable_place_still_gives_its_result(small_demo, tmp_path, place):
    result = run("demo", "--picture", str(tmp_path / place))
    assert result.exit_code == 0, result.output
    assert "No picture" in result.output
    assert "masked" in result.output


def test_demo_compares_with_rivals_within_the_budgets(monkeypatch):
    monkeypatch.setattr(demo, "BUDGETS", (700,))
    monkeypatch.setattr(demo, "METHODS", ("linear", "rff"))
    linear, rff = demo.compare(2).rows
    assert linear["macs"] == 640
    assert rff["macs"] == 8 * (64 + 2 * 10)  # cosine and sine of 8 projections
    assert linear["score"] > rff["score"]
    assert linear["error"] >= 0.0


def made_up(method, macs, score):
    return {"method": method, "budget": 2_000, "macs": macs, "score": score}


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ((0.95, 0.9), "with 500 MACs .* random Fourier features with 1,900 .*: 3.8 times fewer"),
        ((0.9, 0.95), "does not reach"),
    ],
)
def test_demo_says_what_it_takes_to_be_as_good_as_random_features(scores, text):
    rows = [made_up("cerf", 500, scores[0]), made_up("rff", 1_900, scores[1])]
    assert re.search(text, demo._verdict(Frontier(rows, "accuracy")))


@pytest.fixture
def table(tmp_path):
    """CSV with two classes, told apart by the first of three inputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{'high' if a > 0 else 'low'}" for a, b, c in X]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["one,two,three,label", *lines]) + "\n")
    return path


def test_frontier_compares_on_a_table(table, tmp_path):
    output, picture = tmp_path / "rows.json", tmp_path / "rows.png"
    result = run(
        "frontier", str(table), "--target", "label", "--macs", "10,40",
        "--methods", "linear,rff", "--output", str(output), "--picture", str(picture),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "60 training rows and 20 test rows of 3 inputs, 2 classes" in result.stdout
    rows = json.loads(output.read_text())
    assert [(row["method"], row["budget"]) for row in rows] == [
        ("linear", 10), ("linear", 40), ("rff", 10), ("rff", 40)
    ]  # fmt: skip
    assert rows[0]["score"] > 0.9
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_frontier_regresses_on_numbers(table):
    result = run(
        "frontier", str(table), "--target", "two", "--macs", "10", "--methods", "linear",
    )  # fmt: skip
    assert result.exit_code == 1
    assert "not all numbers: label. Encode or drop them" in result.output
    table.write_text("\n".join(line.rpartition(",")[0] for line in table.read_text().split()))
    result = run("frontier", str(table), "--target", "two", "--macs", "10", "--methods", "linear")
    assert result.exit_code == 0, result.output
    assert "regression" in result.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--target": "price"}, "no column 'price'; its columns are one, two, three, label"),
        ({"--macs": "many"}, "'many' is no list of positive integers such as 500,1000,2000"),
        ({"--macs": "0,5"}, "'0,5' is no list of positive integers"),
        ({"--methods": "svm"}, "'pruned_mlp'"),
        ({"--test-size": "2"}, "test_size=2.0 is not valid"),
    ],
)
def test_frontier_says_what_is_wrong(table, change, message):
    arguments = {"--target": "label", "--macs": "10", "--methods": "linear"} | change
    result = run("frontier", str(table), *(word for pair in arguments.items() for word in pair))
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label\na\nb\n", "no column beside 'label'"),
        ("one,label\n", "no rows below a header"),
        ("one,label\n1,a\n2\n", "Line 3 of .* has 1 values, the header 2"),
        ("one,label\n1,a\n,b\n", "not all numbers: one"),
        ("one,label\n1,a\nnan,b\n", "not all numbers: one"),
    ],
)
def test_frontier_says_what_is_wrong_with_a_file(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run("frontier", str(path), "--target", "label", "--macs", "10")
    assert result.exit_code == 1
    assert re.search(message, " ".join(result.output.split()))
