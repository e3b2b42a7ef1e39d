"""What the README shows runs and is true."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cerflearn import load

README = Path(__file__).parents[1] / "README.md"


(PYTHON,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
(SHELL,) = (b for b in re.findall(r"```sh\n(.*?)```", README.read_text(), re.S) if "cc -O2" in b)


def test_train_save_export_compile_and_run(capsys, monkeypatch, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(PYTHON, str(README), "exec"), names)
    accuracy, cost, *report = capsys.readouterr().out.splitlines()
    (shown,) = re.findall(r"about (\d\.\d+)", PYTHON)
    assert float(accuracy) == pytest.approx(float(shown), abs=0.015)  # CPUs round differently
    assert "macs=500" in PYTHON
    assert "macs=500" in cost
    (labels,) = (line for line in report if line.startswith("labels equal"))
    assert float(labels.split()[2]) >= 99.0
    X = names["X"]
    assert np.array_equal(load("digits.cerf").predict(X), names["model"].predict(X))
    done = subprocess.run(["sh", "-c", SHELL], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["0"]


def test_the_example_has_ten_lines():
    lines = [line for line in PYTHON.splitlines() if line]
    assert len(lines) <= 10


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target


def test_pages_show_the_measured_speed():
    script = README.parent / "benchmarks" / "render.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
