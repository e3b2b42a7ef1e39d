"""State of CVEM between two passes over the data, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cerflearn._typing import BoolArray, Float64Array

if TYPE_CHECKING:
    from cerflearn.learning.bound import LowerBound
    from cerflearn.learning.normalization import Normalizer
    from cerflearn.learning.stats import SufficientStats


@dataclass(frozen=True, eq=False)
class VariationalState:
    r"""Parameters of the model and of :math:`q(\pi)`; :math:`q(Z)` is computed in each pass.

    Attributes
    ----------
    rotation : ndarray of shape (n_outputs, n_candidates)
        W: orthonormal columns, or orthonormal rows if the teacher is the narrower one (then they
        are the rows that matter of a square W, whose other rows meet the zeros that pad the
        teacher).
    scale : float
        c of Eq. 7.
    noise_std : float
        :math:`\sigma` of the likelihood.
    beta_posterior : ndarray of shape (n_candidates, 2)
        :math:`\tau` of :math:`q(\pi_k) = Beta(\tau_{k1}, \tau_{k2})`, Eq. 18.
    prior_concentration : float
        :math:`\gamma` of the prior :math:`Beta(\gamma / K, 1)`, Eq. 4.
    usable : ndarray of shape (n_candidates,), bool
        False for candidates that are constant on the training data: never selected.
    orthogonal : bool, default=True
        False for a rotation that ADMM has not yet projected.
    """

    rotation: Float64Array
    scale: float
    noise_std: float
    beta_posterior: Float64Array
    prior_concentration: float
    usable: BoolArray
    orthogonal: bool = True

    @property
    def feature_proba(self) -> Float64Array:
        r"""Mean of :math:`q(\pi_k)`, (n_candidates,); 0 for candidates that are not usable."""
        mean: Float64Array = self.beta_posterior[:, 0] / self.beta_posterior.sum(axis=1)
        return mean * self.usable


@dataclass(frozen=True, eq=False)
class Stage:
    """What a callback receives after each stage.

    Attributes
    ----------
    index : int
        Number of the stage, from 0.
    state : VariationalState
        After the stage.
    bound : LowerBound
        Its terms.
    fixed_rotation : bool
        Whether this is one of the last stages, which keep the rotation.
    """

    index: int
    state: VariationalState
    bound: LowerBound
    fixed_rotation: bool


@dataclass(frozen=True, eq=False)
class CVEMProgress:
    """All that the stages to come depend on.

    Attributes
    ----------
    normalizer : Normalizer
        How the embeddings are normalised.
    state : VariationalState
        After the last stage.
    n_passed : int
        Stages that were taken, or left out as the bound had converged.
    lower_bounds : list of float
        The bound after each stage that was taken.
    converged : bool
        Whether the bound changed by less than ``tol``.
    warm_start : sequence of ndarray of shape (n_outputs, n_candidates), optional
        Where ADMM goes on: W before it was projected, and U.
    probas : sequence of ndarray of shape (b, n_candidates), optional
        Selection probabilities of each block of rows, of E-steps that need them.
    blocks : list of SufficientStats, optional
        Sums of each block of rows, of incremental EM.
    """

    normalizer: Normalizer
    state: VariationalState
    n_passed: int = 0
    lower_bounds: list[float] = field(default_factory=list)
    converged: bool = False
    warm_start: Sequence[Float64Array] | None = None
    probas: Sequence[Float64Array] | None = None
    blocks: list[SufficientStats] | None = None


@dataclass(frozen=True, eq=False)
class CVEMResult:
    r"""What CVEM learned.

    Attributes
    ----------
    feature_proba : ndarray of shape (n_candidates,)
        :math:`E[\pi_k]`; 0 for constant candidates.
    rotation : ndarray of shape (n_outputs, n_candidates)
        W, orthogonal.
    scale, noise_std : float
        c and :math:`\sigma`, of the normalised embeddings.
    lower_bounds : ndarray of shape (n_iter,)
        The bound after each stage.
    n_iter : int
        Number of stages, those with a fixed rotation included.
    converged : bool
        Whether the bound changed by less than ``tol`` before ``max_stages``.
    state : VariationalState
        All of the above as one object.
    normalizer : Normalizer
        How the embeddings were normalised.
    """

    feature_proba: Float64Array
    rotation: Float64Array
    scale: float
    noise_std: float
    lower_bounds: Float64Array
    n_iter: int
    converged: bool
    state: VariationalState
    normalizer: Normalizer
