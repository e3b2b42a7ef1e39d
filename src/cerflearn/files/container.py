"""The safetensors format: a JSON header with one metadata entry, then the bytes of the arrays.

Eight bytes hold the length of the header (little-endian). The header names dtype, shape and place
of each array, and the entry ``"cerf"`` of its metadata is our JSON as a string. The bytes of a file
depend on its content alone. Any reader of safetensors opens these files.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn.files.format_error import CerfFormatError
from cerflearn.files.strict_json import canonical, parse

MOST_HEADER_BYTES = 2**20
"""Length of the header, at most: 1 MB."""

METADATA_KEY = "cerf"
"""The only entry of the metadata; with several, other writers order them at random."""

DTYPES = {
    "F64": "<f8", "I64": "<i8", "U64": "<u8", "F32": "<f4", "I32": "<i4", "U32": "<u4",
    "F16": "<f2", "I16": "<i2", "U16": "<u2", "I8": "|i1", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
"""Types of arrays, by their name in the header."""

_DTYPE_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
_TENSOR_NAME = re.compile(r"[A-Za-z0-9_.]{1,240}")
_MOST_DIMENSIONS = 8
_MOST_ITEMS = 2**48


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds.

    Attributes
    ----------
    document : str
        The entry of the metadata.
    tensors : dict of ndarray
        Arrays by name, views of the file's bytes.
    table : dict
        Dtype, shape and place of each array, as the header has them.
    data : memoryview
        Bytes of all arrays.
    """

    document: str
    tensors: dict[str, NDArray[Any]]
    table: dict[str, Any]
    data: memoryview


def stored_dtype(dtype: np.dtype[Any]) -> str | None:
    """Name of a dtype in the header; None if it cannot be stored."""
    return _DTYPE_NAMES.get(dtype.newbyteorder("<"))


def lay_out(tensors: Mapping[str, NDArray[Any]]) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Entries of the header, and arrays in the order of their bytes: large items first, by name.

    That keeps every array aligned.
    """
    table: dict[str, Any] = {}
    ordered: list[NDArray[Any]] = []
    begin = 0
    for name in sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name)):
        array = tensors[name]
        kind = stored_dtype(array.dtype)
        little = np.ascontiguousarray(array, dtype=DTYPES[str(kind)]).reshape(array.shape)
        end = begin + little.nbytes
        table[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, end]}
        ordered.append(little)
        begin = end
    return table, ordered


def raw_bytes(part: Any) -> Any:
    """Return the bytes of an array in C order without a copy; other bytes as they are."""
    return part.reshape(-1).view(np.uint8) if isinstance(part, np.ndarray) else part


def header_of(
    table: Mapping[str, Any], document: str, most_bytes: int = MOST_HEADER_BYTES
) -> bytes:
    """Length and header of a file, filled up with spaces to a multiple of eight bytes."""
    text = canonical({"__metadata__": {METADATA_KEY: document}, **table}).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > most_bytes:
        raise CerfFormatError(
            f"All but the arrays takes {len(text):,} bytes of JSON, and a file may have "
            f"{most_bytes:,}: it cannot be stored."
        )
    return len(text).to_bytes(8, "little") + text


def digest_of(document: Mapping[str, Any], table: Mapping[str, Any], data: Any) -> str:
    """SHA-256 of the document without its own digest, the table of arrays, and their bytes.

    Parameters
    ----------
    document : mapping
        Our JSON; its key ``"digest"`` is left out.
    table : mapping
        As :func:`lay_out` makes it.
    data : bytes-like, or list of ndarray
        Bytes of all arrays, in order.
    """
    rest = {key: value for key, value in document.items() if key != "digest"}
    digest = hashlib.sha256(canonical([rest, table]).encode("ascii"))
    for part in data if isinstance(data, list) else [data]:
        digest.update(raw_bytes(part))
    return digest.hexdigest()


def unpack(buffer: memoryview, most_header: int = MOST_HEADER_BYTES) -> Content:
    """Read a file's bytes; ``CerfFormatError`` if anything in them is wrong.

    Parameters
    ----------
    buffer : memoryview
        Of bytes, the whole file.
    most_header : int, default=2**20
        Length of the header, at most.
    """
    if len(buffer) < 8:
        raise CerfFormatError(f"It has {len(buffer)} bytes: too short for a file of cerflearn.")
    length = int.from_bytes(buffer[:8], "little")
    if length > most_header or length % 8 or 8 + length > len(buffer):
        raise CerfFormatError(
            f"Its header would have {length:,} bytes, of a file of {len(buffer):,}: it is no file "
            "of cerflearn, or was cut off."
        )
    header = parse(bytes(buffer[8 : 8 + length]), "The header")
    if not isinstance(header, dict):
        raise CerfFormatError("The header is not an object.")
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or set(metadata) != {METADATA_KEY}:
        raise CerfFormatError("It is no file of cerflearn: the header has no entry for it.")
    document = metadata[METADATA_KEY]
    if not isinstance(document, str):
        raise CerfFormatError("Our entry of the header is not text.")
    data = buffer[8 + length :]
    tensors = {name: _tensor(name, entry, data) for name, entry in header.items()}
    _check_places(header, len(data))
    return Content(document, tensors, header, data)


def read_bytes(path: str | os.PathLike[str]) -> memoryview:
    """Bytes of a file, in memory that no array of another file shares."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        buffer = np.empty(size, dtype=np.uint8)
        view = memoryview(buffer)  # type: ignore[arg-type]  # arrays are buffers
        n_read = file.readinto(view)
    return view[:n_read]


