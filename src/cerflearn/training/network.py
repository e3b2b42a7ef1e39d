r"""A network of masked features with a linear head, as arrays, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, FloatArray
from cerflearn.linalg.ridge import ridge_head

Float32Array: TypeAlias = NDArray[np.float32]
"""Any shape, float32: what networks are trained in."""

NetworkArrays: TypeAlias = tuple[Float32Array, Float32Array, Float32Array, Float32Array]
"""Frequencies (n_features, n_components), offsets, head (n_components, n_scores), bias."""

Activation: TypeAlias = Literal["cosine", "relu"]
"""What a feature does with its phase."""

_Float = TypeVar("_Float", bound=np.floating[Any])

_HEAD_RIDGE = 1e-2  # of the head that training starts with, relative to the number of rows


@dataclass(frozen=True, eq=False)
class FeatureNetwork:
    r"""Scores :math:`\cos(X (\epsilon \odot \Omega) + b) A + a`, or with :math:`\max(\cdot, 0)`.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features, n_components)
        :math:`\Omega`, zero outside the mask.
    offsets : ndarray of shape (n_components,)
        b.
    head : ndarray of shape (n_components, n_scores)
        A.
    bias : ndarray of shape (n_scores,)
        a.
    mask : ndarray of shape (n_features, n_components), bool
        :math:`\epsilon`.
    activation : {"cosine", "relu"}, default="cosine"
        Features are cosines of the phases, or :math:`\max(\cdot, 0)`.
    """

    frequencies: FloatArray
    offsets: FloatArray
    head: FloatArray
    bias: FloatArray
    mask: BoolArray
    activation: Activation = "cosine"

    @property
    def n_macs(self) -> int:
        """MACs of one row, head included."""
        return int(self.mask.sum()) + self.head.size

    def features(self, X: FloatArray) -> FloatArray:
        """Features (n_samples, n_components) of X."""
        phases = X @ self.frequencies
        phases += self.offsets
        return apply_activation(phases, self.activation)

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (n_samples, n_scores) of X."""
        scores: FloatArray = self.features(X) @ self.head + self.bias
        return scores

    def astype(self, dtype: type[np.floating]) -> FeatureNetwork:
        """Copy in another precision."""
        names = ("frequencies", "offsets", "head", "bias")
        return replace(self, **{name: getattr(self, name).astype(dtype) for name in names})

    def without_empty(self) -> FeatureNetwork:
        """Network without features that read nothing: constants, which go to the bias.

        At least one feature stays, so that there is a map.
        """
        reads: BoolArray = np.asarray(self.mask.any(axis=0))
        if reads.all():
            return self
        if not reads.any():
            reads[0] = True
        empty = ~reads
        constants = apply_activation(self.offsets[empty], self.activation)
        return replace(
            self,
            frequencies=self.frequencies[:, reads],
            offsets=self.offsets[reads],
            head=self.head[reads],
            bias=self.bias + constants @ self.head[empty],
            mask=self.mask[:, reads],
        )


def apply_activation(phases: NDArray[_Float], activation: Activation) -> NDArray[_Float]:
    """Cosines of phases, or their positive parts."""
    features: NDArray[_Float]
    features = np.maximum(phases, 0.0) if activation == "relu" else np.cos(phases)
    return features


def phases_to_derivatives(phases: NDArray[_Float], activation: Activation) -> None:
    """Replace phases by the derivatives of :func:`apply_activation` there."""
    if activation == "relu":
        np.greater(phases, 0.0, out=phases)
    else:
        np.sin(phases, out=phases)
        np.negative(phases, out=phases)


def draw_cosine_network(
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
        Targets of the scores.
    mask : ndarray of shape (n_features, n_components), bool
        Inputs to read; frequencies grow with :math:`\sqrt{D / |\epsilon|}`.
    gamma : float
        Coefficient of the kernel.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    FeatureNetwork
        In double precision.
    """
    n_features, n_components = mask.shape
    active = np.maximum(mask.sum(axis=0), 1)
    frequencies = rng.normal(size=mask.shape) * np.sqrt(2.0 * gamma * n_features / active) * mask
    offsets = rng.uniform(0.0, 2.0 * np.pi, size=(n_components,))
    features = np.cos(X @ frequencies + offsets)
    head, bias = ridge_head(features, targets, _HEAD_RIDGE * len(features))
    return FeatureNetwork(frequencies, offsets, head, bias, mask)


def draw_relu_network(mask: BoolArray, n_scores: int, rng: np.random.Generator) -> FeatureNetwork:
    r"""Draw frequencies of variance 2 / D for D inputs: features keep the size of the inputs.

    Parameters
    ----------
    mask : ndarray of shape (n_features, n_components), bool
        Inputs to read, of variance one on average.
    n_scores : int
        Scores of the head, whose weights have variance 1 / n_components.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    FeatureNetwork
        In double precision.

    References
    ----------
    He, Zhang, Ren and Sun, "Delving Deep into Rectifiers", ICCV 2015.
    """
    n_components = mask.shape[1]
    active = np.maximum(mask.sum(axis=0), 1)
    frequencies = rng.normal(size=mask.shape) * np.sqrt(2.0 / active) * mask
    head = rng.normal(size=(n_components, n_scores)) / np.sqrt(n_components)
    return FeatureNetwork(
        frequencies, np.zeros(n_components), head, np.zeros(n_scores), mask, activation="relu"
    )
