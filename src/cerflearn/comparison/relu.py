r"""A network of relu features with a linear head, as arrays, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cerflearn._typing import BoolArray, FloatArray
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.training.network import Problem

Parameters = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Weights (n_features, n_hidden), offsets, head (n_hidden, n_scores), bias."""


@dataclass(frozen=True, eq=False)
class ReluNetwork:
    r"""Scores :math:`\max(X (\epsilon \odot W) + b, 0) A + a`.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_hidden)
        W, zero outside the mask.
    offsets : ndarray of shape (n_hidden,)
        b.
    head : ndarray of shape (n_hidden, n_scores)
        A.
    bias : ndarray of shape (n_scores,)
        a.
    mask : ndarray of shape (n_features, n_hidden), bool
        :math:`\epsilon`.
    """

    weights: FloatArray
    offsets: FloatArray
    head: FloatArray
    bias: FloatArray
    mask: BoolArray

    @property
    def parameters(self) -> Parameters:
        """The four arrays that are trained."""
        return self.weights, self.offsets, self.head, self.bias

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (n_samples, n_scores) of X."""
        hidden = X @ self.weights
        hidden += self.offsets
        np.maximum(hidden, 0.0, out=hidden)
        scores: FloatArray = hidden @ self.head
        scores += self.bias
        return scores

    def cost(self) -> Cost:
        """Cost of one row: weights in the mask, and the head. Masks are stored if not full."""
        n_weights = int(self.mask.sum())
        macs = n_weights + self.head.size
        n_parameters = macs + self.offsets.size + self.bias.size
        n_indices = 0 if self.mask.all() else n_weights + self.mask.shape[1] + 1
        return stored_cost(macs=macs, n_parameters=n_parameters, n_indices=n_indices)

    def masked(self, mask: BoolArray) -> ReluNetwork:
        """Network that reads less."""
        weights = np.where(mask, self.weights, 0.0)
        return ReluNetwork(weights, self.offsets, self.head, self.bias, mask)

    def without_unused_units(self) -> ReluNetwork:
        """Network without features that read nothing: constants, which go to the bias."""
        reads: BoolArray = np.asarray(self.mask.any(axis=0))
        if not reads.any():
            reads[0] = True
        constant = np.maximum(self.offsets[~reads], 0.0) @ self.head[~reads]
        return ReluNetwork(
            self.weights[:, reads],
            self.offsets[reads],
            self.head[reads],
            self.bias + constant,
            self.mask[:, reads],
        )

    def as_float32(self) -> ReluNetwork:
        """Copy in single precision, in which it is run and timed."""
        weights, *rest = (np.ascontiguousarray(a, dtype=np.float32) for a in self.parameters)
        offsets, head, bias = rest
        return ReluNetwork(weights, offsets, head, bias, self.mask)


def random_relu_network(mask: BoolArray, n_scores: int, rng: np.random.Generator) -> ReluNetwork:
    r"""Dense start: W of variance 2 / D for D active inputs, A of variance 1 / n_hidden."""
    active = np.maximum(mask.sum(axis=0), 1)
    weights = rng.normal(size=mask.shape) * np.sqrt(2.0 / active) * mask
    head = rng.normal(size=(mask.shape[1], n_scores)) / np.sqrt(mask.shape[1])
    return ReluNetwork(weights, np.zeros(mask.shape[1]), head, np.zeros(n_scores), mask)


def relu_loss_and_gradient(problem: Problem, parameters: Parameters) -> tuple[float, Parameters]:
    r"""Loss without penalties, and its gradient by weights, offsets, head and bias.

    With H = max(P, 0), phases P = X W + b and gradient G by the scores: by the head
    :math:`H^\top G`, by the phases :math:`Q = (G A^\top) \odot [P > 0]`, by the weights
    :math:`X^\top Q`.

    Parameters
    ----------
    problem : Problem
        Rows, targets, weights of the rows, loss.
    parameters : tuple of ndarray
        Of :class:`ReluNetwork`.
    """
    weights, offsets, head, bias = parameters
    hidden = problem.X @ weights
    hidden += offsets
    np.maximum(hidden, 0.0, out=hidden)
    scores = hidden @ head
    scores += bias
    value, by_scores = problem.loss(scores, problem.targets, problem.weights)
    by_phases = by_scores @ head.T
    by_phases *= hidden > 0.0
    gradient = (
        problem.X.T @ by_phases,
        by_phases.sum(axis=0),
        hidden.T @ by_scores,
        by_scores.sum(axis=0),
    )
    return value, gradient
