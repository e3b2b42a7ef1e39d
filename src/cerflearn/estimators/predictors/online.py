"""Predictors that learn from more rows later: ``partial_fit`` and ``warm_start``."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array, FloatArray, IntArray, MatrixLike
from cerflearn._validation import check_effects, check_parameters
from cerflearn.engine.engines import one_thread_blas
from cerflearn.estimators.block_output import mini_batches
from cerflearn.estimators.engine_choice import EngineName, check_engine
from cerflearn.estimators.input import is_streamed, open_rows, read_data, read_weights
from cerflearn.estimators.predictors.budgeted import BudgetedPredictor
from cerflearn.estimators.predictors.fit_place import (
    FitPlace,
    check_checkpoint,
    new_seed,
    open_place,
)
from cerflearn.estimators.predictors.fitted_network import FittedNetwork
from cerflearn.estimators.predictors.row_memory import RowMemory
from cerflearn.estimators.predictors.training_on import (
    TrainingState,
    rate_of_stream,
    steps_of_stream,
    steps_of_warm_start,
    train_on,
)
from cerflearn.training.policy import KEPT_ROWS, NEW_MASKS_AFTER, RESUMED_RATE
from cerflearn.training.task import Targets


class OnlinePredictor(BudgetedPredictor):
    """Base of predictors that can be trained on."""

    warm_start: bool
    _training: TrainingState | None
    _memory: RowMemory

    @abstractmethod
    def _fit_rows(
        self, X: Any, y: Any, weights: Float64Array, place: FitPlace, classes: Any = None
    ) -> None:
        """Choose and train a network for checked rows."""

    @abstractmethod
    def _encoded(self, y: Any, weights: Float64Array) -> tuple[Targets, Float64Array, IntArray]:
        """Targets in units of the scores, weights and strata of checked rows of later calls."""

    def _known_classes(self) -> Any:
        """Return the classes of the first call; None for numbers."""
        return None

    def _store(
        self,
        fitted: FittedNetwork,
        head: tuple[FloatArray, FloatArray] | None = None,
        units: FloatArray | float = 1.0,
        shift: FloatArray | float = 0.0,
    ) -> None:
        """See :meth:`BudgetedPredictor._store`; keeps what training on needs."""
        self._training = TrainingState.of(fitted, units, shift) if head is None else None
        super()._store(fitted, head, units, shift)

    def _fit(
        self,
        X: MatrixLike,
        y: Any,
        sample_weight: Any,
        checkpoint: str | PathLike[str] | None,
        engine: EngineName | None,
    ) -> None:
        """See ``fit``."""
        check_engine(engine, X, self.n_jobs)
        X, y = open_rows(X, y, engine)
        if bool(self.warm_start) and "head_intercept_" in self.__dict__:
            self._check_warm_fit(y, checkpoint)
            self._fit_warm(X, y, sample_weight)
            return
        seed = self._begin_fit(y)
        if checkpoint is not None:
            check_checkpoint(checkpoint, self)
        X, y = read_data(self, X, reset=True, y=y)
        weights = read_weights(sample_weight, X)
        place = open_place(self, X, {"y": y, "sample_weight": weights}, seed, checkpoint)
        with one_thread_blas():
            self._fit_rows(X, y, weights, place)

    def _learn_from(self, X: MatrixLike, y: Any, sample_weight: Any, classes: Any) -> None:
        """See ``partial_fit``; if an error is raised, nothing has changed."""
        trial = type(self).__new__(type(self))  # with the kept rows, which pickles leave out
        trial.__dict__ = dict(self.__dict__)
        check_parameters(trial, trial._constraints)
        check_effects(trial, trial._without_effect)
        _check_can_learn(trial)
        if is_streamed(X):
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight is passed with a source of blocks: pass the rows themselves, "
                    "block by block, with their weights."
                )
            for rows, targets in mini_batches(X, y):
                trial._learn_batch(rows, targets, None, classes)
        else:
            trial._learn_batch(X, y, sample_weight, classes)
        self.__dict__ = trial.__dict__

    def _learn_batch(self, X: MatrixLike, y: Any, sample_weight: Any, classes: Any) -> None:
        if "head_intercept_" not in self.__dict__:
            self._learn_first(X, y, sample_weight, classes)
            return
        state = self._state_to_go_on()
        if classes is not None and not np.array_equal(np.unique(classes), self._known_classes()):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call: leave them out, or "
                "begin anew with a clone."
            )
        if y is None:
            raise ValueError("y is None: partial_fit needs the targets of its rows.")
        X, y = read_data(self, X, reset=False, y=y)
        weights = read_weights(sample_weight, X)
        n_new = X.shape[0]
        steps = steps_of_stream(state, n_new, float(self.effort))
        rate = rate_of_stream(state, n_new)
        state = replace(state, n_seen=state.n_seen + n_new, n_calls=state.n_calls + 1)
        known = self.__dict__.get("_memory")
        if known is None:  # after fit, which keeps no rows
            memory = RowMemory.of(X, y, weights)
        else:
            memory = known.with_rows(X, y, weights, KEPT_ROWS, state.generator(0))
        with one_thread_blas():
            if len(memory) >= NEW_MASKS_AFTER * state.n_chosen:
                place = FitPlace(new_seed(state.generator(2)))
                self._fit_rows(memory.X, memory.y, memory.weights, place, self._known_classes())
            else:
                self._train_on(state, memory.X, memory.y, memory.weights, steps, rate)
        self._keep(state, memory)

    def _learn_first(self, X: MatrixLike, y: Any, sample_weight: Any, classes: Any) -> None:
        """Fit to the first rows."""
        seed = self._begin_fit(y)
        X, y = read_data(self, X, reset=True, y=y)
        weights = read_weights(sample_weight, X)
        with one_thread_blas():
            self._fit_rows(X, y, weights, FitPlace(seed), classes)
        assert self._training is not None
        number = int(seed.generate_state(1)[0])
        state = replace(self._training, n_seen=X.shape[0], seed=number)
        self._keep(state, RowMemory.of(X, y, weights))

    def _keep(self, state: TrainingState, memory: RowMemory) -> None:
        """Set counts and rows after a call."""
        assert self._training is not None
        n_chosen = max(1, self._training.n_chosen)
        self._training = replace(
            self._training,
            n_chosen=n_chosen,
            n_seen=state.n_seen,
            seed=state.seed,
            n_calls=state.n_calls,
        )
        self._memory = memory

    def _train_on(
        self,
        state: TrainingState,
        X: Any,
        y: Any,
        weights: Float64Array,
        n_steps: int,
        rate: float = RESUMED_RATE,
    ) -> None:
        targets, weights, strata = self._encoded(y, weights)
        fitted = train_on(state, X, targets, weights, strata, n_steps, rate)
        self._store(fitted, None, state.units, state.shift)
        assert self._training is not None
        # The penalty is that of all rows seen; masks are those of the last fit.
        self._training = replace(self._training, alpha=state.alpha, n_chosen=state.n_chosen)

    def _fit_warm(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Train the network of the last fit on, with the rows of this one alone."""
        state = self._state_to_go_on()
        X, y = read_data(self, X, reset=False, y=y)
        weights = read_weights(sample_weight, X)
        steps = steps_of_warm_start(state, X.shape[0], float(self.effort))
        state = replace(state, n_seen=X.shape[0], n_calls=state.n_calls + 1)
        with one_thread_blas():
            self._train_on(state, X, y, weights, steps)
        assert self._training is not None
        self._training = replace(self._training, n_seen=state.n_seen, n_calls=state.n_calls)
        self.__dict__.pop("_memory", None)

    def _check_warm_fit(self, y: Any, checkpoint: Any) -> None:
        """Refuse what a fit that begins with the last network cannot do."""
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)
        _check_can_learn(self)
        if y is None:
            raise ValueError("y is None: fit needs the targets of its rows.")
        if checkpoint is not None:
            raise ValueError(
                "checkpoint has no effect with warm_start=True and a fitted estimator: nothing is "
                "compared. Leave it out."
            )

    def _state_to_go_on(self) -> TrainingState:
        state = self.__dict__.get("_training")
        if state is None:
            raise ValueError(
                f"This {type(self).__name__} cannot be trained on: it was loaded from a model "
                "file, which holds no state of training, or fitted with another head. Fit a clone."
            )
        assert isinstance(state, TrainingState)
        return state

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_memory", None)  # training rows do not belong into files
        return state


def _check_can_learn(model: Any) -> None:
    """Refuse parameters with which a network cannot be trained on."""
    if model.learn == "selection":
        raise ValueError(
            "learn='selection' cannot learn from more rows: pass learn='masks', or call fit with "
            "all rows."
        )
    if model.head not in ("logistic", "trained"):
        raise ValueError(
            f"head={model.head!r} is fitted to all rows at once: leave head at its default for "
            "partial_fit and warm_start, or call fit with all rows."
        )
    if getattr(model, "class_weight", None) == "balanced":
        raise ValueError(
            "class_weight='balanced' needs all rows at once: pass a dict of weights, or "
            "sample_weight."
        )
