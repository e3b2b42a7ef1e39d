r"""The lower bound of Eq. 15, term by term.

.. math::
    \mathcal L = E_q[\ln p(T | Z, W)] + E_q[\ln p(Z | \pi)]
                 - KL(q(\pi) \| p_0(\pi)) + H(q(Z))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from cerflearn.learning.e_step import expected_log_proba
from cerflearn.learning.m_step import expected_error
from cerflearn.learning.state import VariationalState
from cerflearn.learning.stats import SufficientStats


@dataclass(frozen=True)
class LowerBound:
    """Terms of the bound; ``total`` adds them.

    Attributes
    ----------
    likelihood, selector, proba_divergence, entropy : float
        The four terms, in the order of the module's formula; the third enters with a minus.
    """

    likelihood: float
    selector: float
    proba_divergence: float
    entropy: float

    @property
    def total(self) -> float:
        """The bound."""
        return self.likelihood + self.selector - self.proba_divergence + self.entropy


def lower_bound(state: VariationalState, stats: SufficientStats) -> LowerBound:
    """Bound for the parameters of ``state`` and the q(Z) that ``stats`` sums over."""
    return LowerBound(
        likelihood=expected_log_likelihood(state, stats),
        selector=expected_log_selector(state, stats),
        proba_divergence=proba_divergence(state),
        entropy=stats.entropy,
    )


def expected_log_likelihood(state: VariationalState, stats: SufficientStats) -> float:
    r""":math:`-\frac{N M}{2} \ln(2 \pi \sigma^2) - E|T - c W (z \odot L)|^2 / (2 \sigma^2)`.

    M is the width of the teacher, padded with zeros to the learner's if it is narrower. The
    normaliser is constant in the paper, which fixes :math:`\sigma`; the expectation includes the
    selector's variance, which Eq. 27 drops.
    """
    variance = state.noise_std**2
    n_values = stats.n_samples * max(state.rotation.shape)
    error = expected_error(state, stats).at(state.scale)
    return float(-0.5 * n_values * np.log(2.0 * np.pi * variance) - 0.5 * error / variance)


def expected_log_selector(state: VariationalState, stats: SufficientStats) -> float:
    r""":math:`\sum_{nk} \nu_{nk} E[\ln \pi_k] + (1 - \nu_{nk}) E[\ln(1 - \pi_k)]` (Eq. 3)."""
    present, absent = expected_log_proba(state.beta_posterior)
    return float(stats.selected @ present + (stats.n_samples - stats.selected) @ absent)


def proba_divergence(state: VariationalState) -> float:
    r""":math:`\sum_k KL(Beta(\tau_{k1}, \tau_{k2}) \| Beta(\gamma / K, 1))` (Eqs. 4 and 18)."""
    chosen, left_out = state.beta_posterior.T
    prior = state.prior_concentration / len(chosen)
    present, absent = expected_log_proba(state.beta_posterior)
    divergence = betaln(prior, 1.0) - betaln(chosen, left_out)
    divergence += (chosen - prior) * present + (left_out - 1.0) * absent
    return float(divergence.sum())
