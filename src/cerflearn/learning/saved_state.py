"""States of learning that are kept outside of it, so that a run can go on where another stopped.

A store keeps trees: dictionaries, lists, numbers and arrays. The same rows and settings that go on
from a stored state give the bits of a run that was never stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from cerflearn._typing import StateStore
from cerflearn.learning.normalization import Normalizer
from cerflearn.learning.state import CVEMProgress, VariationalState
from cerflearn.learning.stats import SufficientStats

SUMS, ROUNDS, STAGES = "sums", "rounds", "stages"
"""Names of states: sums over all rows; what was chosen so far; CVEM after a stage."""


def tree_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def kept_sums(store: StateStore, compute: Callable[[], SufficientStats]) -> SufficientStats:
    """Return the sums that a store has, or those that are computed, which it then keeps.

    Parameters
    ----------
    store : StateStore
        Where they are kept.
    compute : callable
        Goes over the rows.
    """
    found = store.load(SUMS)
    if found is not None:
        return SufficientStats(**found)
    stats = compute()
    store.save(SUMS, tree_of(stats))
    return stats


def save_stage(store: StateStore, progress: CVEMProgress) -> None:
    """Keep CVEM after a stage."""
    tree = tree_of(progress)
    tree["normalizer"] = tree_of(progress.normalizer)
    tree["state"] = tree_of(progress.state)
    if progress.blocks is not None:
        tree["blocks"] = [tree_of(stats) for stats in progress.blocks]
    store.save(STAGES, tree)


def load_stage(store: StateStore) -> CVEMProgress | None:
    """Return CVEM after the last stage that was kept."""
    tree = store.load(STAGES)
    if tree is None:
        return None
    blocks = tree["blocks"]
    return CVEMProgress(
        **tree
        | {
            "normalizer": Normalizer(**tree["normalizer"]),
            "state": VariationalState(**tree["state"]),
            "blocks": None if blocks is None else [SufficientStats(**sums) for sums in blocks],
        }
    )
