"""The picture that commands write: scores against MACs and against time."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cerflearn.cli._files import check_writable, write_file
from cerflearn.cli._messages import printable

if TYPE_CHECKING:
    from cerflearn.comparison.table import Frontier


def has_matplotlib() -> bool:
    """Whether the optional package is installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def check_picture(path: Path, *others: Path | None) -> None:
    """Refuse, before the work, a picture that could not be drawn or written after it.

    Parameters
    ----------
    path : Path
        Where to write; its suffix gives the format.
    *others : Path or None
        Files that must not be overwritten.
    """
    if not has_matplotlib():
        raise click.BadParameter(
            "matplotlib is missing: pip install 'cerflearn[report]'.", param_hint="--picture"
        )
    from matplotlib.backend_bases import FigureCanvasBase

    if path.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
        raise click.BadParameter(
            f"{printable(str(path))} is no picture: its name must end in .png, .pdf or .svg.",
            param_hint="--picture",
        )
    check_writable(path, "--picture", *others)


def write_picture(found: Frontier, path: Path, title: str, *, err: bool = False) -> None:
    """Draw two panels into a file and print where it is.

    Parameters
    ----------
    found : Frontier
        What was compared.
    path : Path
        Where to write, as checked.
    title : str
        Above both panels.
    err : bool, default=False
        Whether to print to the standard error.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, against in zip(panels, ("macs", "time"), strict=True):
        found.plot(ax=axes, against=against)
    panels[1].get_legend().remove()
    figure.suptitle(title.replace("$", r"\$"))  # a pair of them would start a formula
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # letters that no font has
        figure.savefig(picture, dpi=120, format=path.suffix[1:].lower())
    write_file(path, picture.getvalue())
    click.echo(f"Picture: {path.resolve()}", err=err)
