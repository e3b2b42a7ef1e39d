"""Figures 1 to 3 with masks of a Beta-Bernoulli process, as the paper draws them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments import curves, curves_page
from experiments.markdown import table
from experiments.pieces import Piece

TITLE = "Figures 1 to 3 with Beta-Bernoulli masks"


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """Measurements of each figure, below its name."""
    for figure in config["figures"]:
        for piece in curves.pieces(of_figure(config, figure), config["figures"][figure]["task"]):
            needs = (figure, *piece.needs) if piece.needs else ()
            yield replace(piece, key=(figure, *piece.key), needs=needs)


def of_figure(config: dict[str, Any], figure: str) -> dict[str, Any]:
    """Return the configuration of one figure, as ``curves`` has it."""
    return config | config["figures"][figure]


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the errors of each figure and the points at which the order is another."""
    del folder
    parts = [
        f"As Figures 1 to 3 at K = {', '.join(map(str, config['sizes']))}, with masks of a "
        "Beta-Bernoulli process (bbp) beside masks that read as many inputs each, "
        f"{config['seeds']} seeds."
    ]
    for figure in config["figures"]:
        mine = of_figure(config, figure)
        parts += [f"## {figure.capitalize()}", *curves_page.short_section(results[figure], mine)]
    return "\n\n".join(parts)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return the mean errors of all figures, and the order of the curves in each."""
    rows, lines = [], []
    for figure in config["figures"]:
        mine = of_figure(config, figure)
        rows += [[figure, *row] for row in curves_page.mean_rows(results[figure], mine)]
        lines.append(f"- {figure}: {curves_page.process_line(results[figure], mine)}")
    names = [curves_page.WORDS[name] for name in config["methods"]]
    text = (
        f"Normalised errors, means over K = {', '.join(map(str, config['sizes']))}, ± standard "
        "error over seeds."
    )
    return [text, table(["figure", "data", *names], rows), "\n".join(lines)]
