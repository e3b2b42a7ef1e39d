"""What the README shows runs and is true."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


PYTHON, DEPLOYED = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
(SHELL,) = (b for b in re.findall(r"```sh\n(.*?)```", README.read_text(), re.S) if "cc -O2" in b)


def test_the_first_example_runs(capsys):
    exec(compile(PYTHON, str(README), "exec"), {})
    accuracy, cost = capsys.readouterr().out.splitlines()[:2]
    (shown,) = re.findall(r"about (\d\.\d+)", PYTHON)
    assert float(accuracy) == pytest.approx(float(shown), abs=0.015)  # CPUs round differently
    assert "macs=500" in PYTHON
    assert "macs=500" in cost


def test_train_save_export_compile_and_run(capsys, monkeypatch, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    monkeypatch.chdir(tmp_path)
    exec(compile(DEPLOYED, str(README), "exec"), {})
    accuracy, *report = capsys.readouterr().out.splitlines()
    assert float(accuracy) > 0.9
    (labels,) = (line for line in report if line.startswith("labels equal"))
    assert float(labels.split()[2]) >= 99.0
    done = subprocess.run(["sh", "-c", SHELL], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["0"]


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target


def test_pages_show_the_measured_speed():
    script = README.parent / "benchmarks" / "render.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
