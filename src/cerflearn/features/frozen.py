"""Read-only data with what is derived from it: the form that maps have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Derived = TypeVar("_Derived")

LARGEST_SINGLE = float(np.finfo(np.float32).max)
"""Largest number of single precision."""

NOT_FINITE = "X contains NaN or infinity; impute or drop such values before the transform."
"""What is said of rows that are refused."""


def frozen(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """C-contiguous read-only view of ``array``; the caller's array keeps its own flags."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.setflags(write=False)
    return view


def check_float(dtype: np.dtype[Any]) -> None:
    """Refuse another dtype than those of the native core."""
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"X of dtype {dtype} must be converted to float32 or float64.")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FrozenArrays:
    """Arrays that never change; what is derived from them is kept, and not pickled."""

    _cache: dict[Any, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze the arrays of the subclass and check that they fit each other."""

    def _freeze(self, name: str, dtype: Any) -> None:
        object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cache"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _cache={})
        self.__post_init__()  # the read-only flag does not survive copies and pickles

    def _derived(self, key: Any, make: Callable[[], _Derived]) -> _Derived:
        value: _Derived | None = self._cache.get(key)
        if value is None:  # two threads may both make it; all see the one stored first
            value = self._cache.setdefault(key, make())
        return value

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything it is made of, by name; numbers are arrays of no dimension."""
        return {f.name: np.asarray(getattr(self, f.name)) for f in fields(self) if f.init}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Make it from the result of :meth:`to_arrays`."""
        values: dict[str, Any] = {n: a.item() if a.ndim == 0 else a for n, a in arrays.items()}
        return cls(**values)