def _tensor(name: str, entry: Any, data: memoryview) -> NDArray[Any]:
    """One array, a view of the data; places are checked one by one here."""
    if not _TENSOR_NAME.fullmatch(name):
        raise CerfFormatError(f"An array has the name {name[:40]!r}, which is not allowed.")
    keys = {"dtype", "shape", "data_offsets"}
    if not isinstance(entry, dict) or set(entry) != keys or entry["dtype"] not in DTYPES:
        raise CerfFormatError(f"Array {name}: dtype, shape or place is missing or not known.")
    shape, offsets = entry["shape"], entry["data_offsets"]
    sizes = _are_sizes(shape) and _are_sizes(offsets) and len(shape) <= _MOST_DIMENSIONS
    # Also of an empty array: NumPy makes none of a shape that is too large otherwise.
    if not sizes or math.prod(size for size in shape if size) >= _MOST_ITEMS:
        raise CerfFormatError(f"Array {name}: shape or place is not a list of sizes.")
    dtype = np.dtype(DTYPES[entry["dtype"]])
    n_bytes = math.prod(shape) * dtype.itemsize
    if len(offsets) != 2 or offsets[1] - offsets[0] != n_bytes or offsets[1] > len(data):
        raise CerfFormatError(f"Array {name}: {n_bytes:,} bytes of its shape are not in the file.")
    if offsets[0] % dtype.itemsize:
        raise CerfFormatError(f"Array {name} is not aligned.")
    raw = data[offsets[0] : offsets[1]]
    if entry["dtype"] == "BOOL" and n_bytes and np.frombuffer(raw, np.uint8).max() > 1:
        raise CerfFormatError(f"Array {name} holds values that are neither true nor false.")
    if n_bytes == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer(raw, dtype).reshape(shape)


def _are_sizes(values: Any) -> bool:
    """Whether it is a list of integers that are not negative."""
    return isinstance(values, list) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_ITEMS
        for value in values
    )


def _check_places(table: Mapping[str, Any], n_bytes: int) -> None:
    """Refuse arrays that overlap, and bytes that belong to none."""
    end = 0
    for begin, stop in sorted(tuple(entry["data_offsets"]) for entry in table.values()):
        if begin != end:
            raise CerfFormatError("Arrays overlap, or bytes between them belong to none.")
        end = stop
    if end != n_bytes:
        raise CerfFormatError(f"{n_bytes - end:,} bytes at the end belong to no array.")
