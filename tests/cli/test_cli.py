"""The command ``cerf``: help, info, demo, and how fast it starts."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from cerflearn.cli import demo
from cerflearn.cli.main import COMMANDS, main


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
    monkeypatch.setattr(demo, "WIDTHS", (32, 64))
    monkeypatch.setattr(demo, "TABLE_WIDTH", 64)


def test_demo_prints_a_table_and_writes_the_picture(small_demo, tmp_path):
    picture = tmp_path / "demo.png"
    result = run("demo", "--seeds", "2", "--picture", str(picture))
    assert result.exit_code == 0, result.output
    for method in ("RBFSampler", "RandomFourierFeatures", "FastfoodFeatures", "MaskedCERF"):
        assert method in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_without_a_writable_place_still_gives_its_result(small_demo, tmp_path):
    result = run("demo", "--seeds", "2", "--picture", str(tmp_path / "missing" / "demo.png"))
    assert result.exit_code == 0, result.output
    assert "No picture" in result.output
    assert "linear model" in result.output


def test_demo_counts_macs_of_map_and_head(small_demo):
    rows = {(row.method, row.n_components): row for row in demo.compare(2, print)}
    rival = rows["RBFSampler (scikit-learn)", 64]
    assert rival.macs == 64 * 64 + 64 * 10
    assert rows["RandomFourierFeatures", 64].macs == 64 * 32 + 64 * 10
    assert rows["linear model (no features)", 64].macs == 640
