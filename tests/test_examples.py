"""Every example runs, says what it found, and is quick."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
MOST_SECONDS = 60  # of one CPU


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(path), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **threads, "MPLBACKEND": "Agg"},
        preexec_fn=limit_cpu_time,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example prints what it found"
    for picture in tmp_path.iterdir():
        assert picture.stat().st_size > 5000, f"{picture.name} is empty"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_says_how_it_is_run_and_leaves_no_picture_behind(path):
    assert f"examples/{path.name}" in ast.get_docstring(ast.parse(path.read_text()))
    assert not list(path.parent.glob("*.png"))


def limit_cpu_time():
    """End a child that uses more than a minute, whatever else the machine is doing."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
