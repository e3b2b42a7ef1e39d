r"""Slow oracle of the native feature maps: phases and features in long double, with error bounds.

A map is ``amplitude * cos(2 pi t)``, or the cosine and the sine of one phase t when it is paired;
t is in turns. A relu map is ``amplitude * 2 pi max(t, 0)``. The oracle reads what the native
core reads (float64 radians, float32 or float64 inputs), keeps 64 bits of mantissa, and reduces t by
whole turns before the cosine, which is exact.

Bounds (u = 2^-24 or 2^-53, the unit roundoff of the model's dtype)
-------------------------------------------------------------------
(i) The cosine of a stored phase is off by at most ``COSINE_BOUND``, up to 1,000 turns.

(ii) A phase that is a sum of m products passes, term by term, at most m + 2 roundings: of the
weight when it is stored, of the product, and of the m additions (the offset: storing and
additions). So it is off by ``u (m + 2) (sum |w_i x_i| + |b|)`` turns in any order of summation,
fused or not, and the feature by ``amplitude * (i + 2 pi u (m + 2) (sum |w_i x_i| + |b|))``;
the roundings of the amplitude and of the last product fit into the slack of (i).

(iii) A relu map is ``amplitude * 2 pi max(t, 0)``. The positive part is exact and enlarges no
error, but nothing hides the roundings of the amplitude (times 2 pi) and of the last product, which
meet at most ``sum |w_i x_i| + |b|``: ``amplitude * 2 pi u (m + 4) (sum |w_i x_i| + |b|)``.

Fastfood computes ``s_k (H (g * (H (B * x))[permutation]))_k``, d values padded. Written out it is a
sum over pairs of an input i and a row l of products ``s_k H_kl g_l H_li B_i x_i``. Each Hadamard
transform adds in log2 d levels; a term takes part in one addition of each level, so it passes

    1 (times B) + log2 d + 2 (g stored and multiplied) + log2 d + 2 (s stored and multiplied)

roundings, and at most two additions of the centre and of the offset: 2 log2 d + 7 in all. Entries
of H are 1 or -1, hence the sum of the absolute terms is ``|s_k| (sum |g_l|) (sum |B_i x_i|)``: the
absolute sums through |H|. The centre is a sum of D products (D + 2 roundings) and meets two more
additions; the offset is stored and meets two. With L1 norms the phase is off by at most

    u [(2 log2 d + 7) |s_k| |g|_1 |B x|_1 + (D + 4) sum |c_i x_i| + 3 |b|]    turns.

This is rigorous and pessimistic: rounding errors mostly cancel, so that they grow with the L2 norms
(``fastfood_typical_error``), about d times less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import hadamard

assert np.finfo(np.longdouble).nmant >= 63, "the oracle needs a long double wider than double"

TWO_PI = np.longdouble("6.283185307179586476925286766559005768")
UNIT = {"float32": 2.0**-24, "float64": 2.0**-53}
COSINE_BOUND = {"float32": 3e-7, "float64": 2e-15}


def long(values: ArrayLike) -> NDArray:
    return np.asarray(values, dtype=np.longdouble)


def cosine_of_turns(turns: ArrayLike) -> NDArray:
    """``cos(2 pi t)``; taking away whole turns is exact."""
    return np.cos(TWO_PI * (long(turns) - np.rint(long(turns))))


def sine_of_turns(turns: ArrayLike) -> NDArray:
    return np.sin(TWO_PI * (long(turns) - np.rint(long(turns))))


@dataclass(frozen=True)
class Phases:
    """Phases in turns and, per phase, the sum of |term| times the roundings it passes."""

    turns: NDArray  # (n_samples, n_projections)
    roundings: NDArray  # multiplied by u: the bound of the error in turns


def linear_phases(
    X: NDArray,
    frequencies: NDArray,
    offsets: NDArray,
    n_active: ArrayLike,
    relu: bool = False,
) -> Phases:
    """``X @ frequencies + offsets``, radians to turns; n_active is the m of each projection.

    The roundings of a relu map include the last two, see (iii).
    """
    inputs, weights = long(X), long(frequencies)
    turns = (inputs @ weights + long(offsets)) / TWO_PI
    sizes = (np.abs(inputs) @ np.abs(weights) + np.abs(long(offsets))) / TWO_PI
    return Phases(turns, (long(n_active) + (4 if relu else 2)) * sizes)


def masked_phases(
    X: NDArray,
    mask_pointers: NDArray,
    mask_inputs: NDArray,
    projection_pointers: NDArray,
    values: NDArray,
    offsets: NDArray,
    relu: bool = False,
) -> Phases:
    """Write the blocks of all masks into a dense matrix, input by input."""
    frequencies = np.zeros((X.shape[1], len(offsets)))
    n_active = np.zeros(len(offsets), dtype=int)
    at = 0
    for mask in range(len(mask_pointers) - 1):
        projections = range(projection_pointers[mask], projection_pointers[mask + 1])
        for i in mask_inputs[mask_pointers[mask] : mask_pointers[mask + 1]]:
            for k in projections:
                frequencies[i, k] = values[at]
                n_active[k] += 1
                at += 1
    assert at == len(values)
    return linear_phases(X, frequencies, offsets, n_active, relu)


def fastfood_phases(
    X: NDArray,
    signs: NDArray,
    gaussian_diag: NDArray,
    permutation: NDArray,
    row_scale: NDArray,
    kept_pointers: NDArray,
    kept_rows: NDArray,
    centres: NDArray | None,
    offsets: NDArray,
) -> Phases:
    """Block by block with explicit Hadamard matrices."""
    n_blocks, padded = gaussian_diag.shape
    n_samples, n_features = X.shape
    matrix = long(hadamard(padded))
    inputs = np.zeros((n_samples, padded), dtype=np.longdouble)
    inputs[:, :n_features] = X
    turns = np.zeros((n_samples, len(offsets)), dtype=np.longdouble)
    roundings = np.zeros_like(turns)
    for j in range(n_blocks):
        signed = inputs * signs[min(j, len(signs) - 1)]
        mixed = signed @ matrix
        block = (mixed[:, permutation[j]] * gaussian_diag[j]) @ matrix
        size = np.abs(signed).sum(axis=1) * np.abs(long(gaussian_diag[j])).sum()
        centre = np.zeros((n_samples, n_features), dtype=np.longdouble)
        if centres is not None:
            centre = long(X) * long(centres[j])
        for k in range(kept_pointers[j], kept_pointers[j + 1]):
            scale, offset = long(row_scale[k]), long(offsets[k])
            turns[:, k] = scale * block[:, kept_rows[k]] + centre.sum(axis=1) + offset
            roundings[:, k] = (2 * np.log2(padded) + 7) * abs(scale) * size
            roundings[:, k] += (n_features + 4) * np.abs(centre).sum(axis=1) + 3 * abs(offset)
    return Phases(turns / TWO_PI, roundings / TWO_PI)


def fastfood_typical_error(
    X: NDArray, gaussian_diag: NDArray, row_scale: NDArray, dtype: str
) -> float:
    """Size of the phase errors of a Fastfood map (turns) if roundings are independent.

    After l levels of the first transform a value is about ``|x|_2 sqrt(2^l / d)``, and each of the
    2^(L - l) errors made there that reach one output adds its square: every level contributes
    ``u |x|_2 / sqrt(3)`` to the standard deviation, before the second transform multiplies it by
    ``|g|_2``. The second transform and the diagonal behave alike. Largest of the blocks.
    """
    n_roundings = 2 * np.log2(gaussian_diag.shape[1]) + 7
    size = np.abs(row_scale).max() * np.linalg.norm(gaussian_diag, axis=1).max()
    size *= np.linalg.norm(X, axis=1).max()
    return float(UNIT[dtype] * np.sqrt(n_roundings / 3) * size / TWO_PI)


def _columns(amplitudes: NDArray, paired: bool, n_outputs: int) -> NDArray:
    """Projection that each output belongs to."""
    return np.arange(n_outputs) // (2 if paired else 1)


def relu_features(phases: Phases, amplitudes: NDArray) -> NDArray:
    """``amplitude * max(radians, 0)``, one column a projection."""
    radians = TWO_PI * phases.turns
    return long(amplitudes) * np.where(radians > 0, radians, 0)


def relu_bound(phases: Phases, amplitudes: NDArray, dtype: str) -> NDArray:
    """Bound (iii) for every output."""
    return long(amplitudes) * TWO_PI * UNIT[dtype] * phases.roundings


def features(phases: Phases, amplitudes: NDArray, paired: bool, n_outputs: int) -> NDArray:
    """Outputs in the order of the native core: cosine and sine of a pair are neighbours."""
    outputs = []
    for column, k in enumerate(_columns(amplitudes, paired, n_outputs)):
        is_sine = paired and column % 2 == 1
        wave = sine_of_turns if is_sine else cosine_of_turns
        outputs.append(long(amplitudes[k]) * wave(phases.turns[:, k]))
    return np.stack(outputs, axis=1)


def feature_bound(
    phases: Phases, amplitudes: NDArray, paired: bool, n_outputs: int, dtype: str
) -> NDArray:
    """Bound (ii) for every output."""
    per_projection = COSINE_BOUND[dtype] + TWO_PI * UNIT[dtype] * phases.roundings
    return (long(amplitudes) * per_projection)[:, _columns(amplitudes, paired, n_outputs)]


def score_bound(
    exact: NDArray, bound: NDArray, coef: NDArray, intercept: NDArray, dtype: str
) -> NDArray:
    """``features @ coef.T + intercept``: errors of the features, and K + 2 more roundings."""
    sizes = np.abs(exact) @ np.abs(long(coef)).T + np.abs(long(intercept))
    return bound @ np.abs(long(coef)).T + UNIT[dtype] * (coef.shape[1] + 2) * sizes
