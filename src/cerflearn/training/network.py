r"""A network of masked features with a linear head, as arrays; its loss and gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, FloatArray, IntArray
from cerflearn.training.scores import Loss

Float32Array: TypeAlias = NDArray[np.float32]
"""Any shape, float32: what networks are trained in."""

NetworkArrays: TypeAlias = tuple[Float32Array, Float32Array, Float32Array, Float32Array]
"""Frequencies (n_features, n_components), offsets, head (n_components, n_scores), bias."""

Activation: TypeAlias = Literal["cosine", "relu"]
"""What a feature does with its phase."""

GRADIENT_BLOCK_ROWS = 1024
"""Rows of a block. Sums over rows are sums over blocks, in the same order for any threads."""

_Float = TypeVar("_Float", bound=np.floating[Any])


@dataclass(frozen=True, eq=False)
class FeatureNetwork:
    r"""Scores :math:`\cos(X (\epsilon \odot \Omega) + b) A + a`, or with :math:`\max(\cdot, 0)`.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features, n_components)
        :math:`\Omega`, zero outside the mask.
    offsets : ndarray of shape (n_components,)
        b.
    head : ndarray of shape (n_components, n_scores)
        A.
    bias : ndarray of shape (n_scores,)
        a.
    mask : ndarray of shape (n_features, n_components), bool
        :math:`\epsilon`.
    activation : {"cosine", "relu"}, default="cosine"
        Features are cosines of the phases, or :math:`\max(\cdot, 0)`.
    """

    frequencies: FloatArray
    offsets: FloatArray
    head: FloatArray
    bias: FloatArray
    mask: BoolArray
    activation: Activation = "cosine"

    @property
    def n_macs(self) -> int:
        """MACs of one row, head included."""
        return int(self.mask.sum()) + self.head.size

    def features(self, X: FloatArray) -> FloatArray:
        """Features (n_samples, n_components) of X."""
        phases = X @ self.frequencies
        phases += self.offsets
        return apply_activation(phases, self.activation)

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (n_samples, n_scores) of X."""
        scores: FloatArray = self.features(X) @ self.head + self.bias
        return scores

    def astype(self, dtype: type[np.floating]) -> FeatureNetwork:
        """Copy in another precision."""
        names = ("frequencies", "offsets", "head", "bias")
        return replace(self, **{name: getattr(self, name).astype(dtype) for name in names})

    def without_empty(self) -> FeatureNetwork:
        """Network without features that read nothing: constants, which go to the bias.

        At least one feature stays, so that there is a map.
        """
        reads: BoolArray = np.asarray(self.mask.any(axis=0))
        if reads.all():
            return self
        if not reads.any():
            reads[0] = True
        empty = ~reads
        constants = apply_activation(self.offsets[empty], self.activation)
        return replace(
            self,
            frequencies=self.frequencies[:, reads],
            offsets=self.offsets[reads],
            head=self.head[reads],
            bias=self.bias + constants @ self.head[empty],
            mask=self.mask[:, reads],
        )


def apply_activation(phases: NDArray[_Float], activation: Activation) -> NDArray[_Float]:
    """Cosines of phases, or their positive parts."""
    features: NDArray[_Float]
    features = np.maximum(phases, 0.0) if activation == "relu" else np.cos(phases)
    return features


def phases_to_derivatives(phases: NDArray[_Float], activation: Activation) -> None:
    """Replace phases by the derivatives of :func:`apply_activation` there."""
    if activation == "relu":
        np.greater(phases, 0.0, out=phases)
    else:
        np.sin(phases, out=phases)
        np.negative(phases, out=phases)


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows in single precision, their targets, and the loss.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), float32
        Scaled data.
    targets : ndarray of shape (n_samples, n_scores), float32
        Of the scores.
    weights : ndarray of shape (n_samples,), float32
        Of the rows; they sum to one.
    loss : callable
        See :data:`Loss`.
    """

    X: Float32Array
    targets: Float32Array
    weights: Float32Array
    loss: Loss

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.X)

    def rows(self, index: Any) -> Problem:
        """Problem of some rows, whose weights again sum to one."""
        weights = self.weights[index]
        return Problem(self.X[index], self.targets[index], weights / weights.sum(), self.loss)

    def inputs(self, used: Any) -> Problem:
        """Problem with some of the inputs."""
        X = np.ascontiguousarray(self.X[:, used])
        return Problem(X, self.targets, self.weights, self.loss)


@dataclass(frozen=True, eq=False)
class Gradient:
    """Loss, and its derivatives with respect to the arrays of a network."""

    value: float
    frequencies: Float32Array
    offsets: Float32Array
    head: Float32Array
    bias: Float32Array


class Workers:
    """Evaluates a function of blocks in one thread or several, with results in order.

    Parameters
    ----------
    n_threads : int
        Threads; one needs no pool.
    """

    def __init__(self, n_threads: int) -> None:
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """Results of the function, in the order of the items."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def loss_and_gradient(
    problem: Problem,
    arrays: NetworkArrays,
    workers: Workers,
    rows: IntArray | None = None,
    *,
    activation: Activation = "cosine",
) -> Gradient:
    r"""Loss of a network without penalties, and its gradient.

    With phases :math:`P = X \Omega + b`, features :math:`f(P)` and gradient G with respect to the
    scores: :math:`f(P)^\top G` for the head, :math:`Q = (G A^\top) \odot f'(P)` for the phases,
    :math:`X^\top Q` for the frequencies.

    Parameters
    ----------
    problem : Problem
        Rows and targets.
    arrays : tuple of ndarray, float32
        Frequencies (n_features, n_components), offsets, head (n_components, n_scores), bias.
    workers : Workers
        Threads; the bits of the result do not depend on their number.
    rows : ndarray of int, optional
        Rows to use; all by default.
    activation : {"cosine", "relu"}, default="cosine"
        f.

    Returns
    -------
    Gradient
        Value and derivatives.
    """
    frequencies, offsets, head, bias = arrays

    def block(start: int) -> Gradient:
        part: Any = slice(start, start + GRADIENT_BLOCK_ROWS)
        if rows is not None:
            part = rows[part]
        X = problem.X[part]
        phases = X @ frequencies
        phases += offsets
        features = apply_activation(phases, activation)
        scores = features @ head
        scores += bias
        value, by_scores = problem.loss(scores, problem.targets[part], problem.weights[part])
        by_phases = by_scores @ head.T
        phases_to_derivatives(phases, activation)
        by_phases *= phases
        return Gradient(
            value, X.T @ by_phases, by_phases.sum(axis=0), features.T @ by_scores,
            by_scores.sum(axis=0),
        )  # fmt: skip

    n_rows = problem.n_samples if rows is None else len(rows)
    parts: list[Gradient] = list(workers.map(block, range(0, n_rows, GRADIENT_BLOCK_ROWS)))
    if len(parts) == 1:
        return parts[0]
    names = ("frequencies", "offsets", "head", "bias")
    sums = [np.add.reduce([getattr(part, name) for part in parts]) for name in names]
    return Gradient(sum(part.value for part in parts), *sums)
