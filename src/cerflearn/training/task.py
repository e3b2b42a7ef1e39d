"""Training rows with their targets and budget; parts of them to train on and to hold out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training import policy
from cerflearn.training.inputs import (
    Inputs,
    LazyInputs,
    column_deviations,
    multiplied,
    part_of,
    sampled_rows,
)
from cerflearn.training.network import Float32Array, Int32Array
from cerflearn.training.pruning import Budget
from cerflearn.training.scores import LOSSES, TargetKind, score_bounds
from cerflearn.training.settings import TrainingSettings

NATIVE_LOSSES: dict[TargetKind, str] = {
    "binary": "logistic",
    "multiclass": "softmax",
    "multilabel": "logistic",
    "regression": "squared",
}
"""Names of the losses in the native trainer."""


@dataclass(frozen=True, eq=False)
class OneHotRows:
    """One-hot classes that are written out when rows are asked for: a number a row is stored.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,), int
        Numbers of the classes, from 0.
    n_classes : int
        Number of classes.
    """

    codes: NDArray[Any]
    n_classes: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and classes."""
        return len(self.codes), self.n_classes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Float64Array:
        codes = self.codes[rows]
        found = np.zeros((len(codes), self.n_classes))
        found[np.arange(len(codes)), codes] = 1.0
        return found

    def part(self, rows: Any) -> OneHotRows:
        """Classes of some rows, not written out."""
        return OneHotRows(self.codes[rows], self.n_classes)


Targets: TypeAlias = Float64Array | OneHotRows
"""Targets (n_rows, n_scores) of a task."""


@dataclass(frozen=True, eq=False)
class Task:
    """Training rows with their targets, and the budget.

    Attributes
    ----------
    X : ndarray or LazyInputs of shape (n_samples, n_features), float32
        Inputs of mean 0 and, unless they are to stay as they are, deviation 1.
    targets : ndarray or OneHotRows of shape (n_samples, n_scores)
        One-hot classes (one column for two classes), 0 and 1 for each label, or standardised
        numbers.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    strata : ndarray of shape (n_samples,), int
        Classes, which all parts get their share of; zeros if there are none.
    kind : {"binary", "multiclass", "multilabel", "regression"}
        Of the targets.
    budget : Budget
        Of the network.
    usable : ndarray of shape (n_features,), bool
        Inputs that vary.
    input_factors : dict of ndarray of shape (n_features,), float32
        Factors of the inputs for other scalings, by their names.
    blocks : ndarray of shape (n_blocks + 1,), int64, or None
        Where the rows of each block of the grid begin, and the end; None: blocks are full.
    """

    X: Inputs
    targets: Targets
    weights: Float64Array
    strata: IntArray
    kind: TargetKind
    budget: Budget
    usable: BoolArray
    input_factors: dict[str, Float32Array]
    blocks: IntArray | None = None

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
        first = self.targets[:1]
        return any((self.targets[part] != first).any() for part in row_slices(*self.targets.shape))

    def rows(self, index: Any) -> Task:
        """Task of some rows: a mask, or numbers in ascending order."""
        index = np.asarray(index)
        index = np.flatnonzero(index) if index.dtype == np.bool_ else index
        weights, targets = self.weights[index], self.targets
        weights /= weights.sum()
        X = part_of(self.X, index)
        if isinstance(targets, OneHotRows) and isinstance(X, LazyInputs):
            chosen: Targets = targets.part(index)
        else:
            chosen = targets[index]
        return replace(
            self,
            X=X,
            targets=chosen,
            weights=weights,
            strata=self.strata[index],
            blocks=_blocks_of_part(self.blocks, index),
        )

    def evenly_spaced(self, most: int) -> Task:
        """Task of at most so many rows, evenly spaced."""
        if self.n_samples <= most:
            return self
        return self.rows(sampled_rows(self.n_samples, most))

    def problem(self) -> Problem:
        """Return the rows with their own targets, in single precision."""
        return problem_of(self.kind, self.X, self.targets, self.weights, self.blocks)

    def constant_scores(self) -> Float64Array:
        """Scores (n_scores,) that are right on average: means, or log-odds of the classes."""
        slices = row_slices(*self.targets.shape)
        mean = sum((self.weights[part] @ self.targets[part] for part in slices), np.zeros(1))
        if not self.classifies:
            return np.asarray(mean)
        least = 1.0 / (2.0 * self.n_samples)  # a class that is absent keeps a finite score
        share = np.clip(mean, least, 1.0 - least)
        odds = share if self.kind == "multiclass" else share / (1.0 - share)
        return np.asarray(np.log(odds))

    def bounded(self, scores: FloatArray) -> Float64Array:
        """Scores as they are predicted by a network trained on this task: numbers are bounded."""
        found = scores.astype(np.float64)
        return found if self.classifies else found.clip(*score_bounds(self.targets[:]))

    def loss(self, scores: Float64Array) -> float:
        """Mean loss of scores of these rows."""
        return LOSSES[self.kind](scores, self.targets[:], self.weights)[0]


