r"""Scaling of inputs, which is folded into the frequencies: it costs nothing at prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, FloatArray
from cerflearn.features.masked import MaskedMap
from cerflearn.training.kernel_ridge import tune_kernel
from cerflearn.training.network import FeatureNetwork

_SCALING_ROWS = 500


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
    deviation : ndarray of shape (n_features,)
        Weighted standard deviation of each input, before scaling.
    """

    mean: Float64Array
    scale: Float64Array
    varies: BoolArray
    deviation: Float64Array

    def apply(self, X: FloatArray) -> FloatArray:
        """Scaled copy of X, in its dtype."""
        scaled: FloatArray = X - self.mean.astype(X.dtype)
        scaled /= self.scale.astype(X.dtype)
        return scaled

    def to_map(self, network: FeatureNetwork, group_size: int) -> MaskedMap:
        r"""Masked map of raw inputs: features of :math:`\omega^\top (x - \mu) / s + b`.

        Amplitudes are one. Neighbouring features with equal masks share one in the map.

        Parameters
        ----------
        network : FeatureNetwork
            Of scaled inputs.
        group_size : int
            Consecutive inputs that are read together.

        Returns
        -------
        MaskedMap
            Of inputs as they come.
        """
        mask = network.mask.copy()
        if not mask.any(axis=0).all():  # a constant network: one input with frequency zero
            mask[int(np.flatnonzero(self.varies)[0]), ~mask.any(axis=0)] = True
        frequencies = network.frequencies / self.scale[:, None]
        offsets = network.offsets - self.mean @ frequencies
        if network.activation == "cosine":
            offsets = np.mod(offsets, 2.0 * np.pi)
        changes = (mask[:, 1:] != mask[:, :-1]).any(axis=0)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
        pointers = np.concatenate([starts, [mask.shape[1]]])
        inputs = [np.flatnonzero(mask[:, start]) for start in starts]
        blocks = [
            frequencies[rows, first:last].ravel()
            for rows, first, last in zip(inputs, pointers[:-1], pointers[1:], strict=True)
        ]
        counts = [len(rows) for rows in inputs]
        return MaskedMap(
            n_inputs=len(mask),
            mask_pointers=np.concatenate([[0], np.cumsum(counts)]),
            mask_inputs=np.concatenate(inputs),
            projection_pointers=pointers,
            values=np.concatenate(blocks),
            group_size=group_size,
            offsets=offsets,
            amplitudes=np.ones(mask.shape[1]),
            n_outputs=mask.shape[1],
            paired=False,
            relu=network.activation == "relu",
        )

    def importances(self, frequencies: FloatArray, head_coef: FloatArray) -> Float64Array:
        r"""Share of each input, (n_features,).

        Sums over features of :math:`|\Omega_{dk}| \operatorname{std}(x_d) \|A_k\|`, divided by
        their total; zeros if all are zero.

        Parameters
        ----------
        frequencies : ndarray of shape (n_features, n_components)
            Of scaled inputs.
        head_coef : ndarray of shape (n_scores, n_components)
            Weights of the head.

        Returns
        -------
        ndarray of shape (n_features,)
            They sum to one.
        """
        sizes = np.abs(frequencies) @ np.linalg.norm(head_coef, axis=0)
        importances: Float64Array = sizes * (self.deviation / self.scale)
        total = float(importances.sum())
        return importances / total if total > 0.0 else np.zeros(len(importances))


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
    """Refuse columns whose variances overflow, or all underflow."""
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
    """Scale each input by its own deviation, or all by one: by the error of a kernel machine.

    Parameters
    ----------
    X, targets, weights : ndarray
        Training rows; the weights sum to one.
    rng : numpy.random.Generator
        Picks 500 rows for the comparison.
    kind : {"auto", "column", "global", "none"}
        ``"auto"`` compares leave-one-out errors of kernel ridge regression.

    Returns
    -------
    InputScaling
        Shift and scale.
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
        rows = np.sort(rng.permutation(len(X))[:_SCALING_ROWS])
        centred = targets[rows] - weights @ targets
        part = X[rows][:, varies].astype(np.float64) - mean[varies]
        errors = {
            name: tune_kernel(part / scales[name][varies], centred, weights[rows]).error
            for name in ("global", "column")
        }
        kind = min(errors, key=lambda name: errors[name])
    return InputScaling(mean, scales[kind], varies, np.sqrt(variance))
