r"""E-step: which features each sample selects, given the rotation (Eqs. 21-26).

Eq. 21 is meant with :math:`W` where :math:`W^\top` is printed, and the left sides of Eq. 25 are
:math:`E[\ln \pi_k]` and :math:`E[\ln(1 - \pi_k)]` without the exponential.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, expit

from cerflearn._typing import Float64Array
from cerflearn.learning.state import VariationalState

# Log-odds of a candidate that is never selected: exp(-1e4) is 0 in float64, and unlike infinity
# it times 0 is 0.
_NEVER = -1e4

TILE_ROWS = 512
"""Rows of one call: products of that many factors of at most 2 stay below the largest float64."""


SWEEPS = 10
"""Times that each feature of a sample is updated in an E-step whose rotation is not orthogonal."""


def expected_log_proba(beta_posterior: Float64Array) -> tuple[Float64Array, Float64Array]:
    r""":math:`E[\ln \pi_k]` and :math:`E[\ln(1 - \pi_k)]`, each (n_candidates,) (Eq. 25)."""
    total = digamma(beta_posterior.sum(axis=1))
    return digamma(beta_posterior[:, 0]) - total, digamma(beta_posterior[:, 1]) - total


def update_beta_posterior(
    selected: Float64Array, n_samples: float, prior_concentration: float
) -> Float64Array:
    r""":math:`\tau_{k1} = \sum_n \nu_{nk} + \gamma/K`, :math:`\tau_{k2} = \sum_n(1-\nu_{nk}) + 1`.

    Parameters
    ----------
    selected : ndarray of shape (n_candidates,)
        :math:`\sum_n \nu_{nk}`.
    n_samples : float
        N.
    prior_concentration : float
        :math:`\gamma`, Eq. 4.

    Returns
    -------
    ndarray of shape (n_candidates, 2)
        :math:`\tau` (Eq. 26).
    """
    chosen = selected + prior_concentration / len(selected)
    # Rounding may bring the sum of N probabilities just above N.
    left_out = np.maximum(n_samples - selected, 0.0) + 1.0
    return np.stack([chosen, left_out], axis=1)


def log_odds(state: VariationalState) -> Float64Array:
    r""":math:`\psi(\tau_{k1}) - \psi(\tau_{k2})`, (n_candidates,); never for unusable ones."""
    present, absent = expected_log_proba(state.beta_posterior)
    return np.where(state.usable, present - absent, _NEVER)


def selection_proba(
    projected: Float64Array,
    learner: Float64Array,
    odds: Float64Array,
    scale: float,
    noise_std: float,
) -> tuple[Float64Array, float]:
    r""":math:`\nu` for an orthogonal rotation, where all features can be updated at once.

    .. math::
        \Delta_{nk} = c^2 L_{nk}^2 - 2 c L_{nk} (W^\top T_n)_k, \qquad
        logit\,\nu_{nk} = E[\ln \pi_k] - E[\ln(1 - \pi_k)] - \Delta_{nk} / (2 \sigma^2)

    Eq. 24 with :math:`W_k^\top W_l = 0`: the other features drop out of
    :math:`W_k^\top \xi_{nk} = (W^\top T_n)_k`. So this is the exact posterior given
    :math:`q(\pi)`, and no state per sample has to be kept.

    Parameters
    ----------
    projected : ndarray of shape (b, n_candidates)
        Rows of T W; b at most 512.
    learner : ndarray of shape (b, n_candidates)
        Rows of L.
    odds : ndarray of shape (n_candidates,)
        See :func:`log_odds`.
    scale, noise_std : float
        c and :math:`\sigma`.

    Returns
    -------
    ndarray of shape (b, n_candidates), float
        :math:`\nu` and the sum of the entropies.
    """
    logit = learner * (-0.5 * scale)
    logit += projected
    logit *= learner
    logit *= scale / noise_std**2
    logit += odds
    return bernoulli_from_logit(logit)


def bernoulli_from_logit(logit: Float64Array) -> tuple[Float64Array, float]:
    r"""Probabilities :math:`1 / (1 + e^{-x})` and the sum of their entropies.

    With the smaller probability :math:`r = e^{-|x|} / (1 + e^{-|x|})` the entropy is
    :math:`\ln(1 + e^{-|x|}) + r |x|`. Small probabilities keep all their digits; entropies are
    right to about 2^-52 each.

    Parameters
    ----------
    logit : ndarray of shape (b, n_candidates)
        x; b at most 512.
    """
    if len(logit) > TILE_ROWS:
        raise ValueError(f"At most {TILE_ROWS} rows at once, got {len(logit)}.")
    distance = np.abs(logit)
    smaller = np.exp(-distance)
    total = 1.0 + smaller
    smaller /= total
    # One logarithm of a product replaces a logarithm for each row.
    entropy = np.log(np.multiply.reduce(total, axis=0)).sum() + np.vdot(distance, smaller)
    return np.where(logit > 0.0, 1.0 - smaller, smaller), float(entropy)


def sweep_selection_proba(
    projected: Float64Array,
    learner: Float64Array,
    odds: Float64Array,
    state: VariationalState,
    overlap: Float64Array,
    proba: Float64Array,
    n_sweeps: int = SWEEPS,
) -> tuple[Float64Array, float]:
    r""":math:`\nu` for any rotation: features updated in turn (Eqs. 21-25 as they stand).

    With :math:`r_n = T_n - c W (\nu_n \odot L_n)`,

    .. math::
        \Delta_{nk} = c^2 L_{nk}^2 |W_k|^2 (1 - 2 \nu_{nk}) - 2 c L_{nk} (W^\top r_n)_k.

    Each update maximises the bound over one :math:`\nu_{nk}` given all others: coordinate ascent,
    so that the bound never falls, for any W. Rows are independent and updated together.

    Parameters
    ----------
    projected, learner : ndarray of shape (b, n_candidates)
        Rows of T W and of L; b at most 512.
    odds : ndarray of shape (n_candidates,)
        See :func:`log_odds`.
    state : VariationalState
        Scale and noise.
    overlap : ndarray of shape (n_candidates, n_candidates)
        :math:`W^\top W`.
    proba : ndarray of shape (b, n_candidates)
        :math:`\nu` to start from; not changed.
    n_sweeps : int, default=10
        Times that each feature is updated.

    Returns
    -------
    ndarray of shape (b, n_candidates), float
        :math:`\nu` and the sum of the entropies.
    """
    gain = state.scale / state.noise_std**2
    logit = np.empty_like(learner)
    proba = proba.copy()
    explained = (proba * learner) @ overlap  # of the learner, in the directions of W
    for _ in range(n_sweeps):
        for k in range(learner.shape[1]):
            column, before = learner[:, k], proba[:, k].copy()
            residual = projected[:, k] - state.scale * explained[:, k]
            own = 0.5 * state.scale * overlap[k, k] * column * (1.0 - 2.0 * before)
            logit[:, k] = odds[k] + gain * column * (residual - own)
            proba[:, k] = expit(logit[:, k])
            explained += np.multiply.outer(column * (proba[:, k] - before), overlap[k])
    return bernoulli_from_logit(logit)
