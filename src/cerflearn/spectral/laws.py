"""Laws of frequencies: what all share, the elementary ones, and kernels by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from cerflearn._typing import Float64Array
from cerflearn.linalg.distances import centred_squared_distances

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


@dataclass(frozen=True)
class Gaussian(ScaledLaw):
    r"""Independent normal frequencies: :math:`k = \exp(-scale^2 |x - y|_2^2 / 2)`.

    Parameters
    ----------
    scale : float
        Standard deviation of each frequency; ``sqrt(2 * gamma)`` for ``kernel="rbf"``.

    See Also
    --------
    StudentT : Isotropic frequencies with heavier tails.
    GaussianMixture : Normal frequencies around several centres.

    Examples
    --------
    >>> Gaussian(2.0).kernel([[0.0]], [[0.5]]).round(3)  # exp(-1/2)
    array([[0.607]])
    """

    is_isotropic = True

    def _standard(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        return rng.standard_normal((n_features, n_projections))

    def sample_radii(self, n_features: int, size: int, rng: Generator) -> Float64Array:
        """Draw norms |omega|_2 of frequencies in R^n_features, (size,)."""
        return self.scale * np.sqrt(rng.chisquare(n_features, size))

    def _gram(self, X: Float64Array, Y: Float64Array) -> Float64Array:
        return np.exp(-0.5 * self.scale**2 * centred_squared_distances(X, Y))


@dataclass(frozen=True)
class Cauchy(ScaledLaw):
    r"""Independent Cauchy frequencies: :math:`k = \exp(-scale |x - y|_1)`.

    Parameters
    ----------
    scale : float
        Median absolute value of each frequency; ``gamma`` for ``kernel="laplacian"``.

    See Also
    --------
    Laplace : Independent frequencies whose kernel is ``"cauchy"``.
    Gaussian : Independent normal frequencies.

    Examples
    --------
    >>> Cauchy(2.0).kernel([[0.0, 0.0]], [[0.5, -0.5]]).round(3)  # exp(-2)
    array([[0.135]])
    """

    stability_index = 1.0

    def _standard(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        return rng.standard_cauchy((n_features, n_projections))

    def _gram(self, X: Float64Array, Y: Float64Array) -> Float64Array:
        distances: Float64Array = cdist(X, Y, metric="cityblock")
        return np.exp(-self.scale * distances)


@dataclass(frozen=True)
class Laplace(ScaledLaw):
    r"""Independent Laplace frequencies: :math:`k = \prod_i 1 / (1 + scale^2 (x_i - y_i)^2)`.

    Parameters
    ----------
    scale : float
        Mean absolute value of each frequency; ``gamma`` for ``kernel="cauchy"``.

    See Also
    --------
    Cauchy : Independent frequencies whose kernel is ``"laplacian"``.
    Gaussian : Independent normal frequencies.

    Examples
    --------
    >>> Laplace(2.0).kernel([[0.0, 0.0]], [[0.5, -0.5]])
    array([[0.25]])
    """

    def _standard(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        return rng.laplace(size=(n_features, n_projections))

    def _gram(self, X: Float64Array, Y: Float64Array) -> Float64Array:
        return product_gram(X, Y, lambda gap: 1.0 / (1.0 + (self.scale * gap) ** 2))


def _matern(order: float, u: Float64Array) -> Float64Array:
    r"""Matern function :math:`M_\nu(u) = 2^{1-\nu} u^\nu K_\nu(u) / \Gamma(\nu)`, M(0) = 1.

    Goes up from two low orders by M_{n+1} = M_n + u^2 / (4 n (n - 1)) M_{n-1}: every term is
    positive, so no digits cancel, and K_nu of a high order, which overflows, is never formed.
    """
    n_steps = int(np.ceil(order)) - 1
    start = order - n_steps
    # K_nu overflows towards 0, where M is 1; beyond 1e6 M is 0 and u^2 e^-u must not be inf * 0.
    u = np.clip(u, 1e-100, 1e6)
    if start == 0.5:
        lower = np.exp(-u)
        current = (1.0 + u) * lower
    else:
        lower, current = (2.0 ** (1 - n) * u**n * kv(n, u) / gamma(n) for n in (start, start + 1))
    if n_steps == 0:
        return lower
    for n in start + np.arange(1, n_steps):
        lower, current = current, current + u**2 / (4.0 * n * (n - 1.0)) * lower
    return current


@dataclass(frozen=True)
class StudentT(ScaledLaw):
    r"""Multivariate Student t frequencies: the Matern kernel of order :math:`\nu = df / 2`.

    :math:`k = M_\nu(\sqrt{df}\, scale\, |x - y|_2)`, where M(u) is :math:`e^{-u}`,
    :math:`(1 + u) e^{-u}` and :math:`(1 + u + u^2/3) e^{-u}` for df = 1, 3 and 5, and
    :math:`2^{1-\nu} u^\nu K_\nu(u) / \Gamma(\nu)` with the Bessel function K in general.

    Parameters
    ----------
    scale : float
        One over the length of the Matern kernel; ``sqrt(2 * gamma)`` for ``kernel="matern32"``.
    degrees_of_freedom : float
        3 gives Matern 3/2, 5 gives Matern 5/2. From 0.5 (below, draws overflow) to 1000 (above,
        use :class:`Gaussian`).

    See Also
    --------
    Gaussian : The limit of many degrees of freedom.
    law_from_kernel : Laws of kernels with a name.

    Notes
    -----
    One chi-square a frequency, shared by its entries. Given it a sum over m inputs is normal and
    grows as sqrt(m): the stability index is 2 for any degrees of freedom.

    Examples
    --------
    >>> StudentT(2.0, degrees_of_freedom=1).kernel([[0.0]], [[0.5]]).round(3)  # exp(-1)
    array([[0.368]])
    """

    degrees_of_freedom: float

    is_isotropic = True

    def __post_init__(self) -> None:
        super().__post_init__()
        degrees = positive("degrees_of_freedom", self.degrees_of_freedom)
        if not 0.5 <= degrees <= 1000.0:
            raise ValueError(
                f"degrees_of_freedom={degrees} is not within 0.5 and 1000; above, use Gaussian."
            )
        object.__setattr__(self, "degrees_of_freedom", degrees)

    def _stretch(self, size: int, rng: Generator) -> Float64Array:
        degrees = self.degrees_of_freedom
        return 1.0 / np.sqrt(rng.chisquare(degrees, size) / degrees)

    def _standard(self, n_features: int, n_projections: int, rng: Generator) -> Float64Array:
        normal = rng.standard_normal((n_features, n_projections))
        return normal * self._stretch(n_projections, rng)

    def sample_radii(self, n_features: int, size: int, rng: Generator) -> Float64Array:
        """Draw norms |omega|_2 of frequencies in R^n_features, (size,)."""
        return self.scale * np.sqrt(rng.chisquare(n_features, size)) * self._stretch(size, rng)

    def _gram(self, X: Float64Array, Y: Float64Array) -> Float64Array:
        degrees = self.degrees_of_freedom
        distances = np.sqrt(centred_squared_distances(X, Y))
        return _matern(degrees / 2.0, np.sqrt(degrees) * self.scale * distances)


_LAWS: dict[str, Callable[[float], SpectralLaw]] = {
    "rbf": lambda gamma: Gaussian(np.sqrt(2.0 * gamma)),
    "laplacian": Cauchy,
    "cauchy": Laplace,
    "matern32": lambda gamma: StudentT(np.sqrt(2.0 * gamma), 3.0),
    "matern52": lambda gamma: StudentT(np.sqrt(2.0 * gamma), 5.0),
}

KERNELS: tuple[str, ...] = tuple(_LAWS)
"""Names that :func:`law_from_kernel` accepts."""


def law_from_kernel(kernel: str, gamma: float) -> SpectralLaw:
    r"""Law of the frequencies of a named kernel of d = x - y.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy", "matern32", "matern52"}
        :math:`\exp(-\gamma |d|_2^2)`; :math:`\exp(-\gamma |d|_1)`;
        :math:`\prod_i 1 / (1 + \gamma^2 d_i^2)`; Matern with length :math:`1 / \sqrt{2 \gamma}`.
    gamma : float
        Positive coefficient.

    See Also
    --------
    Gaussian, Cauchy, Laplace, StudentT : The laws.

    Examples
    --------
    >>> law_from_kernel("rbf", 0.5)
    Gaussian(scale=1.0)
    """
    if kernel not in _LAWS:
        raise ValueError(f"kernel={kernel!r} is unknown; choose one of {', '.join(KERNELS)}.")
    return _LAWS[kernel](positive("gamma", gamma))
