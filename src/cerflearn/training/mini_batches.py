"""The order in which steps of training see the rows: a shuffle of two levels, round by round.

In a round all rows are seen once, but for the last ones that do not fill a batch: blocks of the
grid in random order, and the rows of a few blocks at a time in random order. So rows that are not
in memory are read a few blocks at a time, and the order is the same wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cerflearn._typing import IntArray
from cerflearn.training import policy
from cerflearn.training.inputs import LazyInputs
from cerflearn.training.network import Float32Array, Int32Array
from cerflearn.training.task import Problem


class Steps(NamedTuple):
    """Rows of some steps: what the native trainer reads.

    Attributes
    ----------
    X, targets, weights : ndarray, float32
        Of rows that are in memory.
    order : ndarray of shape (n_steps, batch_size), int32
        Rows of each step.
    """

    X: Float32Array
    targets: Float32Array
    weights: Float32Array
    order: Int32Array


class MiniBatches:
    """Rows of one step after the other.

    Parameters
    ----------
    problem : Problem
        The rows.
    batch_size, n_steps : int
        Rows of a step, and steps of the training.
    rng : numpy.random.Generator
        Of the shuffles.
    """

    def __init__(
        self, problem: Problem, batch_size: int, n_steps: int, rng: np.random.Generator
    ) -> None:
        self._problem = problem
        self._windows = _windows(problem, batch_size, n_steps, rng)
        self._order = np.empty((0, batch_size), dtype=np.int32)
        self._window: IntArray | None = None
        self._rows: Problem | None = None

    def skip(self, n_steps: int) -> None:
        """Leave the next steps out; their rows are not read."""
        while n_steps > 0:
            n_steps -= len(self._next(n_steps))

    def take(self, n_steps: int) -> Iterator[Steps]:
        """Yield the next steps, in one piece or several."""
        while n_steps > 0:
            taken = self._next(n_steps)
            n_steps -= len(taken)
            if self._rows is None:
                rows, window = self._problem, self._window
                self._rows = rows if window is None else rows.load(window)
            yield from _dense(self._rows, taken)

    def _next(self, n_steps: int) -> Int32Array:
        """Rows of the next steps of a window, at most so many."""
        if len(self._order) == 0:
            self._window, self._order = next(self._windows)
            self._rows = None
        taken, self._order = self._order[:n_steps], self._order[n_steps:]
        return taken


def _dense(rows: Problem, order: Int32Array) -> Iterator[Steps]:
    """Yield steps over rows in memory; some batches of sparse rows are made dense at a time."""
    if not isinstance(rows.X, LazyInputs):
        yield Steps(rows.X, rows.dense_targets(slice(None)), rows.weights, order)
        return
    n_steps, size = order.shape
    at_once = max(1, policy.DENSE_ENTRIES_OF_STEPS // (size * rows.X.shape[1]))
    for start in range(0, n_steps, at_once):
        chosen = order[start : start + at_once]
        index = chosen.ravel().astype(np.int64)
        local = np.arange(len(index), dtype=np.int32).reshape(chosen.shape)
        yield Steps(rows.X[index], rows.dense_targets(index), rows.weights[index], local)


def _windows(
    problem: Problem, batch_size: int, n_steps: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray | None, Int32Array]]:
    """Rows to hold in memory, None for all of them, and the order of steps among them."""
    n_rows = problem.n_rows
    streamed = isinstance(problem.X, LazyInputs) and not problem.X.in_memory
    if n_rows <= policy.GRID_ROWS:  # all rounds at once
        yield (
            np.arange(n_rows) if streamed else None,
            rounds_of_rows(n_rows, batch_size, n_steps, rng),
        )
        return
    while True:
        for rows in shuffled_blocks(problem.grid(), rng):
            mixed = rng.permutation(len(rows)).astype(np.int32)
            order = mixed if streamed else rows[mixed].astype(np.int32)
            whole = order[: len(rows) // batch_size * batch_size].reshape(-1, batch_size)
            if len(whole) > 0:
                yield rows if streamed else None, whole


def rounds_of_rows(
    n_rows: int, batch_size: int, n_steps: int, rng: np.random.Generator
) -> Int32Array:
    """Rows (n_steps, batch_size) of each step: each round all rows in random order."""
    n_rounds = -(-n_steps // (n_rows // batch_size))
    rounds = np.broadcast_to(np.arange(n_rows, dtype=np.int32), (n_rounds, n_rows))
    whole = rng.permuted(rounds, axis=1)[:, : n_rows // batch_size * batch_size]
    return np.ascontiguousarray(whole.reshape(-1, batch_size)[:n_steps], dtype=np.int32)


def shuffled_blocks(blocks: IntArray, rng: np.random.Generator) -> Iterator[IntArray]:
    """Rows of a few blocks at a time, in random order of the blocks.

    Parameters
    ----------
    blocks : ndarray of shape (n_blocks + 1,), int64
        Where each block of rows begins, and the end.
    rng : numpy.random.Generator
        Source of randomness.
    """
    lengths, most = np.diff(blocks), policy.SHUFFLED_BLOCKS * policy.GRID_ROWS
    chosen: list[int] = []
    for block in rng.permutation(len(lengths)):
        # Blocks of few rows go with others: alone they might not fill a batch.
        if chosen and lengths[[*chosen, block]].sum() > most:
            yield _rows_of(blocks, chosen)
            chosen = []
        chosen.append(block)
    yield _rows_of(blocks, chosen)


def _rows_of(blocks: IntArray, chosen: list[int]) -> IntArray:
    return np.concatenate([np.arange(blocks[b], blocks[b + 1]) for b in chosen])
