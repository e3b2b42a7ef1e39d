"""Running a feature map over SciPy sparse rows, in blocks of bounded memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cerflearn import _native
from cerflearn._typing import FloatArray

if TYPE_CHECKING:
    from cerflearn.features.base import FeatureMap

_BLOCK_ELEMENTS = 2**20  # of a dense copy of rows, or of phases: 4 or 8 MB a thread
# The native kernel needs about a tenth of the time of SciPy's product for a multiply-accumulate,
# and less than that when the frequencies exceed the cache.
_PRODUCT_DENSITY = 1.0 / 16.0


def transform_sparse(feature_map: FeatureMap, X: Any, n_threads: int) -> FloatArray | None:
    """Features of X, float32 or float64, or None if it holds NaN or infinity."""
    X = X.tocsr()
    n_samples, n_features = X.shape
    if n_features != feature_map.n_features:
        raise ValueError(f"X has {n_features} features, the map {feature_map.n_features}.")
    out = np.empty((n_samples, feature_map.n_outputs), X.dtype)
    # By the density of the whole of X, never of a block: bits must not depend on the blocks.
    multiply = feature_map.multiplies_sparse and X.nnz < _PRODUCT_DENSITY * n_samples * n_features
    model = feature_map.model(X.dtype)
    width = feature_map.n_projections if multiply else n_features
    n_rows = _BLOCK_ELEMENTS // width * max(1, n_threads)
    # Below that the core sums in another order, which would change the bits.
    for rows in _row_blocks(n_samples, max(n_rows, model.one_row_below, 1)):
        if multiply:
            finite = _run_product(feature_map, X[rows], out[rows])
        else:
            finite = model.transform(X[rows].toarray(), out[rows], n_threads)
        if not finite:
            return None
    return out


def _run_product(feature_map: FeatureMap, block: Any, out: FloatArray) -> bool:
    if not np.isfinite(block.data).all():
        return False
    frequencies, offsets, amplitudes = feature_map.in_turns(out.dtype)
    phases = block @ frequencies
    level = _native.current_level()
    _native.finish_phases(phases, offsets, amplitudes, out, feature_map.paired, level)
    return True


def _row_blocks(n_samples: int, n_rows: int) -> list[slice]:
    """Slices of nearly equal length and of ``n_rows`` at least, if there are as many."""
    n_blocks = max(1, n_samples // n_rows)
    return [
        slice(start, stop)
        for start, stop in pairwise(n_samples * i // n_blocks for i in range(n_blocks + 1))
    ]
