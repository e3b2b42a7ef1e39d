"""The command ``cerf``: help, info, demo, frontier, and how fast it starts."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cerflearn.cli import demo
from cerflearn.cli.main import COMMANDS, main
from cerflearn.comparison.table import Frontier

needs_full_device = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="no device that is always full"
)


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def one_line(text):
    return " ".join(text.split())


def test_help_lists_every_command():
    result = run("--help")
    assert result.exit_code == 0
    for name, (_, text) in COMMANDS.items():
        assert name in result.output
        assert text.split(",")[0] in result.output


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_has_one_example_a_line_and_no_marks_of_its_layout(name):
    result = run(*([] if name is None else [name]), "--help")
    assert result.exit_code == 0
    assert "\\b" not in result.output
    assert "\b" not in result.output
    _, _, examples = result.output.partition("Examples:\n")
    lines = examples.strip("\n").splitlines()
    assert len(lines) >= 2
    assert all(line.strip().startswith("cerf ") for line in lines)
    assert all(line.count("cerf ") == 1 for line in lines)


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
    monkeypatch.setattr(demo, "DEMO_BUDGETS", (150, 300))
    monkeypatch.setattr(demo, "DEMO_METHODS", ("linear", "rff", "masked"))
    monkeypatch.setattr(demo, "_summary", lambda found: f"best: {found.best(300)['method']}")


def test_demo_prints_a_table_and_writes_the_picture(small_demo, tmp_path):
    picture = tmp_path / "demo.png"
    result = run("demo", "--picture", str(picture))
    assert result.exit_code == 0, result.output
    table = [tuple(line.split()[:2]) for line in result.stdout.splitlines()]
    for method in demo.DEMO_METHODS:
        assert table.count(("150", method)) == table.count(("300", method)) == 1
    assert "left out: a linear model costs 640 MACs" in result.stdout
    assert "best: masked" in result.stdout
    assert f"Picture: {picture.resolve()}" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_tells_how_far_it_is_on_the_error_stream(small_demo, tmp_path):
    result = run("demo", "--picture", str(tmp_path / "demo.png"))
    assert "masked, 300 MACs" in result.stderr
    assert "masked, 300 MACs" not in result.stdout


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("missing/demo.png", "the folder .*missing does not exist"),
        ("demo.unknown", "its name must end in .png, .pdf or .svg"),
        ("demo", "its name must end in .png, .pdf or .svg"),
        ("folder.png", "it is a folder"),
    ],
)
def test_demo_refuses_a_picture_it_could_not_write_before_it_starts(
    small_demo, tmp_path, monkeypatch, place, message
):
    monkeypatch.setattr(
        demo, "compare_methods", lambda *_, **__: pytest.fail("the run has started")
    )
    (tmp_path / "folder.png").mkdir()
    result = run("demo", "--picture", str(tmp_path / place))
    assert result.exit_code == 2
    assert re.search(message, one_line(result.output))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.png"]


@needs_full_device
def test_a_picture_that_fails_after_the_run_is_an_error(small_demo, tmp_path):
    picture = tmp_path / "full.png"
    picture.symlink_to("/dev/full")
    result = run("demo", "--picture", str(picture))
    assert result.exit_code == 1
    assert "best: masked" in result.stdout
    assert "could not be written: No space left on device" in result.stderr


def test_demo_without_matplotlib_draws_only_if_asked(small_demo, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert "No picture: matplotlib is missing (pip install 'cerflearn[report]')" in result.stdout
    result = run("demo", "--picture", "a.png")
    assert result.exit_code == 2
    assert "matplotlib is missing: pip install 'cerflearn[report]'" in one_line(result.stderr)


def test_demo_stays_within_the_budgets(monkeypatch):
    monkeypatch.setattr(demo, "DEMO_BUDGETS", (700,))
    monkeypatch.setattr(demo, "DEMO_METHODS", ("linear", "rff"))
    linear, rff = demo.compare_methods(2).rows
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
    assert re.search(text, demo._summary(Frontier(rows, "accuracy")))


def test_demo_without_a_model_of_random_features_says_so():
    assert "no model of random Fourier features" in demo._summary(Frontier([], "accuracy"))


@needs_full_device
@pytest.mark.parametrize("arguments", ["--help", "info", "info --help", "--version"])
def test_a_full_disk_is_one_line(arguments):
    code = "from cerflearn.cli.main import main; main()"
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-c", code, *arguments.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert result.returncode == 1
    assert result.stderr.splitlines() == ["Error: No space left on device."]


def test_too_little_memory_is_one_line(monkeypatch):
    def broken():
        raise MemoryError

    monkeypatch.setattr("cerflearn._native.backend_info", broken)
    result = run("info")
    assert result.exit_code == 1
    assert result.stderr == "Error: There is not enough memory.\n"
