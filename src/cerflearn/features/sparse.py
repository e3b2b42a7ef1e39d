"""Running a feature map over SciPy sparse rows, in blocks of bounded memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from cerflearn import _native
from cerflearn._typing import FloatArray

if TYPE_CHECKING:
    from cerflearn.features.base import FeatureMap

DENSE_AT_ONCE = 2**20
"""Numbers of a dense copy of rows, or of phases: 4 or 8 MB a thread."""

# In units of a multiply-accumulate of the native kernel: one of SciPy's product, which is more than
# ten where the frequencies exceed the cache, and making one input dense.
_PRODUCT_COST, _DENSE_COST = 16.0, 8.0


def transform_sparse(feature_map: FeatureMap, X: Any, n_threads: int) -> FloatArray | None:
    """Features of X, float32 or float64, or None if it holds NaN or infinity."""
    X = X.tocsr()
    n_samples, n_features = X.shape
    if n_features != feature_map.n_features:
        raise ValueError(f"X has {n_features} features, the map {feature_map.n_features}.")
    out = _native.empty_output(n_samples, feature_map.n_outputs, X.dtype)
    if _product_is_quicker(feature_map, X):
        blocks = row_blocks(n_samples, DENSE_AT_ONCE // feature_map.n_projections)
        finite = all(_run_product(feature_map, X[rows], out[rows]) for rows in blocks)
    else:
        model = feature_map.model(X.dtype)
        n_rows = DENSE_AT_ONCE // n_features * max(1, n_threads)
        # With fewer rows the core sums in another order, which would change the bits.
        blocks = row_blocks(n_samples, max(n_rows, model.one_row_below))
        finite = all(model.transform(X[rows].toarray(), out[rows], n_threads) for rows in blocks)
    return out if finite else None


def _product_is_quicker(feature_map: FeatureMap, X: Any) -> bool:
    """By the whole of X, never by a block: bits must not depend on the blocks."""
    factor = feature_map.sparse_factor()
    if factor is None:
        return False
    n_samples, n_features = X.shape
    n_stored = factor.nnz if issparse(factor) else factor.size
    product = _PRODUCT_COST * X.nnz / n_samples * n_stored / n_features
    return bool(product < feature_map.cost().macs + _DENSE_COST * n_features)


def _run_product(feature_map: FeatureMap, block: Any, out: FloatArray) -> bool:
    if not np.isfinite(block.data).all():
        return False
    frequencies, offsets, amplitudes = feature_map.in_turns(out.dtype)
    phases = block @ frequencies
    phases = phases.toarray() if issparse(phases) else phases
    level = _native.current_level()
    paired, relu = feature_map.paired, feature_map.relu
    _native.finish_phases(phases, offsets, amplitudes, out, paired, level, relu)
    return True


def row_blocks(n_samples: int, n_rows: int) -> list[slice]:
    """Slices of nearly equal length and of ``n_rows`` at least, if there are as many."""
    n_blocks = max(1, n_samples // max(1, n_rows))
    return [
        slice(start, stop)
        for start, stop in pairwise(n_samples * i // n_blocks for i in range(n_blocks + 1))
    ]
