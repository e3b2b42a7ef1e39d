r"""Markov chain over frequencies, their mixture, the head and the noise, on arrays alone.

Targets :math:`t_n \sim N(A^\top \phi(x_n), \sigma^2 I)` of features :math:`\phi = P^{-1/2} [\cos
\omega_j^\top x, \sin \omega_j^\top x]`, with :math:`A \sim N(0, \tau^2)`, inverse gamma
:math:`\sigma^2, \tau^2`, and :math:`\omega_j` of a Dirichlet-process mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from cerflearn._typing import Float64Array
from cerflearn.linalg.ridge import fit_ridge_path
from cerflearn.rivals._dirichlet import Mixture, MixturePrior, gibbs_sweep

_VARIANCE_SHAPE, _VARIANCE_RATE = 1.0, 1e-3  # inverse gamma prior of noise and weights: vague
_LEAST_START_NOISE = 1e-9
_LEAST_PENALTY = 1e-12


@dataclass(frozen=True, eq=False)
class ChainState:
    """One state of the chain.

    Attributes
    ----------
    frequencies : ndarray of shape (n_projections, n_features)
        Of the features.
    mixture : Mixture
        Their law.
    head : ndarray of shape (n_outputs, n_scores)
        A; all cosines, then all sines.
    noise, head_variance : float
        Variances of the targets and of the head.
    n_accepted : int
        Frequencies that the last sweep changed.
    """

    frequencies: Float64Array
    mixture: Mixture
    head: Float64Array
    noise: float
    head_variance: float
    n_accepted: int = 0

    @property
    def penalty(self) -> float:
        """Penalty with which ridge regression gives the posterior mean of the head."""
        return self.noise / self.head_variance


@dataclass(frozen=True, eq=False)
class Chain:
    """What the chain is conditioned on.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardised inputs.
    targets : ndarray of shape (n_samples, n_scores)
        Centred.
    n_outputs : int
        Features: two for a projection, or one less.
    prior : MixturePrior
        Of the frequencies.
    """

    X: Float64Array
    targets: Float64Array
    n_outputs: int
    prior: MixturePrior

    def waves(self, frequencies: Float64Array) -> Float64Array:
        """Cosines and sines, (2, n_samples, n_projections), with their amplitude."""
        phases = self.X @ frequencies.T
        waves: Float64Array = np.stack([np.cos(phases), np.sin(phases)])
        waves /= np.sqrt(len(frequencies))
        return waves

    @staticmethod
    def _flat(waves: Float64Array) -> Float64Array:
        """All cosines and then all sines, (n_samples, 2 n_projections)."""
        return np.concatenate([waves[0], waves[1]], axis=1)

    def start(self, rng: np.random.Generator) -> ChainState:
        """Draw frequencies from one normal law; variances have the least leave-one-out error.

        The chain changes the variance of hundreds of weights by a few per cent a sweep, so that
        it must not start orders of magnitude away.
        """
        n_projections = -(-self.n_outputs // 2)
        variance = self.prior.rate / max(self.prior.shape - 1.0, 1e-3)
        shape = (n_projections, self.X.shape[1])
        frequencies = np.sqrt(variance) * rng.standard_normal(shape)
        mixture = gibbs_sweep(frequencies, np.zeros(n_projections, np.int64), self.prior, rng)
        weights = np.full(len(self.X), 1.0 / len(self.X))
        features = self._flat(self.waves(frequencies))[:, : self.n_outputs]
        ridge = fit_ridge_path(features, self.targets, weights)
        noise = max(ridge.error / self.targets.shape[1], _LEAST_START_NOISE)
        head = np.zeros((2 * n_projections, self.targets.shape[1]))
        head_variance = noise / (len(self.X) * ridge.penalty)
        return ChainState(frequencies, mixture, head, noise, head_variance)

    def sweep(self, state: ChainState, rng: np.random.Generator) -> ChainState:
        """Draw head, variances, mixture and frequencies, each given all others."""
        waves = self.waves(state.frequencies)
        head = self._draw_head(waves, state, rng)
        residual = self.targets - self._flat(waves) @ head
        noise = _draw_variance(residual, residual.size, rng)
        n_weights = self.n_outputs * self.targets.shape[1]
        head_variance = _draw_variance(head, n_weights, rng)
        mixture = gibbs_sweep(state.frequencies, state.mixture.assignments, self.prior, rng)
        frequencies, n_accepted = self._move(
            state.frequencies, waves, mixture, head, residual, noise, rng
        )
        return ChainState(frequencies, mixture, head, noise, head_variance, n_accepted)

    def _draw_head(
        self, waves: Float64Array, state: ChainState, rng: np.random.Generator
    ) -> Float64Array:
        r"""Draw A from :math:`N(M^{-1} F^\top T, \sigma^2 M^{-1})`.

        Here :math:`M = F^\top F + (\sigma^2 / \tau^2) I`. A sine that was dropped keeps the weight
        zero.
        """
        features = self._flat(waves)[:, : self.n_outputs]
        matrix = features.T @ features
        # At most n is the largest eigenvalue: less of a penalty would be lost in rounding.
        least = _LEAST_PENALTY * len(features)
        matrix.flat[:: self.n_outputs + 1] += max(state.penalty, least)
        lower = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        whitened = solve_triangular(lower, features.T @ self.targets, lower=True)
        whitened += np.sqrt(state.noise) * rng.standard_normal(whitened.shape)
        head = np.zeros((2 * waves.shape[2], self.targets.shape[1]))
        head[: self.n_outputs] = solve_triangular(lower, whitened, lower=True, trans="T")
        return head

    def _move(
        self,
        frequencies: Float64Array,
        waves: Float64Array,
        mixture: Mixture,
        head: Float64Array,
        residual: Float64Array,
        noise: float,
        rng: np.random.Generator,
    ) -> tuple[Float64Array, int]:
        """Propose each frequency from its component: likelihoods alone decide (Metropolis).

        Proposals do not depend on each other, so that their features are computed together; what
        is left for the loop is the change of the residual, projection by projection.
        """
        proposed = mixture.propose(rng)
        changes = self.waves(proposed) - waves
        moved, residual = frequencies.copy(), residual.copy()
        thresholds = 2.0 * noise * np.log(1.0 - rng.random(len(proposed)))
        weights = np.stack(np.split(head, 2))  # (2, n_projections, n_scores)
        n_accepted = 0
        for j in range(len(proposed)):
            change = changes[:, :, j].T @ weights[:, j]  # (n_samples, n_scores)
            rise = float(np.vdot(change, change) - 2.0 * np.vdot(residual, change))
            if -rise >= thresholds[j]:
                residual -= change
                moved[j] = proposed[j]
                n_accepted += 1
        return moved, n_accepted


def _draw_variance(values: Float64Array, n_values: int, rng: np.random.Generator) -> float:
    """Draw a variance given normal values of it, and its inverse gamma prior."""
    rate = _VARIANCE_RATE + 0.5 * float(np.square(values).sum())
    return rate / float(rng.standard_gamma(_VARIANCE_SHAPE + 0.5 * n_values))
