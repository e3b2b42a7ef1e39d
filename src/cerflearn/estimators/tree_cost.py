r"""What boosted trees of scikit-learn cost: comparisons and additions of one row, and bytes.

A tree costs one comparison for each level of its longest path, the worst case of a row, and one
addition of its leaf value. A deployed ensemble is one array of nodes, roots first, then other
inner nodes, then leaves, so that an index says what a node is. An inner node stores its threshold
(4 bytes; a set of categories 32), its input (1 byte for up to 256 inputs, then 2, beyond 65,536
inputs 4) and two children (2 bytes each for fewer than 65,536 nodes, otherwise 4). A leaf stores
its value (4 bytes), and the ensemble the start of each sum (4 bytes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn._typing import IntArray
from cerflearn.features.cost import BYTES_PER_NUMBER, Cost

_CATEGORY_BYTES = 32  # one bit for each of 256 categories
_FEW_NODES = 65_536

Rounds = Sequence[Sequence[Any]]
"""Nodes of the trees of each round of boosting, as scikit-learn's structured arrays."""


@dataclass(frozen=True, eq=False)
class RoundCosts:
    """Costs of the first 1, 2, ... rounds of an ensemble.

    Attributes
    ----------
    macs : ndarray of shape (n_rounds,), int64
        Comparisons and additions.
    n_parameters : ndarray of shape (n_rounds,), int64
        Thresholds, leaf values and starts of the sums.
    n_bytes : ndarray of shape (n_rounds,), int64
        Stored.
    """

    macs: IntArray
    n_parameters: IntArray
    n_bytes: IntArray

    def after(self, n_rounds: int) -> Cost:
        """Cost of some rounds."""
        last = n_rounds - 1
        return Cost(
            macs=int(self.macs[last]),
            n_parameters=int(self.n_parameters[last]),
            n_bytes=int(self.n_bytes[last]),
        )


def rounds_of(model: Any) -> list[list[Any]]:
    """Nodes of a fitted HistGradientBoosting ensemble, by round and tree.

    scikit-learn has no public access to them; this is the only place that reads its private ones.
    """
    try:
        rounds = [[tree.nodes for tree in trees] for trees in model._predictors]
        complete = all(
            {"is_leaf", "depth", "is_categorical"} <= {*nodes.dtype.names}
            for trees in rounds[:1]
            for nodes in trees
        )
    except AttributeError:
        complete = False
    if not complete:
        raise RuntimeError(
            f"The trees of {type(model).__name__} cannot be read in this version of scikit-learn: "
            "cost counts those of versions that keep them in _predictors, such as 1.6 to 1.9."
        )
    return rounds


def round_costs(rounds: Rounds, n_features: int) -> RoundCosts:
    """Costs after each round.

    Parameters
    ----------
    rounds : sequence of sequences of structured arrays
        Nodes of the trees of each round.
    n_features : int
        Inputs.
    """
    counts = np.array([np.sum([_count(nodes) for nodes in trees], axis=0) for trees in rounds])
    operations, n_inner, n_categorical, n_leaves = np.cumsum(counts, axis=0).T
    n_trees = len(rounds[0])
    child_bytes = np.where(n_inner + n_leaves < _FEW_NODES, 2, 4)
    n_bytes = n_inner * (BYTES_PER_NUMBER + _input_bytes(n_features) + 2 * child_bytes)
    n_bytes += n_categorical * (_CATEGORY_BYTES - BYTES_PER_NUMBER)
    n_bytes += (n_leaves + n_trees) * BYTES_PER_NUMBER
    return RoundCosts(operations, n_inner + n_leaves + n_trees, n_bytes)


def count_boosting(model: Any) -> Cost:
    """Cost of a fitted HistGradientBoostingClassifier or HistGradientBoostingRegressor."""
    rounds = rounds_of(model)
    return round_costs(rounds, int(model.n_features_in_)).after(len(rounds))


def stump_round_cost(n_trees: int, n_features: int) -> Cost:
    """Cost of one round of trees with one split each, the least that learns anything."""
    n_bytes = n_trees * (4 * BYTES_PER_NUMBER + _input_bytes(n_features) + 4)
    return Cost(macs=2 * n_trees, n_parameters=4 * n_trees, n_bytes=n_bytes)


def _input_bytes(n_features: int) -> int:
    """Bytes of the number of an input."""
    if n_features <= 256:
        return 1
    return 2 if n_features <= 65_536 else 4


def _count(nodes: Any) -> tuple[int, int, int, int]:
    """Operations, inner nodes, those that split categories, and leaves of one tree."""
    is_leaf = nodes["is_leaf"].astype(bool)
    n_categorical = int((nodes["is_categorical"].astype(bool) & ~is_leaf).sum())
    n_leaves = int(is_leaf.sum())
    return int(nodes["depth"].max()) + 1, len(nodes) - n_leaves, n_categorical, n_leaves
