r"""M-step: rotation, scale and noise, given the selection probabilities (Eqs. 27-34).

.. math:: \min_W \tfrac12 |T - c (\nu \odot L) W^\top|^2 \quad\text{over orthogonal } W

The quadratic term does not depend on an orthogonal W, so the minimiser is the one of
:math:`\max tr(W^\top cross)`: orthogonal Procrustes, exact by one SVD. The paper relaxes the
constraint to a penalty :math:`\alpha |W|_2` and applies ADMM. Both are offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from cerflearn._typing import Float64Array
from cerflearn.learning.admm import RELAXATION, SpectralPenalty, admm
from cerflearn.learning.e_step import update_beta_posterior
from cerflearn.learning.orthogonal import project_to_orthogonal, thin_svd
from cerflearn.learning.state import VariationalState
from cerflearn.learning.stats import SufficientStats

# Share of the teacher's root mean square below which noise is not let fall: a teacher that can be
# matched exactly would drive it to 0, and the bound to infinity.
_LEAST_NOISE = 1e-3


class RotationSolver(Protocol):
    """Updates the rotation; says which sums it needs and whether its result is orthogonal.

    ``warm_start`` holds what it keeps from one update to the next.
    """

    needs_gram: bool
    orthogonal: bool
    warm_start: Sequence[Float64Array] | None

    def solve(self, state: VariationalState, stats: SufficientStats) -> Float64Array:
        """Return the new rotation (n_outputs, n_candidates)."""


class ProcrustesSolver:
    r"""Exact M-step: :math:`\arg\max_W tr(W^\top cross)` over orthogonal W, one SVD."""

    needs_gram = False
    orthogonal = True
    warm_start: Sequence[Float64Array] | None = None

    def solve(self, state: VariationalState, stats: SufficientStats) -> Float64Array:  # noqa: ARG002
        """Return the new rotation."""
        assert stats.cross is not None
        return project_to_orthogonal(stats.cross)


class AdmmSolver:
    r"""The paper's M-step: :math:`\tfrac12|.|^2 + \alpha |W|_2` by ADMM, warm-started.

    Parameters
    ----------
    spectral_penalty : float or "adaptive"
        :math:`\alpha` as a share, in [0, 1), of :math:`|c\,cross|_*`, the sum of the singular
        values, from which on W = 0; adaptive: see :func:`cerflearn.learning.admm.admm`.
    orthogonal : bool, default=True
        Project the result to the orthogonal group, so that the E-step is exact. False leaves it
        as it is until the last stages, which is the literal reading of the paper, without
        over-relaxation.
    """

    needs_gram = True

    def __init__(self, spectral_penalty: SpectralPenalty, orthogonal: bool = True) -> None:
        self.spectral_penalty = spectral_penalty
        self.orthogonal = orthogonal
        self.warm_start: Sequence[Float64Array] | None = None

    def solve(self, state: VariationalState, stats: SufficientStats) -> Float64Array:
        """Return the new rotation."""
        assert stats.cross is not None
        assert stats.gram is not None
        cross, penalty = stats.cross * state.scale, self.spectral_penalty
        if penalty != "adaptive":
            penalty *= float(thin_svd(cross)[1].sum())
        rotation, dual = self.warm_start or (state.rotation, None)
        result = admm(
            cross,
            stats.gram * state.scale**2,
            spectral_penalty=penalty,
            rotation=rotation,
            dual=dual,
            relaxation=RELAXATION if self.orthogonal else 1.0,
        )
        self.warm_start = (result.rotation, result.dual)
        return project_to_orthogonal(result.rotation) if self.orthogonal else result.rotation


@dataclass(frozen=True)
class ExpectedError:
    r""":math:`E_q|T - c W (z \odot L)|^2 = energy - 2 c\,linear + c^2 quadratic`.

    Attributes
    ----------
    energy, linear, quadratic : float
        :math:`|T|^2`, :math:`tr(W^\top cross)`, :math:`E|W (z \odot L)|^2`.
    """

    energy: float
    linear: float
    quadratic: float

    def at(self, scale: float) -> float:
        """Error for the scale c."""
        return max(self.energy - scale * (2.0 * self.linear - scale * self.quadratic), 0.0)

    def best_scale(self, otherwise: float) -> float:
        """Return c = linear / quadratic, or ``otherwise`` if no feature is selected at all."""
        return self.linear / self.quadratic if self.quadratic > 0.0 else otherwise


def expected_error(state: VariationalState, stats: SufficientStats) -> ExpectedError:
    r"""Terms of the error for the state's rotation, with the variance that Eq. 27 drops.

    For an orthogonal W, :math:`quadratic = \sum \nu L^2`. Otherwise the Gram matrix is needed:
    :math:`\langle W^\top W, gram \rangle + \sum_k |W_k|^2 \sum_n \nu (1 - \nu) L^2`.

    Without a cross matrix in ``stats`` the rotation must be the one of the pass.
    """
    if stats.cross is None:
        linear = float(stats.alignment.sum())
    else:
        linear = float(np.vdot(state.rotation, stats.cross))
    if state.orthogonal:
        quadratic = float(stats.selected_energy.sum())
    else:
        assert stats.gram is not None
        overlap = state.rotation.T @ state.rotation
        variance = stats.selected_energy - np.diag(stats.gram)
        quadratic = float(np.vdot(overlap, stats.gram) + np.diag(overlap) @ variance)
    return ExpectedError(stats.teacher_energy, linear, quadratic)


def update_scale(state: VariationalState, stats: SufficientStats) -> VariationalState:
    r"""Scale :math:`c = tr(W^\top cross) / E|W (z \odot L)|^2`, the exact maximiser."""
    return replace(state, scale=expected_error(state, stats).best_scale(otherwise=state.scale))


def update_noise(state: VariationalState, stats: SufficientStats) -> VariationalState:
    r"""Noise :math:`\sigma^2 = E|T - c W (z \odot L)|^2 / (N M)`, the exact maximiser.

    M is the width of the teacher, padded with zeros to the learner's if it is narrower.
    """
    n_values = stats.n_samples * max(state.rotation.shape)
    least = _LEAST_NOISE * np.sqrt(stats.teacher_energy / n_values)
    noise_std = np.sqrt(expected_error(state, stats).at(state.scale) / n_values)
    return replace(state, noise_std=float(max(noise_std, least)))


class Fixed(NamedTuple):
    """Scale c and noise that the user fixed; None where they are learned."""

    scale: float | None = None
    noise_std: float | None = None


def m_step(
    state: VariationalState, stats: SufficientStats, solver: RotationSolver | None, fixed: Fixed
) -> VariationalState:
    """Update q(pi), W, c and noise in turn, each given the others; no solver keeps W."""
    beta_posterior = update_beta_posterior(
        stats.selected, stats.n_samples, state.prior_concentration
    )
    state = replace(state, beta_posterior=beta_posterior)
    if solver is not None:
        rotation = solver.solve(state, stats)
        state = replace(state, rotation=rotation, orthogonal=solver.orthogonal)
    if fixed.scale is None:
        state = update_scale(state, stats)
    if fixed.noise_std is None:
        state = update_noise(state, stats)
    return state
