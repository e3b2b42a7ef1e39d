r"""Laws of frequencies p(omega), and the shift-invariant kernels they stand for (Eqs. 1-2).

A kernel is the characteristic function of its law, :math:`k(x, y) = E[\cos(\omega^\top (x - y))]`:
draw from the law to approximate the kernel, call :meth:`SpectralLaw.kernel` to have it exactly.
"""

from __future__ import annotations

from cerflearn.spectral.compound import GaussianMixture, Product
from cerflearn.spectral.laws import (
    KERNELS,
    Cauchy,
    Gaussian,
    Laplace,
    SpectralLaw,
    StudentT,
    law_from_kernel,
)

__all__ = [
    "KERNELS",
    "Cauchy",
    "Gaussian",
    "GaussianMixture",
    "Laplace",
    "Product",
    "SpectralLaw",
    "StudentT",
    "law_from_kernel",
]
