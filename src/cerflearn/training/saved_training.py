"""States of a search and of trainings in a store, from which the same fit goes on to the same bits.

A store keeps trees: dictionaries, lists, numbers, text and arrays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn._typing import StateStore
from cerflearn.training.network import TrainableNetwork


@dataclass(eq=False)
class TrainingProgress:
    """Where a training stands, after a pruning or a check of early stopping.

    Attributes
    ----------
    network : TrainableNetwork
        As it is, with the state of the optimiser.
    n_start : int
        Operations that it began with.
    generator : str
        State of the generator before the first mini-batch; empty if no progress is kept.
    n_pruned, n_checked : int
        Prunings and checks that are done.
    best : TrainableNetwork or None
        Of the checks.
    least : float
        Its held-out loss.
    finished : bool
        Whether nothing is left to do.
    """

    network: TrainableNetwork
    n_start: int
    generator: str
    n_pruned: int = 0
    n_checked: int = 0
    best: TrainableNetwork | None = None
    least: float = np.inf
    finished: bool = False


class KeptTraining:
    """Progress of one training in a store.

    Parameters
    ----------
    store : StateStore
        Where it is kept.
    name : str
        Of the state.
    """

    def __init__(self, store: StateStore, name: str) -> None:
        self._store, self._name = store, name

    def load(self) -> TrainingProgress | None:
        """Return the progress that was kept last."""
        tree = self._store.load(self._name)
        if tree is None:
            return None
        tree |= {name: _network_of(tree[name]) for name in ("network", "best")}
        return TrainingProgress(**tree | {"least": _number(tree["least"])})

    def finished_network(self) -> TrainableNetwork | None:
        """Return the network, if nothing is left to do."""
        progress = self.load()
        return progress.network if progress is not None and progress.finished else None

    def save(self, progress: TrainingProgress) -> None:
        """Keep the progress; now and then only, unless the training is finished."""
        if progress.finished:
            self._store.save(self._name, _progress_tree(progress))
        else:
            self._store.save_at_times(self._name, lambda: _progress_tree(progress))


def generator_text(rng: np.random.Generator) -> str:
    """State of a generator as text."""
    return json.dumps(rng.bit_generator.state)


def set_generator(rng: np.random.Generator, text: str) -> None:
    """Set a generator to a state."""
    rng.bit_generator.state = json.loads(text)


def save_round(store: StateStore, name: str, found: Sequence[tuple[Any, Any]]) -> None:
    """Keep what the trainings of a round have found: scores, and networks or None."""
    store.save(name, [{"scores": scores, "network": _network_tree(net)} for scores, net in found])


def load_round(store: StateStore, name: str) -> list[tuple[Any, Any]] | None:
    """Return what a round has found, if it is kept."""
    trees = store.load(name)
    if trees is None:
        return None
    return [(tree["scores"], _network_of(tree["network"])) for tree in trees]


def _progress_tree(progress: TrainingProgress) -> dict[str, Any]:
    tree = dict(vars(progress))
    tree |= {name: _network_tree(tree[name]) for name in ("network", "best")}
    return tree | {"least": repr(float(progress.least))}


def _number(text: str) -> float:
    return float(text)  # text, as JSON has no infinity


def _network_tree(network: TrainableNetwork | None) -> dict[str, Any] | None:
    return None if network is None else dict(vars(network))


def _network_of(tree: dict[str, Any] | None) -> TrainableNetwork | None:
    return None if tree is None else TrainableNetwork(**tree)
