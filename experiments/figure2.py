"""Figure 2: reconstruction error of dense, untrained and trained features."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments import curves, curves_page
from experiments.pieces import Piece

TITLE = "Figure 2: autoencoder, dense, untrained and trained"
TASK = "reconstruction"


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """Return the measurements."""
    return curves.pieces(config, TASK)


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return what the paper shows, the picture and the tables."""
    return curves_page.section("figure2", results, config, folder)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return how often the paper's order of the curves holds."""
    return curves_page.summary("figure2", results, config)
