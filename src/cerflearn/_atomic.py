"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to write; refuse devices, folders, and a folder that is absent."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {str(target.parent)!r} for {target.name!r}: make it."
        )
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a folder: pass the name of a file.")
    if target.exists() and not target.is_file():  # putting a file in its place would remove it
        raise OSError(f"{str(target)!r} is a device or a pipe: pass the name of a file.")
    return target


class DraftFile(BufferedWriter):
    """A file that is written beside its place, whose errors name the place.

    Parameters
    ----------
    target : Path
        The place, in a folder that exists.
    handle : int
        Of the file, as ``tempfile.mkstemp`` returns it.
    name : str
        Its path.
    """

    def __init__(self, target: Path, handle: int, name: str) -> None:
        super().__init__(FileIO(handle, "w"))
        self.target, self.path = target, Path(name)

    def write(self, data: Any) -> int:
        """Write bytes."""
        with _naming_errors(self.target):
            return super().write(data)

    def flush(self) -> None:
        """Hand what was written to the system."""
        with _naming_errors(self.target):
            super().flush()

    def sync(self) -> None:
        """See that all is on the disk."""
        self.flush()
        with _naming_errors(self.target):
            os.fsync(self.fileno())

    def put_in_place(self) -> None:
        """Replace what is in the place."""
        self.sync()
        self.close()
        with _naming_errors(self.target):
            os.chmod(self.path, _usual_mode())
            os.replace(self.path, self.target)

    def discard(self) -> None:
        """Delete the file unless it was put in its place."""
        with suppress(OSError):  # of what could not be written
            self.close()
        self.path.unlink(missing_ok=True)


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[DraftFile]:
    """Open a file to write, which is put in its place at the end.

    Parameters
    ----------
    path : str or path-like
        The place; of a link, the file that it names. An error leaves what was there before, and no
        other file.
    """
    target = check_target(path)
    if target.is_symlink():
        target = target.resolve()
    with _naming_errors(target):
        draft = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    file = DraftFile(target, *draft)
    try:
        yield file
        file.put_in_place()
    finally:
        file.discard()


def write_atomically(files: Mapping[Path, Iterable[Any]]) -> None:
    """Write files beside their places, and put them in place once all are written.

    Parameters
    ----------
    files : mapping of Path to iterable of bytes-like
        Content of each, one part after the other. An error leaves what was there before, and no
        other file.
    """
    for path in files:
        check_target(path)
    with ExitStack() as drafts:
        for path, parts in files.items():
            file = drafts.enter_context(written_whole(path))
            for part in parts:
                file.write(part)
            file.sync()


def _usual_mode() -> int:
    """Mode that a new file has: temporary ones are readable by their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _naming_errors(target: Path) -> Iterator[None]:
    """Say which file an error of the system is about."""
    try:
        yield
    except OSError as error:
        message = f"{str(target)!r} cannot be written: {error.strerror}"
        raise type(error)(error.errno, message) from error
