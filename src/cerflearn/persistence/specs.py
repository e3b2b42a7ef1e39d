"""What a stored attribute must be: each specification writes values, and reads them with checks.

Shapes are checked by names: within one object a name such as ``"D"`` stands for one number, which
the first attribute that has it decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerflearn.files.container import stored_dtype
from cerflearn.files.format_error import CerfFormatError
from cerflearn.files.strict_json import canonical, parse

Json: TypeAlias = Any
"""None, bool, int, float, str, list or dict of these."""

MOST_INTEGER = 2**53
"""Largest integer of an attribute."""


@dataclass
class Writer:
    """Collects the arrays of a model while its attributes become JSON.

    Attributes
    ----------
    kinds : object
        Writes objects of classes that can be stored.
    tensors : dict of ndarray
        Arrays by name.
    """

    kinds: Any
    tensors: dict[str, NDArray[Any]] = field(default_factory=dict)

    def put(self, path: str, array: NDArray[Any]) -> Json:
        """Keep an array under the name ``path``, and return what refers to it."""
        if stored_dtype(array.dtype) is None:
            raise ValueError(
                f"{path} cannot be stored: its dtype is {array.dtype}, and model files hold "
                "numbers, booleans and text."
            )
        self.tensors[path] = array
        return {"tensor": path}


@dataclass
class Reader:
    """Gives out the arrays of a file, each of them once.

    Attributes
    ----------
    kinds : object
        Makes objects of classes that can be stored.
    tensors : dict of ndarray
        Arrays that are left.
    sizes : dict of int
        Numbers that names of shapes stand for, in the object that is being read.
    """

    kinds: Any
    tensors: dict[str, NDArray[Any]]
    sizes: dict[str, int] = field(default_factory=dict)

    def take(self, reference: Json, path: str) -> NDArray[Any]:
        """Return the array that JSON refers to."""
        if not isinstance(reference, dict) or set(reference) != {"tensor"}:
            raise CerfFormatError(f"{path} is not an array.")
        name = reference["tensor"]
        if not isinstance(name, str) or name not in self.tensors:
            raise CerfFormatError(f"{path}: the file has no such array, or it is used twice.")
        return self.tensors.pop(name)

    def bind(self, name: str, size: int, path: str) -> None:
        """Fix what a name of a shape stands for, or compare."""
        if self.sizes.setdefault(name, size) != size:
            raise CerfFormatError(
                f"{path} has the size {size}, and other attributes {self.sizes[name]}."
            )

    @contextmanager
    def own_sizes(self) -> Iterator[None]:
        """Names of shapes of one object."""
        outer, self.sizes = self.sizes, {}
        try:
            yield
        finally:
            self.sizes = outer


class Spec(Protocol):
    """Writes a value, and reads it."""

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Return JSON that stands for a value."""

    def decode(self, value: Json, reader: Reader, path: str) -> Any:
        """Return the value, checked."""


