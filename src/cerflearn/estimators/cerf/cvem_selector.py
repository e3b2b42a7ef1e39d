r"""The paper's selector: constrained variational EM, one selection for each sample."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from cerflearn._typing import Float64Array, StateStore
from cerflearn._validation import Constraint, NoEffect, Number, OneOf, Whole
from cerflearn.engine.blocks import CACHE_BYTES
from cerflearn.estimators.cerf.candidates import Candidates
from cerflearn.estimators.cerf.selector_base import (
    COMMON_CONSTRAINTS,
    MOST_STAGES,
    STREAM_CONSTRAINTS,
    Report,
    Selection,
    StreamSelector,
)
from cerflearn.learning.cvem import fit_cvem
from cerflearn.learning.ranking import rank_candidates
from cerflearn.learning.rows import Rows
from cerflearn.learning.saved_state import load_stage, save_stage
from cerflearn.learning.state import CVEMProgress, Stage, VariationalState
from cerflearn.learning.stochastic import CVEMStream, start_cvem_stream, update_cvem_stream

_POSITIVE = "a positive number or None"
_LIKELIHOOD_SCALE = Number(  # whose square, and the ratio of two of them, is a number
    "a number from 1e-50 to 1e50, or None", at_least=1e-50, at_most=1e50, also=(None,)
)


class CVEM(StreamSelector):
    r"""Constrained variational EM, the paper's selector (section 2).

    .. math:: T_n \approx c\,W (z_n \odot L_n), \qquad z_{nk} \sim Bernoulli(\pi_k)

    with the teacher T, the learner L, a selection :math:`z_n` for each sample and an orthogonal
    rotation W. The candidates with the largest :math:`E[\pi_k]` are kept.

    Parameters
    ----------
    solver : {"procrustes", "admm"}, default="procrustes"
        M-step: the exact one, by a singular value decomposition, or the paper's (Eqs. 28-34).
    e_step : {"orthogonal", "literal"}, default="orthogonal"
        With ADMM: project the rotation before each E-step, which then is exact; or leave it as it
        is and update the features of each sample in turn (Eqs. 21-25 as printed), which keeps the
        probabilities of all samples and takes longer.
    schedule : {"batch", "incremental"}, default="batch"
        Of ``fit``: an M-step after the E-step of all rows; or after that of each block of 1,024
        rows (incremental EM), which takes fewer passes over large data, a decomposition for each
        block, and memory for the statistics of all blocks: 8 bytes x blocks x columns of the
        teacher x candidates, at most 2 GiB. Not with ``solver="admm"``.
    normalize : {"standardize", "center"} or None, default="standardize"
        Of both embeddings while learning: columns centred and the learner's scaled; only
        centred; or as printed in the paper, which then prefers features that hardly vary.
    prior_concentration : float, default=None
        :math:`\gamma` of the prior :math:`Beta(\gamma / K, 1)` (Eq. 4). None: K, the number of
        candidates, for which all :math:`\pi_k` are equally likely.
    noise_std : float, default=None
        Noise :math:`\sigma` of the likelihood. None: estimated in each stage.
    scale : float, default=None
        Scale c of Eq. 7, positive. None: estimated in each stage.
    initial_proba : float, default=0.5
        Probability, in (0, 1), with which all samples select all candidates before the first
        stage.
    spectral_penalty : float or "adaptive", default="adaptive"
        :math:`\alpha` of ADMM (Eq. 28) as a share, in [0, 1), of the penalty from which on W is
        zero, the sum of the singular values of :math:`c\,T^\top (\nu \odot L)`; adaptive: such
        that :math:`|W|_2 = 1`. Not with ``solver="procrustes"``.
    max_stages : int, default=20
        Most stages that update the rotation.
    n_closing_stages : int, default=3
        Stages with a fixed, orthogonal rotation that follow.
    tol : float, default=1e-3
        Converged if the lower bound changes by less than this for each value of the teacher. Not
        with ``max_stages=1``.
    learning_offset : float, default=10.0
        Of ``partial_fit`` only, as in scikit-learn's LatentDirichletAllocation: the t-th mini-batch
        after the first has the weight ``(t + learning_offset) ** -learning_decay`` against all
        before it. Not negative; a larger one trusts the first mini-batches more.
    learning_decay : float, default=0.7
        Of ``partial_fit`` only, in (0.5, 1]: see ``learning_offset``. With 1 all weigh the
        same but the first, which weighs ``learning_offset`` times as much; a smaller one forgets
        old rows sooner.
    cache_bytes : int, default=2147483648
        Most memory for teacher and candidates of the training rows, which are computed anew in
        each stage where they do not fit. The bits of the result do not depend on it.

    See Also
    --------
    Shared : One selection for all samples.
    Greedy : Features chosen one after the other.
    MaskedCERF : Features that a selector chooses.

    Notes
    -----
    ``partial_fit`` of the maps takes one stage for each mini-batch (stochastic EM) and needs
    ``solver="procrustes"``; it reads neither ``schedule`` nor ``max_stages``, ``n_closing_stages``
    and ``tol``.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization".
    Neal and Hinton, "A view of the EM algorithm that justifies incremental, sparse, and other
    variants", 1998. Cappe and Moulines, "On-line expectation-maximization algorithm for latent
    data models", 2009.

    Examples
    --------
    >>> from cerflearn import CVEM, MaskedCERF
    >>> MaskedCERF(selector=CVEM(solver="admm")).get_params()["selector__solver"]
    'admm'
    """

    _constraints: ClassVar[dict[str, Constraint]] = (
        COMMON_CONSTRAINTS
        | STREAM_CONSTRAINTS
        | {
            "schedule": OneOf(("batch", "incremental")),
            "max_stages": Whole("a positive integer of at most 10,000", at_most=MOST_STAGES),
            "solver": OneOf(("procrustes", "admm")),
            "e_step": OneOf(("orthogonal", "literal")),
            "prior_concentration": Number(_POSITIVE, above=0.0, also=(None,)),
            "noise_std": _LIKELIHOOD_SCALE,
            "scale": _LIKELIHOOD_SCALE,
            "initial_proba": Number("a number above 0 and below 1", above=0.0, below=1.0),
            "spectral_penalty": Number(
                "'adaptive', or a number from 0 to below 1: from 1 on the rotation is zero",
                at_least=0.0,
                below=1.0,
                also=("adaptive",),
            ),
            "n_closing_stages": Whole(
                "an integer from 0 to 10,000", at_least=0, at_most=MOST_STAGES
            ),
            "tol": Number("a number that is not negative", at_least=0.0),
        }
    )
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        NoEffect(
            "spectral_penalty",
            "solver",
            lambda selector: selector.solver == "procrustes",
            "the exact M-step has no penalty; pass solver='admm'",
        ),
        NoEffect(
            "e_step",
            "solver",
            lambda selector: selector.solver == "procrustes",
            "the exact M-step leaves an orthogonal rotation; pass solver='admm'",
        ),
        *(
            NoEffect(
                parameter,
                "solver",
                lambda selector: selector.solver == "admm",
                f"{user} needs the exact M-step; pass solver='procrustes'",
            )
            for parameter, user in (
                ("schedule", "incremental EM"),
                ("learning_offset", "partial_fit"),
                ("learning_decay", "partial_fit"),
            )
        ),
        NoEffect(
            "tol",
            "max_stages",
            lambda selector: selector.max_stages == 1,
            "there is no second stage to stop before; leave tol out, or pass a larger max_stages",
        ),
    )

    def __init__(
        self,
        *,
        solver: Literal["procrustes", "admm"] = "procrustes",
        e_step: Literal["orthogonal", "literal"] = "orthogonal",
        schedule: Literal["batch", "incremental"] = "batch",
        normalize: Literal["standardize", "center"] | None = "standardize",
        prior_concentration: float | None = None,
        noise_std: float | None = None,
        scale: float | None = None,
        initial_proba: float = 0.5,
        spectral_penalty: float | Literal["adaptive"] = "adaptive",
        max_stages: int = 20,
        n_closing_stages: int = 3,
        tol: float = 1e-3,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.solver = solver
        self.e_step = e_step
        self.schedule = schedule
        self.normalize = normalize
        self.prior_concentration = prior_concentration
        self.noise_std = noise_std
        self.scale = scale
        self.initial_proba = initial_proba
        self.spectral_penalty = spectral_penalty
        self.max_stages = max_stages
        self.n_closing_stages = n_closing_stages
        self.tol = tol
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.cache_bytes = cache_bytes

    @property
    def _n_reports(self) -> int:
        """Most stages that are reported."""
        return int(self.max_stages) + int(self.n_closing_stages)

    def _select(
        self,
        rows: Rows,
        candidates: Candidates,
        report: Report,
        store: StateStore | None = None,
    ) -> Selection:
        last = None if store is None else load_stage(store)
        settings = self.get_params()
        for name in ("cache_bytes", *STREAM_CONSTRAINTS):
            del settings[name]

        def report_bound(index: int, bound: float) -> None:
            if report(index, "lower bound", bound):
                raise _StoppedError

        def on_stage(stage: Stage) -> None:
            report_bound(stage.index, stage.bound.total)

        def on_progress(progress: CVEMProgress) -> None:
            nonlocal last
            last = progress
            if store is not None:
                save_stage(store, progress)

        stopped = False
        try:
            for index, bound in enumerate([] if last is None else last.lower_bounds):
                report_bound(index, bound)
            fit_cvem(rows, on_stage=on_stage, progress=last, on_progress=on_progress, **settings)
        except _StoppedError:
            stopped = True
        assert last is not None
        converged = last.converged or stopped  # as far as was asked
        selection = _selection(last.state, candidates, np.array(last.lower_bounds), converged)
        return replace(selection, stopped=stopped)

    @property
    def _can_stream(self) -> bool:
        return self.solver == "procrustes"

    def _learn_batch(
        self, learned: CVEMStream | None, rows: Rows, candidates: Candidates
    ) -> tuple[CVEMStream, Selection]:
        if learned is None:
            learned = start_cvem_stream(
                rows,
                normalize=self.normalize,
                initial_proba=self.initial_proba,
                prior_concentration=self.prior_concentration,
                scale=self.scale,
                noise_std=self.noise_std,
            )
        learned, bound = update_cvem_stream(
            learned,
            rows,
            learning_offset=float(self.learning_offset),
            learning_decay=float(self.learning_decay),
        )
        return learned, _selection(learned.state, candidates, np.array([bound.total]))


def _selection(
    state: VariationalState,
    candidates: Candidates,
    lower_bounds: Float64Array,
    converged: bool = True,
) -> Selection:
    """Ranking by E[pi], and what was learned."""
    proba = state.feature_proba
    units, groups = candidates.column_units, candidates.column_groups
    return Selection(
        rank_candidates(proba, units=units, groups=groups),
        feature_proba=proba,
        rotation=state.rotation,
        scale=state.scale,
        lower_bounds=lower_bounds,
        converged=converged,
    )


class _StoppedError(Exception):
    """A callback asked to stop."""
