"""Figure 1: reconstruction error of the randomised autoencoder on four descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments import curves, curves_page
from experiments.pieces import Piece

TITLE = "Figure 1: autoencoder on our substitute for NUS-WIDE"
TASK = "reconstruction"


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """Return the measurements."""
    return curves.pieces(config, TASK)


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return what the paper shows, the picture and the tables."""
    return curves_page.section("figure1", results, config, folder)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return how often the paper's order of the curves holds."""
    return curves_page.summary("figure1", results, config)
