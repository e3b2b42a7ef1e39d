"""The picture that commands write: scores against MACs and against time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cerflearn.comparison.table import Frontier


def write_picture(found: Frontier, path: Path, title: str) -> str:
    """Draw if matplotlib is there; say what happened in one line.

    Parameters
    ----------
    found : Frontier
        What was compared.
    path : Path
        Where to write; its suffix gives the format.
    title : str
        Above both panels.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "No picture: matplotlib is missing (pip install 'cerflearn[report]')."
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, against in zip(panels, ("macs", "time"), strict=True):
        found.plot(ax=axes, against=against)
    panels[1].get_legend().remove()
    figure.suptitle(title)
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:  # a folder that is not there, an unknown format
        return (
            f"No picture: {path} cannot be written ({getattr(error, 'strerror', None) or error})."
        )
    return f"Picture: {path.resolve()}"
