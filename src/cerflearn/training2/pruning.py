r"""Pruning: the entries of a network that matter least are dropped until it fits a budget.

The importance of an input of a feature is its share of the projection's deviation times the
deviation of the feature's scores, :math:`|w_{dk}| \operatorname{std}(x_d) / \sigma_k \cdot
\sqrt{\sum_o \operatorname{var}(f_{ko})}`; that of a linear entry is :math:`|L_{do}|
\operatorname{std}(x_d)`: both in units of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn.training2.network import TABLE_END, Float32Array, TrainableNetwork


@dataclass(frozen=True)
class Budget:
    """Most operations of a network.

    Attributes
    ----------
    macs : int
        Multiply-accumulates, or additions of table rows, of one row.
    n_scores : int
        Operations of a feature beside its inputs.
    group_size, features_per_mask : int
        Shape of the blocks of inputs and features that are kept or dropped together.
    """

    macs: int
    n_scores: int
    group_size: int = 1
    features_per_mask: int = 1


def feature_values(network: TrainableNetwork, X: Float32Array) -> Float64Array:
    """Deviation (n_components,) of the scores that each feature adds, over rows of X."""
    if network.n_components == 0:
        return np.zeros(0)
    y = (X @ network.weight_matrix() - network.means) / np.sqrt(network.variances + 1e-8)
    _, scales, offsets, heads, _, _ = network.parts()
    if network.kind == "cosine":
        features = np.cos(scales * y + offsets)
    elif network.kind == "relu":
        features = np.maximum(y + offsets, 0.0)
    else:
        return _table_deviations(network, np.asarray(y))
    return np.asarray(features.std(axis=0) * np.linalg.norm(heads, axis=1), dtype=np.float64)


def _table_deviations(network: TrainableNetwork, y: Float32Array) -> Float64Array:
    """Standard deviation over rows of interpolated tables, summed in squares over scores."""
    tables, n_knots = network.tables(), network.n_knots
    u = np.clip((y + TABLE_END) * ((n_knots - 1) / (2.0 * TABLE_END)), 0.0, n_knots - 1.001)
    index = u.astype(np.int64)
    share = (u - index).astype(np.float32)
    found = np.empty(network.n_components)
    for k, table in enumerate(tables):
        low, part = table[index[:, k]], share[:, k, None]
        values = low + part * (table[index[:, k] + 1] - low)
        found[k] = np.sqrt(values.var(axis=0).sum())
    return found


def entry_importances(
    network: TrainableNetwork, X: Float32Array, deviations: Float32Array
) -> tuple[Float64Array, Float64Array]:
    """Importances (n_entries,) and (n_linear,), see above, over rows of X."""
    values = feature_values(network, X) / np.sqrt(network.variances + 1e-8)
    weights, _, _, _, linear, _ = network.parts()
    of = network.features_of_entries()
    entries = np.abs(weights) * deviations[network.inputs] * values[of]
    direct = np.abs(linear) * deviations[network.linear_inputs]
    return entries.astype(np.float64), direct.astype(np.float64)


def prune(
    network: TrainableNetwork,
    X: Float32Array,
    deviations: Float32Array,
    macs: int,
    budget: Budget,
) -> TrainableNetwork:
    """Drop the least important entries until the network costs at most ``macs``.

    Parameters
    ----------
    network : TrainableNetwork
        Pruned copy is returned.
    X : ndarray of shape (n_samples, n_features), float32
        Rows over which importances are measured.
    deviations : ndarray of shape (n_features,), float32
        Standard deviations of the inputs.
    macs : int
        Most operations of the result.
    budget : Budget
        With the shape of blocks.

    Returns
    -------
    TrainableNetwork
        Within ``macs``.
    """
    if network.n_macs <= macs:
        return network
    entries, linear = entry_importances(network, X, deviations)
    of = network.features_of_entries()
    block, block_feature, sizes, block_importance = _blocks(network, entries, of, budget)
    per_mask = np.bincount(block_feature)  # blocks that a group of features reads
    widths = np.diff(np.r_[np.arange(0, network.n_components, budget.features_per_mask), network.n_components])
    importance = np.concatenate([block_importance, linear])
    order = np.argsort(importance, kind="stable")
    excess = network.n_macs - macs
    n_blocks = len(block_importance)
    dropped = np.zeros(len(importance), dtype=np.bool_)
    for item in order:
        if excess <= 0:
            break
        dropped[item] = True
        if item >= n_blocks:
            excess -= 1
            continue
        group = block_feature[item]
        per_mask[group] -= 1
        excess -= int(sizes[item])
        if per_mask[group] == 0:
            excess -= int(widths[group]) * network.n_scores
    return network.pruned(~dropped[:n_blocks][block], ~dropped[n_blocks:])


def _blocks(
    network: TrainableNetwork, entries: Float64Array, of: IntArray, budget: Budget
) -> tuple[IntArray, IntArray, IntArray, Float64Array]:
    """Block of each entry; group of features, size and importance of each block.

    The importance of a block is the root mean square of its entries.
    """
    group_of = of // budget.features_per_mask
    n_inputs = -(-network.n_features // budget.group_size)
    key = group_of * n_inputs + network.inputs // budget.group_size
    keys, block, sizes = np.unique(key, return_inverse=True, return_counts=True)
    energy = np.bincount(block, weights=np.square(entries), minlength=len(keys))
    return block, keys // n_inputs, sizes, np.sqrt(energy / np.maximum(sizes, 1))
