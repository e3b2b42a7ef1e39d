r"""From dense frequencies to masks within a budget.

Gradual magnitude pruning: frequencies are trained, those with the smallest
:math:`|\Omega_{dk}| \operatorname{std}(x_d)` dropped, the rest trained on, and so forth. Whole
blocks of ``group_size`` consecutive inputs by ``features_per_mask`` features are kept or
dropped together, by the root mean square of their entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray


@dataclass(frozen=True)
class Budget:
    """Most multiply-accumulates of a network.

    Attributes
    ----------
    macs : int
        MACs of one row, head included.
    n_scores : int
        Scores of the head: the MACs of a feature beside its inputs.
    group_size, features_per_mask : int
        Shape of the blocks that are kept or dropped together.
    """

    macs: int
    n_scores: int
    group_size: int = 1
    features_per_mask: int = 1

    def entries_for(self, n_components: int) -> int:
        """Most frequencies of a network with so many features."""
        return self.macs - n_components * self.n_scores


def block_sums(values: FloatArray | BoolArray, budget: Budget) -> Float64Array:
    """Add up an array (n_features, n_components) over the blocks of a budget."""
    n_features, n_components = values.shape
    over_inputs = np.add.reduceat(
        values.astype(np.float64), np.arange(0, n_features, budget.group_size), axis=0
    )
    starts = np.arange(0, n_components, budget.features_per_mask)
    sums: Float64Array = np.add.reduceat(over_inputs, starts, axis=1)
    return sums


def largest_blocks(
    frequencies: FloatArray, scale: FloatArray, usable: BoolArray, n_entries: int, budget: Budget
) -> BoolArray:
    r"""Mask (n_features, n_components) of the blocks with the largest root mean square.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features, n_components)
        :math:`\Omega`.
    scale : ndarray of shape (n_features,)
        Standard deviation of each input.
    usable : ndarray of shape (n_features, n_components), bool
        Entries that may be kept: pruning never brings an entry back.
    n_entries : int
        Most entries to keep.
    budget : Budget
        With the shape of the blocks.
    """
    if budget.group_size == budget.features_per_mask == 1:
        importance = np.where(usable, np.abs(frequencies) * scale[:, None], -1.0)
        return _largest(importance, np.ones(importance.shape, dtype=np.int64), usable, n_entries)
    sizes = block_sums(usable, budget).astype(np.int64)
    energy = block_sums(np.where(usable, frequencies * scale[:, None], 0.0) ** 2, budget)
    importance = np.where(sizes > 0, energy / np.maximum(sizes, 1), -1.0)
    kept = _largest(importance, sizes, sizes > 0, n_entries)
    n_features, n_components = frequencies.shape
    rows = np.repeat(kept, budget.group_size, axis=0)[:n_features]
    width = min(budget.features_per_mask, n_components)  # no array wider than the mask
    return np.repeat(rows, width, axis=1)[:, :n_components] & usable


def _largest(
    importance: FloatArray, sizes: IntArray, usable: BoolArray, n_entries: int
) -> BoolArray:
    """Largest entries whose sizes add up to ``n_entries`` at most; ties to the first."""
    order = np.argsort(-importance, axis=None, kind="stable")
    fits = np.cumsum(sizes.ravel()[order]) <= n_entries
    kept = np.zeros(importance.size, dtype=np.bool_)
    kept[order[fits]] = True
    return kept.reshape(importance.shape) & usable


def final_mask(
    frequencies: FloatArray, scale: FloatArray, usable: BoolArray, budget: Budget
) -> BoolArray:
    """Mask within the budget: MACs of features without inputs go to inputs of the others."""
    n_components = frequencies.shape[1]
    mask = usable
    for _ in range(8):  # one or two rounds settle it; each keeps more entries than the one before
        n_entries = budget.entries_for(n_components)
        mask = largest_blocks(frequencies, scale, usable, n_entries, budget)
        n_reading = int(mask.any(axis=0).sum())
        if n_reading >= n_components:
            break
        n_components = n_reading
    while int(mask.sum()) > budget.entries_for(int(mask.any(axis=0).sum())):
        n_entries = int(mask.sum()) - budget.group_size * budget.features_per_mask
        mask = largest_blocks(frequencies, scale, usable, n_entries, budget)
    return mask


def entries_after(n_start: int, n_end: int, share: float) -> IntArray:
    """Entries kept after each pruning: as few prunings as drop at most a share each."""
    n_start, n_end = max(1, n_start), max(1, min(n_start, n_end))
    n_prunings = max(1, int(np.ceil(np.log(n_start / n_end) / -np.log1p(-share))))
    kept = np.geomspace(n_start, n_end, n_prunings + 1)
    entries: IntArray = np.rint(kept[1:]).astype(np.int64)
    return entries


def entries_at(progress: float, n_start: int, n_end: int) -> int:
    r"""Entries kept when a share of the pruning is done: :math:`n_1 + (n_0 - n_1)(1 - p)^3`.

    Most are dropped early, while many are left to be trained on.
    """
    left = (1.0 - min(max(progress, 0.0), 1.0)) ** 3
    return int(n_end + (n_start - n_end) * left)
