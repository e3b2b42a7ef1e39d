"""Dense random Fourier features."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from cerflearn._typing import RandomStateLike
from cerflearn._validation import Constraint, Flag, invalid
from cerflearn.estimators.gamma import GammaLike, KernelLike
from cerflearn.estimators.maps.random_feature_map import OUTPUT_CONSTRAINTS, RandomFeatureMap
from cerflearn.features.base import budget_error, check_map_size, outputs_of, projections_for
from cerflearn.features.cost import dense_macs
from cerflearn.features.dense import DenseMap, draw_dense_map


class RandomFourierFeatures(RandomFeatureMap):
    r"""Random Fourier features: a map whose inner products approximate a kernel (Eq. 1).

    .. math:: z(x) = \sqrt{1/P}\, [\cos \omega_k^\top x, \sin \omega_k^\top x]_{k=1}^P
        \quad\text{or}\quad z(x) = \sqrt{2/P}\, [\cos(\omega_k^\top x + b_k)]_{k=1}^P,

    with :math:`\omega_k` drawn from the law of the kernel and :math:`b_k` uniform on
    :math:`[0, 2\pi)`; then :math:`E[z(x)^\top z(y)] = k(x, y)`. A drop-in for scikit-learn's
    ``RBFSampler``, with the same meaning of ``gamma``, whose default is ``"scale"`` here and 1.0
    there.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy", "matern32", "matern52"} or SpectralLaw, default="rbf"
        Of d = x - y: :math:`\exp(-\gamma |d|_2^2)`, :math:`\exp(-\gamma |d|_1)`,
        :math:`\prod_i 1 / (1 + \gamma^2 d_i^2)`, Matern with length :math:`1 / \sqrt{2 \gamma}`;
        or a law of :mod:`cerflearn.spectral`.
    gamma : float, "scale" or "median", default="scale"
        Coefficient of the kernel. ``"scale"`` is 1 / (n_features * X.var()), as in scikit-learn,
        for rbf and Matern, and 1 / (n_features * mean absolute deviation of all entries of X)
        for laplacian and cauchy. ``"median"`` is one over the median squared distance
        (laplacian, cauchy: median sum of absolute differences) of at most 1,000 evenly spaced
        rows. Not used if ``kernel`` is a law: leave it at ``"scale"`` then.
    n_components : int, default=None
        Number of output columns. 100 if ``macs`` is None too.
    macs : int, default=None
        Budget of multiply-accumulates for one row: as many projections as fit, n_features each.
        At most one of ``n_components`` and ``macs``.
    paired : bool, default=True
        Cosine and sine of each projection, in columns 2 k and 2 k + 1, which gives two columns
        for the MACs of one; an odd ``n_components`` drops the last sine. False: one cosine with
        a random offset, as ``RBFSampler``.
    orthogonal : bool, default=False
        Orthogonal frequencies within blocks of n_features, which lowers the error. Needs an
        isotropic law: rbf or Matern.
    n_jobs : int, default=None
        Threads of ``transform``: None is 1 unless in a ``joblib.parallel_config``, -1 all cores.
        The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_projections_)
        :math:`\omega`, in radians.
    offsets_ : ndarray of shape (n_projections_,)
        b; zeros if paired.
    masks_ : ndarray of shape (n_features, n_projections_), bool
        Inputs that each projection reads: all.
    gamma_ : float or None
        Value used; None if ``kernel`` is a law.
    law_ : SpectralLaw
        Law of the frequencies; ``law_.kernel(X, Y)`` is the exact kernel.
    feature_map_ : DenseMap
        The map itself.
    inputs_read_ : ndarray of shape (n_inputs_read,), int64
        Inputs that at least one projection reads: all.
    n_components_ : int
        Number of output columns.
    n_projections_ : int
        Number of frequencies.
    n_macs_ : int
        MACs of one row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    FastfoodFeatures : Structured frequencies, for many inputs.
    MaskedFourierFeatures : Frequencies that read few inputs, for small budgets.
    sklearn.kernel_approximation.RBFSampler : The same map for the rbf kernel alone.

    References
    ----------
    Rahimi and Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007.
    Yu et al., "Orthogonal Random Features", NIPS 2016.
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization"
    (Eq. 1).

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import RandomFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> sampler = RandomFourierFeatures(gamma=0.1, n_components=2000, random_state=0)
    >>> Z = sampler.fit_transform(X)
    >>> Z.shape, sampler.n_macs_
    ((200, 2000), 5000)
    >>> bool(np.abs(Z @ Z.T - sampler.law_.kernel(X)).max() < 0.15)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = OUTPUT_CONSTRAINTS | {"orthogonal": Flag()}

    feature_map_: DenseMap

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = "scale",
        n_components: int | None = None,
        macs: int | None = None,
        paired: bool = True,
        orthogonal: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.macs = macs
        self.paired = paired
        self.orthogonal = orthogonal
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _draw_map(self, X: Any, rng: np.random.Generator) -> DenseMap:
        if self.orthogonal and not self.law_.is_isotropic:
            raise invalid(
                "orthogonal",
                self.orthogonal,
                f"False for kernel={self.kernel!r}, whose law is not isotropic; 'rbf', "
                "'matern32' and 'matern52' can be orthogonal",
            )
        n_features = X.shape[1]
        # The bits of a QR decomposition depend on the threads of the LAPACK.
        with threadpool_limits(1, user_api="blas") if self.orthogonal else nullcontext():
            return draw_dense_map(
                n_features,
                self._n_outputs(n_features),
                self.law_,
                rng,
                paired=bool(self.paired),
                orthogonal=bool(self.orthogonal),
            )

    def _n_outputs(self, n_features: int) -> int:
        if self._budget is None:
            n_values = n_features * projections_for(self._n_outputs_asked, bool(self.paired))
            check_map_size(n_values, f"{self._n_outputs_asked:,} output columns")
            return self._n_outputs_asked
        least = dense_macs(n_features, 1)
        if self._budget < least:
            remedy = "or use MaskedFourierFeatures, whose projections cost less"
            raise budget_error(self._budget, n_features, least, "a dense projection", remedy)
        check_map_size(self._budget, f"macs={self._budget}")
        return outputs_of(self._budget // least, bool(self.paired))
