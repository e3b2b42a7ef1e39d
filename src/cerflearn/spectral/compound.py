"""Laws made of other laws: elementwise products and Gaussian mixtures (section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.random import Generator
from scipy.special import erfcx

from cerflearn._typing import Float64Array
from cerflearn.spectral.laws import (
    Cauchy,
    Gaussian,
    ScaledLaw,
    SpectralLaw,
    positive,
    product_gram,
)


@dataclass(frozen=True)
class Product(SpectralLaw):
    r"""Elementwise product of two laws' draws, :math:`\omega = \omega^{(1)} \odot \omega^{(2)}`.

    With s the product of the scales, Gaussian x Gaussian has
    :math:`k = \prod_i (1 + s^2 (x_i - y_i)^2)^{-1/2}` and Cauchy x Gaussian (either order)
    :math:`k = \prod_i \mathrm{erfcx}(s |x_i - y_i| / \sqrt 2)`; other pairs can only be drawn.

    Parameters
    ----------
    first, second : SpectralLaw
        The laws P_1 and P_2 of section 4.1.

    See Also
    --------
    GaussianMixture : Normal frequencies around draws of a law.
    cerflearn.BlockedCERF : Blocks that imitate such a law.

    Examples
    --------
    >>> Product(Gaussian(2.0), Gaussian(0.5)).kernel([[0.0]], [[1.0]]).round(3)  # 1 / sqrt(2)
    array([[0.707]])
    """

    first: SpectralLaw
    second: SpectralLaw

    def __post_init__(self) -> None:
        for name, law in (("first", self.first), ("second", self.second)):
            if not isinstance(law, SpectralLaw):
                raise ValueError(f"{name}={law!r} is not a law; pass one such as Gaussian(1.0).")
        # That of the heavier tail.
        index = min(self.first.stability_index, self.second.stability_index)
        closed = {type(self.first), type(self.second)} in ({Gaussian}, {Gaussian, Cauchy})
        object.__setattr__(self, "stability_index", index)
        object.__setattr__(self, "has_kernel", closed)

    def sample(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        """Draw frequencies (n_features, n_projections), one a column."""
        first = self.first.sample(n_features, n_projections, rng)
        return first * self.second.sample(n_features, n_projections, rng)

    def _gram(self, X: Float64Array, Y: Float64Array) -> Float64Array:
        if not self.has_kernel:
            raise ValueError(
                f"{self!r} has no closed-form kernel: only Gaussian x Gaussian and "
                "Cauchy x Gaussian have. Average cosines of many draws of `sample` instead."
            )
        assert isinstance(self.first, ScaledLaw)
        assert isinstance(self.second, ScaledLaw)
        scale = self.first.scale * self.second.scale
        if self.stability_index == 1.0:
            return product_gram(X, Y, lambda gap: erfcx(scale / np.sqrt(2.0) * gap))
        return product_gram(X, Y, lambda gap: 1.0 / np.sqrt(1.0 + (scale * gap) ** 2))

    def rescaled(self, factor: float) -> Self:
        """Law of ``factor`` times this law's frequencies, factor > 0."""
        return replace(self, first=self.first.rescaled(factor))


@dataclass(frozen=True, eq=False, repr=False)
class GaussianMixture(SpectralLaw):
    r"""Equal mixture of normal laws around fixed centres :math:`m_j` (section 4.1).

    :math:`k = \frac{1}{J} \sum_j \cos(m_j^\top (x - y)) \exp(-spread^2 |x - y|_2^2 / 2)`.

    Parameters
    ----------
    centres : ndarray of shape (n_components, n_features)
        The J centres; copied and made read-only.
    spread : float
        Standard deviation of each frequency about its centre.

    See Also
    --------
    Product : The law that section 4.1 approximates.
    cerflearn.BlockedCERF : Blocks with centres, see its ``spread``.

    Examples
    --------
    >>> GaussianMixture.around(Cauchy(1.0), 20, 16, 0.1, np.random.default_rng(0))
    GaussianMixture(n_components=20, n_features=16, spread=0.1)
    """

    centres: Float64Array
    spread: float

    def __post_init__(self) -> None:
        centres = np.array(self.centres, dtype=np.float64, order="C")
        if centres.ndim != 2 or centres.size == 0 or not np.isfinite(centres).all():
            raise ValueError(
                f"centres of shape {centres.shape} must be finite, not empty and of shape "
                "(n_components, n_features)."
            )
        centres.setflags(write=False)
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "spread", positive("spread", self.spread))

    @classmethod
    def around(
        cls, law: SpectralLaw, n_components: int, n_features: int, spread: float, rng: Generator
    ) -> Self:
        """Mixture whose centres are draws of another law (P_0 of section 4.1)."""
        return cls(law.sample(n_features, n_components, rng).T, spread)

    def __repr__(self) -> str:
        n_components, n_features = self.centres.shape
        return f"GaussianMixture({n_components=}, {n_features=}, spread={self.spread})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GaussianMixture):
            return NotImplemented
        return self.spread == other.spread and np.array_equal(self.centres, other.centres)

    def __hash__(self) -> int:
        return hash((self.spread, self.centres.shape, self.centres[0].sum()))

    def __reduce__(self) -> tuple[type[Self], tuple[Float64Array, float]]:
        # Copies and pickles are built anew: an array's read-only flag does not survive them.
        return type(self), (self.centres, self.spread)

    def _check_width(self, n_features: int) -> None:
        if n_features != self.centres.shape[1]:
            raise ValueError(f"{self!r} is not a law of {n_features} features; draw other centres.")

    def sample(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        """Draw frequencies (n_features, n_projections), one a column.

        Components come in order, in runs of equal length (to one): neighbouring projections, the
        rows of one block of Prop. 5, share a component. Where the runs start is random, so that
        each projection has each component equally often on average, however few there are.
        """
        self._check_width(n_features)
        share = len(self.centres) / max(1, n_projections)
        component = ((np.arange(n_projections) + rng.random()) * share).astype(np.int64)
        component = np.minimum(component, len(self.centres) - 1)  # rounding may reach the end
        normal = rng.standard_normal((n_features, n_projections))
        return self.centres[component].T + self.spread * normal

    def _gram(self, X: Float64Array, Y: Float64Array) -> Float64Array:
        self._check_width(X.shape[1])
        # cos(a - b) = cos a cos b + sin a sin b turns the mean over centres into two products.
        a, b = X @ self.centres.T, Y @ self.centres.T
        gram: Float64Array = np.cos(a) @ np.cos(b).T + np.sin(a) @ np.sin(b).T
        return gram / len(self.centres) * Gaussian(self.spread)._gram(X, Y)

    def rescaled(self, factor: float) -> Self:
        """Law of ``factor`` times this law's frequencies, factor > 0."""
        factor = positive("factor", factor)
        return replace(self, centres=factor * self.centres, spread=factor * self.spread)
