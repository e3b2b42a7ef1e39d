"""What MaskedCERF and BlockedCERF share: parameters of learning, and ``fit``."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cerflearn._typing import Float64Array, IntArray
from cerflearn._validation import (
    check_at_most_one,
    check_choice,
    check_integer,
    check_number,
    invalid,
    make_generator,
)
from cerflearn.engine.base import Engine
from cerflearn.engine.blas import one_thread_blas
from cerflearn.engine.threads import make_engine
from cerflearn.estimators.cerf.callbacks import CallbackSupport, Progress, with_callbacks
from cerflearn.estimators.cerf.nnls_weights import weigh
from cerflearn.estimators.cerf.selection import (
    SELECTORS,
    Candidates,
    Learned,
    LearningOptions,
    Purse,
    choose_projections,
    learn,
    ranked_projections,
)
from cerflearn.estimators.gamma import resolve_law
from cerflearn.estimators.input import read_data, varying_inputs
from cerflearn.estimators.maps.random_feature_map import RandomFeatureMap
from cerflearn.estimators.teachers import check_teacher, make_teacher, reads_target
from cerflearn.estimators.training_data import TrainingData, block_source
from cerflearn.features.base import FeatureMap, equal_amplitudes, projections_for

DEFAULT_FRACTION = 0.4
"""Share of the candidates that are kept, unless told otherwise."""

MOST_CANDIDATES = 2**14
"""Candidate columns of which one matrix of products takes 2 GiB."""

_LEAST_ERROR = 1e-12  # its logarithm stands for that of a teacher explained in full

_FITTED = ("rotation_", "scale_", "lower_bounds_", "errors_", "n_iter_")


class LearnedFeatureMap(CallbackSupport, RandomFeatureMap):  # type: ignore[misc]
    """Base of estimators that draw candidates and keep those that imitate a teacher best.

    Subclasses have, beside the parameters of the base, those named below, and draw candidates in
    ``_draw_candidates``.
    """

    n_candidates: Any
    selected_fraction: Any
    teacher: Any
    selector: Any
    solver: Any
    normalize: Any
    spectral_penalty: Any
    weights: Any
    max_stages: Any
    tol: Any
    cache_bytes: Any
    verbose: Any
    selector_: IntArray
    feature_proba_: Float64Array

    _whole_bundles = False  # whether weights of zero are replaced by whole bundles only

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw candidates and choose among them; ``selector="random"`` only draws.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Read by ``teacher="labels"`` and by teachers that need it; otherwise not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        rng = make_generator(self.random_state)
        # A fit that fails leaves an estimator that is not fitted, never an old map and a new width.
        self.__dict__.pop("feature_map_", None)
        data = self._read(X, y)
        options = self._options()
        progress = Progress(self, X, y, options.most_stages)
        self.law_, self.gamma_ = resolve_law(self.kernel, self.gamma, data.X)
        for name in _FITTED:
            self.__dict__.pop(name, None)
        if self.selector == "random":
            self.feature_map_ = self._draw_map(data.X, rng)
            self.selector_ = np.arange(self.feature_map_.n_outputs)
            self.feature_proba_ = np.ones(self.feature_map_.n_outputs)
        else:
            with one_thread_blas():
                self.feature_map_ = self._learn_map(data, options, progress, rng)
        self._n_features_out = self.feature_map_.n_outputs
        progress.close()
        return self

    @abstractmethod
    def _draw_candidates(self, X: Any, rng: np.random.Generator) -> tuple[Candidates, Purse, int]:
        """Draw candidates; with a purse for the budget and the number of outputs to keep."""

    @property
    def n_candidates_(self) -> int:
        """Number of candidate columns."""
        return len(self.feature_proba_)

    def _learn_map(
        self,
        data: TrainingData,
        options: LearningOptions,
        progress: Progress,
        rng: np.random.Generator,
    ) -> FeatureMap:
        self._check_learnable(data)
        candidates, purse, n_outputs = self._draw_candidates(data.X, rng)
        drawn = candidates.feature_map
        self._check_size(drawn.n_outputs)
        paired = drawn.paired
        teacher = make_teacher(self.teacher, data, self.law_, drawn.n_outputs, paired, rng)
        source = block_source(data, teacher.rows, drawn, int(self.cache_bytes))
        engine = make_engine(source, self._n_threads(data.n_samples))
        n_wanted = projections_for(n_outputs, paired)
        learned = learn(engine, candidates, self._n_outputs_of(n_wanted), options, progress.stage)
        n_values = data.n_samples * source.block(0)[0].shape[1]
        projections, amplitudes = self._keep(engine, candidates, learned, purse, n_wanted)
        self._store(learned, candidates, projections, n_outputs, n_values)
        selected = drawn.select(projections, len(self.selector_))
        return selected.with_amplitudes(amplitudes)

    def _keep(
        self,
        engine: Engine,
        candidates: Candidates,
        learned: Learned,
        purse: Purse,
        n_wanted: int,
    ) -> tuple[IntArray, Float64Array]:
        """Sorted projections to keep, and their amplitudes."""
        order = ranked_projections(learned.ranking, candidates.units)
        chosen = choose_projections(order, n_wanted, purse)
        drawn = candidates.feature_map
        if self.weights == "equal":
            return np.sort(chosen), equal_amplitudes(len(chosen), drawn.paired)
        whole = self._whole_bundles and candidates.bundles is not None
        projections, weights = weigh(engine, candidates, chosen, order, purse, whole_bundles=whole)
        return projections, np.sqrt(weights) * drawn.amplitudes[projections]

    def _store(
        self,
        learned: Learned,
        candidates: Candidates,
        projections: IntArray,
        n_outputs: int,
        n_values: int,
    ) -> None:
        """Set the fitted attributes."""
        columns = np.flatnonzero(np.isin(candidates.units, projections)).astype(np.int64)
        self.selector_ = columns[:n_outputs]  # an odd number drops the last sine
        if learned.feature_proba is None:
            proba = np.zeros(len(candidates.units))
            proba[self.selector_] = 1.0
        else:
            proba = learned.feature_proba
        self.feature_proba_ = proba
        if learned.rotation is not None:
            self.rotation_ = learned.rotation
        if learned.scale is not None:
            self.scale_ = learned.scale
        if learned.errors is not None:
            self.errors_ = learned.errors
            explained = -np.log(np.maximum(learned.errors, _LEAST_ERROR))
            self.lower_bounds_ = 0.5 * n_values * explained
        elif learned.lower_bounds is not None:
            self.lower_bounds_ = learned.lower_bounds
        self.n_iter_ = len(self.lower_bounds_)
        if not learned.converged:
            warnings.warn(
                f"CVEM did not converge in max_stages={self.max_stages} stages: raise max_stages "
                f"or tol={self.tol}.",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _read(self, X: Any, y: Any) -> TrainingData:
        """Check X, and y where labels are the teacher."""
        needs_target = self.selector != "random" and reads_target(self.teacher)
        if needs_target and y is None:
            raise ValueError(
                f"teacher={self.teacher!r} requires y to be passed, but the target y is None."
            )
        frame = X if hasattr(X, "columns") else None
        if needs_target and isinstance(self.teacher, str):
            X, y = read_data(self, X, reset=True, y=y)
        else:
            X = read_data(self, X, reset=True)
        return TrainingData(X, X if frame is None else frame, y)

    def _check_learnable(self, data: TrainingData) -> None:
        """Refuse data that tell nothing, before anything is drawn."""
        remedy = f"selector={self.selector!r} cannot learn from it; selector='random' can be used"
        if data.n_samples < 2:
            raise ValueError(f"X has one sample (n_samples = 1): {remedy}.")
        if not varying_inputs(data.X).any():
            raise ValueError(f"X is constant, all its rows are equal: {remedy}.")

    def _check_size(self, n_candidates: int) -> None:
        """Refuse more candidates than matrices of their products have room for."""
        if n_candidates > MOST_CANDIDATES:
            raise ValueError(
                f"{n_candidates:,} candidate columns are too many for selector={self.selector!r}, "
                f"which needs matrices of {n_candidates:,} x {n_candidates:,} values: at most "
                f"{MOST_CANDIDATES:,}. Lower n_components, macs or n_candidates, raise "
                "selected_fraction, or pass selector='random'."
            )

    def _options(self) -> LearningOptions:
        return LearningOptions(
            selector=self.selector,
            solver=self.solver,
            normalize=self.normalize,
            spectral_penalty=self.spectral_penalty,
            max_stages=int(self.max_stages),
            tol=float(self.tol),
        )

    def _n_candidates_asked(self, n_outputs: int) -> int:
        """Candidate columns for so many outputs: at least as many, and whole pairs."""
        if self.n_candidates is not None:
            if self.n_candidates < n_outputs:
                raise invalid(
                    "n_candidates",
                    self.n_candidates,
                    f"at least the number of outputs to choose, {n_outputs}",
                )
            asked = int(self.n_candidates)
        else:
            given = self.selected_fraction
            fraction = DEFAULT_FRACTION if given is None else float(given)
            asked = int(np.ceil(n_outputs / fraction))
        return self._n_outputs_of(projections_for(asked, bool(self.paired)))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_at_most_one(
            "n_candidates", self.n_candidates, "selected_fraction", self.selected_fraction
        )
        if self.n_candidates is not None:
            check_integer("n_candidates", self.n_candidates, "a positive integer or None")
        if self.selected_fraction is not None:
            must_be = "a number above 0 and at most 1, or None"
            fraction = self.selected_fraction
            check_number("selected_fraction", fraction, must_be, above=0.0, at_most=1.0)
        check_teacher(self.teacher)
        check_choice("selector", self.selector, SELECTORS)
        check_choice("solver", self.solver, ("procrustes", "admm"))
        if self.normalize is not None and self.normalize not in ("standardize", "center"):
            raise invalid("normalize", self.normalize, "'standardize', 'center' or None")
        penalty = self.spectral_penalty
        if not (isinstance(penalty, str) and penalty == "adaptive"):
            must_be = "'adaptive' or a number that is not negative"
            check_number("spectral_penalty", penalty, must_be, at_least=0.0)
        check_choice("weights", self.weights, ("equal", "nnls"))
        if self.weights == "nnls" and self.selector == "random":
            must_be = "'equal' for selector='random', which has no teacher to weigh by: take "
            must_be += "another selector with selected_fraction=1.0 to weigh random features"
            raise invalid("weights", self.weights, must_be)
        check_integer("max_stages", self.max_stages, "a positive integer")
        check_number("tol", self.tol, "a number that is not negative", at_least=0.0)
        must_be = "a number of bytes, 0 for no cache"
        check_integer("cache_bytes", self.cache_bytes, must_be, at_least=0)
        if not isinstance(self.verbose, bool | np.bool_):
            check_integer("verbose", self.verbose, "True, False or a number", at_least=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        selects = isinstance(self.selector, str) and self.selector != "random"
        tags.target_tags.required = selects and reads_target(self.teacher)
        return tags
