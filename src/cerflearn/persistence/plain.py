"""Values of parameters: JSON in which every object has one key that says what it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn.estimators.not_stored import NotStored
from cerflearn.files.container import stored_dtype
from cerflearn.files.format_error import CerfFormatError
from cerflearn.persistence.specs import Json, Reader, Writer, number_json, plain_number

PARAMETER_DTYPES = (
    "float64", "float32", "float16", "int64", "int32", "int16", "int8",
    "uint64", "uint32", "uint16", "uint8", "bool", "object",
)  # fmt: skip
"""Types of numbers that parameters may name."""


@dataclass(frozen=True)
class Plain:
    """Numbers, text, lists, dictionaries, arrays, objects of kinds that can be stored unfitted.

    Attributes
    ----------
    names_the_rest : bool, default=False
        Whether what cannot be stored is only named, and read as
        :class:`~cerflearn.estimators.not_stored.NotStored`; otherwise it raises.
    """

    names_the_rest: bool = False

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Return JSON of a value."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float):
            return number_json(value)
        if isinstance(value, list):
            return [self.encode(item, writer, f"{path}.{i}") for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": self.encode(list(value), writer, path)}
        if isinstance(value, dict):
            return {"pairs": self.encode([[k, v] for k, v in value.items()], writer, path)}
        if isinstance(value, slice):
            return {"slice": self.encode([value.start, value.stop, value.step], writer, path)}
        return self._encode_other(value, writer, path)

    def _encode_other(self, value: Any, writer: Writer, path: str) -> Json:
        """Return JSON of an array, a type of numbers, or an object that need not be fitted."""
        if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
            return {"array": self.encode(value.tolist(), writer, path)}
        if isinstance(value, np.ndarray) and stored_dtype(value.dtype) is not None:
            return writer.put(path, value)
        name = _dtype_name(value)
        if name is not None:
            return {"dtype": name}
        if writer.kinds.name_of(value) is not None:
            return {"object": writer.kinds.encode_unfitted(value, writer, path)}
        if not self.names_the_rest:
            raise ValueError(f"{path}={value!r} cannot be stored.")
        return {"not_stored": NotStored.of(value).text}

    def decode(self, value: Json, reader: Reader, path: str) -> Any:
        """Return the value."""
        if isinstance(value, list):
            return [self.decode(item, reader, f"{path}.{i}") for i, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise CerfFormatError(f"{path} holds an object that is not known.")
        ((key, content),) = value.items()
        if key == "tensor":
            return reader.take(value, path)
        if key == "float":
            return plain_number(value, path)
        if key == "object":
            return reader.kinds.decode_unfitted(content, reader, path)
        if key == "dtype" and content in PARAMETER_DTYPES:
            return np.dtype(content).type
        if key == "not_stored" and self.names_the_rest and isinstance(content, str):
            return NotStored(content)
        if key in ("tuple", "pairs", "slice", "array") and isinstance(content, list):
            return _made_of(key, self.decode(content, reader, path), path)
        raise CerfFormatError(f"{path} holds an object that is not known.")


def _dtype_name(value: Any) -> str | None:
    """Name of a type of numbers; None if it is none, or not one that parameters take."""
    if not isinstance(value, type | np.dtype):
        return None
    try:
        name = np.dtype(value).name
    except TypeError:
        return None
    if name == "object" and value not in (object, np.object_):  # any class is one
        return None
    return name if name in PARAMETER_DTYPES else None


def _made_of(key: str, items: list[Any], path: str) -> Any:
    """Make what a list stands for."""
    try:
        if key == "tuple":
            return tuple(items)
        if key == "array":
            array = np.empty(len(items), dtype=object)
            array[:] = items
            return array
        if key == "slice":
            start, stop, step = items
            return slice(start, stop, step)
        return {name: content for name, content in items}  # noqa: C416  # pairs must be pairs
    except (TypeError, ValueError) as error:
        raise CerfFormatError(f"{path} holds a {key} that is none.") from error
