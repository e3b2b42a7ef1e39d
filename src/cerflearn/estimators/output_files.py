"""Files of outputs, written block by block: NumPy's format and parquet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._atomic import DraftFile, check_target, written_whole
from cerflearn._typing import FloatArray
from cerflearn.blocks.row_source import missing_extra


def check_output_path(path: Any) -> Path:
    """Return the path of a file that can be written in one of the formats."""
    file = Path(path)
    if file.suffix not in _WRITERS:
        raise ValueError(
            f"path={str(file)!r} is not valid: its name must end with '.npy' or '.parquet'."
        )
    if file.suffix == ".parquet":
        _parquet_writer()
    return check_target(file)


def write_blocks(path: Path, blocks: Iterator[FloatArray], names: NDArray[Any]) -> None:
    """Write blocks of rows to a file that is put in its place when it is whole.

    Parameters
    ----------
    path : Path
        The file, which :func:`check_output_path` has accepted.
    blocks : iterator of ndarray
        With equal numbers of columns; the dtype is that of the first.
    names : ndarray of str
        Of the columns.
    """
    filled = (block for block in blocks if len(block))
    first = next(filled, None)
    if first is None:
        raise ValueError(f"There are no rows to write to {str(path)!r}.")
    like = np.empty((0, *first.shape[1:]), first.dtype)
    with written_whole(path) as file:
        _WRITERS[path.suffix](file, like, chain([first], filled), names)


def _write_npy(file: DraftFile, like: FloatArray, blocks: Iterator[Any], _: object) -> None:
    n_rows = 0
    _write_header(file, like, n_rows)
    for block in blocks:
        file.write(np.ascontiguousarray(block, dtype=like.dtype).data)
        n_rows += len(block)
    file.seek(0)
    _write_header(file, like, n_rows)


def _write_header(file: DraftFile, like: FloatArray, n_rows: int) -> None:
    """Write the header of NumPy's format, whose length does not depend on the number of rows."""
    header = np.lib.format.header_data_from_array_1_0(like)
    header["shape"] = (n_rows, *like.shape[1:])
    np.lib.format.write_array_header_1_0(file, header)


def _write_parquet(
    file: DraftFile, like: FloatArray, blocks: Iterator[Any], names: NDArray[Any]
) -> None:
    import pyarrow as pa

    kind = pa.from_numpy_dtype(like.dtype)
    schema = pa.schema([(str(name), kind) for name in names])
    with _parquet_writer()(file, schema) as writer:
        for block in blocks:
            columns = [pa.array(np.ascontiguousarray(column), kind) for column in block.T]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _parquet_writer() -> Any:
    try:
        from pyarrow.parquet import ParquetWriter
    except ImportError as error:
        raise missing_extra("pyarrow", "Writing parquet files") from error
    return ParquetWriter


_WRITERS = {".npy": _write_npy, ".parquet": _write_parquet}
