"""Table 3 in other readings: Beta-Bernoulli masks, a fifth chosen, the median width, no cosine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments import table3, table3_variants_page
from experiments.pieces import Piece

TITLE = "Table 3: readings of the paper's setting"


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """As Table 3: the settings, then each map at those."""
    return table3.pieces(config)


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the table of each reading."""
    del folder
    return table3_variants_page.section(results, config)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return what the readings change."""
    return table3_variants_page.summary(results, config)
