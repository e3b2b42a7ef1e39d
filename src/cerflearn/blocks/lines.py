"""Blocks of text files, some lines at a time: CSV and svmlight."""

from __future__ import annotations

import gzip
import re
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np

from cerflearn.blocks.row_source import (
    FileSource,
    RowBlock,
    RowSource,
    missing_extra,
    rows_at_once,
)
from cerflearn.blocks.several import open_files, open_tables
from cerflearn.blocks.table_columns import TableColumns

_COLUMN_ZERO = re.compile(rb"[ \t]0:")  # columns are counted from 0, not from 1
_PIECE_BYTES = 2**24  # of a file that are read at once to find its lines
_GZIP = b"\x1f\x8b"  # what compressed files begin with
_BEYOND = "\0"  # column of what a row has beyond the header's names


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

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Open the file to read its bytes, those before compression; errors name it."""
        path = self.paths[0]
        with open(path, "rb") as file:
            compressed = file.read(len(_GZIP)) == _GZIP
        try:
            with gzip.open(path) if compressed else open(path, "rb") as file:
                yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.name} cannot be decompressed: {error}") from error

    def _index(self, start: int, n_rows: int) -> None:
        """Find where each block of ``n_rows`` lines begins, from byte ``start`` on."""
        offsets, n_lines, position = [start], 0, start
        with self._open() as file:
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
        with self._open() as file:
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
        with self._open() as file:
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

    def _read(self, text: bytes, **settings: Any) -> Any:
        try:
            import pandas as pd
        except ImportError as error:
            raise missing_extra("pandas", "Reading CSV files") from error
        return pd.read_csv(BytesIO(text), sep=self._separator, **settings)

    def _frame(self, text: bytes) -> Any:
        """Columns that are used, of some lines; ``ValueError`` for a row that is too long."""
        names, used = self._names, self._columns.all
        if len(self._separator) > 1:  # an expression, which a line cannot be made of
            return self._read(text, header=None, names=names, usecols=used, index_col=False)
        # pandas leaves out what is beyond the names it is given: one more shows what is there.
        names, used = [*names, _BEYOND], [*used, _BEYOND]
        line = self._separator.join("0" * len(names)).encode() + b"\n"
        frame = self._read(line + text, header=0, names=names, usecols=used, index_col=False)
        beyond = np.flatnonzero(frame[_BEYOND].notna())
        if len(beyond):
            raise ValueError(
                f"row {beyond[0]} has more values than the {len(self._names)} names of the header"
            )
        return frame

    def _parse(self, text: bytes) -> RowBlock:
        columns = self._columns
        if not text.strip():  # pandas would raise an error
            return np.empty((0, len(columns.features))), columns.target(lambda _: np.empty(0))
        frame = self._frame(text)
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

    Attributes
    ----------
    n_features : int or None
        Number of columns, to be set before blocks are read; None takes as many as a block has.
    zero_based : bool
        Whether columns are counted from 0.
    """

    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self._index(0, rows_at_once(1))
        if len(self._offsets) < 2:
            raise ValueError(f"{self.name} is empty.")
        self.n_features: int | None = None
        with self._open() as file:
            self.zero_based = any(_COLUMN_ZERO.search(line.partition(b"#")[0]) for line in file)

    def _parse(self, text: bytes) -> RowBlock:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(
            BytesIO(text), n_features=self.n_features, zero_based=self.zero_based
        )
        return X, y


def from_csv(
    path: Any,
    columns: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    *,
    separator: str = ",",
) -> RowSource:
    r"""Make a source of CSV files with a header, read some lines at a time.

    Parameters
    ----------
    path : str, path-like or list of them
        The file, several of them, or a folder, of which all files are read whose names end with
        ``.csv`` or ``.csv.gz``, in the order of the numbers in their names. They may be compressed
        by gzip. A line break inside quotes is not possible.
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

    def read(file: Any, names: Any) -> CsvSource:
        return CsvSource(file, names, target, separator)

    return open_tables(path, (".csv", ".csv.gz"), columns, read)


def from_svmlight(path: Any, n_features: int | None = None) -> RowSource:
    r"""Make a source of svmlight (libsvm) files: sparse rows, targets in front.

    Parameters
    ----------
    path : str, path-like or list of them
        The file, or several of them; they may be compressed by gzip.
    n_features : int, default=None
        Number of columns; None: the largest column there is, found in a pass over all rows.

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
    source = open_files(path, SvmlightSource)
    files = [source] if isinstance(source, SvmlightSource) else source.sources
    zero_based = any(file.zero_based for file in files)
    for file in files:
        file.zero_based = zero_based
    if n_features is None:
        n_features = max(int(X.shape[1]) for X, _ in source.blocks())
    for file in files:
        file.n_features = n_features
    return source
