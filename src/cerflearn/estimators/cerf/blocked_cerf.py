"""Blocked random features: Fastfood blocks, chosen from candidates to imitate a teacher."""

from __future__ import annotations

from typing import Any

from cerflearn.engine.blocks import CACHE_BYTES
from cerflearn.estimators.cerf.blocked_drawing import BlockedDrawing
from cerflearn.features.blocked import BlockedMap


class BlockedCERF(BlockedDrawing):
    r"""Random Fourier features in Fastfood blocks, chosen to imitate a teacher (Prop. 5).

    .. math:: \cos(\Xi^\top x + b), \qquad \Xi_j^\top = S_j H G_j Q_j H B_j + 1 m_j^\top,

    where block j has d projections, d the next power of two of n_features, with signs B, a
    permutation Q, normal values G and norms S on the diagonal, and the Walsh-Hadamard matrix H
    (Def. 4, Eq. 36). Blocks may have centres :math:`m_j` and scales of their own: their
    frequencies then are a mixture of normal laws, which reaches kernels whose law no single
    block has (section 4.1). A block costs :math:`2 d \log_2 d + 3 d` MACs, and n_features more
    with a centre, however few of its projections are kept.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "cauchy", "matern32", "matern52"} or SpectralLaw, default="rbf"
        As in :class:`RandomFourierFeatures`: the law of the frequencies, which must be isotropic
        (rbf, Matern); or, if ``spread`` is given, the law of the centres, which may be any.
    gamma : float, "scale" or "median", default="scale"
        Coefficient of the kernel, as in :class:`RandomFourierFeatures`. Not used if ``kernel``
        is a law: leave it at ``"scale"`` then.
    n_components : int, default=None
        Number of output columns. 100 if ``macs`` is None too.
    macs : int, default=None
        Budget of multiply-accumulates for one row: as many whole blocks as fit. At most one of
        ``n_components`` and ``macs``.
    paired : bool, default=True
        Cosine and sine of each projection, in columns 2 k and 2 k + 1; an odd ``n_components``
        drops the last sine. False: one cosine with a random offset.
    shared_signs : bool, default=False
        One B for all blocks, as Prop. 5 prints it: H B x is then computed and counted once, and
        blocks depend on each other more.
    spread : float, default=None
        Standard deviation of the frequencies of a block about its centre, in units of the scale
        of the kernel's law (:math:`\sqrt{2 \gamma}` for rbf, :math:`\gamma` for laplacian and
        cauchy); centres are drawn from that law. None: no centres.
    scale_spread : float, default=0.0
        Standard deviation of the logarithm of a factor drawn for each block, by which its
        frequencies about the centre are multiplied. 0: no factors.
    select : {"blocks", "outputs"}, default="blocks"
        Choose whole blocks by their mean score, of which the last may be cut; or each projection
        by itself, which may touch many blocks, and each that is touched is paid whole.
    n_candidates : int, default=None
        Columns to choose from, at least as many as outputs; rounded up to whole blocks.
    selected_fraction : float, default=None
        Number of outputs divided by that of the candidates, in (0, 1]. At most one of
        ``n_candidates`` and ``selected_fraction``; .4 if both are None.
    teacher : {"rff", "nystroem", "kernel_pca", "labels"}, SpectralLaw or estimator, default="rff"
        What the outputs are to imitate, as in :class:`MaskedCERF`. A law, such as the product
        law of section 4.1, stands for dense random features of it.
    selector : {"greedy", "shared", "cvem", "random"}, default="greedy"
        How outputs are chosen, as in :class:`MaskedCERF`.
    solver : {"procrustes", "admm"}, default="procrustes"
        M-step of ``"cvem"``: the exact one, or the paper's (Eqs. 28-34).
    normalize : {"standardize", "center"} or None, default="standardize"
        Of both embeddings while learning.
    spectral_penalty : float or "adaptive", default="adaptive"
        :math:`\alpha` of ADMM (Eq. 28).
    weights : {"equal", "nnls"}, default="equal"
        Amplitudes of the outputs, as in :class:`MaskedCERF`. With ``select="blocks"`` only
        blocks whose weights are all 0 are replaced: the others are paid anyway. Up to 16 blocks
        of 128 outputs together are then exchanged for others while that brings inner products
        closer to the teacher's, which takes up to about a second.
    max_stages : int, default=20
        Most stages of ``"cvem"``; steps of ``"shared"``.
    tol : float, default=1e-3
        ``"cvem"`` has converged if the lower bound changes by less than this for each value of
        the teacher.
    cache_bytes : int, default=2 GiB
        Most memory for teacher and candidates of the training rows, which are computed anew in
        each stage where they do not fit. The bits of the result do not depend on it.
    verbose : int, default=0
        Above 0: print a line after each stage.
    n_jobs : int, default=None
        Threads of ``fit`` and ``transform``: None is 1 unless in a ``joblib.parallel_config``,
        -1 all cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_projections_)
        Chosen columns of :math:`\Xi`, in radians; made on first use.
    offsets_ : ndarray of shape (n_projections_,)
        b; zeros if paired.
    masks_ : ndarray of shape (n_features, n_projections_), bool
        Inputs that each projection reads: all.
    gamma_ : float or None
        Value used; None if ``kernel`` is a law.
    law_ : SpectralLaw
        Law of the kernel; with ``spread`` that of the centres.
    feature_map_ : BlockedMap
        The map itself.
    n_blocks_ : int
        Blocks that are computed for a row.
    selector_, feature_proba_, rotation_, scale_, lower_bounds_, errors_, n_iter_, n_candidates_
        As in :class:`MaskedCERF`.
    n_components_, n_projections_, n_macs_ : int
        Output columns, frequencies, and MACs of one row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    Notes
    -----
    What lowers the kernel error, measured in docs/blocked.md: ``weights="nnls"`` most; with equal
    weights, frequencies as wide as the teacher's, by ``spread`` around centres, or without centres
    by the width of the kernel, which for a normal law is cheaper and as good.
    ``shared_signs`` saved a third of the MACs at the same error, ``select="outputs"`` cost 2.2 to
    5 times as many.

    See Also
    --------
    FastfoodFeatures : Blocks as they are drawn.
    MaskedCERF : Learned choice of features that read few inputs.

    Examples
    --------
    The law of section 4.1, the product of two normal variables for each input:

    >>> import numpy as np
    >>> from cerflearn import BlockedCERF
    >>> from cerflearn.spectral import Gaussian, Product
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> product = Product(Gaussian(0.2), Gaussian(1.0))
    >>> sampler = BlockedCERF(
    ...     kernel=Gaussian(0.2), spread=0.5, teacher=product, n_components=64, random_state=0
    ... ).fit(X)
    >>> sampler.transform(X).shape, sampler.n_blocks_, sampler.n_macs_, sampler.n_candidates_
    ((200, 64), 2, 384, 160)
    """

    feature_map_: BlockedMap

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        n_components: Any = None,
        macs: Any = None,
        paired: Any = True,
        shared_signs: Any = False,
        spread: Any = None,
        scale_spread: Any = 0.0,
        select: Any = "blocks",
        n_candidates: Any = None,
        selected_fraction: Any = None,
        teacher: Any = "rff",
        selector: Any = "greedy",
        solver: Any = "procrustes",
        normalize: Any = "standardize",
        spectral_penalty: Any = "adaptive",
        weights: Any = "equal",
        max_stages: Any = 20,
        tol: Any = 1e-3,
        cache_bytes: Any = CACHE_BYTES,
        verbose: Any = 0,
        n_jobs: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.macs = macs
        self.paired = paired
        self.shared_signs = shared_signs
        self.spread = spread
        self.scale_spread = scale_spread
        self.select = select
        self.n_candidates = n_candidates
        self.selected_fraction = selected_fraction
        self.teacher = teacher
        self.selector = selector
        self.solver = solver
        self.normalize = normalize
        self.spectral_penalty = spectral_penalty
        self.weights = weights
        self.max_stages = max_stages
        self.tol = tol
        self.cache_bytes = cache_bytes
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
