"""Files that commands write: checked before the work, written after it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cerflearn.cli._messages import printable


def check_writable(path: Path, option: str, *others: Path | None) -> None:
    """Refuse a path that cannot be written, or that is one of the other files of a command.

    Parameters
    ----------
    path : Path
        File to write later. Nothing is left behind if it is not there yet.
    option : str
        Option that names it, for the message.
    *others : Path or None
        Files that must not be overwritten.
    """
    name = printable(str(path))
    if any(other is not None and other.resolve() == path.resolve() for other in others):
        raise click.BadParameter(f"{name} is another file of this command.", param_hint=option)
    try:
        there = os.path.lexists(path)
        if not path.parent.is_dir():
            reason = f"the folder {printable(str(path.parent))} does not exist"
        elif path.is_dir():
            reason = "it is a folder"
        else:
            if not there or path.is_file():  # pipes and devices are not opened twice
                path.open("ab").close()
            if not there:
                path.unlink()
            return
    except OSError as error:
        reason = error.strerror or str(error)
    raise click.BadParameter(f"{name} cannot be written: {reason}.", param_hint=option)


def write_file(path: Path, data: bytes) -> None:
    """Write a file, or say in one line why that failed."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise click.ClickException(
            f"{printable(str(path))} could not be written: {error.strerror or error}."
        ) from None
