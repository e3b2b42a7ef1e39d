r"""A masked cosine map with a linear head, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, Float64Array, FloatArray

Float32Array = NDArray[np.float32]

_HEAD_RIDGE = 1e-2  # of the starting head, relative to the number of rows


@dataclass(frozen=True, eq=False)
class CosineNetwork:
    r"""Scores :math:`\cos(X (\epsilon \odot \Omega) + b) A + a`.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features, n_projections)
        :math:`\Omega`, zero outside the mask.
    offsets : ndarray of shape (n_projections,)
        b.
    head : ndarray of shape (n_projections, n_scores)
        A.
    bias : ndarray of shape (n_scores,)
        a.
    mask : ndarray of shape (n_features, n_projections), bool
        :math:`\epsilon`.
    """

    frequencies: FloatArray
    offsets: FloatArray
    head: FloatArray
    bias: FloatArray
    mask: BoolArray

    @property
    def n_macs(self) -> int:
        """MACs of one row, head included."""
        return int(self.mask.sum()) + self.head.size

    def features(self, X: FloatArray) -> FloatArray:
        """Cosines (n_samples, n_projections) of X."""
        phases = X @ self.frequencies
        phases += self.offsets
        features: FloatArray = np.cos(phases)
        return features

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (n_samples, n_scores) of X."""
        scores: FloatArray = self.features(X) @ self.head + self.bias
        return scores

    def astype(self, dtype: type[np.floating]) -> CosineNetwork:
        """Copy in another precision."""
        names = ("frequencies", "offsets", "head", "bias")
        return replace(self, **{name: getattr(self, name).astype(dtype) for name in names})

    def without_idle(self) -> CosineNetwork:
        """Network without projections that read nothing: constants, which go to the bias.

        At least one projection stays, so that there is a map.
        """
        reads: BoolArray = np.asarray(self.mask.any(axis=0))
        if reads.all():
            return self
        if not reads.any():
            reads[0] = True
        idle = ~reads
        return CosineNetwork(
            self.frequencies[:, reads],
            self.offsets[reads],
            self.head[reads],
            self.bias + np.cos(self.offsets[idle]) @ self.head[idle],
            self.mask[:, reads],
        )


def draw_network(
    X: FloatArray,
    targets: FloatArray,
    mask: BoolArray,
    gamma: float,
    rng: np.random.Generator,
) -> CosineNetwork:
    r"""Draw Gaussian frequencies of the kernel :math:`\exp(-\gamma d^2)` and fit a ridge head.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training data, scaled.
    targets : ndarray of shape (n_samples, n_scores)
        What the scores are to be.
    mask : ndarray of shape (n_features, n_projections), bool
        Inputs to read; frequencies grow with :math:`\sqrt{D / |\epsilon|}`.
    gamma : float
        Coefficient of the kernel.
    rng : numpy.random.Generator
        Source of randomness.
    """
    n_features, n_projections = mask.shape
    active = np.maximum(mask.sum(axis=0), 1)
    frequencies = rng.normal(size=mask.shape) * np.sqrt(2.0 * gamma * n_features / active) * mask
    offsets = rng.uniform(0.0, 2.0 * np.pi, size=(n_projections,))
    head, bias = ridge_head(np.cos(X @ frequencies + offsets), targets)
    return CosineNetwork(frequencies, offsets, head, bias, mask)


def ridge_head(features: FloatArray, targets: FloatArray) -> tuple[Float64Array, Float64Array]:
    """Head (n_projections, n_scores) and bias (n_scores,) of a ridge regression."""
    mean, target_mean = features.mean(axis=0), targets.mean(axis=0)
    centred = features - mean
    gram = centred.T @ centred
    gram.flat[:: len(gram) + 1] += _HEAD_RIDGE * len(features)
    head = np.linalg.solve(gram, centred.T @ (targets - target_mean))
    return head, target_mean - mean @ head
