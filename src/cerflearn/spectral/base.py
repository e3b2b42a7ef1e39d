"""What all laws share: the protocol, a scale, checks, and Gram matrices in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.random import Generator

from cerflearn._typing import Float64Array

Factor: TypeAlias = Callable[[Float64Array], Float64Array]

BLOCK_ELEMENTS = 2**18  # 2 MB of float64: a block of a product kernel stays in the cache


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise a ValueError that names the parameter."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return float(value)
    raise ValueError(f"{name}={value!r} is not a positive finite number; pass one such as 1.0.")


def product_gram(X: Float64Array, Y: Float64Array, factor: Factor) -> Float64Array:
    """prod_i factor(|x_i - y_i|), (n, m), in blocks of rows and one input at a time."""
    gram = np.ones((len(X), len(Y)))
    n_rows = max(1, BLOCK_ELEMENTS // max(1, len(Y)))
    for start in range(0, len(X), n_rows):
        rows = slice(start, start + n_rows)
        for x_input, y_input in zip(X[rows].T, Y.T, strict=True):
            gram[rows] *= factor(np.abs(np.subtract.outer(x_input, y_input)))
    return gram


class SpectralLaw(ABC):
    """Law p(omega) of frequencies; its characteristic function is the kernel (Eq. 2).

    Attributes
    ----------
    stability_index : float
        Index a of the mask scale (D / active)^(1/a): 2.0 if the sum of omega_i x_i over m inputs
        grows as sqrt(m), as it does for laws with a variance; 1.0 if as m (Cauchy).
    is_isotropic : bool
        Whether all directions are alike, which orthogonal and Fastfood maps need.
    has_kernel : bool
        Whether :meth:`kernel` has a closed form.
    """

    stability_index: float = 2.0
    is_isotropic: bool = False
    has_kernel: bool = True

    @abstractmethod
    def sample(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        """Draw frequencies (n_features, n_projections), one a column."""

    def sample_radii(self, n_features: int, size: int, rng: Generator) -> Float64Array:  # noqa: ARG002
        """Draw norms |omega|_2 of frequencies in R^n_features, (size,); isotropic laws only."""
        raise ValueError(
            f"{self!r} is not isotropic: its norms do not describe it. Isotropic are "
            "kernel='rbf', 'matern32' and 'matern52' (laws Gaussian and StudentT)."
        )

    def kernel(self, X: Float64Array, Y: Float64Array | None = None) -> Float64Array:
        """Exact Gram matrix k(x, y), (n, m), of X (n, n_features) and Y (m, n_features) or X.

        A ValueError says so if the law has no closed form (see :attr:`has_kernel`).
        """
        first = np.asarray(X, dtype=np.float64)
        second = first if Y is None else np.asarray(Y, dtype=np.float64)
        if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
            raise ValueError(
                f"X {first.shape} and Y {second.shape} must be 2-D with equally many columns; "
                "reshape a single sample with X.reshape(1, -1)."
            )
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            raise ValueError("X or Y contains NaN or infinity; impute or drop such values.")
        return self._gram(first, second)

    @abstractmethod
    def _gram(self, X: Float64Array, Y: Float64Array) -> Float64Array:
        """Compute :meth:`kernel` of two checked arrays."""

    @abstractmethod
    def rescaled(self, factor: float) -> Self:
        """Law of ``factor`` times this law's frequencies, factor > 0."""


@dataclass(frozen=True)
class ScaledLaw(SpectralLaw):
    """Law of ``scale`` times the draws of a standard law."""

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))

    @abstractmethod
    def _standard(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        """Frequencies (n_features, n_projections) of scale 1."""

    def sample(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        """Draw frequencies (n_features, n_projections), one a column."""
        return self.scale * self._standard(n_features, n_projections, rng)

    def rescaled(self, factor: float) -> Self:
        """Law of ``factor`` times this law's frequencies, factor > 0."""
        return replace(self, scale=self.scale * positive("factor", factor))
