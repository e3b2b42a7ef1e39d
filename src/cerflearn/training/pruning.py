r"""Pruning: the entries of a network that matter least are dropped until it fits a budget.

The importance of an input of a feature is its share of the projection's deviation times the
deviation of the feature's scores, :math:`|w_{dk}| \operatorname{std}(x_d) / \sigma_k \cdot
\sqrt{\sum_o \operatorname{var}(f_{ko})}`; that of a linear entry is :math:`|L_{do}|
\operatorname{std}(x_d)`: both in units of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn.training.inputs import Inputs, column_deviations, sampled_rows
from cerflearn.training.network import Float32Array, TrainableNetwork
from cerflearn.training.policy import IMPORTANCE_ROWS, LEAST_VARIANCE, TABLE_END

Counts = TypeVar("Counts", int, IntArray)


@dataclass(frozen=True)
class Budget:
    """Most operations, and bytes, of a network.

    Attributes
    ----------
    macs : int
        Multiply-accumulates, or additions of table rows, of one row.
    n_scores : int
        Operations of a feature beside its inputs: scores of the deployed head; 0 if the features
        themselves are the result, of which none is dropped then.
    group_size, features_per_mask : int
        Shape of the blocks of inputs and features that are kept or dropped together.
    max_bytes : int or None
        Constant data of the deployed network, counted by ``count_bytes``.
    count_bytes : callable or None
        ``count_bytes(n_entries, n_components, n_linear, n_bins)``: bytes of a network whose
        features have ``n_bins`` rows of scores each, or one row if that is None.
    input_shape : tuple of int or None
        Height, width and channels of images whose pixels the inputs are: features start with
        patches of them.
    """

    macs: int
    n_scores: int
    group_size: int = 1
    features_per_mask: int = 1
    max_bytes: int | None = None
    count_bytes: Callable[[int, int, int, int | None], int] | None = None
    input_shape: tuple[int, int, int] | None = None

    def within(self, macs: int | None) -> Budget:
        """Return the budget of a network that has at most so many operations, too."""
        return self if macs is None or macs >= self.macs else replace(self, macs=macs)

    def entries_for(self, n_components: int) -> int:
        """Most inputs of a network with so many features."""
        return self.macs - n_components * self.n_scores

    def operations(self, n_entries: Counts, n_components: Counts, n_linear: Counts) -> Counts:
        """Operations of one row: an entry each, the scores of each feature."""
        return n_entries + n_components * self.n_scores + n_linear

    def admits(
        self, macs: int, n_entries: int, n_components: int, n_linear: int, n_bins: int | None
    ) -> bool:
        """Return whether a network has at most ``macs`` operations and the bytes of the budget."""
        if self.operations(n_entries, n_components, n_linear) > macs:
            return False
        if self.max_bytes is None or self.count_bytes is None:
            return True
        return self.count_bytes(n_entries, n_components, n_linear, n_bins) <= self.max_bytes


def feature_values(network: TrainableNetwork, X: Float32Array) -> Float64Array:
    """Deviation (n_components,) of the scores that each feature adds, over rows of X."""
    if network.n_components == 0:
        return np.zeros(0)
    y = (network.projections(X) - network.means) / np.sqrt(network.variances + LEAST_VARIANCE)
    _, scales, offsets, heads, _, _ = network.parts()
    if network.kind == "cosine":
        features = np.cos(scales * y + offsets)
    elif network.kind == "relu":
        features = np.maximum(y + offsets, 0.0)
    else:
        return _table_deviations(network, np.asarray(y))
    return np.asarray(features.std(axis=0) * np.linalg.norm(heads, axis=1), dtype=np.float64)


def _table_deviations(network: TrainableNetwork, y: Float32Array) -> Float64Array:
    r"""Measure the deviation over rows of interpolated tables, summed in squares over scores.

    A value is :math:`\sum_j h_j(y) t_j` with hat functions h, of which two neighbours are not zero:
    its variance follows from their first and second moments, whatever the number of scores.
    """
    K, n_knots, n = network.n_components, network.n_knots, len(y)
    u = np.clip((y + TABLE_END) * ((n_knots - 1) / (2.0 * TABLE_END)), 0.0, n_knots - 1.001)
    index = u.astype(np.int64)
    share = (u - index).ravel()
    at = (index + n_knots * np.arange(K)).ravel()

    def sums(values: Float32Array, shift: int = 0) -> Float64Array:
        found = np.bincount(at + shift, weights=values, minlength=K * n_knots + 1)
        return found[: K * n_knots].reshape(K, n_knots, 1) / n

    rest = 1.0 - share
    mean = sums(rest) + sums(share, 1)
    square = sums(rest * rest) + sums(share * share, 1)
    product = sums(rest * share)  # of a knot and the next
    tables = network.tables().astype(np.float64)
    first = (mean * tables).sum(axis=1)
    second = (square * np.square(tables)).sum(axis=1)
    second += 2.0 * (product[:, :-1] * tables[:, :-1] * tables[:, 1:]).sum(axis=1)
    variance = np.maximum(second - np.square(first), 0.0).sum(axis=1)
    return np.asarray(np.sqrt(variance), dtype=np.float64)


def entry_importances(
    network: TrainableNetwork, X: Float32Array, deviations: Float32Array
) -> tuple[Float64Array, Float64Array]:
    """Measure importances (n_entries,) and (n_linear,), see above, over rows of X."""
    weights, _, _, _, linear, _ = network.parts()
    of, K = network.features_of_entries(), network.n_components
    sizes = (np.abs(weights) * deviations[network.inputs]).astype(np.float64)
    # Moments are clamped: rare large values may have a greater deviation than the projection.
    norm = np.sqrt(np.bincount(of, weights=np.square(sizes), minlength=K))
    deviation = np.maximum(np.sqrt(network.variances + LEAST_VARIANCE), norm)
    entries = sizes * (feature_values(network, X) / deviation)[of]
    direct = np.abs(linear) * deviations[network.linear_inputs]
    return entries, direct.astype(np.float64)


def prune(
    network: TrainableNetwork,
    X: Float32Array,
    deviations: Float32Array,
    macs: int,
    budget: Budget,
    n_bins: int | None = None,
) -> TrainableNetwork:
    """Drop the least important entries until the network costs at most ``macs``.

    At the last pruning, where ``macs`` are those of the budget, its bytes are kept too.

    Parameters
    ----------
    network : TrainableNetwork
        To prune; it is not changed.
    X : ndarray of shape (n_samples, n_features), float32
        Rows over which importances are measured.
    deviations : ndarray of shape (n_features,), float32
        Standard deviations of the inputs.
    macs : int
        Most operations of the result.
    budget : Budget
        With the shape of blocks.
    n_bins : int, optional
        Rows of a deployed table.

    Returns
    -------
    TrainableNetwork
        Within ``macs``.
    """
    if network.kind == "table" and budget.features_per_mask == 1:
        network = merge_tables(network)
    last = macs <= budget.macs
    limits = budget if last else replace(budget, max_bytes=None)
    counts = [len(network.inputs), network.n_components, len(network.linear_inputs)]

    def admitted(counts: list[int]) -> bool:
        return limits.admits(macs, counts[0], counts[1], counts[2], n_bins)

    if admitted(counts):
        return network
    entries, linear = entry_importances(network, X, deviations)
    block, group_of, sizes, block_importance = _blocks(network, entries, budget)
    if budget.n_scores == 0:
        block_importance = _with_best_kept(block_importance, group_of)
    width, K = budget.features_per_mask, network.n_components
    n_blocks = len(block_importance)
    order = np.argsort(np.concatenate([block_importance, linear]), kind="stable")
    is_block = order < n_blocks
    blocks = order[is_block]
    dropped_entries, last_of_group = np.zeros(len(order), dtype=np.int64), np.zeros(len(order))
    dropped_entries[is_block] = sizes[blocks]
    # A group of features is gone with the last of its blocks.
    groups, first_from_end = np.unique(group_of[blocks][::-1], return_index=True)
    place = np.flatnonzero(is_block)[len(blocks) - 1 - first_from_end]
    last_of_group[place] = np.minimum(width, K - groups * width)
    left = [
        count - np.cumsum(dropped).astype(np.int64)
        for count, dropped in zip(counts, (dropped_entries, last_of_group, ~is_block), strict=True)
    ]
    n_dropped = 1 + int(np.argmax(budget.operations(*left) <= macs))
    while not admitted([int(part[n_dropped - 1]) for part in left]) and n_dropped < len(order):
        n_dropped += 1  # too many bytes
    dropped = np.zeros(len(order), dtype=np.bool_)
    dropped[order[:n_dropped]] = True
    return network.pruned(~dropped[:n_blocks][block], ~dropped[n_blocks:])


def _with_best_kept(importance: Float64Array, group_of: IntArray) -> Float64Array:
    """Set the importance of the best block of each group to infinity: none loses its last.

    Where features are the result, and not scores, their number is given.
    """
    order = np.lexsort((-importance, group_of))
    first = np.unique(group_of[order], return_index=True)[1]
    kept = importance.copy()
    kept[order[first]] = np.inf
    return kept


def merge_tables(network: TrainableNetwork) -> TrainableNetwork:
    """Add up tables of one input each on the same input: their projections differ in sign alone.

    A linear entry of such an input becomes a part of the table, too.
    """
    single = np.flatnonzero(np.diff(network.pointers) == 1)
    single = single[network.parts()[0][network.pointers[single]] != 0.0]  # else it is constant
    if len(single) == 0:
        return network
    entry = network.pointers[single]
    inputs, signs = network.inputs[entry], np.sign(network.parts()[0][entry])
    _, first, which = np.unique(inputs, return_index=True, return_inverse=True)
    merged = network.copy()
    tables = merged.tables()
    kept = np.ones(len(network.inputs), dtype=np.bool_)
    for position, k in enumerate(single):
        target = int(first[which[position]])
        if target == position:
            continue
        table = network.tables()[k]
        same = signs[position] == signs[target]
        tables[single[target]] += table if same else table[::-1]
        kept[entry[position]] = False
    absorbed = _absorb_linear(merged, single[first], inputs[first].astype(np.int64))
    return merged.pruned(kept, ~absorbed)


def _absorb_linear(network: TrainableNetwork, owners: IntArray, inputs: IntArray) -> BoolArray:
    """Add linear entries of some inputs to the tables that read them alone; which entries."""
    owner = np.full(network.n_features, -1)
    owner[inputs] = owners
    weights, _, _, _, linear, bias = network.parts()
    tables, knots = network.tables(), np.linspace(-TABLE_END, TABLE_END, network.n_knots)
    absorbed = owner[network.linear_inputs] >= 0
    scores = network.scores_of_linear()
    for entry in np.flatnonzero(absorbed):
        k, o = owner[network.linear_inputs[entry]], scores[entry]
        # x = (deviation * y + mean) / weight
        slope = linear[entry] / weights[network.pointers[k]]
        tables[k, :, o] += slope * np.sqrt(network.variances[k] + LEAST_VARIANCE) * knots
        bias[o] += slope * network.means[k]
    return absorbed


def _blocks(
    network: TrainableNetwork, entries: Float64Array, budget: Budget
) -> tuple[IntArray, IntArray, IntArray, Float64Array]:
    """Block of each entry; group of features, size and importance of each block.

    The importance of a block is the root mean square of its entries.
    """
    group_of = network.features_of_entries() // budget.features_per_mask
    if budget.group_size == budget.features_per_mask == 1:  # each entry is a block
        n = len(entries)
        return np.arange(n), group_of, np.ones(n, dtype=np.int64), entries
    n_inputs = -(-network.n_features // budget.group_size)
    key = group_of * n_inputs + network.inputs // budget.group_size
    keys, block, sizes = np.unique(key, return_inverse=True, return_counts=True)
    energy = np.bincount(block, weights=np.square(entries), minlength=len(keys))
    return block, keys // n_inputs, sizes, np.sqrt(energy / np.maximum(sizes, 1))


def input_importances(
    network: TrainableNetwork, X: Float32Array, deviations: Float32Array
) -> Float64Array:
    """Measure the importance (n_features,) of each input, over features and scores; sum one.

    Zeros if all are zero.
    """
    entries, linear = entry_importances(network, X, deviations)
    total = np.zeros(network.n_features)
    total += np.bincount(network.inputs, weights=entries, minlength=network.n_features)
    total += np.bincount(network.linear_inputs, weights=linear, minlength=network.n_features)
    found: Float64Array = total / total.sum() if total.sum() > 0.0 else np.zeros(len(total))
    return found


def sampled_importances(network: TrainableNetwork, inputs: Inputs) -> Float64Array:
    """Measure the importance of each input over evenly spaced rows, see :func:`input_importances`.

    Parameters
    ----------
    network : TrainableNetwork
        Trained.
    inputs : ndarray or LazyInputs of shape (n_rows, n_features), float32
        Of the training rows, scaled as the network reads them.
    """
    rows = sampled_rows(len(inputs), IMPORTANCE_ROWS)
    return input_importances(network, inputs[rows], column_deviations(inputs))
