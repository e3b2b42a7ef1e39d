r"""A masked map of cosines, or of rectified features, with a linear head, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, FloatArray
from cerflearn.linalg.ridge import ridge_head

Float32Array = NDArray[np.float32]
_Float = TypeVar("_Float", bound=np.floating[Any])

_HEAD_RIDGE = 1e-2  # of the starting head, relative to the number of rows


@dataclass(frozen=True, eq=False)
class FeatureNetwork:
    r"""Scores :math:`\cos(X (\epsilon \odot \Omega) + b) A + a`, or with :math:`\max(\cdot, 0)`.

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
    rectified : bool, default=False
        Features are :math:`\max(\cdot, 0)` of the phases rather than cosines.
    """

    frequencies: FloatArray
    offsets: FloatArray
    head: FloatArray
    bias: FloatArray
    mask: BoolArray
    rectified: bool = False

    @property
    def n_macs(self) -> int:
        """MACs of one row, head included."""
        return int(self.mask.sum()) + self.head.size

    def features(self, X: FloatArray) -> FloatArray:
        """Features (n_samples, n_projections) of X."""
        phases = X @ self.frequencies
        phases += self.offsets
        return features_of(phases, self.rectified)

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (n_samples, n_scores) of X."""
        scores: FloatArray = self.features(X) @ self.head + self.bias
        return scores

    def astype(self, dtype: type[np.floating]) -> FeatureNetwork:
        """Copy in another precision."""
        names = ("frequencies", "offsets", "head", "bias")
        return replace(self, **{name: getattr(self, name).astype(dtype) for name in names})

    def without_idle(self) -> FeatureNetwork:
        """Network without projections that read nothing: constants, which go to the bias.

        At least one projection stays, so that there is a map.
        """
        reads: BoolArray = np.asarray(self.mask.any(axis=0))
        if reads.all():
            return self
        if not reads.any():
            reads[0] = True
        idle = ~reads
        constants = features_of(self.offsets[idle], self.rectified)
        return replace(
            self,
            frequencies=self.frequencies[:, reads],
            offsets=self.offsets[reads],
            head=self.head[reads],
            bias=self.bias + constants @ self.head[idle],
            mask=self.mask[:, reads],
        )


def features_of(phases: NDArray[_Float], rectified: bool) -> NDArray[_Float]:
    """Cosines of phases, or their positive parts."""
    features: NDArray[_Float] = np.maximum(phases, 0.0) if rectified else np.cos(phases)
    return features


def phases_to_slopes(phases: NDArray[_Float], rectified: bool) -> None:
    """Put derivatives of :func:`features_of` by the phases in their place."""
    if rectified:
        np.greater(phases, 0.0, out=phases)
    else:
        np.sin(phases, out=phases)
        np.negative(phases, out=phases)


def draw_network(
    X: FloatArray,
    targets: FloatArray,
    mask: BoolArray,
    gamma: float,
    rng: np.random.Generator,
) -> FeatureNetwork:
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
    features = np.cos(X @ frequencies + offsets)
    head, bias = ridge_head(features, targets, _HEAD_RIDGE * len(features))
    return FeatureNetwork(frequencies, offsets, head, bias, mask)


def draw_rectified(mask: BoolArray, n_scores: int, rng: np.random.Generator) -> FeatureNetwork:
    r"""Draw rectified features: frequencies of variance 2 / D for D inputs, which keeps sizes.

    Parameters
    ----------
    mask : ndarray of shape (n_features, n_projections), bool
        Inputs to read, of variance one on average.
    n_scores : int
        Scores of the head, whose weights have variance 1 / n_projections.
    rng : numpy.random.Generator
        Source of randomness.

    References
    ----------
    He, Zhang, Ren and Sun, "Delving Deep into Rectifiers", ICCV 2015.
    """
    n_projections = mask.shape[1]
    active = np.maximum(mask.sum(axis=0), 1)
    frequencies = rng.normal(size=mask.shape) * np.sqrt(2.0 / active) * mask
    head = rng.normal(size=(n_projections, n_scores)) / np.sqrt(n_projections)
    return FeatureNetwork(
        frequencies, np.zeros(n_projections), head, np.zeros(n_scores), mask, rectified=True
    )
