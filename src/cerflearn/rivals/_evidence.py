r"""Marginal likelihood of a mixture of Gaussian spectra, with its gradient, on arrays alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cerflearn._typing import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Spectrum:
    r"""What is learned: a Gaussian :math:`N(m_q, \operatorname{diag}(s_q)^2)` for each group.

    Attributes
    ----------
    log_scale, centre : ndarray of shape (n_groups, n_features)
        :math:`\ln s_q` and :math:`m_q`.
    log_weight : ndarray of shape (n_groups,)
        :math:`\ln w_q`: the variance that the group brings to the scores.
    log_noise : float
        :math:`\ln \sigma^2` of the targets.
    """

    log_scale: Float64Array
    centre: Float64Array
    log_weight: Float64Array
    log_noise: float

    def pack(self) -> Float64Array:
        """All numbers in one vector."""
        noise = np.array([self.log_noise])
        parts = (self.log_scale.ravel(), self.centre.ravel(), self.log_weight, noise)
        return np.concatenate(parts)

    def unpack(self, values: Float64Array) -> Self:
        """Spectrum of the same shape from a vector."""
        shape, n = self.centre.shape, self.centre.size
        return type(self)(
            values[:n].reshape(shape),
            values[n : 2 * n].reshape(shape),
            values[2 * n : -1],
            float(values[-1]),
        )

    def frequencies(self, directions: Float64Array, groups: IntArray) -> Float64Array:
        r"""Frequencies :math:`\omega_p = s_q \odot v_p + m_q`, (n_features, n_projections)."""
        scaled: Float64Array = np.exp(self.log_scale)[groups].T * directions
        return scaled + self.centre[groups].T

    def amplitudes(self, groups: IntArray) -> Float64Array:
        r"""Amplitudes :math:`\sqrt{w_q / n_q}`, (n_projections,), of groups of n_q projections."""
        counts = np.bincount(groups, minlength=len(self.log_weight))
        return np.sqrt(np.exp(self.log_weight) / np.maximum(counts, 1))[groups]


@dataclass(frozen=True, eq=False)
class EvidenceProblem:
    """Rows, targets, and the fixed directions of the projections.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardised inputs.
    targets : ndarray of shape (n_samples, n_scores)
        Centred.
    directions : ndarray of shape (n_features, n_projections)
        v: Fastfood rows that follow the standard normal law.
    groups : ndarray of shape (n_projections,), int
        Group of each projection, from 0 on.
    n_outputs : int
        Cosines and sines; one less than twice the projections drops the last sine.
    """

    X: Float64Array
    targets: Float64Array
    directions: Float64Array
    groups: IntArray
    n_outputs: int

    def waves(self, spectrum: Spectrum) -> tuple[Float64Array, Float64Array]:
        """Cosines and sines, each (n_samples, n_projections), with their amplitudes."""
        phases = self.X @ spectrum.frequencies(self.directions, self.groups)
        amplitudes = spectrum.amplitudes(self.groups)
        return amplitudes * np.cos(phases), amplitudes * np.sin(phases)

    def objective(self, spectrum: Spectrum) -> tuple[float, Spectrum]:
        """Negative log evidence per row, and its gradient in the form of a spectrum."""
        n_samples, n_projections = len(self.X), len(self.groups)
        cosines, sines = self.waves(spectrum)
        features = np.hstack([cosines, sines])[:, : self.n_outputs]
        value, slopes, noise_slope = negative_evidence(
            features, self.targets, float(np.exp(spectrum.log_noise))
        )
        by_both = np.zeros((n_samples, 2 * n_projections))  # zero for a sine that was dropped
        by_both[:, : self.n_outputs] = slopes
        by_cosine, by_sine = np.split(by_both, 2, axis=1)
        by_frequency = self.X.T @ (cosines * by_sine - sines * by_cosine)
        by_amplitude = (cosines * by_cosine + sines * by_sine).sum(axis=0)
        member = np.equal.outer(np.arange(len(spectrum.log_weight)), self.groups).astype(float)
        gradient = Spectrum(
            (member @ (by_frequency * self.directions).T) * np.exp(spectrum.log_scale) / n_samples,
            member @ by_frequency.T / n_samples,
            0.5 * (member @ by_amplitude) / n_samples,
            noise_slope / n_samples,
        )
        return value / n_samples, gradient


def negative_evidence(
    features: Float64Array, targets: Float64Array, noise: float
) -> tuple[float, Float64Array, float]:
    r"""Negative log of :math:`\prod_c N(t_c; 0, F F^\top + \sigma^2 I)` with its gradient.

    Through :math:`M = F^\top F + \sigma^2 I`, of the size of the features, and
    :math:`\alpha = (T - F M^{-1} F^\top T) / \sigma^2`; the gradient by F is
    :math:`C F M^{-1} - \alpha \alpha^\top F` for C scores.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_outputs)
        F.
    targets : ndarray of shape (n_samples, n_scores)
        T.
    noise : float
        :math:`\sigma^2`.

    Returns
    -------
    value : float
        Summed over rows and scores.
    slopes : ndarray of shape (n_samples, n_outputs)
        By the features.
    noise_slope : float
        By the logarithm of the noise.
    """
    n_samples, n_outputs = features.shape
    n_scores = targets.shape[1]
    matrix = features.T @ features
    matrix.flat[:: n_outputs + 1] += noise
    factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    solved = cho_solve(factor, features.T, check_finite=False).T  # F M^-1
    residual = (targets - solved @ (features.T @ targets)) / noise
    log_det = 2.0 * float(np.log(np.diag(factor[0])).sum())
    log_det += (n_samples - n_outputs) * np.log(noise)
    value = 0.5 * n_scores * (log_det + n_samples * np.log(2.0 * np.pi))
    value += 0.5 * float(np.vdot(targets, residual))
    trace = n_samples - float(np.einsum("nk,nk->", solved, features))  # noise tr A^-1
    noise_slope = 0.5 * (n_scores * trace - noise * float(np.square(residual).sum()))
    slopes = n_scores * solved - residual @ (residual.T @ features)
    return value, slopes, noise_slope
