"""State of CVEM between two passes over the data, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cerflearn._typing import BoolArray, Float64Array

if TYPE_CHECKING:
    from cerflearn.learning.bound import LowerBound
    from cerflearn.learning.normalization import Normalizer


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
