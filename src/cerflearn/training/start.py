r"""The network that training starts with: more inputs a feature than the budget admits."""

from __future__ import annotations

import numpy as np

from cerflearn._typing import BoolArray, Float64Array
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training.inputs import Inputs, sampled_rows
from cerflearn.training.network import (
    Float32Array,
    Int32Array,
    TrainableNetwork,
    padded_scores,
)
from cerflearn.training.policy import (
    FIRST_HEAD,
    FIRST_NOISE,
    LEAST_CLAMPED,
    LEAST_VARIANCE,
    MOMENT_ROUNDS,
    MOMENT_ROWS,
    MOMENT_TOLERANCE,
    RELU_OFFSETS,
    SCALE_SPREAD,
    TABLE_END,
)
from cerflearn.training.pruning import Budget
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.sizes import start_inputs
from cerflearn.training.task import Problem


def draw_network(
    problem: Problem,
    settings: TrainingSettings,
    budget: Budget,
    usable: BoolArray,
    bias: Float64Array,
    rng: np.random.Generator,
) -> TrainableNetwork:
    """Draw weights and heads of a network.

    Parameters
    ----------
    problem : Problem
        Rows over which projections are normalised.
    settings : TrainingSettings
        Kind and number of features.
    budget : Budget
        With the shape of blocks of inputs.
    usable : ndarray of shape (n_features,), bool
        Inputs that may be read; whole groups.
    bias : ndarray of shape (n_scores,)
        To start with.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    TrainableNetwork
        With moments of the projections set.
    """
    n_features, n_scores = problem.X.shape[1], len(bias)
    n_components = settings.n_components
    n_inputs = start_inputs(settings, budget, int(usable.sum()))
    inputs = _draw_inputs(n_components, n_inputs, usable, budget, rng)
    counts = np.array([len(part) for part in inputs], dtype=np.int64)
    entries = np.concatenate([*inputs, np.zeros(0, dtype=np.int32)]).astype(np.int32)
    weights = rng.normal(size=len(entries))
    if settings.gamma is not None:
        weights *= np.sqrt(2.0 * settings.gamma)
    scales, offsets, heads = _draw_heads(settings, n_scores, rng)
    direct = np.flatnonzero(usable).astype(np.int32) if settings.linear_part else entries[:0]
    parameters = np.concatenate(
        [weights, scales, offsets, heads.ravel(), np.zeros(n_scores * len(direct)), bias]
    ).astype(np.float32)
    network = TrainableNetwork(
        kind=settings.activation,
        n_features=n_features,
        n_scores=n_scores,
        n_knots=settings.n_knots,
        pointers=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        inputs=entries,
        linear_pointers=np.arange(n_scores + 1, dtype=np.int64) * len(direct),
        linear_inputs=np.tile(direct, n_scores),
        parameters=parameters,
        first=np.zeros_like(parameters),
        second=np.zeros_like(parameters),
        means=np.zeros(n_components, dtype=np.float32),
        variances=np.ones(n_components, dtype=np.float32),
    )
    set_moments(network, problem.X, problem.weights, MOMENT_ROWS)
    if settings.gamma is None:
        # Weights as small as those of unit projections: a step of Adam then turns them alike.
        parts = network.parts()
        parts[0] /= np.sqrt(network.variances + 1e-12)[network.features_of_entries()]
        network.means /= np.sqrt(network.variances + 1e-12)
        network.variances[:] = 1.0
    else:
        network.parts()[1][:] = np.sqrt(network.variances)
    return network