def _blocks_of_part(blocks: IntArray | None, numbers: IntArray) -> IntArray | None:
    """Where the rows of each block begin among some of them, and the end."""
    return None if blocks is None else np.unique(np.searchsorted(numbers, blocks))


@dataclass(frozen=True, eq=False)
class Problem:
    """What steps of training read: rows, targets and weights in single precision.

    Attributes
    ----------
    X : ndarray or LazyInputs of shape (n_rows, n_features), float32
        Inputs.
    targets : ndarray, float32, or OneHotRows of shape (n_rows, n_scores)
        Of the scores.
    weights : ndarray of shape (n_rows,), float32
        Of the rows, of mean one.
    loss : {"squared", "logistic", "softmax"}
        Of the scores.
    blocks : ndarray of shape (n_blocks + 1,), int64, or None
        See :class:`Task`.
    """

    X: Inputs
    targets: Float32Array | OneHotRows
    weights: Float32Array
    loss: str
    blocks: IntArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @cached_property
    def input_deviations(self) -> Float32Array:
        """Standard deviation (n_features,) of each input."""
        return column_deviations(self.X)

    def grid(self) -> IntArray:
        """Where each block of rows begins, and the end."""
        if self.blocks is not None:
            return self.blocks
        return np.append(np.arange(0, self.n_rows, policy.GRID_ROWS), self.n_rows)

    def dense_targets(self, rows: Any) -> Float32Array:
        """Targets of some rows as an array."""
        return np.ascontiguousarray(self.targets[rows], dtype=np.float32)

    def load(self, rows: IntArray) -> Problem:
        """Problem of some rows that are read into memory."""
        assert isinstance(self.X, LazyInputs)
        X, targets = self.X.load(rows), self.dense_targets(rows)
        return Problem(X, targets, self.weights[rows], self.loss)


def scaled_inputs(task: Task, settings: TrainingSettings) -> Inputs:
    """Return the inputs of a task, scaled as the settings say."""
    return multiplied(task.X, task.input_factors.get(settings.scaling))


def scaled_problem(problem: Problem, task: Task, settings: TrainingSettings) -> Problem:
    """Return the problem of a task with inputs scaled as the settings say."""
    factors = task.input_factors.get(settings.scaling)
    return problem if factors is None else replace(problem, X=multiplied(problem.X, factors))


def problem_of(
    kind: TargetKind,
    X: Inputs,
    targets: Targets,
    weights: Float64Array,
    blocks: IntArray | None = None,
) -> Problem:
    """Problem of given rows; weights need not sum to anything."""
    lazy = isinstance(X, LazyInputs)
    numbers: Float32Array | OneHotRows
    if lazy and isinstance(targets, OneHotRows):
        numbers = targets
    else:
        numbers = np.ascontiguousarray(targets[:], dtype=np.float32)
    return Problem(
        X if lazy else np.ascontiguousarray(X, dtype=np.float32),
        numbers,
        (weights * (len(weights) / weights.sum())).astype(np.float32),
        NATIVE_LOSSES[kind],
        blocks,
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


def parts_of_rows(strata: IntArray, n_parts: int, seed: int) -> Int32Array:
    """Part (n_samples,) of each row, from 0, with equal shares of each stratum.

    Within a block of the grid the rows of a stratum go to the parts in turn, in the order of
    their hashes. Each stratum begins with the part after the last one's end, so that parts of a
    block differ by at most one row.

    Parameters
    ----------
    strata : ndarray of shape (n_samples,), int
        Such as classes.
    n_parts : int
        Number of parts.
    seed : int
        Of the hash.

    Returns
    -------
    ndarray of shape (n_samples,), int32
        Numbers of the parts.
    """
    hashes = hash_of_rows(len(strata), seed)
    parts = np.empty(len(strata), dtype=np.int32)
    for start in range(0, len(strata), policy.GRID_ROWS):
        block = slice(start, start + policy.GRID_ROWS)
        order = np.lexsort((hashes[block], strata[block]))
        parts[start + order] = np.arange(len(order)) % n_parts
    return parts


def fullest_parts(strata: IntArray, parts: Int32Array, n_parts: int) -> IntArray:
    """Numbers (n_parts,) of the parts, those with rows of the most strata first.

    A stratum of fewer rows than parts is missing in some. One of a single row does not count:
    where it is held out, it is not trained on. Of equals the first comes first.
    """
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    several = counts[codes] > 1
    pairs = np.unique(np.stack([parts[several], codes[several]]), axis=1)
    return np.argsort(-np.bincount(pairs[0], minlength=n_parts), kind="stable")
