"""Several files as one source: those of a folder, or of a list, one behind the other."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from cerflearn.blocks.row_source import FileSource, RowBlock, RowSource

FileT = TypeVar("FileT", bound=FileSource)


class SeveralFiles(RowSource, Generic[FileT]):
    """Rows of several files, one file behind the other.

    Parameters
    ----------
    sources : sequence of FileSource
        The files, at least one; some may have no rows.
    name : str
        What errors call all of them.
    """

    def __init__(self, sources: Sequence[FileT], name: str) -> None:
        self.sources, self.name = list(sources), name
        self.feature_names = self.sources[0].feature_names

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`."""
        for source in self.sources:
            n_blocks = source.n_blocks()
            if first < n_blocks:
                yield from source.blocks(first)
            first = max(0, first - n_blocks)

    def n_blocks(self) -> int:
        """See :meth:`RowSource.n_blocks`."""
        return sum(source.n_blocks() for source in self.sources)

    def version(self) -> Any:
        """Return sizes and times of change of all files."""
        return [source.version() for source in self.sources]

    def describe(self, block: int) -> str:
        """Return what errors call a block: its place in its file."""
        for source in self.sources[:-1]:
            n_blocks = source.n_blocks()
            if block < n_blocks:
                return source.describe(block)
            block -= n_blocks
        return self.sources[-1].describe(block)


def paths_of(path: Any, suffixes: tuple[str, ...] = ()) -> list[Path]:
    """Files that a path stands for: itself, those of a folder, or those of a list.

    Parameters
    ----------
    path : path-like or sequence of path-like
        As the user passed it.
    suffixes : tuple of str
        What names of files in a folder end with; none: a folder is refused.
    """
    if isinstance(path, list | tuple):
        if not path:
            raise ValueError("The list of files is empty: name at least one.")
        return [Path(each) for each in path]
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    if not suffixes:
        raise ValueError(f"{folder} is a folder: pass a file, or a list of files.")
    found = [each for each in folder.iterdir() if each.name.endswith(suffixes) and each.is_file()]
    if not found:
        ends = " or ".join(map(repr, suffixes))
        raise ValueError(
            f"The folder {folder} holds no file whose name ends with {ends}: pass a list of files."
        )
    return sorted(found, key=_by_numbers)


def _by_numbers(path: Path) -> list[tuple[bool, int, str]]:
    """Key of an order in which part 2 comes before part 10."""
    pieces = re.split(r"(\d+)", path.name)
    return [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in pieces if p]


def open_tables(
    path: Any, suffixes: tuple[str, ...], columns: Any, read: Callable[[Path, Any], FileT]
) -> FileT | SeveralFiles[FileT]:
    """Return a source of a table with named columns, in one file or in several.

    Parameters
    ----------
    path : path-like or sequence of path-like
        As the user passed it.
    suffixes : tuple of str
        What names of files in a folder end with.
    columns : sequence of str or None
        Columns of X; None takes those of the first file, which all files must then have.
    read : callable
        Opens a file, with columns.
    """
    paths = paths_of(path, suffixes)
    first = read(paths[0], columns)
    source: FileT | SeveralFiles[FileT] = first
    if len(paths) > 1:
        names = first.feature_names
        others = [_with_columns(names, read, each, columns) for each in paths[1:]]
        source = SeveralFiles([first, *others], _name_of(path, paths))
    if source.n_blocks() == 0:
        raise ValueError(f"{source.name} has no rows.")
    return source


def _with_columns(
    names: list[str] | None, read: Callable[[Path, Any], FileT], path: Path, columns: Any
) -> FileT:
    """Open a further file, whose columns may have another order than those of the first."""
    source = read(path, columns)
    own = source.feature_names or []
    if set(own) != set(names or ()):
        other = sorted(set(own) ^ set(names or ()))[0]
        where = "not in the first file" if other in own else "missing"
        raise ValueError(
            f"{path} has other columns than the first file: {other!r} is {where}. Name the columns "
            "to read."
        )
    return source if own == names else read(path, names)


def _name_of(path: Any, paths: list[Path]) -> str:
    """Return what errors call all files."""
    if isinstance(path, str | os.PathLike):
        return str(path)
    return f"{paths[0]} and {len(paths) - 1} more files"


def open_files(path: Any, read: Callable[[Path], FileT]) -> FileT | SeveralFiles[FileT]:
    """Return a source of a file, or of several of a list.

    Parameters
    ----------
    path : path-like or sequence of path-like
        As the user passed it.
    read : callable
        Opens a file.
    """
    paths = paths_of(path)
    sources = [read(each) for each in paths]
    return sources[0] if len(sources) == 1 else SeveralFiles(sources, _name_of(path, paths))
