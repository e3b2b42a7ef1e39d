"""What MaskedCERF and BlockedCERF share: parameters of learning, and ``fit``."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cerflearn._typing import Float64Array, IntArray, MatrixLike
from cerflearn._validation import (
    Constraint,
    NoEffect,
    Number,
    OneOf,
    Passes,
    Verbosity,
    Whole,
    check_at_most_one,
    invalid,
    make_generator,
)
from cerflearn.engine.engines import Engine, make_engine, one_thread_blas
from cerflearn.estimators.cerf.callbacks import (
    CallbackSupport,
    NoReports,
    StageReports,
    with_callbacks,
)
from cerflearn.estimators.cerf.candidates import Candidates, embedding_source
from cerflearn.estimators.cerf.nnls_weights import weigh
from cerflearn.estimators.cerf.saved_fit import (
    check_map_checkpoint,
    kept_selection,
    open_checkpoint,
)
from cerflearn.estimators.cerf.selector_base import Selection, Selector
from cerflearn.estimators.cerf.selectors import make_selector
from cerflearn.estimators.cerf.trained import is_trained
from cerflearn.estimators.engine_choice import EngineName, engine_jobs
from cerflearn.estimators.fingerprint import repeatable
from cerflearn.estimators.gamma import resolve_law
from cerflearn.estimators.input import (
    TrainingData,
    open_rows,
    read_data,
    thread_count,
    varying_inputs,
)
from cerflearn.estimators.maps.random_feature_map import KERNEL_EFFECTS, RandomFeatureMap
from cerflearn.estimators.teachers import TeacherLike, check_teacher, make_teacher, reads_target
from cerflearn.features.base import FeatureMap, equal_amplitudes, outputs_of, projections_for
from cerflearn.files.checkpoint import Checkpoint
from cerflearn.learning.normalization import ConstantColumnsError

DEFAULT_FRACTION = 0.4
"""Default share of the candidates that are kept: the paper's."""

MOST_CANDIDATES = 2**14
"""Candidate columns of which one matrix of products takes 2 GiB."""

_MOST_COUNTED = 1e12  # candidates that an error counts
_SMALLEST_ERROR = 1e-12  # its logarithm stands for that of a teacher explained in full

_LEARNED_ATTRIBUTES = (
    "feature_map_", "_stream", "_n_features_out", "law_", "gamma_", "selected_", "feature_proba_",
    "rotation_", "scale_", "lower_bounds_", "errors_", "n_iter_", "teacher_coef_",
    "teacher_intercept_", "chosen_selector_",
)  # fmt: skip

SelectorLike = Literal["greedy", "shared", "cvem", "random"] | Selector
"""What ``selector`` may be."""

LEARNING_CONSTRAINTS: dict[str, Constraint] = {
    "n_candidates": Whole(
        "a positive integer of at most 1,073,741,824, or None", at_most=2**30, also=(None,)
    ),
    "selected_fraction": Number(
        "a number above 0 and at most 1, or None", above=0.0, at_most=1.0, also=(None,)
    ),
    "teacher": Passes(lambda _, value: check_teacher(value)),
    "weights": OneOf(("equal", "nnls")),
    "verbose": Verbosity(),
}
"""What the parameters of learning must be; the selector checks its own."""


def is_random(selector: Any) -> bool:
    """Whether nothing is chosen, as features are kept as they are drawn."""
    return isinstance(selector, str) and selector == "random"


def _chooses_nothing(estimator: Any) -> bool:
    return is_random(estimator.selector) or is_trained(estimator.selector)


def without_candidates(parameter: str, remedy: str) -> NoEffect:
    """Make the entry of a parameter that only selectors read that choose among candidates."""
    return NoEffect(parameter, "selector", _chooses_nothing, remedy)


_NO_CANDIDATES = "nothing is chosen among candidates; pass a selector such as 'greedy'"

LEARNING_EFFECTS = (
    *KERNEL_EFFECTS,
    NoEffect(
        "teacher",
        "selector",
        lambda estimator: is_random(estimator.selector),
        "random features imitate nothing; pass a selector",
    ),
    without_candidates("n_candidates", _NO_CANDIDATES),
    without_candidates("selected_fraction", _NO_CANDIDATES),
    without_candidates(
        "weights",
        "only features that are chosen among candidates are weighed; pass another selector, with "
        "selected_fraction=1.0 to weigh random features",
    ),
)
"""Combinations of the parameters of learning in which one changes nothing."""


