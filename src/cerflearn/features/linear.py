r"""The linear part of scores: what is added to features or tables of a predictor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cerflearn import _native
from cerflearn._typing import Float64Array, IntArray
from cerflearn.features.cost import Cost, StoredArray, compressed_array, stored_cost
from cerflearn.features.frozen import LARGEST_SINGLE, FrozenArrays, check_float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearPart(FrozenArrays):
    r"""Scores :math:`\sum_d L_{do} x_d`: a multiply-accumulate for each entry that is not zero.

    Attributes
    ----------
    coef : ndarray of shape (n_features, n_scores)
        L; zeros are neither stored nor multiplied. It never changes; what is derived from it
        (compressed arrays, a copy for the native core) is made on first use, kept, and not
        pickled.

    Examples
    --------
    >>> part = LinearPart(coef=[[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]])
    >>> part.n_terms, part.inputs_read.tolist()
    (3, [0, 2])
    """

    coef: Float64Array

    def __post_init__(self) -> None:
        self._freeze("coef", np.float64)
        if self.coef.ndim != 2 or len(self.coef) == 0:
            raise ValueError(f"A linear part of shape {self.coef.shape} has no inputs and scores.")
        if not np.isfinite(self.coef).all():
            raise ValueError("A linear part must be finite.")

    def __repr__(self) -> str:
        return (
            f"LinearPart(n_features={self.n_features}, n_scores={self.n_scores}, "
            f"n_terms={self.n_terms})"
        )

    @classmethod
    def of(cls, linear: Self | ArrayLike) -> Self:
        """Return ``linear`` itself if it is a linear part, or one of the array."""
        return linear if isinstance(linear, cls) else cls(coef=np.asarray(linear))

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return len(self.coef)

    @property
    def n_scores(self) -> int:
        """Number of scores."""
        return int(self.coef.shape[1])

    @property
    def n_terms(self) -> int:
        """Entries that are not zero."""
        return len(self.compressed[1])

    @property
    def inputs_read(self) -> IntArray:
        """Inputs that at least one score reads, ascending."""
        return np.flatnonzero(self.coef.any(axis=1))

    @property
    def compressed(self) -> tuple[IntArray, NDArray[np.int32], Float64Array]:
        """Where each score starts (n_scores + 1,), and inputs and values, score by score."""
        return self._derived("compressed", self._compress)

    def _compress(self) -> tuple[IntArray, NDArray[np.int32], Float64Array]:
        scores, inputs = np.nonzero(self.coef.T)
        counts = np.bincount(scores, minlength=self.n_scores)
        pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return pointers, inputs.astype(np.int32), self.coef[inputs, scores]

    def packed(self, dtype: np.dtype[Any]) -> _native.LinearPart:
        """Copy for the native core in float32 or float64."""
        return self._derived(("packed", dtype.char), lambda: self._pack(dtype))

    def _pack(self, dtype: np.dtype[Any]) -> _native.LinearPart:
        check_float(dtype)
        pointers, inputs, values = self.compressed
        if dtype == np.float32 and (np.abs(values) > LARGEST_SINGLE).any():
            raise ValueError("The linear part is beyond single precision: pass X in float64.")
        return _native.linear_part(
            n_features=self.n_features,
            pointers=pointers,
            inputs=inputs,
            values=values,
            dtype=dtype.name,
        )

    def cost(self) -> Cost:
        """Cost of one sample; an index for each term and a pointer for each score are stored."""
        stored = self.stored_array()
        return stored_cost(
            macs=self.n_terms,
            n_parameters=stored.n_values,
            n_indices=stored.n_indices + stored.n_pointers,
        )

    def stored_array(self) -> StoredArray:
        """Sizes of what a deployed model stores."""
        return compressed_array(self.n_terms, self.n_scores, self.n_features)
