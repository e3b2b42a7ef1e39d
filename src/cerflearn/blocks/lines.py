"""Blocks of text files, some lines at a time: CSV and svmlight."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from cerflearn.blocks.row_source import FileSource, RowBlock, missing_extra, rows_at_once
from cerflearn.blocks.table_columns import TableColumns

_COLUMN_ZERO = re.compile(rb"[ \t]0:")  # columns are counted from 0, not from 1
_PIECE_BYTES = 2**24  # of a file that are read at once to find its lines


class LineSource(FileSource):
    """Rows of a text file, one a line.

    The places of lines are found in a first pass over the file, so that any block can be read.

    Parameters
    ----------
    path : path-like
        The file.
    """

    def __init__(self, path: Any) -> None:
        super().__init__([path])
        self._offsets: list[int] = []  # where blocks begin, and the end
        self._indexed: Any = None

    def _index(self, start: int, n_rows: int) -> None:
        """Find where each block of ``n_rows`` lines begins, from byte ``start`` on."""
        offsets, n_lines, position = [start], 0, start
        with open(self.paths[0], "rb") as file:
            file.seek(start)
            while piece := file.read(_PIECE_BYTES):
                ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n")) + 1
                first = (-n_lines - 1) % n_rows
                offsets += (position + ends[first::n_rows]).tolist()
                n_lines, position = n_lines + len(ends), position + len(piece)
        self._offsets = offsets if offsets[-1] == position else [*offsets, position]
        self._indexed = self.version()

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`."""
        if self.version() != self._indexed:
            raise ValueError(f"{self.name} has changed since it was opened: open it again.")
        with open(self.paths[0], "rb") as file:
            for block in range(first, len(self._offsets) - 1):
                file.seek(self._offsets[block])
                text = file.read(self._offsets[block + 1] - self._offsets[block])
                try:
                    yield self._parse(text)
                except (ValueError, TypeError) as error:
                    raise ValueError(f"{self.describe(block)}: {error}") from error

    def n_blocks(self) -> int:
        """See :meth:`RowSource.n_blocks`."""
        return len(self._offsets) - 1

    @abstractmethod
    def _parse(self, text: bytes) -> RowBlock:
        """Rows of some whole lines, which may all be blank."""


class CsvSource(LineSource):
    """Rows of a CSV file; see :func:`from_csv`.

    Parameters
    ----------
    path : path-like
        The file.
    columns : sequence of str, optional
        Columns of X.
    target : str or sequence of str, optional
        Columns of y.
    separator : str, default=","
        Between columns.
    """

    def __init__(
        self, path: Any, columns: Any = None, target: Any = None, separator: str = ","
    ) -> None:
        super().__init__(path)
        self._separator = separator
        with open(self.paths[0], "rb") as file:
            header = file.readline()
        if not header.strip():
            raise ValueError(f"{self.name} is empty: it has no header.")
        try:
            self._names = [str(name) for name in self._read(header, header=0).columns]
        except ValueError as error:
            raise ValueError(f"{self.name} cannot be read as a CSV file: {error}") from error
        self._columns = TableColumns(self._names, columns, target, self.name)
        self.feature_names = self._columns.features
        self._index(len(header), rows_at_once(len(self._names)))
        if len(self._offsets) < 2:
            raise ValueError(f"{self.name} has no rows below its header.")

    def _read(self, text: bytes, **settings: Any) -> Any:
        try:
            import pandas as pd
        except ImportError as error:
            raise missing_extra("pandas", "Reading CSV files") from error
        return pd.read_csv(BytesIO(text), sep=self._separator, **settings)

    def _parse(self, text: bytes) -> RowBlock:
        columns = self._columns
        if not text.strip():  # pandas would raise an error
            return np.empty((0, len(columns.features))), columns.target(lambda _: np.empty(0))
        settings = {"names": self._names, "usecols": columns.all, "index_col": False}
        frame = self._read(text, header=None, **settings)
        for name in columns.features:
            if frame[name].dtype.kind not in "biuf":
                raise ValueError(
                    f"the column {name!r} holds text: encode it, or name the columns to read"
                )
        X = np.ascontiguousarray(frame[columns.features].to_numpy(), dtype=np.float64)
        return X, columns.target(lambda name: frame[name].to_numpy())


class SvmlightSource(LineSource):
    """Rows of an svmlight file; see :func:`from_svmlight`.

    Parameters
    ----------
    path : path-like
        The file.
    n_features : int, optional
        Number of columns.
    """

    def __init__(self, path: Any, n_features: int | None = None) -> None:
        super().__init__(path)
        self._index(0, rows_at_once(1))
        if len(self._offsets) < 2:
            raise ValueError(f"{self.name} is empty.")
        self._n_features = n_features
        with open(self.paths[0], "rb") as file:
            self._zero_based = any(_COLUMN_ZERO.search(line) is not None for line in file)
        if n_features is None:
            self._n_features = max(int(X.shape[1]) for X, _ in self.blocks())

    def _parse(self, text: bytes) -> RowBlock:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(
            BytesIO(text), n_features=self._n_features, zero_based=self._zero_based
        )
        return X, y


def from_csv(
    path: Any,
    columns: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    *,
    separator: str = ",",
) -> CsvSource:
    r"""Make a source of a CSV file with a header, read some lines at a time.

    Parameters
    ----------
    path : str or path-like
        The file; a line break inside quotes is not possible.
    columns : sequence of str, default=None
        Columns of X, in this order; all but the target if None.
    target : str or sequence of str, default=None
        Column of y, or several.
    separator : str, default=","
        What stands between columns.

    Returns
    -------
    RowSource
        To be passed as X; y is then left out. X is float64.

    See Also
    --------
    from_parquet : Source of a parquet file, which is read several times faster.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from cerflearn.blocks import from_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "x.csv"
    ...     _ = path.write_text("a,b,kind\n1,2.5,yes\n3,4,no\n")
    ...     [(X, y)] = from_csv(path, target="kind")
    >>> X.tolist(), y.tolist()
    ([[1.0, 2.5], [3.0, 4.0]], ['yes', 'no'])
    """
    return CsvSource(path, columns, target, separator)


def from_svmlight(path: Any, n_features: int | None = None) -> SvmlightSource:
    r"""Make a source of an svmlight (libsvm) file: sparse rows, targets in front.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int, default=None
        Number of columns; None: the largest column of the file, found in a pass over it.

    Returns
    -------
    RowSource
        To be passed as X, whose blocks are CSR matrices of float64; y is then left out.

    See Also
    --------
    sklearn.datasets.load_svmlight_file : The whole file at once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from cerflearn.blocks import from_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "x.txt"
    ...     _ = path.write_text("1 1:0.5 3:2\n0 2:1\n")
    ...     [(X, y)] = from_svmlight(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, 0.0])
    """
    return SvmlightSource(path, n_features)
