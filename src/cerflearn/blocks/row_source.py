"""What a source of blocks is, and what those of files share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

RowBlock: TypeAlias = tuple[Any, Any]
"""Rows of X, an array or CSR matrix, and their targets or None."""

READ_ROWS = 16384
"""Rows that sources of files read at once, at most."""

READ_ENTRIES = 2**22
"""Numbers that sources of files read at once, at most, but for one row: 32 MB in float64."""


class RowSource(ABC):
    """Rows of X, and of y if there are targets, in blocks that can be read again and again.

    Subclasses yield blocks in :meth:`blocks`. The number of rows in a block changes no bit of a
    fitted estimator: rows are cut anew on a grid of their own.

    Attributes
    ----------
    name : str
        What errors call the source, such as the path of its file.
    feature_names : list of str or None
        Names of the columns of X, if they have names.

    See Also
    --------
    from_blocks : Source of blocks that a function returns.
    from_parquet : Source of a parquet file.

    Examples
    --------
    >>> class Thirds(RowSource):
    ...     name = "thirds"
    ...     def blocks(self, first=0):
    ...         for block in range(first, 3):
    ...             yield np.full((2, 4), block / 3), None
    >>> len(list(Thirds().blocks()))
    3
    """

    name: str = "the source"
    feature_names: list[str] | None = None

    @abstractmethod
    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """Yield blocks, the same ones in every pass.

        Parameters
        ----------
        first : int, default=0
            Block to begin with.

        Yields
        ------
        X : {ndarray, CSR matrix} of shape (n_rows, n_features)
            Rows; blocks may have different numbers of them, also none.
        y : ndarray of shape (n_rows,) or (n_rows, n_targets), or None
            Targets of these rows; None in all blocks if there are none.
        """

    def version(self) -> Any:
        """Return what changes when the data do, or None if only the data themselves tell.

        Returns
        -------
        object
            Compared in every pass; without it, digests of the blocks are compared.
        """
        return None

    def describe(self, block: int) -> str:
        """Return what errors call a block.

        Parameters
        ----------
        block : int
            Its number, from 0.

        Returns
        -------
        str
            Such as "block 3 of x.parquet".
        """
        return f"block {block} of {self.name}"

    def __iter__(self) -> Iterator[RowBlock]:
        return self.blocks()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class FileSource(RowSource):
    """Source of one or two files, which must not change while they are read.

    Parameters
    ----------
    paths : sequence of path-like
        The file of X, and that of y if it is another.
    """

    def __init__(self, paths: Sequence[Any]) -> None:
        self.paths = [Path(path) for path in paths]
        self.name = str(self.paths[0])
        self.version()

    def version(self) -> Any:
        """Return size and time of change; ``FileNotFoundError`` for a file that is gone."""
        found = []
        for path in self.paths:
            try:
                status = os.stat(path)
            except FileNotFoundError as error:
                raise FileNotFoundError(f"There is no file {path}.") from error
            if not path.is_file():
                raise ValueError(f"{path} is not a file.")
            found.append((status.st_size, status.st_mtime_ns, status.st_ino))
        return found


def rows_at_once(n_columns: int) -> int:
    """Rows of so many columns to read at once."""
    return max(1, min(READ_ROWS, READ_ENTRIES // max(1, n_columns)))


def pick_columns(names: list[str], columns: Any, target: Any, where: str) -> list[str]:
    """Names of the columns of X: those asked for, or all but the targets.

    Parameters
    ----------
    names : list of str
        All there are.
    columns : sequence of str or None
        Columns of X.
    target : list of str
        Columns of y.
    where : str
        The file, for errors.
    """
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{where} has several columns with the name {twice[0]!r}.")
    wanted = [name for name in names if name not in target] if columns is None else list(columns)
    missing = [name for name in (*wanted, *target) if name not in names]
    if missing:
        shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{where} has no column {missing[0]!r}; it has {shown}.")
    both = [name for name in wanted if name in target]
    if both:
        raise ValueError(f"The column {both[0]!r} is in columns and is the target: leave one out.")
    if not wanted:
        raise ValueError(f"{where} has no columns for X.")
    return wanted


def target_names(target: Any) -> list[str]:
    """Columns of the target as a list, empty for None."""
    if target is None:
        return []
    return [target] if isinstance(target, str) else list(target)


def stack_target(columns: list[Any]) -> Any:
    """Targets of a block from their columns: one dimension for one, two for more, None for none."""
    if not columns:
        return None
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def missing_extra(package: str, use: str) -> ImportError:
    """Make the error for a package of the extra ``data`` that is not installed."""
    return ImportError(f"{use} needs {package}: pip install 'cerflearn[data]'.")
