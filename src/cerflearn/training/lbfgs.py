r"""Training on all rows at once (L-BFGS), with pruning between runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from cerflearn._typing import Float64Array
from cerflearn.training.network import (
    FeatureNetwork,
    NetworkArrays,
    Problem,
    Workers,
    loss_and_gradient,
)
from cerflearn.training.pruning import Budget, entries_after, final_mask, largest_blocks

FREQUENCY_SHARE = 3.0
"""Penalty of the squared frequencies of cosines, for one unit of penalty of the squared head.

Low frequencies make smooth functions: on letters and digits this gains more than a small head.
Scales of relu features can move from frequencies to the head: both are penalised alike.
"""

_STEPS_REMEMBERED = 20  # past steps


@dataclass(frozen=True)
class FullBatches:
    """Number of iterations.

    Attributes
    ----------
    dropped_share : float, default=0.25
        Most of the frequencies that are dropped at once.
    n_between, n_last : int, default=30, 150
        Iterations before each pruning, and after the last.
    alpha : float, default=1e-3
        Penalty of the squared head (halved); :data:`FREQUENCY_SHARE` times it of the frequencies.
    last_alpha_share : float, default=1
        Share of alpha that is left after the last pruning.
    """

    dropped_share: float = 0.25
    n_between: int = 30
    n_last: int = 150
    alpha: float = 1e-3
    last_alpha_share: float = 1.0


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

    Parameters
    ----------
    problem : Problem
        Training rows.
    network : FeatureNetwork
        To start with.
    options : FullBatches
        Iterations.
    workers : Workers
        Threads; the bits of the result do not depend on their number.
    budget : Budget, optional
        Of the result. None keeps the mask.
    on_progress : callable, optional
        Called with the share of the prunings done and the value reached.

    Returns
    -------
    FeatureNetwork
        In double precision.
    """
    last_alpha = options.last_alpha_share * options.alpha
    if budget is None:
        return minimise_lbfgs(problem, network, options.n_last, last_alpha, workers)[0]
    scale = problem.X.std(axis=0)
    n_start, n_end = int(network.mask.sum()), budget.entries_for(network.mask.shape[1])
    kept = entries_after(n_start, n_end, options.dropped_share)
    for step, n_entries in enumerate(kept, start=1):
        network, value = minimise_lbfgs(problem, network, options.n_between, options.alpha, workers)
        if step == len(kept):
            mask = final_mask(network.frequencies, scale, network.mask, budget)
        else:
            mask = largest_blocks(network.frequencies, scale, network.mask, n_entries, budget)
        frequencies = np.where(mask, network.frequencies, 0.0)
        network = replace(network, frequencies=frequencies, mask=mask)
        if on_progress is not None:
            on_progress(step / (len(kept) + 1), value)
    return minimise_lbfgs(problem, network.without_empty(), options.n_last, last_alpha, workers)[0]


def minimise_lbfgs(
    problem: Problem, network: FeatureNetwork, n_iter: int, alpha: float, workers: Workers
) -> tuple[FeatureNetwork, float]:
    r"""Run L-BFGS on loss + :math:`\tfrac\lambda2 |A|^2 + \tfrac{\lambda'}2 |\Omega|^2`.

    Parameters
    ----------
    problem : Problem
        Rows, targets, loss.
    network : FeatureNetwork
        To start with; its mask is kept.
    n_iter : int
        Most iterations.
    alpha : float
        :math:`\lambda`; :math:`\lambda'` is :data:`FREQUENCY_SHARE` times it for cosines.
    workers : Workers
        Threads.

    Returns
    -------
    network : FeatureNetwork
        With the same mask.
    value : float
        Minimum found.
    """
    used = network.mask.any(axis=1)
    part, mask = problem.inputs(used), network.mask[used]
    entries = np.flatnonzero(mask)
    frequencies = np.zeros(mask.shape, dtype=np.float32)
    n_components, n_scores = network.head.shape
    ends = np.cumsum([len(entries), n_components, network.head.size])
    rates = np.zeros(ends[-1] + n_scores)
    rates[: ends[0]] = alpha if network.activation == "relu" else FREQUENCY_SHARE * alpha
    rates[ends[1] : ends[2]] = alpha

    def unpack(values: Float64Array) -> NetworkArrays:
        single = values.astype(np.float32)
        frequencies.reshape(-1)[entries] = single[: ends[0]]
        head = single[ends[1] : ends[2]].reshape(n_components, n_scores)
        return frequencies, single[ends[0] : ends[1]], head, single[ends[2] :]

    def objective(values: Float64Array) -> tuple[float, Float64Array]:
        gradient = loss_and_gradient(part, unpack(values), workers, activation=network.activation)
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
    options = {"maxiter": n_iter, "maxcor": _STEPS_REMEMBERED}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    values, offsets, head, bias = np.split(result.x, ends)
    full = np.zeros(network.mask.shape)
    full[network.mask] = values
    head = head.reshape(network.head.shape)
    found = replace(network, frequencies=full, offsets=offsets, head=head, bias=bias)
    return found, float(result.fun)
