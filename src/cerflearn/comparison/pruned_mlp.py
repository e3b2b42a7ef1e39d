r"""Baseline for learned masks: a ReLU network that is pruned to the budget in the same way.

Training and pruning follow :class:`~cerflearn.CERFClassifier`, for as many steps, with features
that are always relu and without a kernel machine as teacher: dense at first, the weights with the
smallest :math:`|W_{dk}| \operatorname{std}(x_d)` dropped on the way, L-BFGS where all rows fit in a
step, otherwise Adam on mini-batches. Settings are chosen on held-out rows by accuracy or
squared error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from cerflearn._typing import Float64Array
from cerflearn.comparison.relu import (
    Parameters,
    ReluNetwork,
    random_relu_network,
    relu_loss_and_gradient,
)
from cerflearn.comparison.training_set import Predict, TrainingSet
from cerflearn.comparison.tuning import best_setting
from cerflearn.training.network import Problem
from cerflearn.training.pruning import (
    Budget,
    entries_after,
    entries_at,
    final_mask,
    largest_blocks,
)
from cerflearn.training.scores import cross_entropy, logistic, squared_error
from cerflearn.training.settings import FEW_ROWS, n_components_for
from cerflearn.training.train import effort_for, full_batches, steps_for, uses_mini_batches

_BATCH, _RATE, _DECAY_PER_PENALTY = 256, 3e-3, 100.0  # Adam
_PRUNING = (0.05, 0.6)  # share of the steps between which Adam's weights are pruned
_SEARCH_EFFORT = 0.5


@dataclass(frozen=True)
class PrunedMLPSetting:
    """What is chosen on held-out rows: L2 penalty, and hidden units relative to the default."""

    penalty: float
    width_factor: float


def settings_for(n_samples: int) -> list[PrunedMLPSetting]:
    """List the settings to try; of equals the first is taken."""
    values = [(3e-3, 1.0), (1e-2, 1.0), (1e-3, 1.0), (3e-3, 1.3)]
    if n_samples <= FEW_ROWS:
        values.append((1e-1, 1.0))
    return [PrunedMLPSetting(*pair) for pair in values]


def fit_pruned_mlp(training: TrainingSet, macs: int) -> ReluNetwork:
    """Best network of at most ``macs`` MACs; one feature that reads one input must fit.

    Parameters
    ----------
    training : TrainingSet
        Scaled rows.
    macs : int
        Budget, head included.
    """

    def fit(part: TrainingSet, setting: PrunedMLPSetting) -> Predict:
        network = train_pruned_mlp(part, macs, setting, effort=_SEARCH_EFFORT)
        return lambda X: part.predict_from_scores(network.scores(X))

    setting = best_setting(settings_for(training.n_samples), fit, training)
    return train_pruned_mlp(training, macs, setting)


def train_pruned_mlp(
    training: TrainingSet, macs: int, setting: PrunedMLPSetting, *, effort: float = 1.0
) -> ReluNetwork:
    """Train one network from dense to the budget, with a share of the usual steps."""
    budget = Budget(macs, training.n_scores)
    varies = training.X.max(axis=0) > training.X.min(axis=0)
    n_inputs, n_samples = max(1, int(varies.sum())), training.n_samples
    n_hidden = n_components_for(budget, n_inputs, n_samples, setting.width_factor)
    rng = np.random.default_rng(training.seed)
    network = random_relu_network(
        np.repeat(varies[:, None], n_hidden, axis=1), training.n_scores, rng
    )
    problem = _problem(training)
    effort *= effort_for(n_samples, network.mask.size, classes=bool(training.n_classes))
    if not uses_mini_batches(n_samples, network.mask.size):
        network = _train_full_batches(problem, network, budget, setting.penalty, effort)
    else:
        network = _train_mini_batches(problem, network, budget, setting.penalty, effort, rng)
    return network.as_float32()


def _problem(training: TrainingSet) -> Problem:
    loss: Any = squared_error
    if training.n_classes:
        loss = logistic if training.n_classes == 2 else cross_entropy
    weights = np.full(training.n_samples, 1.0 / training.n_samples, dtype=np.float32)
    return Problem(training.X, training.targets.astype(np.float32), weights, loss)


def _train_full_batches(
    problem: Problem, network: ReluNetwork, budget: Budget, penalty: float, effort: float
) -> ReluNetwork:
    """L-BFGS, with prunings to equal shares in between."""
    classes = problem.loss is not squared_error
    options, scale = full_batches(penalty, effort, classes=classes), problem.X.std(axis=0)
    n_start, n_end = int(network.mask.sum()), budget.entries_for(network.mask.shape[1])
    kept = entries_after(n_start, n_end, options.dropped_share)
    for round_, n_entries in enumerate(kept, start=1):
        network = minimise_relu_network(problem, network, options.n_between, penalty)
        if round_ == len(kept):
            mask = final_mask(network.weights, scale, network.mask, budget)
        else:
            mask = largest_blocks(network.weights, scale, network.mask, n_entries, budget)
        network = network.masked(mask)
    return minimise_relu_network(problem, network.without_unused_units(), options.n_last, penalty)


def minimise_relu_network(
    problem: Problem, network: ReluNetwork, n_iter: int, penalty: float
) -> ReluNetwork:
    r"""Run L-BFGS on loss + :math:`\tfrac\lambda2 (|A|^2 + |W|^2)`, keeping the mask."""
    used = network.mask.any(axis=1)
    part, mask = problem.inputs(used), network.mask[used]
    entries, weights = np.flatnonzero(mask), np.zeros(mask.shape, dtype=np.float32)
    n_hidden, n_scores = network.head.shape
    ends = np.cumsum([len(entries), n_hidden, network.head.size])
    rates = np.zeros(ends[-1] + n_scores)
    rates[: ends[0]] = rates[ends[1] : ends[2]] = penalty

    def objective(values: Float64Array) -> tuple[float, Float64Array]:
        weights.flat[entries] = values[: ends[0]]
        _, offsets, head, bias = np.split(values.astype(np.float32), ends)
        parameters = (weights, offsets, head.reshape(n_hidden, n_scores), bias)
        value, (by_weights, by_offsets, by_head, by_bias) = relu_loss_and_gradient(part, parameters)
        slopes = np.concatenate(
            [by_weights.ravel()[entries], by_offsets, by_head.ravel(), by_bias], dtype=np.float64
        )
        shrink = rates * values
        return value + 0.5 * float(shrink @ values), slopes + shrink

    start = np.concatenate(
        [network.weights[network.mask], network.offsets, network.head.ravel(), network.bias],
        dtype=np.float64,
    )
    options = {"maxiter": n_iter, "maxcor": 20}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    _, offsets, head, bias = np.split(found, ends)
    full = np.zeros(network.mask.shape)
    full[network.mask] = found[: ends[0]]
    return ReluNetwork(full, offsets, head.reshape(n_hidden, n_scores), bias, network.mask)


def _train_mini_batches(
    problem: Problem,
    network: ReluNetwork,
    budget: Budget,
    penalty: float,
    effort: float,
    rng: np.random.Generator,
) -> ReluNetwork:
    """Adam with a rate that falls along half a cosine, and pruning on the way."""
    n_rows, scale = problem.n_samples, problem.X.std(axis=0)
    n_steps = int(effort * steps_for(n_rows, network.mask.size))
    first, last = (int(share * n_steps) for share in _PRUNING)
    pause, n_dense, mask = max(1, n_steps // 100), int(network.mask.sum()), network.mask
    parameters = network.as_float32().parameters
    adam = _Adam(parameters, penalty, n_steps)
    order = np.empty(0, dtype=np.int64)
    for step in range(1, n_steps + 1):
        if len(order) < _BATCH:
            order = rng.permutation(n_rows)
        rows, order = order[:_BATCH], order[_BATCH:]
        _, gradient = relu_loss_and_gradient(problem.rows(rows), parameters)
        adam.step(parameters, gradient)
        if step == last:
            mask = final_mask(parameters[0], scale, mask, budget)
        elif first <= step < last and step % pause == 0:
            n_end = budget.entries_for(mask.shape[1])
            n_entries = entries_at((step - first) / (last - first), n_dense, n_end)
            mask = largest_blocks(parameters[0], scale, mask, n_entries, budget)
        parameters[0][~mask] = 0.0
    return ReluNetwork(*parameters, mask).without_unused_units()


class _Adam:
    """Moments of the gradient, and steps with decoupled decay of weights and head."""

    def __init__(self, parameters: Parameters, penalty: float, n_steps: int) -> None:
        self._first = [np.zeros_like(values) for values in parameters]
        self._second = [np.zeros_like(values) for values in parameters]
        self._decay, self._n_steps, self._count = _DECAY_PER_PENALTY * penalty, n_steps, 0

    def step(self, parameters: Parameters, gradient: Parameters) -> None:
        """Change the parameters in place."""
        self._count += 1
        rate = _RATE * 0.5 * (1.0 + np.cos(np.pi * self._count / self._n_steps))
        correction = np.sqrt(1.0 - 0.999**self._count)
        factor = np.float32(rate * correction / (1.0 - 0.9**self._count))
        shrink = np.float32(1.0 - rate * self._decay)
        moments = zip(parameters, gradient, self._first, self._second, strict=True)
        for index, (values, slope, first, second) in enumerate(moments):
            first += np.float32(0.1) * (slope - first)
            second += np.float32(0.001) * (np.square(slope) - second)
            values -= factor * first / (np.sqrt(second) + np.float32(1e-8 * correction))
            if index in (0, 2):  # offsets and biases are free
                values *= shrink
