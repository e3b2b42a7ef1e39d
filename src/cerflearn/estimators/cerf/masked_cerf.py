"""Masked random features, chosen from candidates to imitate a teacher."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone

from cerflearn._typing import Float64Array, RandomStateLike
from cerflearn._validation import Constraint, NoEffect
from cerflearn.estimators.cerf.callbacks import NoReports, StageReports
from cerflearn.estimators.cerf.candidates import Candidates, MacBudget
from cerflearn.estimators.cerf.learned import LEARNING_CONSTRAINTS, LEARNING_EFFECTS, SelectorLike
from cerflearn.estimators.cerf.paper import in_papers_setting
from cerflearn.estimators.cerf.selector_base import UNEXPLAINED
from cerflearn.estimators.cerf.selectors import make_selector
from cerflearn.estimators.cerf.streaming import StreamedFeatureMap
from cerflearn.estimators.cerf.trained import (
    TRAINED_EFFECTS,
    MapShape,
    Trained,
    held_out_errors,
    teacher_components,
    train_map,
)
from cerflearn.estimators.gamma import GammaLike, KernelLike
from cerflearn.estimators.input import TrainingData, varying_inputs
from cerflearn.estimators.maps.masked import MASK_CONSTRAINTS, MASK_EFFECTS
from cerflearn.estimators.maps.random_feature_map import OUTPUT_CONSTRAINTS
from cerflearn.estimators.teachers import TeacherLike
from cerflearn.features.base import outputs_of
from cerflearn.features.masked import MaskedMap
from cerflearn.features.masked_sampler import MaskedSampler, MaskPlan
from cerflearn.files.checkpoint import Checkpoint

MOST_PER_CHOSEN_MASK = 2
"""Projections that share a mask to choose from: whole masks of 4 or more are chosen no better than
at random."""


class MaskedCERF(StreamedFeatureMap):
    r"""Features that read few inputs each, chosen to imitate a teacher (Prop. 3, Eq. 35).

    .. math:: \cos(\rho\, (\epsilon \odot \omega)^\top x + b), \qquad
        \rho = (D / |\epsilon|)^{1/\alpha},

    with omega drawn from the law of the kernel, a random mask :math:`\epsilon \in \{0, 1\}^D`
    and the scale rho that keeps the size of a projection (:math:`\alpha` = 2, or 1 for
    laplacian). A projection costs the MACs of its active inputs only. The inner products
    approximate the mean of the kernel over masks, which is close to the kernel itself where
    many inputs share the information. More candidates are drawn than are kept; the selector keeps
    those that imitate the teacher best.

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
        Projections that share a mask, for speed; MACs do not depend on it. ``"auto"``: 2 (16 with
        ``selector="random"``, 1 with ``"trained"``), or fewer, so that masks can read every input.
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
        used, or ``decision_function``, ``predict_proba`` or a regressor's ``predict``. With
        classes to predict, ``"labels"`` was the best of eleven teachers (docs/teachers.md).
    selector : str, Greedy, Shared, CVEM or Trained, default="greedy"
        How outputs are chosen. ``"greedy"``: one after the other, the one that lowers the error
        of regressing the teacher on all chosen most. ``"shared"``: one selection for all samples,
        candidates dropped step by step. ``"cvem"``: constrained variational EM (section 2), each
        sample with a selection of its own until the end. ``"trained"``: nothing is chosen, masks
        and frequencies are trained by gradient steps so that a linear map of the features gives
        the teacher's leading components; inner products then approximate no kernel by themselves.
        ``"auto"``: greedy or trained, whichever explains more of the teacher on a quarter of
        the rows that is held out; greedy where the others are too few to learn from. An object
        has settings, such as ``CVEM(solver="admm")``. ``"random"``: the paper's untrained
        features, as they are drawn, without candidates and teacher. Pairs are chosen as one, and
        with ``features_per_mask`` above 1 whole masks by their mean score; the last may be cut.
    weights : {"equal", "nnls"}, default="equal"
        Equal amplitudes, :math:`\sqrt{1/P}` for P pairs and :math:`\sqrt{2/P}` for P cosines; or
        the non-negative weights for which inner products of different rows are closest to the
        teacher's, where outputs with weight 0 are replaced by the next candidates as long as there
        are any.
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
    selected_ : ndarray of shape (n_components_,), int64
        Chosen candidate columns, ascending; after ``partial_fit`` in the order of the outputs.
    feature_proba_ : ndarray of shape (n_candidates_,)
        :math:`E[\pi_k]`, the probability with which samples select each candidate, for
        ``"cvem"``; with other selectors 1 for chosen and 0 for other candidates.
    rotation_ : ndarray of shape (teacher's columns, n_candidates_)
        W of ``"cvem"``; other selectors have none.
    teacher_coef_ : ndarray of shape (n_targets, n_components_)
        Of ``"trained"``: linear map from the features to the teacher's leading components, which
        are about ``transform(X) @ teacher_coef_.T + teacher_intercept_``.
    teacher_intercept_ : ndarray of shape (n_targets,)
        Its intercepts.
    chosen_selector_ : {"greedy", "trained"}
        With ``selector="auto"``.
    scale_ : float
        c of Eq. 7 for the normalised embeddings, of ``"cvem"`` and ``"shared"``; reported only.
    lower_bounds_ : ndarray of shape (n_iter_,)
        Bound of Eq. 15 after each stage of ``"cvem"``. With one selector the posterior is
        certain: for ``"shared"`` and ``"greedy"``, the log-likelihood (at the noise that fits
        best) after each step, less that of selecting nothing. Not of ``"trained"``.
    errors_ : ndarray of shape (n_iter_,)
        Share of the teacher's energy that is unexplained, after each step of ``"shared"`` and
        ``"greedy"``; of its leading components, for ``"trained"``.
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
    MaskedFourierFeatures : Random masks, nothing learned.
    BlockedCERF : Learned choice of structured frequencies.
    CERFClassifier : Features and scores learned from labels.
    CVEM : Settings of the paper's selector.
    Trained : Settings of the training of features.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization".

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import MaskedCERF
    >>> X = np.random.default_rng(0).normal(size=(100, 64))
    >>> sampler = MaskedCERF(macs=1000, mask_density=0.125, random_state=0).fit(X)
    >>> sampler.transform(X).shape, sampler.n_macs_, sampler.n_candidates_
    ((100, 250), 1000, 626)
    """

    _constraints: ClassVar[dict[str, Constraint]] = (
        OUTPUT_CONSTRAINTS | MASK_CONSTRAINTS | LEARNING_CONSTRAINTS
    )
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        *LEARNING_EFFECTS,
        *MASK_EFFECTS,
        *TRAINED_EFFECTS,
    )

    feature_map_: MaskedMap
    teacher_coef_: Float64Array
    teacher_intercept_: Float64Array
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
        n_candidates: int | None = None,
        selected_fraction: float | None = None,
        teacher: TeacherLike = "rff",
        selector: SelectorLike | Literal["trained", "auto"] | Trained = "greedy",
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
        self.mask_density = mask_density
        self.mask_law = mask_law
        self.group_size = group_size
        self.features_per_mask = features_per_mask
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
        """Return an estimator as in section 4 of the paper.

        Masks of a Beta-Bernoulli process of density .4 (``mask_law="fixed"``: of equal size), each
        with one cosine, .4 of the candidates chosen by CVEM with ADMM, equal weights. Embeddings
        are standardised unless ``literal``: as printed, the paper's figures do not come out.

        Parameters
        ----------
        literal : bool, default=False
            Eqs. 21-34 as printed, but for corrections without which they are not defined
            (docs/theory.md): nothing is standardised, and the E-step takes the rotation as ADMM
            leaves it.
        **parameters : object
            Added or overriding; those of :class:`CVEM` go to the selector.

        Returns
        -------
        MaskedCERF
            Not fitted.

        Examples
        --------
        >>> MaskedCERF.paper_setting(macs=4000, max_stages=50).selector
        CVEM(max_stages=50, solver='admm')
        """
        setting: dict[str, Any] = {
            "mask_law": "beta_bernoulli",
            "mask_density": 0.4,
            "features_per_mask": 1,
            "paired": False,
        }
        return in_papers_setting(cls, setting, parameters, literal=literal)

    def _make_selector(self) -> Any:
        if isinstance(self.selector, str) and self.selector in ("trained", "auto"):
            return Trained()
        return make_selector(self.selector, (Trained,), ("trained", "auto"))

    def _learn_map(
        self,
        selector: Any,
        data: TrainingData,
        reports: StageReports | NoReports,
        rng: np.random.Generator,
        store: Checkpoint | None = None,
    ) -> Any:
        if not isinstance(selector, Trained):
            return super()._learn_map(selector, data, reports, rng, store)
        self._check_learnable(data)
        shape, n_threads = self._shape(data.X), self._threads_for(data)
        compares = isinstance(self.selector, str) and self.selector == "auto"
        # Maps are compared by as much of the teacher as their columns can explain.
        most = max(selector._most_targets, shape.n_outputs if compares else 0)
        components = teacher_components(self.teacher, data, self.law_, most, rng, n_threads)
        selector = selector._with_targets_of(components, shape.n_projections)
        if compares:
            selector = self._better_selector(selector, data, components.values, rng)
            if not isinstance(selector, Trained):
                return super()._learn_map(selector, data, reports, rng)
        targets = np.ascontiguousarray(components.values[:, : selector.n_targets])
        return self._train_map(selector, data, targets, reports, rng)

    def _shape(self, X: Any) -> MapShape:
        _, plan = self._plan(X, most_per_mask=1)
        shape = MapShape.of(self, plan, self._n_outputs_asked, self._budget)
        self._check_candidates(shape.n_outputs)
        return shape

    def _train_map(
        self,
        selector: Trained,
        data: TrainingData,
        targets: Float64Array,
        reports: StageReports | NoReports,
        rng: np.random.Generator,
    ) -> MaskedMap:
        name = type(self).__name__
        report = (lambda line: print(f"[{name}] {line}")) if self.verbose else None
        options = {"n_threads": self._threads_for(data), "report": report}
        found = train_map(selector, self._shape(data.X), data, targets, rng, options)
        self.teacher_coef_, self.teacher_intercept_ = found.coef, found.intercept
        self.errors_, self.n_iter_ = np.array([found.error]), 1
        n_outputs = found.feature_map.n_outputs
        self.selected_, self.feature_proba_ = np.arange(n_outputs), np.ones(n_outputs)
        reports.stage(0, UNEXPLAINED, found.error)
        return found.feature_map

    def _better_selector(
        self, trained: Trained, data: TrainingData, targets: Float64Array, rng: np.random.Generator
    ) -> Any:
        """Greedy or trained: which explains more of the targets on held-out rows."""
        if isinstance(self.teacher, str) and self.teacher != "labels":
            data = replace(data, y=None)  # which is not read, and may be anything

        def learn(name: str, part: TrainingData, aims: Float64Array) -> Any:
            trial = clone(self).set_params(verbose=0)
            trial.__dict__ |= {"law_": self.law_, "gamma_": self.gamma_}
            own, silent = deepcopy(rng), NoReports()
            if name == "trained":
                aims = np.ascontiguousarray(aims[:, : trained.n_targets])
                return trial._train_map(trained, part, aims, silent, own)
            return super(MaskedCERF, trial)._learn_map(make_selector(name), part, silent, own)

        errors = held_out_errors(learn, data, targets)
        self.chosen_selector_ = best = min(errors, key=lambda name: errors[name])
        if self.verbose:
            told = ", ".join(f"{name} {error:.4f}" for name, error in errors.items())
            print(f"[{type(self).__name__}] unexplained on held-out rows: {told}")
        return trained if best == "trained" else make_selector(best)

    def _plan(self, X: Any, **settings: Any) -> tuple[MaskedSampler, MaskPlan]:
        """Sampler of the masks, with density and projections a mask chosen."""
        sampler = MaskedSampler.of(self, self._n_outputs_asked, self._budget, **settings)
        plan = sampler.plan(varying_inputs(X))
        self.mask_density_ = plan.density
        self.features_per_mask_ = plan.features_per_mask
        return sampler, plan

    def _draw_map(self, X: Any, rng: np.random.Generator) -> MaskedMap:
        sampler, plan = self._plan(X)
        return sampler.draw(plan, rng)

    def _draw_candidates(self, X: Any, rng: np.random.Generator) -> Candidates:
        sampler, plan = self._plan(X, most_per_mask=MOST_PER_CHOSEN_MASK)
        if self._budget is not None and self.n_candidates is None:
            # Masks have to be drawn to count the outputs: refuse what is too much in any case.
            least = outputs_of(self._budget // int(plan.usable.sum()), bool(self.paired))
            self._check_candidates(least / self._fraction, or_more=True)
        drawn, groups, n_outputs = sampler.draw_candidates(plan, self._n_candidates_for, rng)
        return Candidates(drawn, groups, n_outputs, MacBudget(drawn.active, budget=self._budget))
