r"""Training on all rows at once (L-BFGS), with pruning between runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from cerflearn._typing import Float64Array
from cerflearn.training.network import FeatureNetwork
from cerflearn.training.problem import Problem, Workers, loss_and_gradient
from cerflearn.training.pruning import Budget, entries_after, final_mask, largest_blocks

FREQUENCY_SHARE = 3.0
"""Penalty of the squared frequencies, for one unit of penalty of the squared head.

Low frequencies make smooth functions: on letters and digits this brings more than a small head.
Sizes of rectified features can move from frequencies to the head: both are penalised alike.
"""

_MEMORY = 20  # past steps that L-BFGS remembers


@dataclass(frozen=True)
class FullBatches:
    """How long to train.

    Attributes
    ----------
    dropped_share : float, default=0.25
        Most of the frequencies that are dropped at once.
    n_between, n_last : int, default=30, 150
        Iterations before each pruning, and after the last.
    penalty : float, default=1e-3
        Of the squared head (halved), and :data:`FREQUENCY_SHARE` times it of the frequencies.
    finish : float, default=1
        Share of the penalty that is left after the last pruning.
    """

    dropped_share: float = 0.25
    n_between: int = 30
    n_last: int = 150
    penalty: float = 1e-3
    finish: float = 1.0


def train_full_batches(
    problem: Problem,
    network: FeatureNetwork,
    options: FullBatches,
    workers: Workers,
    *,
    budget: Budget | None = None,
    on_progress: Callable[[float, float], None] | None = None,
) -> FeatureNetwork:
    """Train a network; with a budget, prune its mask to it in between.

    Parameters are as in :func:`cerflearn.training.adam.train_mini_batches`.
    """
    last_penalty = options.finish * options.penalty
    if budget is None:
        return minimise(problem, network, options.n_last, last_penalty, workers)[0]
    scale = problem.X.std(axis=0)
    n_start, n_end = int(network.mask.sum()), budget.entries_for(network.mask.shape[1])
    kept = entries_after(n_start, n_end, options.dropped_share)
    for round_, n_entries in enumerate(kept, start=1):
        network, value = minimise(problem, network, options.n_between, options.penalty, workers)
        if round_ == len(kept):
            mask = final_mask(network.frequencies, scale, network.mask, budget)
        else:
            mask = largest_blocks(network.frequencies, scale, network.mask, n_entries, budget)
        frequencies = np.where(mask, network.frequencies, 0.0)
        network = replace(network, frequencies=frequencies, mask=mask)
        if on_progress is not None:
            on_progress(round_ / (len(kept) + 1), value)
    return minimise(problem, network.without_idle(), options.n_last, last_penalty, workers)[0]


def minimise(
    problem: Problem, network: FeatureNetwork, n_iter: int, penalty: float, workers: Workers
) -> tuple[FeatureNetwork, float]:
    r"""Run L-BFGS on loss + :math:`\tfrac\lambda2 |A|^2 + \tfrac{\lambda'}2 |\Omega|^2`.

    Parameters
    ----------
    problem : Problem
        Rows, targets, loss.
    network : FeatureNetwork
        Where to start; its mask is kept.
    n_iter : int
        Most iterations.
    penalty : float
        :math:`\lambda`; :math:`\lambda'` is :data:`FREQUENCY_SHARE` times it for cosines.
    workers : Workers
        Who computes.

    Returns
    -------
    network : FeatureNetwork
        With the same mask.
    value : float
        What was minimised.
    """
    used = network.mask.any(axis=1)
    part, mask = problem.inputs(used), network.mask[used]
    entries = np.flatnonzero(mask)
    frequencies = np.zeros(mask.shape, dtype=np.float32)
    n_projections, n_scores = network.head.shape
    ends = np.cumsum([len(entries), n_projections, network.head.size])
    rates = np.zeros(ends[-1] + n_scores)
    rates[: ends[0]] = penalty if network.rectified else FREQUENCY_SHARE * penalty
    rates[ends[1] : ends[2]] = penalty

    def unpack(values: Float64Array) -> tuple:  # type: ignore[type-arg]
        single = values.astype(np.float32)
        frequencies.reshape(-1)[entries] = single[: ends[0]]
        head = single[ends[1] : ends[2]].reshape(n_projections, n_scores)
        return frequencies, single[ends[0] : ends[1]], head, single[ends[2] :]

    def objective(values: Float64Array) -> tuple[float, Float64Array]:
        gradient = loss_and_gradient(part, unpack(values), workers, rectified=network.rectified)
        slopes = np.concatenate(
            [
                gradient.frequencies.ravel()[entries],
                gradient.offsets,
                gradient.head.ravel(),
                gradient.bias,
            ],
            dtype=np.float64,
        )
        shrink = rates * values
        return gradient.value + 0.5 * float(shrink @ values), slopes + shrink

    start = np.concatenate(
        [network.frequencies[network.mask], network.offsets, network.head.ravel(), network.bias],
        dtype=np.float64,
    )
    options = {"maxiter": n_iter, "maxcor": _MEMORY}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    values, offsets, head, bias = np.split(result.x, ends)
    full = np.zeros(network.mask.shape)
    full[network.mask] = values
    head = head.reshape(network.head.shape)
    found = replace(network, frequencies=full, offsets=offsets, head=head, bias=bias)
    return found, float(result.fun)
