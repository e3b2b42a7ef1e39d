"""Dictionaries, lists, numbers, text and arrays inside each other, as JSON that names arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn.files.container import stored_dtype
from cerflearn.files.format_error import CerfFormatError

_NAMED_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode_tree(value: Any, tensors: dict[str, NDArray[Any]], path: str = "state") -> Any:
    """Return JSON of a tree, and put its arrays into ``tensors``.

    Parameters
    ----------
    value : object
        Dictionaries with text as keys, lists, tuples (which become lists), numbers, text, None and
        arrays; ``TypeError`` for anything else.
    tensors : dict of ndarray
        Filled.
    path : str, default="state"
        Where the value is in the tree: the name of an array.

    Examples
    --------
    >>> tensors = {}
    >>> encode_tree({"n_done": 2, "weights": np.ones(3)}, tensors)
    {'tree': {'n_done': 2, 'weights': {'array': 'state.weights'}}}
    >>> decode_tree(_, tensors)
    {'n_done': 2, 'weights': array([1., 1., 1.])}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list | tuple):
        return [encode_tree(item, tensors, f"{path}.{i}") for i, item in enumerate(value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        items = value.items()
        return {"tree": {key: encode_tree(item, tensors, f"{path}.{key}") for key, item in items}}
    if isinstance(value, np.ndarray) and stored_dtype(value.dtype) is not None:
        return _encode_array(value, tensors, path)
    raise TypeError(f"{path} is a {type(value).__name__}, which a checkpoint cannot hold.")


def _encode_array(
    array: NDArray[Any], tensors: dict[str, NDArray[Any]], path: str
) -> dict[str, Any]:
    """Store an array in the order of its memory: sums over another order round otherwise."""
    axes = np.argsort([-abs(stride) for stride in array.strides], kind="stable").tolist()
    turned = array.transpose(axes)
    if array.flags.c_contiguous or not turned.flags.c_contiguous:
        tensors[path] = array
        return {"array": path}
    tensors[path] = turned
    return {"array": path, "axes": axes}


def decode_tree(value: Any, tensors: Mapping[str, NDArray[Any]]) -> Any:
    """Return the tree; arrays are copies. ``CerfFormatError`` if it is none."""
    if isinstance(value, list):
        return [decode_tree(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"tree"} and isinstance(value["tree"], dict):
        return {key: decode_tree(item, tensors) for key, item in value["tree"].items()}
    number, name = value.get("float"), value.get("array")
    if set(value) == {"float"} and isinstance(number, str) and number in _NAMED_FLOATS:
        return _NAMED_FLOATS[number]
    if set(value) <= {"array", "axes"} and isinstance(name, str) and name in tensors:
        return _decode_array(tensors[name], value.get("axes"))
    raise CerfFormatError("Its JSON holds an object that is not known.")


def _decode_array(stored: NDArray[Any], axes: Any) -> NDArray[Any]:
    array = np.array(stored)  # a copy, aligned as new arrays are
    if axes is None:
        return array
    if not isinstance(axes, list) or sorted(map(repr, axes)) != [*map(repr, range(array.ndim))]:
        raise CerfFormatError("The order of an array's axes is not one.")
    return array.transpose(np.argsort(axes))