class LearnedFeatureMap(CallbackSupport, RandomFeatureMap):  # type: ignore[misc]
    """Base of estimators that draw candidates and keep those that imitate a teacher best.

    Subclasses have, beside the parameters of the base, those named below, and draw candidates in
    ``_draw_candidates``.
    """

    _without_effect: ClassVar[tuple[NoEffect, ...]] = LEARNING_EFFECTS
    _replaces_whole_groups = False  # whether weights of zero are replaced by whole groups only

    n_candidates: int | None
    selected_fraction: float | None
    teacher: TeacherLike
    selector: Any
    weights: Literal["equal", "nnls"]
    verbose: int
    selected_: IntArray
    lower_bounds_: Float64Array
    errors_: Float64Array
    feature_proba_: Float64Array

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: MatrixLike,
        y: Any = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        engine: EngineName | None = None,
    ) -> Self:
        """Draw candidates and choose among them; ``selector="random"`` only draws.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; or a source of :mod:`cerflearn.blocks`, or the path of an ``.npy`` file.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Read by ``teacher="labels"`` and by teachers that need it; otherwise not used.
        checkpoint : str or path-like, default=None
            Folder to keep the state of learning in, after each stage of ``"cvem"`` and
            ``"shared"``, and after the passes over the rows and from time to time with
            ``"greedy"``. The same call after a crash goes on from there, to the same bits, and
            after the end returns at once. ``ValueError`` if the folder has the states of other
            data, parameters, versions or another type of CPU; ``CerfFormatError`` if a file is
            damaged. None: nothing is kept. See docs/large_data.md.
        engine : {"serial", "threads", "dask"}, default=None
            Where sums over rows are computed. None: on ``n_jobs`` threads, or where a Dask
            collection is. ``"dask"``: on the workers of the active ``Client``, who open the source
            or file X themselves. ``"threads"``: on ``n_jobs`` threads, or all cores. Same bits.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        n_jobs = self.n_jobs if engine is None else engine_jobs(engine, X, self.n_jobs)
        selector = None if is_random(self.selector) else self._make_selector()
        if checkpoint is not None:
            check_map_checkpoint(checkpoint, self, selector)
        rng, store = make_generator(self.random_state), None
        self._forget()
        data = replace(self._read(X, y, engine=engine), n_jobs=n_jobs)
        if checkpoint is not None:
            store = open_checkpoint(checkpoint, self, selector, data)
            rng = repeatable(store, self.random_state, rng)
        reports = StageReports(self, X, y, 0 if selector is None else selector._n_reports)
        self.law_, self.gamma_ = resolve_law(self.kernel, self.gamma, data.X)
        if selector is None:
            self.feature_map_ = self._draw_map(data.X, rng)
            self.selected_ = np.arange(self.feature_map_.n_outputs)
            self.feature_proba_ = np.ones(self.feature_map_.n_outputs)
        else:
            with one_thread_blas():
                self.feature_map_ = self._learn_map(selector, data, reports, rng, store)
        self._n_features_out = self.feature_map_.n_outputs
        reports.close()
        return self

    def _forget(self) -> None:
        """Drop what was learned: a fit that fails never leaves an old map and a new width."""
        for name in _LEARNED_ATTRIBUTES:
            self.__dict__.pop(name, None)

    def _make_selector(self) -> Any:
        """Return what learns, checked."""
        return make_selector(self.selector)

    @abstractmethod
    def _draw_candidates(self, X: Any, rng: np.random.Generator) -> Candidates:
        """Draw candidates, with the number of outputs to keep and the budget for them."""

    @property
    def n_candidates_(self) -> int:
        """Number of candidate columns."""
        return len(self.feature_proba_)

    def _learn_map(
        self,
        selector: Any,
        data: TrainingData,
        reports: StageReports | NoReports,
        rng: np.random.Generator,
        store: Checkpoint | None = None,
    ) -> FeatureMap:
        self._check_learnable(data)
        candidates = self._draw_candidates(data.X, rng)
        drawn = candidates.feature_map
        teacher = make_teacher(self.teacher, data, self.law_, drawn.n_outputs, drawn.paired, rng)
        source = embedding_source(data, teacher, drawn, int(selector.cache_bytes))
        engine = make_engine(source, self._threads_for(data))
        select = partial(selector._select, engine, candidates, reports.stage, store)
        try:
            selection = (
                select() if store is None else kept_selection(store, source.block(0), select)
            )
        except ConstantColumnsError as error:
            raise self._constant_error(error) from error
        projections, amplitudes = self._keep(engine, candidates, selection)
        n_values = data.n_samples * source.block(0)[0].shape[1]
        self._store(selector, selection, candidates, projections, n_values)
        return drawn.select(projections, len(self.selected_)).with_amplitudes(amplitudes)

    def _keep(
        self, engine: Engine, candidates: Candidates, selection: Selection
    ) -> tuple[IntArray, Float64Array]:
        """Sorted projections to keep, and their amplitudes."""
        drawn = candidates.feature_map
        order = candidates.in_order(selection.ranking)
        chosen = candidates.choose(order, projections_for(candidates.n_outputs, drawn.paired))
        if self.weights == "equal":
            return np.sort(chosen), equal_amplitudes(len(chosen), drawn.paired)
        whole = self._replaces_whole_groups and candidates.groups is not None
        projections, weights = weigh(engine, candidates, chosen, order, whole_groups=whole)
        return projections, np.sqrt(weights) * drawn.amplitudes[projections]

    def _store(
        self,
        selector: Selector,
        selection: Selection,
        candidates: Candidates,
        projections: IntArray,
        n_values: int,
    ) -> None:
        """Set the fitted attributes."""
        self.selected_ = candidates.columns_of(projections)
        if selection.feature_proba is None:
            self.feature_proba_ = np.zeros(candidates.feature_map.n_outputs)
            self.feature_proba_[self.selected_] = 1.0
        else:
            self.feature_proba_ = selection.feature_proba
        if selection.rotation is not None:
            self.rotation_ = selection.rotation
        if selection.scale is not None:
            self.scale_ = selection.scale
        if selection.errors is not None:
            self.errors_ = selection.errors
            explained = -np.log(np.maximum(selection.errors, _SMALLEST_ERROR))
            self.lower_bounds_ = 0.5 * n_values * explained
        elif selection.lower_bounds is not None:
            self.lower_bounds_ = selection.lower_bounds
        self.n_iter_ = len(self.lower_bounds_)
        if not selection.converged:
            warnings.warn(
                f"{selector!r} did not converge: raise max_stages or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _threads_for(self, data: TrainingData) -> int:
        """Threads of a fit."""
        return thread_count(data.n_jobs, data.n_samples)

    def _read(
        self, X: MatrixLike, y: Any, *, reset: bool = True, engine: EngineName | None = None
    ) -> TrainingData:
        """Check X, and y where labels are the teacher; ``reset`` records names and width."""
        X, y = open_rows(X, y, engine)
        needs_target = not is_random(self.selector) and reads_target(self.teacher)
        if needs_target and y is None:
            raise ValueError(
                f"teacher={self.teacher!r} requires y to be passed, but the target y is None."
            )
        given = X
        if needs_target and isinstance(self.teacher, str):
            X, y = read_data(self, X, reset=reset, y=y)
        else:
            X = read_data(self, X, reset=reset)
        return TrainingData(X, given if hasattr(given, "columns") else X, y)

    def _check_learnable(self, data: TrainingData) -> None:
        """Refuse data from which nothing can be learned, before anything is drawn."""
        remedy = f"selector={self.selector!r} cannot learn from it; selector='random' can be used"
        if data.n_samples < 2:
            raise ValueError(f"X has one sample (n_samples = 1): {remedy}.")
        if not varying_inputs(data.X).any():
            raise ValueError(f"X is constant, all its rows are equal: {remedy}.")

    def _constant_error(self, error: ConstantColumnsError) -> ValueError:
        """Name what makes features or teacher constant: a kernel too wide for X, most often."""
        if error.embedding == "teacher" and not isinstance(self.teacher, str):
            return ValueError(
                f"The outputs of teacher={self.teacher!r} are constant on X: there is nothing to "
                "imitate. Pass another teacher."
            )
        scale = f"kernel={self.kernel!r}" if self.gamma_ is None else f"gamma={self.gamma_:.4g}"
        return ValueError(
            f"The features of {scale} are constant on X, up to rounding: pass a larger gamma, "
            "'scale' or 'median', or scale X."
        )

    def _n_candidates_for(self, n_outputs: int) -> int:
        """Candidate columns for so many outputs: at least as many, and whole pairs."""
        if self.n_candidates is not None:
            if self.n_candidates < n_outputs:
                raise invalid(
                    "n_candidates",
                    self.n_candidates,
                    f"at least the number of outputs to choose, {n_outputs}",
                )
            asked = float(self.n_candidates)
        else:
            asked = np.ceil(n_outputs / self._fraction)
        self._check_candidates(asked)
        paired = bool(self.paired)
        return outputs_of(projections_for(int(asked), paired), paired)

    @property
    def _fraction(self) -> float:
        """Outputs divided by candidates, where the latter are not given."""
        given = self.selected_fraction
        return DEFAULT_FRACTION if given is None else float(given)

    def _check_candidates(self, asked: float, *, or_more: bool = False) -> None:
        """Refuse more candidate columns than can be learned from."""
        if asked > MOST_CANDIDATES:
            over = "More than " if or_more or asked > _MOST_COUNTED else ""
            names = ("n_components", "macs", "n_candidates", "selected_fraction")
            given = [f"{n}={getattr(self, n)}" for n in names if getattr(self, n) is not None]
            raise ValueError(
                f"{over}{min(asked, _MOST_COUNTED):,.0f} candidate columns are too many for "
                f"selector={self.selector!r}, which needs matrices of as many rows and columns: at "
                f"most {MOST_CANDIDATES:,}. Change {' or '.join(given)}, or pass selector='random'."
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_at_most_one(
            "n_candidates", self.n_candidates, "selected_fraction", self.selected_fraction
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = not is_random(self.selector) and reads_target(self.teacher)
        return tags
