r"""Laws of frequencies p(omega), and the shift-invariant kernels they stand for (Eqs. 1-2).

A kernel is the characteristic function of its law, :math:`k(x, y) = E[\cos(\omega^\top (x - y))]`:
draw from the law to approximate the kernel, call :meth:`SpectralLaw.kernel` to have it exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cerflearn.spectral.base import SpectralLaw, positive
from cerflearn.spectral.compound import GaussianMixture, Product
from cerflearn.spectral.laws import Cauchy, Gaussian, Laplace, StudentT

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

_LAWS: dict[str, Callable[[float], SpectralLaw]] = {
    "rbf": lambda gamma: Gaussian(np.sqrt(2.0 * gamma)),
    "laplacian": Cauchy,
    "cauchy": Laplace,
    "matern32": lambda gamma: StudentT(np.sqrt(2.0 * gamma), 3.0),
    "matern52": lambda gamma: StudentT(np.sqrt(2.0 * gamma), 5.0),
}

KERNELS: tuple[str, ...] = tuple(_LAWS)
"""Names that :func:`law_from_kernel` knows."""


def law_from_kernel(kernel: str, gamma: float) -> SpectralLaw:
    r"""Law of the frequencies of a named kernel of d = x - y.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy", "matern32", "matern52"}
        :math:`\exp(-\gamma |d|_2^2)`; :math:`\exp(-\gamma |d|_1)`;
        :math:`\prod_i 1 / (1 + \gamma^2 d_i^2)`; Matern with length :math:`1 / \sqrt{2 \gamma}`.
    gamma : float
        Positive coefficient.

    Examples
    --------
    >>> law_from_kernel("rbf", 0.5)
    Gaussian(scale=1.0)
    """
    if kernel not in _LAWS:
        raise ValueError(f"kernel={kernel!r} is unknown; choose one of {', '.join(KERNELS)}.")
    return _LAWS[kernel](positive("gamma", gamma))
