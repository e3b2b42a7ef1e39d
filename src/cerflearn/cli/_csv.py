"""CSV files with a header: inputs that are numbers, and a target."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cerflearn.cli._messages import listed, printable

if TYPE_CHECKING:
    from cerflearn._typing import FloatArray

_FORMATS = {
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x1f\x8b": "a gzip archive",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"PAR1": "a Parquet file",
}
_LINE_END = re.compile(rb"\r\n|\r|\n")
_LARGEST = 1e150  # input: squares of larger numbers overflow


@dataclass(frozen=True)
class CSVTable:
    """Cells of a CSV file as text.

    Attributes
    ----------
    name : str
        Of the file.
    header : list of str
        Names of the columns.
    rows : list of list of str
        Cells of each row below the header.
    lines : list of int
        Line of the file on which each row starts.
    """

    name: str
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, index: int) -> list[str]:
        """Cells of one column."""
        return [row[index] for row in self.rows]


def read_csv(path: Path, target: str, task: str = "auto") -> tuple[FloatArray, Any]:
    """Read inputs (n_samples, n_features) and the target column of a file with a header.

    Parameters
    ----------
    path : Path
        CSV file in UTF-8, or ``-`` for the standard input; all columns but the target must be
        numbers.
    target : str
        Name of the column to predict.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target is read as labels or as numbers; ``"auto"`` takes numbers if all are.
    """
    import numpy as np

    table = _read_cells(path)
    place = _find_target(table, target)
    others = [index for index in range(len(table.header)) if index != place]
    columns = {index: _numbers(table.column(index)) for index in others}
    _check_inputs(table, columns)
    y = _read_target(table, place, task)
    return np.column_stack([np.array(columns[index]) for index in others]), y


def _read_cells(path: Path) -> CSVTable:
    """Split a file into cells; every row must have as many as the header."""
    name = "standard input" if str(path) == "-" else printable(str(path))
    text = _decode(_read_bytes(path, name), name)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, lines, start = [], [], 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row) or len(row) > 1:
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise click.ClickException(f"{_where(name, start)}: {_explain(error)}.") from None
    if len(rows) < 2:
        raise click.ClickException(f"{name} has no rows below a header.")
    header = [cell.strip() for cell in rows[0]]
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise click.ClickException(
                f"{_where(name, line)} has {len(row)} value{'s' * (len(row) > 1)}, the header has "
                f"{len(header)}."
            )
    return CSVTable(name, header, rows[1:], lines[1:])


def _read_bytes(path: Path, name: str) -> bytes:
    try:
        if str(path) == "-":
            return sys.stdin.buffer.read()
        return path.read_bytes()
    except OSError as error:
        raise click.ClickException(f"{name} cannot be read: {error.strerror or error}.") from None


def _decode(data: bytes, name: str) -> str:
    """Text of a file in UTF-8, with or without a byte-order mark."""
    for start, kind in _FORMATS.items():
        if data.startswith(start):
            raise click.ClickException(f"{name} is {kind}: save the table as CSV in UTF-8.")
    try:
        text = data.decode("utf-8-sig")
        at = data.find(b"\0")
    except UnicodeDecodeError as error:
        at = data.find(b"\0")
        if at < 0:
            line = _line_of(data, error.start)
            raise click.ClickException(
                f"{_where(name, line)} is not UTF-8 text (byte 0x{data[error.start]:02x}): save "
                "the file as UTF-8; if it is Latin-1, with iconv -f LATIN1 -t UTF-8."
            ) from None
    if at >= 0:
        raise click.ClickException(
            f"{name} is not a text file (zero byte on line {_line_of(data, at)}): save the table "
            "as CSV in UTF-8."
        )
    return text


def _line_of(data: bytes, offset: int) -> int:
    return len(_LINE_END.findall(data, 0, offset)) + 1


def _where(name: str, line: int) -> str:
    return f"Line {line} of {name}"


def _explain(error: csv.Error) -> str:
    text = str(error)
    if "field larger than" in text:
        limit = csv.field_size_limit()
        return f"a value has more than {limit:,} characters; a quotation mark may not be closed"
    if "unexpected end" in text:
        return "a quotation mark is not closed"
    if "expected after" in text:
        return "a comma is missing after a quoted value"
    return text


def _find_target(table: CSVTable, target: str) -> int:
    header = table.header
    places = [index for index, name in enumerate(header) if name == target.strip()]
    if len(places) > 1:
        raise click.ClickException(
            f"{table.name} has {len(places)} columns {target!r}: rename all but one."
        )
    if not places:
        hint = ""
        for mark, name in ((";", "semicolons"), ("\t", "tabs")):
            if len(header) == 1 and mark in header[0]:
                hint = f" Its values seem to be separated by {name}: save it with commas."
        if not hint and all(_number(name) is not None for name in header):
            hint = " The first line must have the names of the columns."
        raise click.ClickException(
            f"{table.name} has no column {target!r}; its columns are {listed(header)}.{hint}"
        )
    if len(header) < 2:
        raise click.ClickException(f"{table.name} has no column beside {target!r}.")
    return places[0]


def _check_inputs(table: CSVTable, columns: dict[int, list[float | None]]) -> None:
    """Refuse columns that are not all numbers below 1e150, each with its first such line."""
    wrong = []
    for index, column in columns.items():
        name = printable(table.header[index])
        for number, row, line in zip(column, table.rows, table.lines, strict=True):
            if number is None or abs(number) > _LARGEST:
                cell = row[index].strip()
                too_large = "" if number is None else ", which is too large"
                what = f"has {cell[:40]!r}{too_large}" if cell else "has no value"
                wrong.append(f"{name} (line {line} {what})")
                break
        if not table.header[index]:
            click.echo(f"Column {index + 1} of {table.name} has no name; it is an input.", err=True)
    if wrong:
        shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5:,} more" if len(wrong) > 5 else "")
        raise click.ClickException(
            f"These columns of {table.name} are not all numbers: {shown}. "
            "Encode or drop them, and fill in missing values."
        )


def _read_target(table: CSVTable, place: int, task: str) -> Any:
    """Numbers if all are, otherwise labels; a missing value is neither."""
    import numpy as np

    name = printable(table.header[place])
    cells = [cell.strip() for cell in table.column(place)]
    for cell, line in zip(cells, table.lines, strict=True):
        if not cell or cell.lower() == "nan":
            raise click.ClickException(
                f"{_where(table.name, line)} has no value in the target column {name}: "
                "fill it in, or drop the line."
            )
    numbers = _numbers(cells)
    if None not in numbers:
        return np.array(numbers)
    row = numbers.index(None)
    if task == "regression":
        raise click.ClickException(
            f"{_where(table.name, table.lines[row])} has {cells[row][:40]!r} in column {name}: "
            "--task regression needs numbers."
        )
    if task == "auto" and any(number is not None for number in numbers):
        raise click.ClickException(
            f"{_where(table.name, table.lines[row])} has {cells[row][:40]!r} in column {name}, "
            "other lines have numbers: fill it in, drop the line, or pass --task classification "
            "if all are labels."
        )
    return np.array(cells)


def _numbers(cells: list[str]) -> list[float | None]:
    return [_number(cell) for cell in cells]


def _number(cell: str) -> float | None:
    """Finite number of a cell, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None
