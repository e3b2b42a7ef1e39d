r"""Scaling of inputs, which is folded into the frequencies: it costs nothing at prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, FloatArray
from cerflearn.training.distillation import choose_kernel

_CHOICE_ROWS = 500


@dataclass(frozen=True, eq=False)
class InputScaling:
    """Shift and scale of each input.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        Subtracted.
    scale : ndarray of shape (n_features,)
        Divided by.
    varies : ndarray of shape (n_features,), bool
        Inputs that have more than one value.
    """

    mean: Float64Array
    scale: Float64Array
    varies: BoolArray

    def apply(self, X: FloatArray) -> FloatArray:
        """Scaled copy of X, in its dtype."""
        scaled: FloatArray = X - self.mean.astype(X.dtype)
        scaled /= self.scale.astype(X.dtype)
        return scaled


def weighted_moments(X: FloatArray, weights: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Weighted mean and variance of each column, in float64 and blocks of rows."""
    mean, square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for start in range(0, len(X), 4096):
        part = slice(start, start + 4096)
        mean += weights[part] @ X[part].astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):  # see check_spread
        for start in range(0, len(X), 4096):
            part = slice(start, start + 4096)
            square += weights[part] @ np.square(X[part].astype(np.float64) - mean)
    return mean, square


def check_spread(name: str, varies: BoolArray, variance: Float64Array) -> None:
    """Refuse columns that vary by so much, or all by so little, that variances cannot be told."""
    total = float(variance.sum())
    if varies.any() and not 0.0 < total < np.inf:
        much = "too much" if total > 0.0 else "too little"
        raise ValueError(
            f"{name} varies {much} for its variance to be a number: scale {name}, for example "
            "with StandardScaler."
        )


def choose_scaling(
    X: FloatArray,
    targets: Float64Array,
    weights: Float64Array,
    rng: np.random.Generator,
    kind: str,
) -> InputScaling:
    """Scale each input by its own deviation, or all by one, whichever a kernel machine prefers.

    Parameters
    ----------
    X, targets, weights : ndarray
        Training rows; the weights sum to one.
    rng : numpy.random.Generator
        Picks 500 rows for the comparison.
    kind : {"auto", "column", "global", "none"}
        ``"auto"`` compares leave-one-out errors of kernel ridge regression.
    """
    mean, variance = weighted_moments(X, weights)
    varies = X.max(axis=0) > X.min(axis=0)
    variance = np.where(varies, variance, 0.0)
    check_spread("X", varies, variance)
    whole = float(np.sqrt(variance.sum() / max(1, int(varies.sum())))) or 1.0
    ones = np.ones(X.shape[1])
    scales = {
        "none": ones,
        "global": whole * ones,
        "column": np.where(variance > 0.0, np.sqrt(variance), whole),
    }
    if kind == "auto":
        rows = np.sort(rng.permutation(len(X))[:_CHOICE_ROWS])
        centred = targets[rows] - weights @ targets
        part = X[rows][:, varies].astype(np.float64) - mean[varies]
        errors = {
            name: choose_kernel(part / scales[name][varies], centred, weights[rows]).error
            for name in ("global", "column")
        }
        kind = min(errors, key=lambda name: errors[name])
    return InputScaling(mean, scales[kind], varies)