@dataclass(frozen=True)
class Tensor:
    """An array.

    Attributes
    ----------
    dtypes : str
        Kinds of NumPy dtypes that it may have, such as ``"f8"`` or ``"f8 f4"``.
    shape : tuple of str or int
        Sizes, by name or number.
    least, most : float
        Bounds of integers.
    finite : bool, default=True
        Whether all numbers must be finite.
    """

    dtypes: str
    shape: tuple[str | int, ...]
    least: float = -np.inf
    most: float = np.inf
    finite: bool = True

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Keep the array; of other types than it may have, a copy in the first."""
        array = np.asarray(value)
        if array.dtype.str[1:] not in self.dtypes.split():
            array = array.astype(self.dtypes.split()[0])
        return writer.put(path, array)

    def decode(self, value: Json, reader: Reader, path: str) -> NDArray[Any]:
        """Return the array, checked."""
        array = reader.take(value, path)
        if array.dtype.str[1:] not in self.dtypes.split() or array.ndim != len(self.shape):
            raise CerfFormatError(f"{path}: an array of {array.dtype}, shape {array.shape}.")
        for name, size in zip(self.shape, array.shape, strict=True):
            if isinstance(name, str):
                reader.bind(name, size, path)
            elif name != size:
                raise CerfFormatError(f"{path} has the shape {array.shape}.")
        if array.size == 0:
            return array
        if array.dtype.kind == "f" and self.finite and not np.isfinite(array).all():
            raise CerfFormatError(f"{path} holds NaN or infinity.")
        if array.dtype.kind in "iu" and not (
            int(array.min()) >= self.least and int(array.max()) <= self.most
        ):
            raise CerfFormatError(f"{path} holds numbers out of range.")
        return array


@dataclass(frozen=True)
class Integer:
    """An integer within bounds; it may fix a name of shapes."""

    least: int = 0
    most: int = MOST_INTEGER
    name: str = ""

    def encode(self, value: Any, writer: Writer, path: str) -> Json:  # noqa: ARG002
        """Return the integer."""
        if not float(value).is_integer():
            raise ValueError(f"{path}={value!r} cannot be stored: it must be an integer.")
        return int(value)

    def decode(self, value: Json, reader: Reader, path: str) -> int:
        """Return the integer, checked."""
        if not isinstance(value, int) or isinstance(value, bool):
            raise CerfFormatError(f"{path} is not an integer.")
        if not self.least <= value <= self.most:
            raise CerfFormatError(f"{path} is out of range.")
        if self.name:
            reader.bind(self.name, value, path)
        return value


@dataclass(frozen=True)
class FiniteNumber:
    """A finite number within bounds, or one of some words."""

    least: float = -np.inf
    above: float = -np.inf
    words: tuple[str, ...] = ()

    def encode(self, value: Any, writer: Writer, path: str) -> Json:  # noqa: ARG002
        """Return the number."""
        return value if isinstance(value, str) else float(value)

    def decode(self, value: Json, reader: Reader, path: str) -> float | str:  # noqa: ARG002
        """Return the number, checked."""
        if isinstance(value, str) and value in self.words:
            return value
        if not isinstance(value, float | int) or isinstance(value, bool):
            raise CerfFormatError(f"{path} is not a number.")
        number = float(value)
        if not (number >= self.least and number > self.above):
            raise CerfFormatError(f"{path} is out of range.")
        return number


@dataclass(frozen=True)
class Switch:
    """True or False."""

    def encode(self, value: Any, writer: Writer, path: str) -> Json:  # noqa: ARG002
        """Return true or false."""
        return bool(value)

    def decode(self, value: Json, reader: Reader, path: str) -> bool:  # noqa: ARG002
        """Return it, checked."""
        if not isinstance(value, bool):
            raise CerfFormatError(f"{path} is neither true nor false.")
        return value


@dataclass(frozen=True)
class Word:
    """One of some words."""

    choices: tuple[str, ...]

    def encode(self, value: Any, writer: Writer, path: str) -> Json:  # noqa: ARG002
        """Return the word."""
        return str(value)

    def decode(self, value: Json, reader: Reader, path: str) -> str:  # noqa: ARG002
        """Return it, checked."""
        if not isinstance(value, str) or value not in self.choices:
            raise CerfFormatError(f"{path} is not one of {', '.join(self.choices)}.")
        return value


@dataclass(frozen=True)
class Maybe:
    """None, or what another specification says."""

    spec: Spec

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Return None or JSON of the value."""
        return None if value is None else self.spec.encode(value, writer, path)

    def decode(self, value: Json, reader: Reader, path: str) -> Any:
        """Return None or the value."""
        return None if value is None else self.spec.decode(value, reader, path)


@dataclass(frozen=True)
class Sequence:
    """A list, all of one specification."""

    spec: Spec

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Return a list."""
        return [self.spec.encode(v, writer, f"{path}.{i}") for i, v in enumerate(value)]

    def decode(self, value: Json, reader: Reader, path: str) -> list[Any]:
        """Return the list."""
        if not isinstance(value, list):
            raise CerfFormatError(f"{path} is not a list.")
        return [self.spec.decode(v, reader, f"{path}.{i}") for i, v in enumerate(value)]


@dataclass(frozen=True)
class Part:
    """An object of one of some classes, which have a kind of their own."""

    names: tuple[str, ...]

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Return JSON of the object."""
        return writer.kinds.encode(value, writer, path, self.names)

    def decode(self, value: Json, reader: Reader, path: str) -> Any:
        """Return the object."""
        return reader.kinds.decode(value, reader, path, self.names)


