"""Blocks of a parquet file, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn.blocks.row_source import (
    FileSource,
    RowBlock,
    RowSource,
    missing_extra,
    rows_at_once,
)
from cerflearn.blocks.several import open_tables
from cerflearn.blocks.table_columns import TableColumns


class ParquetSource(FileSource):
    """Rows of a parquet file; see :func:`from_parquet`.

    Parameters
    ----------
    path : path-like
        The file.
    columns : sequence of str, optional
        Columns of X.
    target : str or sequence of str, optional
        Columns of y.
    """

    def __init__(self, path: Any, columns: Any = None, target: Any = None) -> None:
        super().__init__([path])
        with _parquet_file(self.paths[0]) as file:
            names = list(file.schema_arrow.names)
            self._columns = TableColumns(names, columns, target, self.name)
            self.feature_names = self._columns.features
            self._dtype = _common_dtype(file.schema_arrow, self.feature_names, self.name)
            groups = range(file.metadata.num_row_groups)
            self._lengths = [file.metadata.row_group(group).num_rows for group in groups]
        self._n_rows = rows_at_once(len(names))

    def n_blocks(self) -> int:
        """See :meth:`RowSource.n_blocks`."""
        return sum(-(-length // self._n_rows) for length in self._lengths)

    def blocks(self, first: int = 0) -> Iterator[RowBlock]:
        """See :meth:`RowSource.blocks`."""
        block = first
        with _parquet_file(self.paths[0]) as file:
            for group, length in enumerate(self._lengths):
                n_blocks = -(-length // self._n_rows)
                if first >= n_blocks:
                    first -= n_blocks
                    continue
                for batch in self._batches(file, group, first, block):
                    yield self._arrays(batch)
                    block += 1
                first = 0

    def _batches(self, file: Any, group: int, first: int, block: int) -> Iterator[Any]:
        """Parts of one row group, all but the last of the same length; ``block`` is the first."""
        from pyarrow import ArrowException

        settings = {"row_groups": [group], "columns": self._columns.all}
        batches = file.iter_batches(self._n_rows, **settings)
        while True:
            try:
                batch = next(batches, None)
            except (OSError, ArrowException) as error:
                raise ValueError(f"{self.describe(block)} cannot be read: {error}") from error
            if batch is None:
                return
            if first:
                first -= 1
                continue
            yield batch
            block += 1

    def _arrays(self, batch: Any) -> RowBlock:
        """Rows and targets of a batch."""
        names = self._columns.features
        X = np.empty((batch.num_rows, len(names)), self._dtype)
        for place, name in enumerate(names):
            X[:, place] = _values(batch.column(name))
        return X, self._columns.target(lambda name: _values(batch.column(name)))


def from_parquet(
    path: Any, columns: Sequence[str] | None = None, target: str | Sequence[str] | None = None
) -> RowSource:
    """Make a source of parquet files, whose row groups are read one after the other.

    Parameters
    ----------
    path : str, path-like or list of them
        The file, several of them, or a folder, of which all files are read whose names end with
        ``.parquet``, in the order of the numbers in their names.
    columns : sequence of str, default=None
        Columns of X, in this order; all but the target if None. No others are read.
    target : str or sequence of str, default=None
        Column of y, or several.

    Returns
    -------
    RowSource
        To be passed as X; y is then left out. Values that are missing are NaN. X is float32 if
        all its columns are, or are short enough integers, and float64 otherwise.

    See Also
    --------
    from_csv : Source of a text file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pandas as pd
    >>> from cerflearn import MaskedCERF
    >>> from cerflearn.blocks import from_parquet
    >>> frame = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 3)), columns=list("abc"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.assign(kind=frame.a > 0).to_parquet(folder + "/x.parquet", row_group_size=200)
    ...     source = from_parquet(folder + "/x.parquet", columns=["a", "c"], target="kind")
    ...     sampler = MaskedCERF(n_components=4, teacher="labels", random_state=0).fit(source)
    >>> sampler.feature_names_in_.tolist()
    ['a', 'c']
    """

    def read(file: Any, names: Any) -> ParquetSource:
        return ParquetSource(file, names, target)

    return open_tables(path, (".parquet",), columns, read)


def _parquet_file(path: Path) -> Any:
    """Open a file; ``ValueError`` if it is no parquet."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise missing_extra("pyarrow", "Reading parquet files") from error
    try:
        return ParquetFile(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"There is no file {path}.") from error
    except ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as a parquet file: {error}") from error


def _common_dtype(schema: Any, names: list[str], where: str) -> np.dtype[Any]:
    """Type of X: float32 or float64; ``ValueError`` for a column that holds no numbers."""
    from pyarrow import types

    dtypes = []
    for name in names:
        kind = schema.field(name).type
        number = types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
        if not (number or types.is_decimal(kind)):
            raise ValueError(
                f"The column {name!r} of {where} has the type {kind}, not numbers: encode it, or "
                "name the columns to read."
            )
        dtypes.append(np.dtype(float) if types.is_decimal(kind) else kind.to_pandas_dtype())
    common = np.result_type(*dtypes)
    return common if common == np.float32 else np.dtype(np.float64)


def _values(column: Any) -> NDArray[Any]:
    """Values of a column of a batch; NaN, or None in text, where one is missing."""
    from pyarrow import types

    if types.is_decimal(column.type):
        column = column.cast("float64")
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if column.null_count and (types.is_integer(column.type) or types.is_boolean(column.type)):
        values = values.astype(np.float64)
    return values
