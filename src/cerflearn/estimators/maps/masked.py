"""Random Fourier features that read few inputs each."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from cerflearn._typing import RandomStateLike
from cerflearn._validation import Constraint, NoEffect, Number, OneOf, Whole
from cerflearn.estimators.gamma import GammaLike, KernelLike
from cerflearn.estimators.input import varying_inputs
from cerflearn.estimators.maps.random_feature_map import (
    KERNEL_EFFECTS,
    OUTPUT_CONSTRAINTS,
    RandomFeatureMap,
)
from cerflearn.features.masked import MaskedMap
from cerflearn.features.masked_sampler import MaskedSampler

MASK_CONSTRAINTS: dict[str, Constraint] = {
    "mask_density": Number(
        "a number above 0 and at most 1, or 'auto'", above=0.0, at_most=1.0, also=("auto",)
    ),
    "mask_law": OneOf(("fixed", "beta_bernoulli")),
    "group_size": OneOf((1, 2, 4, 8, 16)),
    "features_per_mask": Whole("a positive integer or 'auto'", also=("auto",)),
}
"""What the parameters of masks must be."""

MASK_EFFECTS = (
    NoEffect(
        "mask_law",
        "mask_density",
        lambda estimator: estimator.mask_density != "auto" and estimator.mask_density == 1.0,
        "all masks read all inputs; leave mask_law at 'fixed', or pass a lower mask_density",
    ),
)
"""Combinations of the parameters of masks in which one changes nothing."""


class MaskedFourierFeatures(RandomFeatureMap):
    r"""Random Fourier features that read few inputs each: random masks (Prop. 3, Eq. 35).

    .. math:: \cos(\rho\, (\epsilon \odot \omega)^\top x + b), \qquad
        \rho = (D / |\epsilon|)^{1/\alpha},

    with omega drawn from the law of the kernel, a random mask :math:`\epsilon \in \{0, 1\}^D`
    and the scale rho that keeps the size of a projection (:math:`\alpha` = 2, or 1 for
    laplacian). A projection costs the MACs of its active inputs only. The inner products
    approximate the mean of the kernel over masks, which is close to the kernel itself where
    many inputs share the information. Nothing is learned.

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
        rows. A law as ``kernel`` has its own scale: leave gamma at ``"scale"`` then.
    n_components : int, default=None
        Number of output columns. 100 if ``macs`` is None too.
    macs : int, default=None
        Budget of multiply-accumulates for one row: as many projections as fit, each at the
        number of its active inputs. At most one of ``n_components`` and ``macs``.
    paired : bool, default=True
        Cosine and sine of each projection, in columns 2 k and 2 k + 1, which gives two columns
        for the MACs of one; an odd ``n_components`` drops the last sine. False: one cosine with
        a random offset.
    mask_density : float or "auto", default="auto"
        Share of all inputs that a mask reads, in (0, 1], at least one. ``"auto"``: about
        .08 to .05 for hundreds of inputs, more for fewer, and at least 4 inputs; with few
        projections, enough that each input could be read once.
    mask_law : {"fixed", "beta_bernoulli"}, default="fixed"
        Masks of equal size, or of a Beta-Bernoulli process, which prefers some inputs to others
        (Eqs. 3-4). Inputs that are constant in the training data are in no mask, unless all are.
    group_size : {1, 2, 4, 8, 16}, default=1
        Consecutive inputs that a mask takes or leaves together; 8 or 16 makes single rows
        faster.
    features_per_mask : int or "auto", default="auto"
        Projections that share a mask, for speed; MACs do not depend on it. ``"auto"``: 16, or
        fewer in small maps, so that the masks together can read every input.
    n_jobs : int, default=None
        Threads of ``transform``: None is 1 unless in a ``joblib.parallel_config``, -1 all cores.
        The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, n_projections_)
        :math:`\rho\, (\epsilon \odot \omega)`, in radians, zero outside the mask; made on first
        use.
    offsets_ : ndarray of shape (n_projections_,)
        b; zeros if paired.
    masks_ : ndarray of shape (n_features, n_projections_), bool
        Inputs that each projection reads; made on first use.
    inputs_read_ : ndarray of shape (n_inputs_read,), int64
        Inputs that at least one projection reads, ascending.
    gamma_ : float or None
        Value used; None if ``kernel`` is a law.
    law_ : SpectralLaw
        Law of omega; ``law_.kernel(X, Y)`` is the exact kernel without masks.
    feature_map_ : MaskedMap
        The map itself.
    mask_density_ : float
        Density asked of the mask law.
    features_per_mask_ : int
        Projections that share a mask.
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
    MaskedCERF : Such features chosen from candidates to imitate a teacher.
    RandomFourierFeatures : Frequencies that read all inputs.
    FastfoodFeatures : Structured frequencies.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization".

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import MaskedFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(100, 64))
    >>> sampler = MaskedFourierFeatures(macs=1000, mask_density=0.125, random_state=0).fit(X)
    >>> sampler.transform(X).shape, sampler.n_macs_
    ((100, 250), 1000)
    """

    _constraints: ClassVar[dict[str, Constraint]] = OUTPUT_CONSTRAINTS | MASK_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = KERNEL_EFFECTS + MASK_EFFECTS

    feature_map_: MaskedMap
    mask_density_: float
    features_per_mask_: int

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        gamma: GammaLike = "scale",
        n_components: int | None = None,
        macs: int | None = None,
        paired: bool = True,
        mask_density: float | Literal["auto"] = "auto",
        mask_law: Literal["fixed", "beta_bernoulli"] = "fixed",
        group_size: Literal[1, 2, 4, 8, 16] = 1,
        features_per_mask: int | Literal["auto"] = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.macs = macs
        self.paired = paired
        self.mask_density = mask_density
        self.mask_law = mask_law
        self.group_size = group_size
        self.features_per_mask = features_per_mask
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _draw_map(self, X: Any, rng: np.random.Generator) -> MaskedMap:
        sampler = MaskedSampler.of(self, self._n_outputs_asked, self._budget)
        plan = sampler.plan(varying_inputs(X))
        self.mask_density_ = plan.density
        self.features_per_mask_ = plan.features_per_mask
        return sampler.draw(plan, rng)
