"""What CVEM reports: each stage to a callback, all of it at the end."""

from __future__ import annotations

from dataclasses import dataclass

from cerflearn._typing import Float64Array
from cerflearn.learning.bound import LowerBound
from cerflearn.learning.normalization import Normalizer
from cerflearn.learning.state import VariationalState


@dataclass(frozen=True, eq=False)
class Stage:
    """What a callback is told after each stage.

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
