"""Training on of a fitted network: its masks and budget stay, its numbers follow more rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.estimators.predictors.fitted_network import FittedNetwork, TrainingState
from cerflearn.training import policy
from cerflearn.training.compared import for_more_rows
from cerflearn.training.deployed import deploy_scaled
from cerflearn.training.inputs import multiplied
from cerflearn.training.pruning import sampled_importances
from cerflearn.training.sizes import n_steps_for
from cerflearn.training.task import Targets, Task, scaled_inputs
from cerflearn.training.trainer import train_network


def steps_of_stream(state: TrainingState, n_new: int, effort: float) -> int:
    """Count the steps after some more rows: in all as many as a fit of all rows takes.

    At least one round over the new rows.
    """
    counts = [
        n_steps_for(state.settings, state.task.budget, int(state.task.usable.sum()), n, effort)
        for n in (state.n_seen, state.n_seen + n_new)
    ]
    return max(counts[1] - counts[0], -(-n_new // policy.BATCH_SIZE))


def rate_of_stream(state: TrainingState, n_new: int) -> float:
    """Share of the learning rate: it falls with the root of the share of new rows, from a half."""
    return min(policy.RESUMED_RATE, float(np.sqrt(n_new / (state.n_seen + n_new))))


def steps_of_warm_start(state: TrainingState, n_rows: int, effort: float) -> int:
    """Count the steps of a fit that begins with a trained network."""
    n_usable = int(state.task.usable.sum())
    steps = n_steps_for(state.settings, state.task.budget, n_usable, n_rows, effort)
    return max(1, round(policy.RESUMED_STEPS * steps))


def train_on(
    state: TrainingState,
    X: Any,
    targets: Targets,
    weights: Float64Array,
    strata: IntArray,
    n_steps: int,
    rate: float = policy.RESUMED_RATE,
) -> FittedNetwork:
    """Train a network on, on the targets themselves, with its masks.

    The learning rate rises to a share of that of a fit and falls along half a cosine to zero, in
    each call anew, and Adam's moments begin anew.

    Parameters
    ----------
    state : TrainingState
        Of the network, with the rows of this call counted in ``n_seen``.
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Checked rows.
    targets : ndarray or OneHotRows of shape (n_samples, n_scores)
        In units of the scores.
    weights : ndarray of shape (n_samples,)
        Not negative, some positive.
    strata : ndarray of shape (n_samples,), int
        Classes.
    n_steps : int
        Steps of Adam.
    rate : float
        Share of the learning rate of a fit.
    """
    task = _task_of(state, X, targets, weights, strata)
    fewer = replace(state.settings, alpha=state.alpha)
    last = replace(
        for_more_rows(fewer, state.n_chosen, max(state.n_seen, state.n_chosen)),
        n_knots=state.settings.n_knots,
    )
    problem = task.problem()
    problem = replace(problem, X=multiplied(problem.X, task.input_factors.get(last.scaling)))
    network = train_network(
        problem, last, task.budget, task.usable, np.zeros(task.n_scores),
        round(n_steps / policy.RESUMED_STEPS), state.generator(1), start=state.network,
        resumed_rate=rate,
    )  # fmt: skip
    settings, refit = state.settings, state.settings.refit
    if refit:  # trained values weigh as much as the rows that they have seen and that are gone
        settings = replace(settings, refit=max(refit, float(state.n_seen - task.n_samples)))
    importances = sampled_importances(network, scaled_inputs(task, settings))
    return FittedNetwork(
        deploy_scaled(network, settings, task),
        state.settings,
        None,
        importances,
        task,
        state.scaling,
        state.gamma,
        last.alpha,
        network,
    )


def _task_of(
    state: TrainingState, X: Any, targets: Targets, weights: Float64Array, strata: IntArray
) -> Task:
    used = np.flatnonzero(weights > 0.0)
    # Inputs of a given gamma are taken as they are.
    scaling = state.scaling if state.settings.gamma is not None else state.scaling.for_later_rows()
    return replace(
        state.task,
        X=scaling.inputs(X[used]),
        targets=targets[used],
        weights=weights[used] / weights[used].sum(),
        strata=strata[used],
    )
