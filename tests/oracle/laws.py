"""Slow oracles of laws, kernels and Fastfood: loops and quadrature straight from the formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.linalg import hadamard


def normal_density(value: float, scale: float) -> float:
    return math.exp(-0.5 * (value / scale) ** 2) / (scale * math.sqrt(2.0 * math.pi))


def cauchy_density(value: float, scale: float) -> float:
    return scale / (math.pi * (scale**2 + value**2))


def laplace_density(value: float, scale: float) -> float:
    return math.exp(-abs(value) / scale) / (2.0 * scale)


def student_density(value: float, scale: float, degrees: float) -> float:
    norm = math.gamma((degrees + 1) / 2) / math.gamma(degrees / 2)
    norm /= math.sqrt(degrees * math.pi) * scale
    return norm * (1.0 + (value / scale) ** 2 / degrees) ** (-(degrees + 1) / 2)


def fourier_kernel(density: Callable[[float], float], gap: float) -> float:
    """Eq. 2 backwards: E[cos(omega gap)] of a symmetric one-dimensional density."""
    if gap == 0.0:
        return 1.0
    integral, _ = quad(density, 0.0, np.inf, weight="cos", wvar=abs(gap), epsabs=1e-10, limlst=200)
    return 2.0 * integral


def product_kernel(conditional: Callable[[float], float], scale: float, gap: float) -> float:
    """E[conditional(omega_2 gap)], omega_2 normal: the kernel of omega_1 omega_2 in one input.

    ``conditional`` is the kernel of omega_1.
    """
    integral, _ = quad(
        lambda value: normal_density(value, scale) * conditional(value * gap), 0.0, 12.0 * scale
    )
    return 2.0 * integral


def inputwise_gram(X: np.ndarray, Y: np.ndarray, kernel: Callable[[float], float]) -> np.ndarray:
    """prod_i kernel(x_i - y_i)."""
    gram = np.ones((len(X), len(Y)))
    for row, x in enumerate(X):
        for column, y in enumerate(Y):
            for x_i, y_i in zip(x, y, strict=True):
                gram[row, column] *= kernel(float(x_i - y_i))
    return gram


def radial_gram(X: np.ndarray, Y: np.ndarray, kernel: Callable[[float], float]) -> np.ndarray:
    """kernel(|x - y|_2)."""
    return np.array([[kernel(math.dist(x, y)) for y in Y] for x in X])


def mixture_gram(X: np.ndarray, Y: np.ndarray, centres: np.ndarray, spread: float) -> np.ndarray:
    """1/J sum_j cos(m_j . (x - y)) exp(-spread^2 |x - y|^2 / 2)."""
    gram = np.zeros((len(X), len(Y)))
    for row, x in enumerate(X):
        for column, y in enumerate(Y):
            for centre in centres:
                phase = sum(m * (a - b) for m, a, b in zip(centre, x, y, strict=True))
                fade = math.exp(-0.5 * spread**2 * sum((x - y) ** 2))
                gram[row, column] += math.cos(phase) * fade / len(centres)
    return gram


def fastfood_matrix(
    signs: np.ndarray, gaussian_diag: np.ndarray, permutation: np.ndarray, row_scale: np.ndarray
) -> np.ndarray:
    """S H G Q H B of one block (Eq. 36), (d, d), as a product of explicit matrices."""
    size = len(signs)
    Q = np.zeros((size, size))
    for place, source in enumerate(permutation):
        Q[place, source] = 1.0
    H = hadamard(size).astype(float)
    return np.diag(row_scale) @ H @ np.diag(gaussian_diag) @ Q @ H @ np.diag(signs)
