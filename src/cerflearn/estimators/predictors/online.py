"""Predictors that learn from more rows later: ``partial_fit`` and ``warm_start``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from cerflearn._typing import Float64Array, MatrixLike
from cerflearn.engine.engines import one_thread_blas
from cerflearn.estimators.block_output import mini_batches
from cerflearn.estimators.input import is_streamed, read_data, read_weights
from cerflearn.estimators.predictors.fit_place import FitPlace, new_seed
from cerflearn.estimators.predictors.fitted_network import TrainingState
from cerflearn.estimators.predictors.row_memory import RowMemory
from cerflearn.estimators.predictors.training_on import (
    rate_of_stream,
    steps_of_stream,
    steps_of_warm_start,
    train_on,
)
from cerflearn.training.policy import KEPT_ROWS, NEW_MASKS_AFTER, RESUMED_RATE

_HEADS_OF_ALL_ROWS = ("ridge", "svm", "svm_ovo")


def _needs_all_rows(model: Any) -> str:
    """Why a network cannot be trained on with these parameters; empty if it can."""
    if isinstance(model.learn, str) and model.learn == "selection":
        return (
            "learn='selection' cannot learn from more rows: pass learn='masks', or call fit with "
            "all rows."
        )
    if isinstance(model.head, str) and model.head in _HEADS_OF_ALL_ROWS:
        return (
            f"head={model.head!r} is fitted to all rows at once: leave head at its default for "
            "partial_fit and warm_start, or call fit with all rows."
        )
    if isinstance(getattr(model, "class_weight", None), str):
        return (
            "class_weight='balanced' needs all rows at once: pass a dict of weights, or "
            "sample_weight."
        )
    return ""


def can_learn_on(model: Any) -> bool:
    """Whether there is ``partial_fit``; ``AttributeError`` with the reason if not."""
    reason = _needs_all_rows(model)
    if reason:
        raise AttributeError(reason)
    return True


if_it_can_learn_on = available_if(can_learn_on)
"""Decorator of ``partial_fit``."""


def learn_from(model: Any, X: MatrixLike, y: Any, sample_weight: Any, classes: Any) -> None:
    """See ``partial_fit``; if an error is raised, nothing has changed."""
    trial: Any = object.__new__(type(model))  # with the kept rows, which pickles leave out
    trial.__dict__ = dict(model.__dict__)
    trial._check_parameters()
    if is_streamed(X):
        if sample_weight is not None:
            raise ValueError(
                "sample_weight is passed with a source of blocks: pass the rows themselves, "
                "block by block, with their weights."
            )
        for rows, targets in mini_batches(X, y):
            _learn_batch(trial, rows, targets, None, classes)
    else:
        _learn_batch(trial, X, y, sample_weight, classes)
    model.__dict__ = trial.__dict__


def _learn_batch(model: Any, X: MatrixLike, y: Any, sample_weight: Any, classes: Any) -> None:
    if "head_intercept_" not in model.__dict__:
        _learn_first(model, X, y, sample_weight, classes)
        return
    state = state_to_go_on(model)
    if classes is not None and not np.array_equal(np.unique(classes), model._known_classes()):
        raise ValueError(
            f"classes={classes!r} differ from those of the first call: leave them out, or "
            "begin anew with a clone."
        )
    if y is None:
        raise ValueError("y is None: partial_fit needs the targets of its rows.")
    X, y = read_data(model, X, reset=False, y=y)
    weights = read_weights(sample_weight, X)
    n_new = X.shape[0]
    steps = steps_of_stream(state, n_new, float(model.effort))
    rate = rate_of_stream(state, n_new)
    state = replace(state, n_seen=state.n_seen + n_new, n_calls=state.n_calls + 1)
    known = model.__dict__.get("_memory")
    if known is None:  # after fit, which keeps no rows
        memory = RowMemory.of(X, y, weights)
    else:
        memory = known.with_rows(X, y, weights, KEPT_ROWS, state.generator(0))
    with one_thread_blas():
        if len(memory) >= NEW_MASKS_AFTER * state.n_chosen:
            place = FitPlace(new_seed(state.generator(2)), model.n_jobs)
            model._fit_rows(memory.X, memory.y, memory.weights, place, model._known_classes())
        else:
            _train_on(model, state, memory.X, memory.y, memory.weights, steps, rate)
    _keep(model, state, memory)


def _learn_first(model: Any, X: MatrixLike, y: Any, sample_weight: Any, classes: Any) -> None:
    """Fit to the first rows."""
    seed = model._begin_fit(y)
    X, y = read_data(model, X, reset=True, y=y)
    weights = read_weights(sample_weight, X)
    with one_thread_blas():
        model._fit_rows(X, y, weights, FitPlace(seed, model.n_jobs), classes)
    assert model._training is not None
    number = int(seed.generate_state(1)[0])
    state = replace(model._training, n_seen=X.shape[0], seed=number)
    _keep(model, state, RowMemory.of(X, y, weights))


def _keep(model: Any, state: TrainingState, memory: RowMemory) -> None:
    """Set counts and rows after a call."""
    assert model._training is not None
    n_chosen = max(1, model._training.n_chosen)
    model._training = replace(
        model._training,
        n_chosen=n_chosen,
        n_seen=state.n_seen,
        seed=state.seed,
        n_calls=state.n_calls,
    )
    model._memory = memory


def _train_on(
    model: Any,
    state: TrainingState,
    X: Any,
    y: Any,
    weights: Float64Array,
    n_steps: int,
    rate: float = RESUMED_RATE,
) -> None:
    targets, weights, strata = model._encoded(y, weights)
    fitted = train_on(state, X, targets, weights, strata, n_steps, rate)
    model._store(fitted, None, state.units, state.shift)
    assert model._training is not None
    # The penalty is that of all rows seen; masks are those of the last fit.
    model._training = replace(model._training, alpha=state.alpha, n_chosen=state.n_chosen)


def fit_warm(model: Any, X: Any, y: Any, sample_weight: Any, checkpoint: Any) -> None:
    """Train the network of the last fit on, with the rows of this one alone."""
    _check_warm_fit(model, y, checkpoint)
    state = state_to_go_on(model)
    X, y = read_data(model, X, reset=False, y=y)
    weights = read_weights(sample_weight, X)
    steps = steps_of_warm_start(state, X.shape[0], float(model.effort))
    state = replace(state, n_seen=X.shape[0], n_calls=state.n_calls + 1)
    with one_thread_blas():
        _train_on(model, state, X, y, weights, steps)
    assert model._training is not None
    model._training = replace(model._training, n_seen=state.n_seen, n_calls=state.n_calls)
    model.__dict__.pop("_memory", None)


def _check_warm_fit(model: Any, y: Any, checkpoint: Any) -> None:
    """Refuse what a fit that begins with the last network cannot do."""
    reason = _needs_all_rows(model)
    if reason:
        raise ValueError(reason)
    if y is None:
        raise ValueError("y is None: fit needs the targets of its rows.")
    if checkpoint is not None:
        raise ValueError(
            "checkpoint has no effect with warm_start=True and a fitted estimator: nothing is "
            "compared. Leave it out."
        )


def state_to_go_on(model: Any) -> TrainingState:
    """Return the state that training on begins with; ``ValueError`` if there is none."""
    state = model.__dict__.get("_training")
    if state is None:
        raise ValueError(
            f"This {type(model).__name__} cannot be trained on: it was loaded from a model "
            "file, which holds no state of training, or fitted with another head. Fit a clone."
        )
    assert isinstance(state, TrainingState)
    return state
