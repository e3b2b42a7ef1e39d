"""The paper's own numbers, the only ones that are typed in."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("paper.toml")


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    return tomllib.loads(PATH.read_text())


def numbers(name: str) -> dict[str, Any]:
    """Table of ``paper.toml`` with the numbers of an experiment; ``source`` says where from."""
    return _tables()[name]
