"""Blocked random features: Fastfood blocks, chosen from candidates to imitate a teacher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from cerflearn._typing import BoolArray, RandomStateLike
from cerflearn._validation import Constraint, Flag, NoEffect, Number, OneOf, invalid
from cerflearn.estimators.cerf.candidates import Candidates, MacBudget
from cerflearn.estimators.cerf.learned import (
    LEARNING_CONSTRAINTS,
    LEARNING_EFFECTS,
    SelectorLike,
    without_candidates,
)
from cerflearn.estimators.cerf.paper import in_papers_setting
from cerflearn.estimators.cerf.streaming import StreamedFeatureMap
from cerflearn.estimators.gamma import GammaLike, KernelLike
from cerflearn.estimators.input import varying_inputs
from cerflearn.estimators.maps.fastfood import SHARE
from cerflearn.estimators.maps.random_feature_map import OUTPUT_CONSTRAINTS
from cerflearn.estimators.teachers import TeacherLike
from cerflearn.features.block_sampler import BlockSampler
from cerflearn.features.blocked import BlockedMap
from cerflearn.features.fastfood import SHAREABLE
from cerflearn.spectral import Gaussian, Product, SpectralLaw

_BLOCK_CONSTRAINTS: dict[str, Constraint] = {
    "share": SHARE,
    "spread": Number(
        "a positive number of at most 1e10, or None", above=0.0, at_most=1e10, also=(None,)
    ),
    "scale_spread": Number("a number from 0 to 10", at_least=0.0, at_most=10.0),
    "mask_density": Number(
        "a number above 0 and at most 1, or None", above=0.0, at_most=1.0, also=(None,)
    ),
    "mask_law": OneOf(("fixed", "beta_bernoulli")),
    "spaced_offsets": Flag(),
    "unit": OneOf(("block", "output")),
}

_BLOCK_EFFECTS = (
    NoEffect(
        "mask_law",
        "mask_density",
        lambda estimator: estimator.mask_density is None or estimator.mask_density == 1.0,
        "no mask leaves an input out; leave mask_law at 'fixed', or pass a mask_density below 1",
    ),
    NoEffect(
        "spaced_offsets",
        "paired",
        lambda estimator: bool(estimator.paired),
        "pairs have no offsets; pass paired=False",
    ),
    without_candidates("unit", "nothing is chosen; pass a selector such as 'greedy'"),
)


class BlockedCERF(StreamedFeatureMap):
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
        Of d = x - y: :math:`\exp(-\gamma |d|_2^2)`, :math:`\exp(-\gamma |d|_1)`,
        :math:`\prod_i 1 / (1 + \gamma^2 d_i^2)`, Matern with length :math:`1 / \sqrt{2 \gamma}`;
        or a law of :mod:`cerflearn.spectral`. Its law is that of the frequencies and must be
        isotropic (rbf, Matern); or, if ``spread`` is given, that of the centres, which may be any.
    gamma : float, "scale" or "median", default="scale"
        Coefficient of the kernel. ``"scale"`` is 1 / (n_features * X.var()), as in scikit-learn,
        for rbf and Matern, and 1 / (n_features * mean absolute deviation of all entries of X)
        for laplacian and cauchy. ``"median"`` is one over the median squared distance
        (laplacian, cauchy: median sum of absolute differences) of at most 1,000 evenly spaced
        rows. A law as ``kernel`` has its own scale: leave gamma at ``"scale"`` then.
    n_components : int, default=None
        Number of output columns. 100 if ``macs`` is None too.
    macs : int, default=None
        Budget of multiply-accumulates for one row: as many whole blocks as fit. At most one of
        ``n_components`` and ``macs``.
    paired : bool, default=True
        Cosine and sine of each projection, in columns 2 k and 2 k + 1; an odd ``n_components``
        drops the last sine. False: one cosine with a random offset.
    share : tuple of {"signs", "permutation", "scales"}, default=()
        What all blocks have in common; Prop. 5 prints all three. ``"signs"``: B; H B x is then
        computed and counted once, unless blocks have masks. ``"permutation"``: Q, which saves
        memory alone. ``"scales"``: S; frequencies then no longer follow the law, and the kernel
        error rises.
    spread : float, default=None
        Standard deviation of the frequencies of a block about its centre, in units of the scale
        of the kernel's law (:math:`\sqrt{2 \gamma}` for rbf, :math:`\gamma` for laplacian and
        cauchy); centres are drawn from that law. None: no centres.
    scale_spread : float, default=0.0
        Standard deviation of the logarithm of a factor drawn for each block, by which its
        frequencies about the centre are multiplied. 0: no factors.
    mask_density : float, default=None
        Share of the inputs that a block reads, in (0, 1]: each block has a random mask, its
        frequencies are scaled as in :class:`MaskedCERF`, and inputs that are constant in training
        are not read. Masks save no MACs here, as a transform mixes all inputs, and with masks of
        their own blocks cannot share H B x. None: blocks read all inputs.
    mask_law : {"fixed", "beta_bernoulli"}, default="fixed"
        Equally many inputs in each mask; or masks of a Beta-Bernoulli process (Eqs. 3-4).
    spaced_offsets : bool, default=True
        Without pairs: offsets of a block in equal steps around the circle, in random order, whose
        noise cancels; or independent ones, as in the paper.
    unit : {"block", "output"}, default="block"
        What is chosen: whole blocks by their mean score, of which the last may be cut; or each
        projection by itself, which may touch many blocks, and each that is touched is counted
        whole.
    n_candidates : int, default=None
        Columns to choose from, at least as many as outputs; rounded up to whole blocks.
    selected_fraction : float, default=None
        Number of outputs divided by that of the candidates, in (0, 1]. At most one of
        ``n_candidates`` and ``selected_fraction``; .4 if both are None.
    teacher : {"rff", "nystroem", "kernel_pca", "labels"}, SpectralLaw or estimator, default="rff"
        What the outputs are to imitate. ``"rff"``: dense random features of the same kernel, one
        column for each candidate (of another law, if ``teacher`` is one, such as the product law
        of section 4.1). ``"nystroem"``, ``"kernel_pca"``: of the same kernel, built from at most
        1,000 evenly spread rows. ``"labels"``: one-hot classes or centred targets; ``fit`` then
        needs y. An estimator is cloned and fitted on X and y (``FrozenEstimator`` keeps its fit),
        and its ``transform`` used, or ``decision_function``, ``predict_proba`` or a regressor's
        ``predict``.
    selector : {"greedy", "shared", "cvem", "random"}, Greedy, Shared or CVEM, default="greedy"
        How outputs are chosen. ``"greedy"``: one after the other, the one that lowers the error
        of regressing the teacher on all chosen most. ``"shared"``: one selection for all samples,
        candidates dropped step by step. ``"cvem"``: constrained variational EM (section 2), each
        sample with a selection of its own until the end. An object has settings, such as
        ``CVEM(solver="admm")``. ``"random"``: blocks as they are drawn, without candidates and
        teacher. Pairs are chosen as one.
    weights : {"equal", "nnls"}, default="equal"
        Equal amplitudes, :math:`\sqrt{1/P}` for P pairs and :math:`\sqrt{2/P}` for P cosines; or
        the non-negative weights for which inner products of different rows are closest to the
        teacher's. With ``unit="block"`` only blocks whose weights are all 0 are replaced: the
        others are counted anyway. Up to 16 blocks of 128 outputs together are then exchanged for
        others while that brings inner products closer to the teacher's, which takes up to about
        a second.
    n_jobs : int, default=None
        Threads of ``fit`` and ``transform``: None is 1 unless in a ``joblib.parallel_config``,
        -1 all cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.
    verbose : int, default=0
        Above 0: print a line after each stage. scikit-learn's callbacks (1.9 or later,
        ``set_callbacks``) are called after each stage too.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_projections_)
        Chosen columns of :math:`\Xi`, in radians; made on first use.
    offsets_ : ndarray of shape (n_projections_,)
        b; zeros if paired.
    masks_ : ndarray of shape (n_features, n_projections_), bool
        Inputs that each projection reads: all, or those of the mask of its block.
    inputs_read_ : ndarray of shape (n_inputs_read,), int64
        Inputs that at least one projection reads.
    gamma_ : float or None
        Value used; None if ``kernel`` is a law.
    law_ : SpectralLaw
        Law of the kernel; with ``spread`` that of the centres.
    feature_map_ : BlockedMap
        The map itself.
    n_blocks_ : int
        Blocks that are computed for a row.
    selected_ : ndarray of shape (n_components_,), int64
        Chosen candidate columns, ascending; after ``partial_fit`` in the order of the outputs.
    feature_proba_ : ndarray of shape (n_candidates_,)
        :math:`E[\pi_k]`, the probability with which samples select each candidate, for
        ``"cvem"``; with other selectors 1 for chosen and 0 for other candidates.
    rotation_ : ndarray of shape (teacher's columns, n_candidates_)
        W of ``"cvem"``; other selectors have none.
    scale_ : float
        c of Eq. 7 for the normalised embeddings, of ``"cvem"`` and ``"shared"``; reported only.
    lower_bounds_ : ndarray of shape (n_iter_,)
        Bound of Eq. 15 after each stage of ``"cvem"``; for ``"shared"`` and ``"greedy"`` the
        log-likelihood after each step, less that of selecting nothing.
    errors_ : ndarray of shape (n_iter_,)
        Share of the teacher's energy that is unexplained, after each step of ``"shared"`` and
        ``"greedy"``.
    n_iter_ : int
        Stages or steps taken, or mini-batches seen by ``partial_fit``, after which ``errors_``
        and ``lower_bounds_`` are of the last one alone; not set with ``selector="random"``.
    n_candidates_ : int
        Columns that were chosen from.
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
    FastfoodFeatures : Blocks as they are drawn.
    MaskedCERF : Learned choice of features that read few inputs.
    CVEM : Settings of the paper's selector.

    Notes
    -----
    What lowers the kernel error, measured in docs/blocked.md: ``weights="nnls"`` most; with equal
    weights, frequencies as wide as the teacher's, by ``spread`` around centres, or without centres
    by the width of the kernel, which for a normal law is cheaper and as good.
    ``share=("signs",)`` saved a third of the MACs at the same error, ``unit="output"`` cost 2.2 to
    5 times as many.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization".
    Le, Sarlos and Smola, "Fastfood: Approximating Kernel Expansions in Loglinear Time",
    ICML 2013.

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

    _constraints: ClassVar[dict[str, Constraint]] = (
        OUTPUT_CONSTRAINTS | _BLOCK_CONSTRAINTS | LEARNING_CONSTRAINTS
    )
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        *LEARNING_EFFECTS,
        *_BLOCK_EFFECTS,
    )
    _replaces_whole_groups = True

    feature_map_: BlockedMap

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = "scale",
        n_components: int | None = None,
        macs: int | None = None,
        paired: bool = True,
        share: Sequence[str] = (),
        spread: float | None = None,
        scale_spread: float = 0.0,
        mask_density: float | None = None,
        mask_law: Literal["fixed", "beta_bernoulli"] = "fixed",
        spaced_offsets: bool = True,
        unit: Literal["block", "output"] = "block",
        n_candidates: int | None = None,
        selected_fraction: float | None = None,
        teacher: TeacherLike = "rff",
        selector: SelectorLike = "greedy",
        weights: Literal["equal", "nnls"] = "equal",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.macs = macs
        self.paired = paired
        self.share = share
        self.spread = spread
        self.scale_spread = scale_spread
        self.mask_density = mask_density
        self.mask_law = mask_law
        self.spaced_offsets = spaced_offsets
        self.unit = unit
        self.n_candidates = n_candidates
        self.selected_fraction = selected_fraction
        self.teacher = teacher
        self.selector = selector
        self.weights = weights
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper_setting(cls, *, literal: bool = False, **parameters: Any) -> Self:
        """Return an estimator as in section 4.1 of the paper.

        Blocks round centres drawn from the law of the kernel, as wide as that law (``spread=1``;
        the paper gives no width), with one B and one Q (Prop. 5), a mask of a Beta-Bernoulli
        process of density .4 for each block, single cosines with independent offsets, .4 of the
        candidates chosen by CVEM with ADMM, equal weights. Embeddings are standardised and blocks
        have scales of their own unless ``literal``: as printed, the paper's figures do not come
        out, and frequencies do not follow their law.

        Parameters
        ----------
        literal : bool, default=False
            Prop. 5 and Eqs. 21-34 as printed, but for corrections without which they are not
            defined (docs/theory.md): blocks share S too, nothing is standardised, and the E-step
            takes the rotation as ADMM leaves it.
        **parameters : object
            Added or overriding; those of :class:`CVEM` go to the selector.

        Returns
        -------
        BlockedCERF
            Not fitted.

        Examples
        --------
        >>> sampler = BlockedCERF.paper_setting(n_components=128, max_stages=50)
        >>> sampler.share, sampler.selector
        (('signs', 'permutation'), CVEM(max_stages=50, solver='admm'))
        """
        setting: dict[str, Any] = {
            "share": SHAREABLE if literal else SHAREABLE[:2],
            "spread": 1.0,
            "mask_law": "beta_bernoulli",
            "mask_density": 0.4,
            "spaced_offsets": False,
            "paired": False,
        }
        return in_papers_setting(cls, setting, parameters, literal=literal)

    @property
    def n_blocks_(self) -> int:
        """Blocks that are computed for a row."""
        return self.feature_map_.blocks.n_blocks

    def _varying(self, X: Any) -> BoolArray | None:
        """Find the inputs that masks may read; None without masks."""
        return None if self.mask_density is None else varying_inputs(X)

    def _draw_map(self, X: Any, rng: np.random.Generator) -> BlockedMap:
        sampler, n_features = self._sampler(), int(X.shape[1])
        return sampler.draw(n_features, sampler.n_outputs_for(n_features), rng, self._varying(X))

    def _draw_candidates(self, X: Any, rng: np.random.Generator) -> Candidates:
        sampler, n_features = self._sampler(), int(X.shape[1])
        n_outputs = sampler.n_outputs_for(n_features)
        n_candidates = self._n_candidates_for(n_outputs)
        drawn = sampler.draw_candidates(n_features, n_candidates, rng, self._varying(X))
        block, (each, once) = drawn.block_of_projection, sampler.block_macs(n_features)
        free = np.zeros(drawn.n_projections, dtype=np.int64)
        budget = MacBudget(
            free, block=block, block_macs=each, shared_macs=once, budget=self._budget
        )
        return Candidates(drawn, block if self.unit == "block" else None, n_outputs, budget)

    def _sampler(self) -> BlockSampler:
        law, centre_law = self.law_, None
        if self.spread is not None:
            law, centre_law = Gaussian(float(self.spread) * self._scale_of(law)), law
        elif not law.is_isotropic:
            raise invalid(
                "kernel",
                self.kernel,
                "'rbf', 'matern32', 'matern52' or another isotropic law, as Fastfood needs, "
                "unless spread is given: the kernel's law is then that of the blocks' centres",
            )
        return BlockSampler(
            law=law,
            n_outputs=self._n_outputs_asked,
            macs=self._budget,
            paired=bool(self.paired),
            share=tuple(self.share),
            centre_law=centre_law,
            scale_spread=float(self.scale_spread),
            spaced_offsets=bool(self.spaced_offsets),
            mask_density=None if self.mask_density is None else float(self.mask_density),
            mask_law=self.mask_law,
        )

    def _scale_of(self, law: SpectralLaw) -> float:
        """Scale of a law: of a product, the product of the scales."""
        if isinstance(law, Product):
            return self._scale_of(law.first) * self._scale_of(law.second)
        scale = getattr(law, "scale", None)
        if scale is None:
            raise invalid("spread", self.spread, f"None for {law!r}, a law without a scale")
        return float(scale)
