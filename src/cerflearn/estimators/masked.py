"""Masked random features: each projection reads a few inputs."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import BoolArray
from cerflearn._validation import check_choice, check_integer, check_number
from cerflearn.estimators._base import RandomFeatureMap
from cerflearn.features.base import projections_for
from cerflearn.features.masked import (
    DrawMasks,
    MaskedMap,
    draw_masked_map,
    masks_within_budget,
)
from cerflearn.features.masks import (
    MaskSet,
    automatic_density,
    draw_beta_bernoulli_masks,
    draw_fixed_masks,
)

_MOST_PER_MASK = 16  # more cost accuracy and gain no speed


class MaskedCERF(RandomFeatureMap):
    r"""Random Fourier features that read few inputs each (Prop. 3, Eq. 35).

    .. math:: \cos(\rho\, (\epsilon \odot \omega)^\top x + b), \qquad
        \rho = (D / |\epsilon|)^{1/\alpha},

    with omega drawn from the law of the kernel, a random mask :math:`\epsilon \in \{0, 1\}^D`
    and the scale rho that keeps the size of a projection (:math:`\alpha` = 2, or 1 for
    laplacian). A projection costs the MACs of its active inputs only. The inner products
    approximate the mean of the kernel over masks, which is close to the kernel itself where
    many inputs share the information.

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
        Budget of multiply-accumulates for one row: as many projections as fit, each at the
        number of its active inputs. At most one of ``n_components`` and ``macs``.
    paired : bool, default=True
        Cosine and sine of each projection, in columns 2 k and 2 k + 1, which gives two columns
        for the MACs of one; an odd ``n_components`` drops the last sine. False: one cosine with
        a random offset.
    mask_density : float or "auto", default="auto"
        Share of all inputs that a mask reads, in (0, 1], at least one. ``"auto"``: about
        .05 for hundreds of inputs, more for fewer, and at least 4 inputs; with few projections,
        enough that each input could be read once.
    mask_law : {"fixed", "beta_bernoulli"}, default="fixed"
        Masks of equal size, or of a Beta-Bernoulli process, which prefers some inputs to others
        (Eqs. 3-4). Inputs that are constant in the training data are in no mask, unless all are.
    group_size : {1, 2, 4, 8, 16}, default=1
        Consecutive inputs that a mask takes or leaves together; 8 or 16 makes single rows
        faster.
    features_per_mask : int or "auto", default="auto"
        Projections that share a mask, for speed; MACs do not depend on it. ``"auto"``: 16, or
        fewer in small maps, so that the masks together can read every input.
    selector : {"random"}, default="random"
        How projections are chosen: as they are drawn.
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
    n_components_, n_projections_, n_macs_ : int
        Output columns, frequencies, and MACs of one row.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    RandomFourierFeatures : Frequencies that read all inputs.
    FastfoodFeatures : Structured frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import MaskedCERF
    >>> X = np.random.default_rng(0).normal(size=(100, 64))
    >>> sampler = MaskedCERF(macs=1000, mask_density=0.125, random_state=0).fit(X)
    >>> sampler.transform(X).shape, sampler.n_macs_
    ((100, 250), 1000)
    """

    feature_map_: MaskedMap

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        n_components: Any = None,
        macs: Any = None,
        paired: Any = True,
        mask_density: Any = "auto",
        mask_law: Any = "fixed",
        group_size: Any = 1,
        features_per_mask: Any = "auto",
        selector: Any = "random",
        n_jobs: Any = None,
        random_state: Any = None,
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
        self.selector = selector
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.mask_density, str) and self.mask_density == "auto"):
            must_be = "a number above 0 and at most 1, or 'auto'"
            check_number("mask_density", self.mask_density, must_be, above=0.0, at_most=1.0)
        check_choice("mask_law", self.mask_law, ("fixed", "beta_bernoulli"))
        check_choice("group_size", self.group_size, (1, 2, 4, 8, 16))
        if not (isinstance(self.features_per_mask, str) and self.features_per_mask == "auto"):
            must_be = "a positive integer or 'auto'"
            check_integer("features_per_mask", self.features_per_mask, must_be)
        check_choice("selector", self.selector, ("random",))

    def _draw_map(self, X: Any, rng: np.random.Generator) -> MaskedMap:
        usable = varying_inputs(X)
        if not usable.any():
            usable = ~usable  # nothing is known of the data: every input may vary later
        self.mask_density_ = self._density(X.shape[1])
        masks, n_outputs = self._draw_masks(usable, rng)
        return draw_masked_map(
            masks,
            int(usable.sum()),
            X.shape[1],
            n_outputs,
            self.law_,
            rng,
            paired=bool(self.paired),
            features_per_mask=self.features_per_mask_,
            group_size=int(self.group_size),
        )

    def _density(self, n_features: int) -> float:
        if self.mask_density != "auto":
            return float(self.mask_density)
        if self.macs is not None:  # the number of projections follows from the density
            return automatic_density(n_features)
        return automatic_density(n_features, self._n_projections_asked())

    def _n_projections_asked(self) -> int:
        return projections_for(self._n_outputs_asked(), bool(self.paired))

    def _draw_masks(self, usable: BoolArray, rng: np.random.Generator) -> tuple[MaskSet, int]:
        """Masks and the number of output columns, from the one of n_components and macs given."""
        draw: DrawMasks = partial(self._draw_n_masks, usable)
        expected = max(self.mask_density_ * len(usable), 1.0)
        n_asked = self._n_projections_asked()
        budget = expected * n_asked if self.macs is None else float(self.macs)
        per_mask = self.features_per_mask_ = self._projections_per_mask(budget, int(usable.sum()))
        if self.macs is None:
            return draw(-(-n_asked // per_mask), rng), self._n_outputs_asked()
        masks, n_projections = masks_within_budget(draw, int(self.macs), expected, per_mask, rng)
        if n_projections == 0:
            remedy = "or lower mask_density" + (" or group_size" if self.group_size > 1 else "")
            raise self._budget_error(int(masks.counts[0]), "the first projection", remedy)
        return masks, self._n_outputs_of(n_projections)

    def _projections_per_mask(self, macs: float, n_usable: int) -> int:
        """As many as leave masks enough to read each usable input once, for "auto"."""
        if self.features_per_mask != "auto":
            return min(int(self.features_per_mask), max(1, math.ceil(macs)))  # one MAC each
        return int(np.clip(macs / n_usable, 1, _MOST_PER_MASK))

    def _draw_n_masks(self, usable: BoolArray, n_masks: int, rng: np.random.Generator) -> MaskSet:
        arguments = (n_masks, usable, self.mask_density_, int(self.group_size), rng)
        if self.mask_law == "fixed":
            return draw_fixed_masks(*arguments, 4 if self.mask_density == "auto" else 1)
        return draw_beta_bernoulli_masks(*arguments)


def varying_inputs(X: Any) -> BoolArray:
    """Which columns of an array or CSR matrix hold more than one value, (n_features,)."""
    highest, lowest = X.max(axis=0), X.min(axis=0)
    if issparse(X):
        highest, lowest = highest.toarray().ravel(), lowest.toarray().ravel()
    varying: BoolArray = highest > lowest
    return varying
