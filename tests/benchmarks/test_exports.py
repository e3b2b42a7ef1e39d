"""Pages of exports show what was measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("script", ["c_export.py"])
def test_the_page_shows_what_was_measured(script):
    command = [sys.executable, str(ROOT / "benchmarks" / script), "render", "--check"]
    subprocess.run(command, check=True)
