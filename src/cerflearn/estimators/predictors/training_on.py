"""Training on of a fitted network: its masks and budget stay, its numbers follow more rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn.estimators.predictors.fitted_network import FittedNetwork
from cerflearn.estimators.scaling import InputScaling
from cerflearn.training import policy
from cerflearn.training.compared import for_more_rows
from cerflearn.training.deployed import deploy_scaled
from cerflearn.training.distillation import labels_problem
from cerflearn.training.inputs import column_deviations, multiplied
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.pruning import input_importances
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.sizes import n_steps_for
from cerflearn.training.task import Targets, Task, scaled_inputs
from cerflearn.training.trainer import IMPORTANCE_ROWS, train_network


@dataclass(frozen=True, eq=False)
class TrainingState:
    """What training on needs of a fit.

    Attributes
    ----------
    network : TrainableNetwork
        Before it was deployed.
    settings : TrainingSettings
        It was trained with.
    alpha : float
        Penalty of its last training on all rows.
    task : Task
        Kind of targets, budget and inputs that may be read; without rows.
    scaling : InputScaling
        Of the inputs.
    gamma : float
        Kernel coefficient that frequencies were drawn with.
    units, shift : ndarray of shape (n_scores,) or float
        Targets are units times scores plus the shift.
    n_chosen : int
        Rows that masks were chosen on.
    n_seen : int
        Rows seen, these and later ones.
    seed, n_calls : int
        Of randomness, and how often it was trained on.
    """

    network: TrainableNetwork
    settings: TrainingSettings
    alpha: float
    task: Task
    scaling: InputScaling
    gamma: float
    units: FloatArray | float
    shift: FloatArray | float
    n_chosen: int
    n_seen: int
    seed: int = 0
    n_calls: int = 0

    @classmethod
    def of(
        cls, fitted: FittedNetwork, units: FloatArray | float, shift: FloatArray | float
    ) -> TrainingState | None:
        """State after a fit; None if features were selected."""
        if fitted.trained is None:
            return None
        task = fitted.task
        no_rows = replace(
            task,
            X=np.empty((0, task.X.shape[1]), dtype=np.float32),
            targets=np.empty((0, task.n_scores)),
            weights=np.empty(0),
            strata=np.empty(0, dtype=np.int64),
            blocks=None,
        )
        return cls(
            fitted.trained, fitted.settings, fitted.alpha, no_rows, fitted.scaling, fitted.gamma,
            units, shift, task.n_samples, task.n_samples,
        )  # fmt: skip

    def standardised(self, targets: Float64Array) -> Float64Array:
        """Numbers in units of the scores; 0 where all numbers of the fit were equal."""
        units = np.atleast_1d(self.units)
        if targets.shape[1] != len(units):
            raise ValueError(
                f"y has {targets.shape[1]} targets a row, and the first call had {len(units)}."
            )
        varies = units > 0.0
        scaled: Float64Array = (targets - self.shift) / np.where(varies, units, 1.0)
        return np.where(varies, scaled, 0.0)

    def generator(self, *numbers: int) -> np.random.Generator:
        """Return the generator of this call."""
        return np.random.default_rng([self.seed, self.n_calls, *numbers])


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
    problem = labels_problem(task)
    problem = replace(problem, X=multiplied(problem.X, task.input_factors.get(last.scaling)))
    network = train_network(
        problem, last, task.budget, task.usable, np.zeros(task.n_scores),
        round(n_steps / policy.RESUMED_STEPS), state.generator(1), start=state.network,
        resumed_rate=rate,
    )  # fmt: skip
    settings, refit = state.settings, state.settings.refit
    if refit:  # trained values weigh as much as the rows that they have seen and that are gone
        settings = replace(settings, refit=max(refit, float(state.n_seen - task.n_samples)))
    inputs = scaled_inputs(task, settings)
    rows = np.linspace(0, len(inputs) - 1, min(len(inputs), IMPORTANCE_ROWS)).astype(np.int64)
    importances = input_importances(network, inputs[rows], column_deviations(inputs))
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
    return replace(
        state.task,
        X=state.scaling.inputs(X[used]),
        targets=targets[used],
        weights=weights[used] / weights[used].sum(),
        strata=strata[used],
    )
