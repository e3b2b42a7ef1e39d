"""What the README shows runs and is true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README.read_text(), re.S))
def test_python_examples_run(block, capsys):
    exec(compile(block, str(README), "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 0.9


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target


def test_pages_show_the_measured_speed():
    script = README.parent / "benchmarks" / "render.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)
