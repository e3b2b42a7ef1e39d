"""What a source of blocks is, and what those of files share."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

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
    read_once : bool
        Whether there is a single pass only: ``fit`` then keeps the rows in a temporary file.
    in_memory : bool
        Whether its blocks lie in the memory of this process, so that others cannot read them.

    See Also
    --------
    from_blocks : Source of blocks that a function returns.
    from_parquet : Source of a parquet file.

    Examples
    --------
    >>> import numpy as np
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
    read_once: bool = False
    in_memory: bool = False

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

    def n_blocks(self) -> int:
        """Return the number of blocks, found in a pass if there is no other way.

        Returns
        -------
        int
            Blocks without rows included.
        """
        return sum(1 for _ in self.blocks())

    def without_target(self) -> RowSource:
        """Return a source of the same rows that is free to yield no targets.

        Returns
        -------
        RowSource
            For passes in which they are not needed.
        """
        return self

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


def as_pair(block: Any, name: str) -> RowBlock:
    """Block as a pair: X and y of a tuple, X and None of anything else."""
    if not isinstance(block, tuple):
        return block, None
    if len(block) != 2:
        raise ValueError(f"{name} yields a tuple of {len(block)}: yield X, or a pair (X, y).")
    return block


def rows_at_once(n_columns: int) -> int:
    """Rows of so many columns to read at once."""
    return max(1, min(READ_ROWS, READ_ENTRIES // max(1, n_columns)))


def missing_extra(package: str, use: str) -> ImportError:
    """Make the error for a package of the extra ``data`` that is not installed."""
    return ImportError(f"{use} needs {package}: pip install 'cerflearn[data]'.")
