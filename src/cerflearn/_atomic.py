"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to write; refuse a folder, and a folder that does not exist."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(target.parent)!r} for {target.name!r}: make it."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a folder: pass the name of a file.")
    return target


def write_atomically(files: Mapping[Path, Iterable[Any]]) -> None:
    """Write files beside their places, and put them in place once all are written.

    Parameters
    ----------
    files : mapping of Path to iterable of bytes-like
        Content of each, one part after the other. An error leaves what was there before, and no
        other file.
    """
    targets = [check_target(path) for path in files]
    drafts: list[tuple[Path, Path]] = []
    try:
        for target, parts in zip(targets, files.values(), strict=True):
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            drafts.append((Path(name), target))
            with os.fdopen(handle, "wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, _usual_mode())
        while drafts:
            draft, target = drafts[0]
            os.replace(draft, target)
            drafts.pop(0)
    except OSError as error:
        names = " and ".join(repr(str(target)) for target in targets)
        raise type(error)(error.errno, f"{names} cannot be written: {error.strerror}") from error
    finally:
        for draft, _ in drafts:
            draft.unlink(missing_ok=True)


def _usual_mode() -> int:
    """Mode that a new file has: temporary ones are readable by their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
