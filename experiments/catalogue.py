"""Which experiments there are, and their configurations."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parent
NAMES = (
    "table2",
    "table3",
    "table3_variants",
    "table3_full_grid",
    "table4",
    "table4_heads",
    "table5",
    "figure1",
    "figure2",
    "figure3",
    "figures_process",
    "figures_trained",
    "cca",
)


def module_of(name: str) -> ModuleType:
    """Return the module with ``TITLE``, ``pieces``, ``summary`` and ``section`` or ``PAGE``."""
    return import_module(f"experiments.{name}")


def config_of(name: str, size: str, *, full_grid: bool = False) -> dict[str, Any]:
    """Return the tables ``common`` and ``size`` of an experiment's TOML file, and its size."""
    tables = tomllib.loads((FOLDER / "configs" / f"{name}.toml").read_text())
    config = tables.get("common", {}) | tables[size] | {"size": size}
    return config | {"full_grid": full_grid} if size == "full" else config
