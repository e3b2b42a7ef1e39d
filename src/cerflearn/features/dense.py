r"""Dense map: every projection reads every input (Eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn import _native
from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn.features.base import (
    FeatureMap,
    draw_offsets,
    equal_amplitudes,
    projections_for,
)
from cerflearn.features.cost import Cost, dense_macs, stored_cost
from cerflearn.spectral import SpectralLaw


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DenseMap(FeatureMap):
    r"""Features :math:`a \cos(X \Omega + b)` of dense frequencies.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_projections)
        :math:`\Omega`, in radians; the same as ``frequencies``.
    offsets, amplitudes, n_outputs, paired
        See :class:`~cerflearn.features.base.FeatureMap`.

    Examples
    --------
    >>> from cerflearn.spectral import Gaussian
    >>> feature_map = draw_dense_map(3, 4, Gaussian(1.0), np.random.default_rng(0))
    >>> feature_map
    DenseMap(n_features=3, n_projections=2, n_outputs=4, paired=True)
    >>> feature_map.transform(np.zeros((1, 3))).round(3)
    array([[0.707, 0.   , 0.707, 0.   ]])
    """

    weights: Float64Array

    def __post_init__(self) -> None:
        super().__post_init__()
        self._freeze("weights", np.float64)
        if self.weights.ndim != 2 or self.weights.shape[1] != self.n_projections:
            raise ValueError(f"{self.weights.shape} weights for {self.n_projections} projections.")

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return int(self.weights.shape[0])

    @property
    def frequencies(self) -> Float64Array:
        """Frequencies (n_features, n_projections) in radians; read-only."""
        return self.weights

    def _frequencies(self) -> Float64Array:
        return self.weights

    def _masks(self) -> BoolArray:
        return np.ones(self.weights.shape, dtype=np.bool_)

    def sparse_factor(self) -> Any:
        """Return the frequencies as they are."""
        return self.frequencies

    def _largest_frequency(self) -> float:
        return float(np.abs(self.frequencies).max())

    def _pack(self, dtype: str, level: str) -> _native.Model:
        return _native.dense_model(
            frequencies=self.weights,
            offsets=self.offsets,
            amplitudes=self.amplitudes,
            n_outputs=self.n_outputs,
            paired=self.paired,
            dtype=dtype,
            level=level,
        )

    def _select(self, projections: IntArray) -> dict[str, Any]:
        return {"weights": self.weights[:, projections]}

    def _structure_cost(self) -> Cost:
        macs = dense_macs(self.n_features, self.n_projections)
        return stored_cost(macs=macs, n_parameters=self.weights.size)


def draw_dense_map(
    n_features: int,
    n_outputs: int,
    law: SpectralLaw,
    rng: np.random.Generator,
    *,
    paired: bool = True,
    orthogonal: bool = False,
) -> DenseMap:
    """Draw a dense map whose inner products approximate the kernel of ``law``.

    Parameters
    ----------
    n_features, n_outputs : int
        Number of inputs and of output columns.
    law : SpectralLaw
        Law of the frequencies.
    rng : numpy.random.Generator
        Source of randomness.
    paired : bool, default=True
        Cosine and sine of each projection, or a cosine with a random offset.
    orthogonal : bool, default=False
        See :func:`draw_orthogonal`.
    """
    n_projections = projections_for(n_outputs, paired)
    if orthogonal:
        weights = draw_orthogonal(n_features, n_projections, law, rng)
    else:
        weights = law.sample(n_features, n_projections, rng)
    return DenseMap(
        weights=weights,
        offsets=draw_offsets(n_projections, paired, rng),
        amplitudes=equal_amplitudes(n_projections, paired),
        n_outputs=n_outputs,
        paired=paired,
    )


def draw_orthogonal(
    n_features: int, n_projections: int, law: SpectralLaw, rng: np.random.Generator
) -> Float64Array:
    r"""Orthogonal random features: :math:`\Omega = Q S` in blocks of ``n_features`` columns.

    Q has uniformly distributed orthonormal columns and the diagonal S independent norms of the
    law, so that each column has the law alone, while columns of one block are orthogonal: the
    Gram matrix has a smaller variance than with independent columns.

    Parameters
    ----------
    n_features, n_projections, rng
        As in :func:`draw_dense_map`.
    law : SpectralLaw
        An isotropic law.

    Returns
    -------
    ndarray of shape (n_features, n_projections)
        Frequencies in radians.

    References
    ----------
    Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, "Orthogonal Random Features", NIPS 2016.
    """
    directions = np.empty((n_features, n_projections))
    for start in range(0, n_projections, n_features):
        block = directions[:, start : start + n_features]
        q, r = np.linalg.qr(rng.standard_normal(block.shape))
        # The signs of a QR decomposition are a convention; these make Q uniform (Haar).
        block[:] = q * np.where(np.diagonal(r) < 0.0, -1.0, 1.0)
    return directions * law.sample_radii(n_features, n_projections, rng)
