r"""Dirichlet-process mixture of Gaussians by blocked Gibbs sampling, on arrays alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import Float64Array, IntArray

_LEAST = 1e-300  # whose logarithm is finite


@dataclass(frozen=True)
class MixturePrior:
    r"""Prior of a mixture whose weights are a truncated stick-breaking process.

    .. math:: \pi_t = v_t \prod_{s < t} (1 - v_s),\; v_t \sim \mathrm{Beta}(1, c),\quad
              s^2_{td} \sim \mathrm{IG}(a, b),\quad m_{td} \sim N(0, s^2_{td} / \kappa)

    Attributes
    ----------
    n_components : int
        Truncation: most components.
    concentration : float
        c.
    shape, rate : float
        a and b of the inverse gamma law of variances.
    centre_strength : float
        :math:`\kappa`: draws that the centre at zero counts for.
    """

    n_components: int
    concentration: float
    shape: float
    rate: float
    centre_strength: float


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components of a mixture, and the component of each point.

    Attributes
    ----------
    log_weights : ndarray of shape (n_components,)
        Logarithms of the weights, which sum to one.
    centres, variances : ndarray of shape (n_components, n_features)
        Of the normal laws, with independent entries.
    assignments : ndarray of shape (n_points,), int
        Component of each point.
    """

    log_weights: Float64Array
    centres: Float64Array
    variances: Float64Array
    assignments: IntArray

    def propose(self, rng: np.random.Generator) -> Float64Array:
        """Draw each point anew from its component, (n_points, n_features)."""
        deviations = np.sqrt(self.variances)[self.assignments]
        noise = rng.standard_normal(deviations.shape)
        drawn: Float64Array = self.centres[self.assignments] + deviations * noise
        return drawn


def gibbs_sweep(
    points: Float64Array, assignments: IntArray, prior: MixturePrior, rng: np.random.Generator
) -> Mixture:
    """Draw weights and components given the assignments, then assignments given those.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Draws from the mixture.
    assignments : ndarray of shape (n_points,), int
        Present components.
    prior : MixturePrior
        Prior.
    rng : numpy.random.Generator
        Source of randomness.
    """
    log_weights = draw_log_weights(
        np.bincount(assignments, minlength=prior.n_components), prior, rng
    )
    centres, variances = draw_components(points, assignments, prior, rng)
    scores = log_weights + log_densities(points, centres, variances)
    # The largest of scores with Gumbel noise is a draw in proportion to their exponentials.
    chosen = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return Mixture(log_weights, centres, variances, chosen)


def draw_log_weights(
    counts: IntArray, prior: MixturePrior, rng: np.random.Generator
) -> Float64Array:
    r"""Draw the sticks :math:`v_t \sim \mathrm{Beta}(1 + n_t, c + \sum_{s > t} n_s)`."""
    later = counts[::-1].cumsum()[::-1] - counts
    sticks = rng.beta(1.0 + counts, prior.concentration + later)
    sticks[-1] = 1.0  # the truncation
    remaining = np.concatenate([[0.0], np.log(np.maximum(1.0 - sticks[:-1], _LEAST)).cumsum()])
    weights: Float64Array = np.log(np.maximum(sticks, _LEAST)) + remaining
    return weights


def draw_components(
    points: Float64Array, assignments: IntArray, prior: MixturePrior, rng: np.random.Generator
) -> tuple[Float64Array, Float64Array]:
    r"""Draw centres and variances, (n_components, n_features), from their conjugate posterior.

    With n points of mean p and scatter S: :math:`\kappa_n = \kappa + n`, centre
    :math:`n p / \kappa_n`, shape :math:`a + n / 2`, rate :math:`b + \tfrac12 (S +
    \tfrac{\kappa n}{\kappa_n} p^2)`; components without points are drawn from the prior.
    """
    shape = (prior.n_components, points.shape[1])
    counts = np.bincount(assignments, minlength=prior.n_components).astype(np.float64)[:, None]
    sums, squares = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, assignments, points)
    means = sums / np.maximum(counts, 1.0)
    np.add.at(squares, assignments, np.square(points - means[assignments]))
    strength = prior.centre_strength + counts
    pull = prior.centre_strength * counts / strength
    rates = prior.rate + 0.5 * (squares + pull * np.square(means))
    variances = rates / rng.standard_gamma(prior.shape + 0.5 * counts + np.zeros(shape))
    centres = sums / strength + np.sqrt(variances / strength) * rng.standard_normal(shape)
    return centres, variances


def log_densities(
    points: Float64Array, centres: Float64Array, variances: Float64Array
) -> Float64Array:
    """Logarithms of the normal densities, (n_points, n_components)."""
    precisions = 1.0 / variances
    cross = points @ (centres * precisions).T
    norms = (np.square(centres) * precisions).sum(axis=1)
    squares: Float64Array = np.square(points) @ precisions.T - 2.0 * cross + norms
    squares += np.log(2.0 * np.pi * variances).sum(axis=1)
    return np.multiply(-0.5, squares)