@dataclass(frozen=True)
class Labels:
    """Classes, categories or names: numbers as an array, text as JSON in an array of bytes.

    Attributes
    ----------
    size : str
        Name of their number.
    text_only : bool, default=False
        Whether all must be text.
    distinct : bool, default=True
        Whether none may stand twice.
    """

    size: str
    text_only: bool = False
    distinct: bool = True

    def encode(self, value: Any, writer: Writer, path: str) -> Json:
        """Keep numbers as they are, and text as UTF-8."""
        array = np.asarray(value)
        if array.dtype.kind in "OU":
            items = [_plain_label(item, path) for item in array.tolist()]
            raw = np.frombuffer(canonical(items).encode("ascii"), dtype=np.uint8)
            return {"text": writer.put(path, raw), "dtype": array.dtype.kind}
        return {"numbers": writer.put(path, array)}

    def decode(self, value: Json, reader: Reader, path: str) -> NDArray[Any]:
        """Return the labels, checked."""
        array = self._read(value, reader, path)
        if array.ndim != 1:
            raise CerfFormatError(f"{path} is not a list of labels.")
        reader.bind(self.size, len(array), path)
        if self.text_only and not all(isinstance(item, str) for item in array):
            raise CerfFormatError(f"{path} must be text.")
        if self.distinct and len({_key(item) for item in array.tolist()}) < len(array):
            raise CerfFormatError(f"{path} holds a value twice.")
        return array

    def _read(self, value: Json, reader: Reader, path: str) -> NDArray[Any]:
        if isinstance(value, dict) and set(value) == {"numbers"}:
            return reader.take(value["numbers"], path)
        if not isinstance(value, dict) or set(value) != {"text", "dtype"}:
            raise CerfFormatError(f"{path} is not a list of labels.")
        raw = reader.take(value["text"], path)
        if raw.dtype != np.uint8 or raw.ndim != 1 or value["dtype"] not in ("O", "U"):
            raise CerfFormatError(f"{path} is not text.")
        items = parse(raw.tobytes(), path)
        if not isinstance(items, list) or any(isinstance(item, list) for item in items):
            raise CerfFormatError(f"{path} is not a list of labels.")
        items = [plain_number(item, path) if isinstance(item, dict) else item for item in items]
        if value["dtype"] == "U":
            if not all(isinstance(item, str) for item in items):
                raise CerfFormatError(f"{path} must be text.")
            return np.array(items, dtype=np.str_)
        labels = np.empty(len(items), dtype=object)
        labels[:] = items
        return labels


def _key(item: Any) -> Any:
    """Return what makes a label the same as another: NaN is itself, and 1 is not True."""
    return (type(item).__name__, "nan" if item != item else item)


def _plain_label(item: Any, path: str) -> Json:
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, float):
        return number_json(item)
    if item is None or isinstance(item, str | bool | int):
        return item
    raise ValueError(
        f"{path} cannot be stored: it holds {item!r}, and labels must be text or numbers."
    )


_SPECIAL_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def number_json(number: float) -> Json:
    """Return a number, or an object that stands for NaN or infinity."""
    if np.isfinite(number):
        return number
    return {"float": "nan" if np.isnan(number) else "inf" if number > 0 else "-inf"}


def plain_number(value: Mapping[str, Any], path: str) -> float:
    """Return NaN or an infinity that an object stands for."""
    name = value.get("float")
    if set(value) != {"float"} or not isinstance(name, str) or name not in _SPECIAL_FLOATS:
        raise CerfFormatError(f"{path} holds an object that is not known.")
    return _SPECIAL_FLOATS[name]
