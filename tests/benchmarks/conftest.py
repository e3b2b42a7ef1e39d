"""Runs the scripts of the benchmarks in this process: an import of scikit-learn takes seconds."""

from __future__ import annotations

import importlib
import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session", name="load")
def fixture_load():
    """Module of the benchmarks by its name; scripts import each other as if they were run."""

    def load(name: str) -> ModuleType:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(BENCHMARKS))
            return importlib.import_module(name)

    return load


@pytest.fixture(scope="session", name="call")
def fixture_call(load):
    """What a script prints, called with these arguments."""

    def call(name: str, *arguments: Any) -> str:
        script = load(name)
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
            patch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
            script.main()
        return out.getvalue()

    return call
