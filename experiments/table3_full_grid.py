"""Table 3 with the paper's grid of kernel widths and a wide one of C."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments import table3, table3_grid_page
from experiments.pieces import Piece

TITLE = "Table 3 with the paper's grid"
BESIDE = "table3_variants"  # the short grid, for the summary


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """As Table 3: the settings, then each map at those."""
    return table3.pieces(config)


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the settings that were chosen and the table of each dataset."""
    del folder
    return table3_grid_page.section(results, config)


def summary(
    results: dict[str, Any], config: dict[str, Any], beside: dict[str, Any] | None = None
) -> list[str]:
    """Return what the wide grid changes; ``beside`` has the results of the short one."""
    return table3_grid_page.summary(results, config, beside)
