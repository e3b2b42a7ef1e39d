"""Table 4 with two heads, logistic regression and the linear SVM, and two laws of masks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments import table4, table4_heads_page
from experiments.pieces import Piece

TITLE = "Table 4 with the SVM and Beta-Bernoulli masks"


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """Each method on the five folds of each repetition."""
    return table4.pieces(config)


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the tables of both datasets."""
    del folder
    return table4_heads_page.section(results, config)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return how trained masks stand to untrained ones and to RFF, with each head."""
    return table4_heads_page.summary(results, config)
