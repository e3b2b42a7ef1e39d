"""Make the coefficients of the cosine: ``cpp/src/kernels/cosine_coefficients.h``.

The kernel evaluates ``sin(2 pi q) ~ q P(q^2)`` on [0, 1/4]. P is the minimax polynomial of the
absolute error, found by the Remez exchange in 40 digits and rounded to the type. The float terms
are then moved by a few units in the last place for as long as the error of the real float32
evaluation falls (with or without a fused multiply-add, whichever is worse).

    python cpp/tools/cosine_coefficients.py            # write the header, print the errors
    python cpp/tools/cosine_coefficients.py --check    # fail if the header is out of date

Fitting the upper terms again after each rounding was tried: it served float as well as the
search does (1.6e-7) and made double worse (5.6e-16 instead of 4.0e-16).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import mpmath
import numpy as np
from numpy.typing import NDArray

HEADER = Path(__file__).resolve().parents[1] / "src" / "kernels" / "cosine_coefficients.h"
N_TERMS = {"float": 5, "double": 8}
DTYPES = {"float": np.float32, "double": np.float64}
N_SEARCH, N_REPORT = 1 << 14, 1 << 20  # grid points of the search and of the printed error


def chebyshev_points(n_points: int) -> list[mpmath.mpf]:
    """Extrema of a Chebyshev polynomial on (0, 1/4], ascending."""
    return [(1 - mpmath.cospi(mpmath.mpf(i) / n_points)) / 8 for i in range(1, n_points + 1)]


def error_at(terms: list[mpmath.mpf], q: mpmath.mpf) -> mpmath.mpf:
    """``q P(q^2) - sin(2 pi q)``."""
    return q * mpmath.polyval(terms[::-1], q * q) - mpmath.sinpi(2 * q)


def alternating_fit(points: list[mpmath.mpf]) -> list[mpmath.mpf]:
    """Terms whose error is +E, -E, +E, ... on the points."""
    n = len(points)
    matrix = mpmath.matrix(n, n)
    for i, q in enumerate(points):
        for j in range(n - 1):
            matrix[i, j] = q ** (2 * j + 1)
        matrix[i, n - 1] = (-1) ** i
    sines = mpmath.matrix([mpmath.sinpi(2 * q) for q in points])
    return list(mpmath.lu_solve(matrix, sines))[:-1]


def largest_between(terms: list[mpmath.mpf], low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    """Golden-section search for the largest absolute error; it may lie on a border."""
    ratio = (mpmath.sqrt(5) - 1) / 2
    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if abs(error_at(terms, left)) > abs(error_at(terms, right)):
            high = right
        else:
            low = left
    return max(low, high, key=lambda q: abs(error_at(terms, q)))


def extrema(terms: list[mpmath.mpf]) -> list[mpmath.mpf]:
    """Place of the largest error in each run of equal sign."""
    grid = chebyshev_points(60 * len(terms))
    errors = [error_at(terms, q) for q in grid]
    runs: list[list[int]] = []
    for i, error in enumerate(errors):
        if runs and errors[runs[-1][-1]] * error > 0:
            runs[-1].append(i)
        else:
            runs.append([i])
    peaks = [max(run, key=lambda i: abs(errors[i])) for run in runs]
    return [
        largest_between(terms, grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]) for i in peaks
    ]


def minimax(n_terms: int) -> list[mpmath.mpf]:
    """Remez exchange; ends when the errors on all its points agree to ten digits."""
    points = chebyshev_points(n_terms + 1)
    for _ in range(20):
        terms = alternating_fit(points)
        points = extrema(terms)
        sizes = [abs(error_at(terms, q)) for q in points]
        if max(sizes) - min(sizes) < max(sizes) * mpmath.mpf(10) ** -10:
            return terms
    raise RuntimeError("the Remez exchange did not converge")


def evaluated(terms: NDArray, q: NDArray, *, fused: bool) -> NDArray:
    """``q P(q^2)`` as the kernel computes it; one rounding a step if multiply-adds are fused."""
    dtype = terms.dtype.type
    wide = np.float64 if dtype is np.float32 else np.longdouble
    square = q * q
    result = np.full_like(q, terms[-1])
    for term in terms[-2::-1]:
        if fused:
            result = (result.astype(wide) * square + wide(term)).astype(dtype)
        else:
            result = result * square + term
    return result * q


def measured_error(terms: NDArray, n_grid: int) -> float:
    """Largest error on a grid of the quarter turn, fused or not."""
    q = np.linspace(0, 0.25, n_grid).astype(terms.dtype)
    exact = np.sin(np.longdouble(mpmath.nstr(2 * mpmath.pi, 30)) * q)
    return max(
        float(np.abs(evaluated(terms, q, fused=fused) - exact).max()) for fused in (True, False)
    )


def searched(terms: NDArray) -> NDArray:
    """Move one term at a time by 1, 2, 4, ... units in the last place while the error falls."""
    best, improved = measured_error(terms, N_SEARCH), True
    while improved:
        improved = False
        for i in range(len(terms)):
            for n_units in [sign << power for power in range(14) for sign in (-1, 1)]:
                trial = terms.copy()
                trial[i] += n_units * np.spacing(trial[i])
                error = measured_error(trial, N_SEARCH)
                if error < best:
                    terms, best, improved = trial, error, True
    return terms


def header_text(terms: dict[str, NDArray]) -> str:
    """Header in the style of clang-format."""
    lines = [
        "// Made by cpp/tools/cosine_coefficients.py; do not edit.",
        "#pragma once",
        "",
        "namespace cerf {",
        "",
        "// sin(2 pi q) = q * (terms[0] + terms[1] q^2 + terms[2] q^4 + ...) for |q| <= 1/4.",
        "template <class T>",
        "struct SineCoefficients;",
    ]
    for name, values in terms.items():
        suffix = "f," if name == "float" else ","
        numbers = [f"{value!s}{suffix}" for value in values]
        width = max(map(len, numbers))
        lines += [
            "template <>",
            f"struct SineCoefficients<{name}> {{",
            f"  static constexpr int n_terms = {len(numbers)};",
            f"  static constexpr {name} terms[n_terms] = {{",
            *(f"      {number:{width}}  // q^{2 * i + 1}" for i, number in enumerate(numbers)),
            "  };",
            "};",
        ]
    return "\n".join([*lines, "", "}  // namespace cerf", ""])


def main() -> int:
    """Write the header, or compare it with what would be written."""
    parser = argparse.ArgumentParser(description="Make the coefficients of the cosine.")
    parser.add_argument("--check", action="store_true", help="only compare with the header")
    arguments = parser.parse_args()
    mpmath.mp.dps = 40
    terms = {
        name: np.array([float(term) for term in minimax(n_terms)]).astype(DTYPES[name])
        for name, n_terms in N_TERMS.items()
    }
    terms["float"] = searched(terms["float"])
    for name, values in terms.items():
        error = measured_error(values, N_REPORT)
        print(f"{name}: {len(values)} terms, largest error {error:.2e}")
    text = header_text(terms)
    if not arguments.check:
        HEADER.write_text(text)
    elif HEADER.read_text() != text:
        print(f"{HEADER.name} is out of date: run {Path(__file__).name}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
