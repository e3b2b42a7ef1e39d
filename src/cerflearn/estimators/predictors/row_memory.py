"""Rows of a stream that are kept: all up to a number, of more a random part of all seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from cerflearn._typing import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class RowMemory:
    """Rows with their targets and weights.

    Attributes
    ----------
    X : {ndarray, CSR matrix} of shape (n_rows, n_features)
        Checked rows.
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Checked targets, as they were given.
    weights : ndarray of shape (n_rows,)
        Of the rows.
    n_seen : int
        Rows that were offered, of which each is kept with equal probability.
    """

    X: Any
    y: Any
    weights: Float64Array
    n_seen: int

    @classmethod
    def of(cls, X: Any, y: Any, weights: Float64Array) -> RowMemory:
        """Keep copies of rows: the caller may fill the same arrays with the next ones."""
        return cls(X.copy(), y.copy(), weights.copy(), X.shape[0])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def with_rows(
        self, X: Any, y: Any, weights: Float64Array, most: int, rng: np.random.Generator
    ) -> RowMemory:
        """Memory after some more rows (reservoir sampling, Vitter's algorithm R).

        Parameters
        ----------
        X, y, weights : as the attributes
            More rows.
        most : int
            Rows that are kept.
        rng : numpy.random.Generator
            Source of randomness.
        """
        kept = self._places(X.shape[0], most, rng)
        return replace(
            self,
            X=_stack(self.X, X)[kept],
            y=_stack(self.y, y)[kept],
            weights=np.concatenate([self.weights, weights])[kept],
            n_seen=self.n_seen + X.shape[0],
        )

    def _places(self, n_new: int, most: int, rng: np.random.Generator) -> IntArray:
        """Rows that are kept, among the old ones and then the new ones."""
        free = max(0, min(n_new, most - len(self)))
        places = np.arange(len(self) + free)
        late = np.arange(free, n_new)
        chosen = rng.integers(0, self.n_seen + late + 1)
        used = chosen < most
        places[chosen[used]] = len(self) + late[used]
        return places


def _stack(first: Any, second: Any) -> Any:
    if issparse(first) or issparse(second):
        return vstack([first, second], format="csr")
    return np.concatenate([first, second])
