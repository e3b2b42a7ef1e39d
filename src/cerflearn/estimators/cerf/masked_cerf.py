"""Masked random features, chosen from candidates to imitate a teacher."""

from __future__ import annotations

from typing import Any, Self

from cerflearn.engine.blocks import CACHE_BYTES
from cerflearn.estimators.cerf.masked_drawing import MaskedDrawing
from cerflearn.features.masked import MaskedMap


class MaskedCERF(MaskedDrawing):
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
        fewer in small maps, so that the masks together can read every input; at most 2 with a
        selector other than ``"random"``, as masks of many projections are chosen no better than
        at random.
    n_candidates : int, default=None
        Columns to choose from, at least as many as outputs; whole pairs if ``paired``.
    selected_fraction : float, default=None
        Number of outputs divided by that of the candidates, in (0, 1]. At most one of
        ``n_candidates`` and ``selected_fraction``; .4 if both are None.
    teacher : {"rff", "nystroem", "kernel_pca", "labels"}, SpectralLaw or estimator, default="rff"
        What the outputs are to imitate. ``"rff"``: dense random features of the same kernel, one
        column for each candidate (of another law, if ``teacher`` is one). ``"nystroem"``,
        ``"kernel_pca"``: of the same kernel, built from at most 1,000 evenly spread rows.
        ``"labels"``: one-hot classes or centred targets; ``fit`` then needs y. An estimator is
        cloned and fitted on X and y (``FrozenEstimator`` keeps its fit), and its ``transform``
        used, or ``decision_function``, ``predict_proba`` or a regressor's ``predict``.
    selector : {"random", "greedy", "shared", "cvem"}, default="random"
        How outputs are chosen. ``"cvem"``: constrained variational EM (section 2), each sample
        with a selector of its own until the end. ``"shared"``: one selector for all samples
        already while learning, candidates dropped step by step. ``"greedy"``: one after the
        other, the one that lowers the error of regressing the teacher on all chosen most.
        ``"random"``: as they are drawn, without candidates and teacher. Pairs are chosen as
        one, and with ``features_per_mask`` above 1 whole masks by their mean score, of which
        the last may be cut.
    solver : {"procrustes", "admm"}, default="procrustes"
        M-step of ``"cvem"``: the exact one, or the paper's (Eqs. 28-34).
    normalize : {"standardize", "center"} or None, default="standardize"
        Of both embeddings while learning: columns centred and the learner's scaled, only
        centred, or as printed in the paper, which then prefers features that hardly vary.
    spectral_penalty : float or "adaptive", default="adaptive"
        :math:`\alpha` of ADMM (Eq. 28); adaptive: such that :math:`|W|_2 = 1`.
    weights : {"equal", "nnls"}, default="equal"
        Equal amplitudes, :math:`\sqrt{1/P}` for P pairs and :math:`\sqrt{2/P}` for P cosines; or
        the non-negative weights for which inner products of different rows are closest to the
        teacher's, where outputs with weight 0 are replaced by the next candidates as long as there
        are any.
    max_stages : int, default=20
        Most stages of ``"cvem"``, which are followed by 3 with a fixed rotation; steps from all
        candidates to the outputs of ``"shared"``.
    tol : float, default=1e-3
        ``"cvem"`` has converged if the lower bound changes by less than this for each value of
        the teacher.
    cache_bytes : int, default=2 GiB
        Most memory for teacher and candidates of the training rows, which are computed anew in
        each stage where they do not fit. The bits of the result do not depend on it.
    verbose : int, default=0
        Above 0: print a line after each stage. scikit-learn's callbacks (1.9 or later,
        ``set_callbacks``) are told of each stage too.
    n_jobs : int, default=None
        Threads of ``fit`` and ``transform``: None is 1 unless in a ``joblib.parallel_config``,
        -1 all cores. The bits of the result do not depend on it.
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
    selector_ : ndarray of shape (n_components_,), int64
        Chosen candidate columns, ascending.
    feature_proba_ : ndarray of shape (n_candidates_,)
        :math:`E[\pi_k]`, the probability with which samples select each candidate, for
        ``"cvem"``; 1 for chosen and 0 for other candidates else.
    rotation_ : ndarray of shape (teacher's columns, n_candidates_)
        W of ``"cvem"``; other selectors have none.
    scale_ : float
        c of Eq. 7 for the normalised embeddings, of ``"cvem"`` and ``"shared"``; reported only.
    lower_bounds_ : ndarray of shape (n_iter_,)
        Bound of Eq. 15 after each stage of ``"cvem"``. With one selector the posterior is
        certain: for ``"shared"`` and ``"greedy"``, the log-likelihood (at the noise that fits
        best) after each step, less that of selecting nothing.
    errors_ : ndarray of shape (n_iter_,)
        Share of the teacher's energy that is unexplained, after each step of ``"shared"`` and
        ``"greedy"``.
    n_iter_ : int
        Stages or steps taken.
    n_candidates_ : int
        Columns that were chosen from.
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
    BlockedCERF : Learned choice of structured frequencies.

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
        n_candidates: Any = None,
        selected_fraction: Any = None,
        teacher: Any = "rff",
        selector: Any = "random",
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
        self.mask_density = mask_density
        self.mask_law = mask_law
        self.group_size = group_size
        self.features_per_mask = features_per_mask
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

    @classmethod
    def paper_setting(cls, **parameters: Any) -> Self:
        """Return an estimator as in section 4 of the paper; ``parameters`` are added or override.

        Masks of density .4, each with one cosine, .4 of the candidates chosen by CVEM with ADMM,
        equal weights. Embeddings are standardised: as printed, the paper's figures do not come
        out.

        Examples
        --------
        >>> MaskedCERF.paper_setting(macs=4000).selector
        'cvem'
        """
        setting: dict[str, Any] = {
            "mask_density": 0.4,
            "features_per_mask": 1,
            "paired": False,
            "selected_fraction": None if "n_candidates" in parameters else 0.4,
            "teacher": "rff",
            "selector": "cvem",
            "solver": "admm",
            "normalize": "standardize",
            "weights": "equal",
        }
        return cls(**(setting | parameters))
