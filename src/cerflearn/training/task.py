"""Training rows with their targets and budget; parts of them to train on and to hold out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.training.network import Float32Array, Int32Array
from cerflearn.training.pruning import Budget
from cerflearn.training.scores import LOSSES, TargetKind, score_bounds
from cerflearn.training.settings import TrainingSettings

GRID_ROWS = 2**16
"""Rows of a block of the fixed grid: rows are merged, sorted and stratified within a block only."""

_SHUFFLED_BLOCKS = 4  # whose rows are mixed: what is in memory at once when data are larger

NATIVE_LOSSES: dict[TargetKind, str] = {
    "binary": "logistic",
    "multiclass": "softmax",
    "multilabel": "logistic",
    "regression": "squared",
}
"""Names of the losses in the native trainer."""


@dataclass(frozen=True, eq=False)
class Task:
    """Training rows with their targets, and the budget.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
        Inputs of mean 0 and, unless they are to stay as they are, deviation 1.
    targets : ndarray of shape (n_samples, n_scores)
        One-hot classes (one column for two classes), 0 and 1 for each label, or standardised
        numbers.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    strata : ndarray of shape (n_samples,), int64
        Classes, which all parts get their share of; zeros if there are none.
    kind : {"binary", "multiclass", "multilabel", "regression"}
        Of the targets.
    budget : Budget
        Of the network.
    usable : ndarray of shape (n_features,), bool
        Inputs that vary.
    input_factors : dict of ndarray of shape (n_features,), float32
        Factors of the inputs for other scalings, by their names.
    """

    X: Float32Array
    targets: Float64Array
    weights: Float64Array
    strata: IntArray
    kind: TargetKind
    budget: Budget
    usable: BoolArray
    input_factors: dict[str, Float32Array]

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_scores(self) -> int:
        """Number of scores of a network."""
        return int(self.targets.shape[1])

    @property
    def classifies(self) -> bool:
        """Whether targets are classes or labels."""
        return self.kind != "regression"

    @property
    def targets_vary(self) -> bool:
        """Whether targets differ between rows."""
        return bool((self.targets != self.targets[0]).any())

    def rows(self, index: Any) -> Task:
        """Task of some rows."""
        weights = self.weights[index]
        return replace(
            self,
            X=np.ascontiguousarray(self.X[index]),
            targets=self.targets[index],
            weights=weights / weights.sum(),
            strata=self.strata[index],
        )

    def constant_scores(self) -> Float64Array:
        """Scores (n_scores,) that are right on average: means, or log-odds of the classes."""
        mean = self.weights @ self.targets
        if not self.classifies:
            return np.asarray(mean)
        least = 1.0 / (2.0 * self.n_samples)  # a class that is absent keeps a finite score
        share = np.clip(mean, least, 1.0 - least)
        odds = share if self.kind == "multiclass" else share / (1.0 - share)
        return np.asarray(np.log(odds))

    def bounded(self, scores: FloatArray) -> Float64Array:
        """Scores as they are predicted by a network trained on this task: numbers are bounded."""
        found = scores.astype(np.float64)
        return found if self.classifies else found.clip(*score_bounds(self.targets))

    def loss(self, scores: Float64Array) -> float:
        """Mean loss of scores of these rows."""
        return LOSSES[self.kind](scores, self.targets, self.weights)[0]


@dataclass(frozen=True, eq=False)
class Problem:
    """What steps of training read: rows, targets and weights in single precision.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), float32
        Inputs.
    targets : ndarray of shape (n_rows, n_scores), float32
        Of the scores.
    weights : ndarray of shape (n_rows,), float32
        Of the rows, of mean one.
    loss : {"squared", "logistic", "softmax"}
        Of the scores.
    """

    X: Float32Array
    targets: Float32Array
    weights: Float32Array
    loss: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)


def scaled_inputs(task: Task, settings: TrainingSettings) -> Float32Array:
    """Return the inputs of a task, scaled as the settings say."""
    factors = task.input_factors.get(settings.scaling)
    return task.X if factors is None else task.X * factors


def problem_of(
    kind: TargetKind, X: Float32Array, targets: Float64Array, weights: Float64Array
) -> Problem:
    """Problem of given rows; weights need not sum to anything."""
    return Problem(
        np.ascontiguousarray(X, dtype=np.float32),
        np.ascontiguousarray(targets, dtype=np.float32),
        (weights * (len(weights) / weights.sum())).astype(np.float32),
        NATIVE_LOSSES[kind],
    )


def hash_of_rows(n_rows: int, seed: int) -> NDArray[np.uint64]:
    """Hash (n_rows,) of each row's global index: which rows are held out depends on nothing else.

    The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
    """
    x = np.arange(n_rows, dtype=np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def parts_of_rows(strata: IntArray, n_parts: int, seed: int) -> IntArray:
    """Part (n_samples,) of each row, from 0, with equal shares of each stratum.

    Within a block of the grid the rows of a stratum go to the parts in turn, in the order of
    their hashes. Each stratum begins with the part after the last one's end, so that parts of a
    block differ by at most one row.

    Parameters
    ----------
    strata : ndarray of shape (n_samples,), int64
        Such as classes.
    n_parts : int
        Number of parts.
    seed : int
        Of the hash.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        Numbers of the parts.
    """
    hashes = hash_of_rows(len(strata), seed)
    parts = np.empty(len(strata), dtype=np.int64)
    for start in range(0, len(strata), GRID_ROWS):
        block = slice(start, start + GRID_ROWS)
        order = np.lexsort((hashes[block], strata[block]))
        parts[start + order] = np.arange(len(order)) % n_parts
    return parts


def batches_of_rows(
    n_rows: int, batch_size: int, n_steps: int, rng: np.random.Generator
) -> Int32Array:
    """Rows (n_steps, batch_size) of each step: a shuffle of two levels, round by round.

    In a round all rows are seen once, but for the last ones that do not fill a batch: blocks of
    the grid in random order, and the rows of a few blocks at a time in random order.
    """
    if n_rows <= GRID_ROWS:  # all rounds at once
        n_rounds = -(-n_steps // (n_rows // batch_size))
        rounds = np.broadcast_to(np.arange(n_rows, dtype=np.int32), (n_rounds, n_rows))
        whole = rng.permuted(rounds, axis=1)[:, : n_rows // batch_size * batch_size]
        return np.ascontiguousarray(whole.reshape(-1, batch_size)[:n_steps], dtype=np.int32)
    found = np.empty((n_steps, batch_size), dtype=np.int32)
    done = 0
    while done < n_steps:
        for rows in _shuffled(n_rows, rng):
            whole = rows[: len(rows) // batch_size * batch_size].reshape(-1, batch_size)
            taken = whole[: n_steps - done]
            found[done : done + len(taken)] = taken
            done += len(taken)
            if done == n_steps:
                break
    return found


def _shuffled(n_rows: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Rows of a few blocks at a time, shuffled."""
    starts = rng.permutation(np.arange(0, n_rows, GRID_ROWS))
    # A block of few rows goes with others: alone it might not fill a batch.
    for first in range(0, len(starts), _SHUFFLED_BLOCKS):
        blocks = [
            np.arange(start, min(start + GRID_ROWS, n_rows))
            for start in starts[first : first + _SHUFFLED_BLOCKS]
        ]
        yield rng.permutation(np.concatenate(blocks))
