r"""Slow oracle of tables and linear parts: loops in long double, with error bounds.

A table network has scores ``a_o + sum_d L_do x_d + sum_k T[k, j_k, o]``, where ``j_k`` is the bin
of ``u_k = sum_d w_dk x_d + b_k``, clamped.

Bounds (u = 2^-24 or 2^-53, the unit roundoff of the model's dtype)
-------------------------------------------------------------------
(i) A phase of m products passes, term by term, at most m + 2 roundings: of the weight when it is
stored, of the product, and of the m additions. It is off by ``u (m + 2) (sum |w_i x_i| + |b|)``;
the bin is certain where no integer between 1 and n_bins - 1 is so close.

(ii) A score is a sum of K entries, of m_o products and of the intercept. Each term is stored
(1 rounding) and meets at most K + m_o + 2 additions or products:
``u (K + m_o + 3) (sum |T| + sum |L x| + |a|)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.features import UNIT, long


@dataclass(frozen=True)
class RandomTables:
    """Arrays of a table network, dense; ``native_arguments`` has them as the core takes them."""

    weights: NDArray  # (n_features, n_tables), zero outside the masks
    masks: NDArray
    offsets: NDArray
    tables: NDArray
    linear: NDArray
    intercept: NDArray

    @property
    def n_features(self) -> int:
        return len(self.linear)

    @property
    def n_scores(self) -> int:
        return len(self.intercept)

    def native_arguments(self, **changes: Any) -> dict[str, Any]:
        mask_pointers, mask_inputs, values = compressed(self.weights, self.masks)
        linear_pointers, linear_inputs, linear_values = compressed(self.linear, self.linear != 0)
        arguments = {
            "n_features": self.n_features,
            "mask_pointers": mask_pointers,
            "mask_inputs": mask_inputs,
            "values": values,
            "offsets": self.offsets,
            "tables": self.tables,
            "linear_pointers": linear_pointers,
            "linear_inputs": linear_inputs,
            "linear_values": linear_values,
            "intercept": self.intercept,
        }
        return arguments | changes


def compressed(matrix: NDArray, masks: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Pointers, rows and values of the entries of each column that are in its mask."""
    pointers, rows, values = [0], [], []
    for column in range(matrix.shape[1]):
        for row in np.flatnonzero(masks[:, column]):
            rows.append(row)
            values.append(matrix[row, column])
        pointers.append(len(rows))
    return (
        np.array(pointers, dtype=np.int64),
        np.array(rows, dtype=np.int32),
        np.array(values, dtype=np.float64),
    )


def random_tables(
    n_features: int, n_tables: int, n_bins: int, n_scores: int, seed: int = 0
) -> RandomTables:
    """About a third of the inputs a table, none for some; half of the entries of L are zero."""
    rng = np.random.default_rng([n_features, n_tables, n_bins, n_scores, seed])
    masks = rng.random((n_features, n_tables)) < 0.33
    scale = n_bins / 4 / np.sqrt(max(1.0, 0.33 * n_features))
    weights = np.where(masks, scale * rng.standard_normal((n_features, n_tables)), 0.0)
    linear = rng.standard_normal((n_features, n_scores))
    linear *= rng.random(linear.shape) < 0.5
    return RandomTables(
        weights=weights,
        masks=masks,
        offsets=rng.uniform(0.3, 0.7, n_tables) * n_bins,
        tables=rng.standard_normal((n_tables, n_bins, n_scores)),
        linear=linear,
        intercept=rng.standard_normal(n_scores),
    )


def phases_and_bound(case: RandomTables, X: NDArray, dtype: str) -> tuple[NDArray, NDArray]:
    """u (n_samples, n_tables), and bound (i)."""
    products = long(X)[:, :, None] * long(case.weights)[None]
    phases = products.sum(axis=1) + long(case.offsets)
    size = np.abs(products).sum(axis=1) + np.abs(long(case.offsets))
    return phases, UNIT[dtype] * (case.masks.sum(axis=0) + 2) * size


def certain_bins(case: RandomTables, X: NDArray, dtype: str) -> tuple[NDArray, NDArray]:
    """Bins (n_samples, n_tables), and whether rounding cannot change them."""
    phases, bound = phases_and_bound(case, X, dtype)
    last = case.tables.shape[1] - 1
    low, middle, high = (
        np.clip(np.floor(phases + shift), 0, last).astype(int) for shift in (-bound, 0, bound)
    )
    return middle, (low == middle) & (middle == high)


def scores_and_bound(
    case: RandomTables, X: NDArray, bins: NDArray, dtype: str
) -> tuple[NDArray, NDArray]:
    """Scores (n_samples, n_scores) for given bins, and bound (ii)."""
    n_tables, read = len(case.offsets), np.flatnonzero(case.linear.any(axis=1))
    scores = np.zeros((len(X), case.n_scores), dtype=np.longdouble)
    sizes = np.zeros_like(scores)
    for i in range(len(X)):
        terms = [long(case.tables[k, bins[i, k]]) for k in range(n_tables)]
        terms += [long(case.linear[d]) * long(X[i, d]) for d in read]
        terms.append(long(case.intercept))
        for term in terms:
            scores[i] += term
            sizes[i] += np.abs(term)
    n_terms = n_tables + (case.linear != 0).sum(axis=0)
    return scores, UNIT[dtype] * (n_terms + 3) * sizes