def _draw_inputs(
    n_components: int,
    n_inputs: int,
    usable: BoolArray,
    budget: Budget,
    rng: np.random.Generator,
) -> list[Int32Array]:
    """Draw inputs of each feature: whole groups, the same for features that share a mask."""
    if budget.input_shape is not None:
        return _draw_patches(n_components, n_inputs, usable, budget, rng)
    size = budget.group_size
    groups = np.flatnonzero(np.logical_or.reduceat(usable, np.arange(0, len(usable), size)))
    n_groups = min(len(groups), max(1, n_inputs // size))
    found: list[Int32Array] = []
    while len(found) < n_components:
        chosen = groups if n_groups == len(groups) else rng.permutation(groups)[:n_groups]
        grid = (np.sort(chosen)[:, None] * size + np.arange(size)).ravel()
        inputs = grid[grid < len(usable)].astype(np.int32)
        found += [inputs] * min(budget.features_per_mask, n_components - len(found))
    return found


def patch_sides(n_pixels: float, height: int, width: int) -> tuple[int, int]:
    """Sides of a patch of about so many pixels: a square, at most half of each side of the image.

    Examples
    --------
    >>> patch_sides(118, 28, 28), patch_sides(400, 28, 28), patch_sides(30, 1, 500)
    ((11, 11), (14, 14), (1, 30))
    """
    most_rows, most_columns = -(-height // 2), -(-width // 2)
    rows = min(int(np.ceil(np.sqrt(n_pixels))), most_rows)
    columns = min(int(np.ceil(n_pixels / rows)), most_columns)
    return min(int(np.ceil(n_pixels / columns)), most_rows), columns


def _draw_patches(
    n_components: int,
    n_inputs: int,
    usable: BoolArray,
    budget: Budget,
    rng: np.random.Generator,
) -> list[Int32Array]:
    """Draw inputs of each feature: a patch around a usable pixel, or ``n_inputs`` of a patch."""
    assert budget.input_shape is not None
    height, width, depth = budget.input_shape
    rows, columns = patch_sides(max(1.0, n_inputs / depth), height, width)
    pixels = np.arange(len(usable)).reshape(height, width, depth)
    found: list[Int32Array] = []
    while len(found) < n_components:
        row, column = divmod(int(rng.choice(np.flatnonzero(usable))) // depth, width)
        top = np.clip(row - rng.integers(rows), 0, height - rows)
        left = np.clip(column - rng.integers(columns), 0, width - columns)
        patch = pixels[top : top + rows, left : left + columns].ravel()
        patch = patch[usable[patch]]
        if len(patch) > n_inputs:
            patch = np.sort(rng.choice(patch, n_inputs, replace=False))
        found += [patch.astype(np.int32)] * min(budget.features_per_mask, n_components - len(found))
    return found


def _draw_heads(
    settings: TrainingSettings, n_scores: int, rng: np.random.Generator
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Scales, offsets and heads: cosines of random phase, relu around 0, nearly straight tables."""
    K = settings.n_components
    if settings.activation == "table":
        knots = np.linspace(-TABLE_END, TABLE_END, settings.n_knots)
        heads = np.zeros((K, settings.n_knots, padded_scores(n_scores)))
        slopes = FIRST_HEAD * rng.normal(size=(K, 1, n_scores))
        noise = FIRST_NOISE * rng.normal(size=(K, settings.n_knots, n_scores))
        heads[:, :, :n_scores] = slopes * knots[None, :, None] + noise
        return np.zeros(K), np.zeros(K), heads
    heads = FIRST_HEAD * rng.normal(size=(K, n_scores))
    if settings.activation == "relu":
        return np.ones(K), RELU_OFFSETS * rng.normal(size=K), heads
    scales = settings.frequency_scale * rng.uniform(*SCALE_SPREAD, size=K)
    return scales, rng.uniform(0.0, 2.0 * np.pi, size=K), heads


def set_moments(
    network: TrainableNetwork, X: Inputs, weights: Float32Array, n_rows: int | None = None
) -> None:
    """Set mean and variance of the projections to those over weighted rows, clamped.

    Values beyond the span of a table, in units of the deviation that is sought, count as its ends:
    few outliers must not squeeze all other rows into few bins. Where nearly all rows are equal that
    variance vanishes; of relu features a share of that of all values stays.

    Parameters
    ----------
    network : TrainableNetwork
        Whose moments are set.
    X : ndarray or LazyInputs of shape (n_samples, n_features), float32
        The rows.
    weights : ndarray of shape (n_samples,), float32
        Of the rows.
    n_rows : int, optional
        Rows to use at most, evenly spaced; None: all.
    """
    if network.n_components == 0:
        return
    rows = sampled_rows(len(X), len(X) if n_rows is None else n_rows)
    weights = weights[rows]
    share = weights.astype(np.float64) / float(weights.sum(dtype=np.float64))
    slices = row_slices(len(rows), network.n_features)
    z = np.concatenate([network.projections(X[rows[s]]) for s in slices], dtype=np.float64)
    mean: Float64Array = share @ z
    bound: Float64Array = np.full(z.shape[1], np.inf)
    variance: Float64Array = np.zeros(z.shape[1])
    apart = np.empty_like(z)
    for number in range(MOMENT_ROUNDS):
        before = variance
        np.subtract(z, mean, out=apart)
        if number > 0:
            np.maximum(np.minimum(apart, bound, out=apart), -bound, out=apart)
        shift = share @ apart
        variance = share @ np.square(apart, out=apart) - shift**2
        if number == 0:
            least = LEAST_CLAMPED * variance if network.kind == "relu" else 0.0
        variance = np.maximum(variance, least)
        mean = mean + shift
        bound = TABLE_END * np.sqrt(np.maximum(variance, 0.0) + LEAST_VARIANCE)
        if np.all(np.abs(variance - before) <= MOMENT_TOLERANCE * variance):
            break
    network.means[:] = mean
    network.variances[:] = np.maximum(variance, 0.0)
