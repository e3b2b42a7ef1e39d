"""Checkpoints of learned maps: what they belong to, and the selection that was found."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cerflearn.engine.blocks import Block
from cerflearn.estimators.cerf.selector_base import STREAM_CONSTRAINTS, Selection, Selector
from cerflearn.estimators.fingerprint import array_digest, fit_fingerprint
from cerflearn.estimators.input import TrainingData
from cerflearn.estimators.teachers import reads_no_target
from cerflearn.files.checkpoint import Checkpoint, make_folder
from cerflearn.learning.saved_state import ROUNDS, STAGES, SUMS, tree_of

SELECTION, EMBEDDING = "selection", "embedding"
"""Names of states: what was chosen; digest of teacher and candidates."""

_IGNORED = ("selector__cache_bytes", *(f"selector__{name}" for name in STREAM_CONSTRAINTS))


def check_map_checkpoint(folder: Any, estimator: Any, selector: Any) -> None:
    """Refuse a folder that cannot be made, and selectors that have no stages."""
    if not isinstance(selector, Selector):
        raise ValueError(
            f"checkpoint={folder!r} has no effect with selector={estimator.selector!r}: there are "
            "no stages after which anything could be kept; leave it out, or pass a selector such "
            "as 'greedy'."
        )
    make_folder(folder)


def open_checkpoint(
    folder: str | os.PathLike[str], estimator: Any, selector: Any, data: TrainingData
) -> Checkpoint:
    """Return the checkpoint of a fit; ``ValueError`` if the folder has that of another one.

    Parameters
    ----------
    folder : str or path-like
        Of states.
    estimator : estimator
        With valid parameters.
    selector : Selector
        What its parameter ``selector`` stands for.
    data : TrainingData
        The rows; y counts if the teacher may read it.
    """
    y = None if reads_no_target(estimator.teacher) else data.y
    replaced = {"selector": selector}
    fingerprint = fit_fingerprint(estimator, data.X, {"y": y}, replaced=replaced, ignored=_IGNORED)
    return Checkpoint(folder, fingerprint)


def kept_selection(
    store: Checkpoint, first_block: Block, select: Callable[[], Selection]
) -> Selection:
    """Return the selection that is stored, or the one that is found, which is then stored.

    Parameters
    ----------
    store : Checkpoint
        Of this fit.
    first_block : tuple of ndarray
        Teacher and learner of the first rows, which must be those of the states.
    select : callable
        Goes on from the states.
    """
    digest = [array_digest(array) for array in first_block]
    known = store.load(EMBEDDING)
    if known is None:
        store.save(EMBEDDING, digest)
    elif known != digest:
        raise ValueError(
            f"Teacher or candidates are not those of the checkpoint in {str(store.folder)!r}, "
            "although parameters and data are: a teacher that gives other outputs each time it is "
            "fitted, or another one in a FrozenEstimator. Pass another folder, or delete this one "
            "to begin anew."
        )
    found = store.load(SELECTION)
    if found is not None:
        return Selection(**found)
    selection = select()
    if not selection.stopped:  # by a callback, which may be another one in the next call
        store.save(SELECTION, tree_of(selection))
        store.remove(SUMS, ROUNDS, STAGES)
    return selection
