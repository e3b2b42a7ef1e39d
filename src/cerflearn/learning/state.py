"""What CVEM knows between two passes over the data."""

from __future__ import annotations

from dataclasses import dataclass

from cerflearn._typing import BoolArray, Float64Array


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
