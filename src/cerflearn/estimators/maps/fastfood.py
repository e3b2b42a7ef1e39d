"""Fastfood features: structured frequencies in log-linear time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cerflearn._typing import RandomStateLike
from cerflearn._validation import Constraint, Flag, invalid
from cerflearn.estimators.gamma import GammaLike, KernelLike
from cerflearn.estimators.maps.random_feature_map import OUTPUT_CONSTRAINTS, RandomFeatureMap
from cerflearn.features.block_sampler import BlockSampler
from cerflearn.features.blocked import BlockedMap


class FastfoodFeatures(RandomFeatureMap):
    r"""Random Fourier features with structured frequencies (Def. 4, Eq. 36; Prop. 5).

    The frequencies come in blocks of d rows, d the next power of two of n_features,

    .. math:: V = S H G Q H B,

    where B has random signs, G independent normal values and S the norms of the kernel's law on
    the diagonal, Q permutes, and H is the Walsh-Hadamard matrix, applied in
    :math:`d \log_2 d` additions. Each row of V follows the law; those of a block depend on each
    other. A block costs :math:`2 d \log_2 d + 3 d` MACs instead of :math:`d\, n_{features}`.

    Parameters
    ----------
    kernel : {"rbf", "matern32", "matern52"} or SpectralLaw, default="rbf"
        :math:`\exp(-\gamma |x - y|_2^2)`, or Matern with length :math:`1 / \sqrt{2 \gamma}`; or
        an isotropic law of :mod:`cerflearn.spectral`. Other kernels are refused.
    gamma : float, "scale" or "median", default="scale"
        Coefficient of the kernel. ``"scale"`` is 1 / (n_features * X.var()), as in scikit-learn;
        ``"median"`` one over the median squared distance of at most 1,000 evenly spaced rows.
        Not used if ``kernel`` is a law: leave it at ``"scale"`` then.
    n_components : int, default=None
        Number of output columns. 100 if ``macs`` is None too. The last block is computed whole,
        however few of its rows are used: multiples of d (paired: of 2 d) waste nothing.
    macs : int, default=None
        Budget of multiply-accumulates for one row: as many whole blocks as fit. At most one of
        ``n_components`` and ``macs``.
    paired : bool, default=True
        Cosine and sine of each projection, in columns 2 k and 2 k + 1; an odd ``n_components``
        drops the last sine. False: one cosine with a random offset.
    shared_signs : bool, default=False
        One B for all blocks, as Prop. 5 prints it: H B x is then computed once, and blocks
        depend on each other more.
    n_jobs : int, default=None
        Threads of ``transform``: None is 1 unless in a ``joblib.parallel_config``, -1 all cores.
        The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_projections_)
        Rows of V as columns, in radians; made on first use.
    offsets_ : ndarray of shape (n_projections_,)
        Zeros if paired.
    masks_ : ndarray of shape (n_features, n_projections_), bool
        Inputs that each projection reads: all.
    gamma_ : float or None
        Value used; None if ``kernel`` is a law.
    law_ : SpectralLaw
        Law of the frequencies; ``law_.kernel(X, Y)`` is the exact kernel.
    feature_map_ : BlockedMap
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
    RandomFourierFeatures : Independent or orthogonal frequencies.
    MaskedFourierFeatures : Frequencies that read few inputs, for small budgets.
    BlockedCERF : Blocks chosen from candidates to imitate a teacher.

    References
    ----------
    Le, Sarlos and Smola, "Fastfood: Approximating Kernel Expansions in Loglinear Time",
    ICML 2013.
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization"
    (Def. 4).

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import FastfoodFeatures
    >>> X = np.random.default_rng(0).normal(size=(100, 64))
    >>> sampler = FastfoodFeatures(n_components=256, random_state=0).fit(X)
    >>> sampler.transform(X).shape, sampler.n_macs_, 64 * sampler.n_projections_
    ((100, 256), 1920, 8192)
    """

    _constraints: ClassVar[dict[str, Constraint]] = OUTPUT_CONSTRAINTS | {"shared_signs": Flag()}

    feature_map_: BlockedMap

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = "scale",
        n_components: int | None = None,
        macs: int | None = None,
        paired: bool = True,
        shared_signs: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.macs = macs
        self.paired = paired
        self.shared_signs = shared_signs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _draw_map(self, X: Any, rng: np.random.Generator) -> BlockedMap:
        if not self.law_.is_isotropic:
            raise invalid(
                "kernel",
                self.kernel,
                "'rbf', 'matern32', 'matern52' or another isotropic law, as Fastfood needs; "
                "use RandomFourierFeatures for other kernels",
            )
        sampler = BlockSampler(
            law=self.law_,
            n_outputs=self._n_outputs_asked,
            macs=self._budget,
            paired=bool(self.paired),
            shared_signs=bool(self.shared_signs),
        )
        n_features = int(X.shape[1])
        return sampler.draw(n_features, sampler.n_outputs_for(n_features), rng)
