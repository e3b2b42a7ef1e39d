"""Array aliases whose names say the shape or the role, and protocols that several rooms share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
"""Any shape, float32 or float64."""

Float64Array: TypeAlias = NDArray[np.float64]
"""Any shape, float64: what maps store, whatever the dtype they run in."""

AnyIntArray: TypeAlias = NDArray[np.signedinteger[Any]]
"""Any shape, signed integers: those of many rows are as small as they can be."""

IntArray: TypeAlias = NDArray[np.int64]
"""Any shape, int64: indices."""

BoolArray: TypeAlias = NDArray[np.bool_]
"""Any shape, bool: masks."""

MatrixLike: TypeAlias = Any
"""Array-like, sparse matrix or data frame of shape (n_samples, n_features), before its check."""

RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""What ``random_state`` may be."""


class StateStore(Protocol):
    """Where states of a fit are kept; :class:`cerflearn.files.checkpoint.Checkpoint` is one."""

    def load(self, name: str) -> Any:
        """Return the tree under a name, or None."""

    def save(self, name: str, state: Any) -> None:
        """Keep a tree under a name."""

    def save_at_times(self, name: str, make_state: Callable[[], Any]) -> None:
        """Keep a tree, unless one was kept a short time ago."""
