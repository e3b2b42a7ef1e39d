"""Array aliases whose names say the shape or the role."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
"""Any shape, float32 or float64."""

Float64Array: TypeAlias = NDArray[np.float64]
"""Any shape, float64: what maps store, whatever the dtype they run in."""

IntArray: TypeAlias = NDArray[np.int64]
"""Any shape, int64: indices."""

BoolArray: TypeAlias = NDArray[np.bool_]
"""Any shape, bool: masks."""

MatrixLike: TypeAlias = Any
"""Array-like, sparse matrix or data frame of shape (n_samples, n_features), before its check."""

RandomStateLike: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""What ``random_state`` may be."""
