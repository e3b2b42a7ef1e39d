r"""A trained network as it is deployed: moments folded into frequencies, tables in bins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cerflearn._typing import BoolArray, Float64Array, FloatArray
from cerflearn.training.network import TABLE_END, Activation, Float32Array, TrainableNetwork
from cerflearn.training.policy import BIN_LOSS, N_BINS
from cerflearn.training.task import Task

_SCORED_ROWS = 4096  # whose features are stored at once
_BINNED_ROWS = 20_000  # on which numbers of bins are compared


@dataclass(frozen=True, eq=False)
class FeatureNetwork:
    r"""Scores :math:`f(X (\epsilon \odot \Omega) + b) A + X L + a`, or with tables for f and A.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features, n_components)
        :math:`\Omega`, zero outside the mask; for tables in units of bins.
    offsets : ndarray of shape (n_components,)
        b, likewise.
    head : ndarray of shape (n_components, n_scores)
        A; empty for tables.
    bias : ndarray of shape (n_scores,)
        a.
    mask : ndarray of shape (n_features, n_components), bool
        :math:`\epsilon`.
    activation : {"cosine", "relu", "table"}
        Of the features.
    linear : ndarray of shape (n_features, n_scores)
        L, sparse: an operation for each entry that is not zero.
    tables : ndarray of shape (n_components, n_bins, n_scores)
        Scores of each bin of a feature; empty unless features are tables.
    """

    frequencies: Float64Array
    offsets: Float64Array
    head: Float64Array
    bias: Float64Array
    mask: BoolArray
    activation: Activation
    linear: Float64Array
    tables: Float64Array

    @property
    def n_scores(self) -> int:
        """Number of scores."""
        return len(self.bias)

    @property
    def n_macs(self) -> int:
        """Operations of one row."""
        n_components = self.mask.shape[1]
        n_linear, n_entries = int(np.count_nonzero(self.linear)), int(self.mask.sum())
        return n_entries + int(n_components) * self.n_scores + n_linear

    def features(self, X: FloatArray) -> FloatArray:
        """Features (n_samples, n_components) of X: cosines or positive parts."""
        phases = X @ self.frequencies + self.offsets
        features: FloatArray = np.cos(phases) if self.activation == "cosine" else phases.clip(0.0)
        return features

    def scores(self, X: FloatArray) -> Float64Array:
        """Scores (n_samples, n_scores) of X, in blocks of rows."""
        starts = range(0, len(X), _SCORED_ROWS)
        return np.concatenate([self._scores(X[s : s + _SCORED_ROWS]) for s in starts])

    def rescaled(self, factors: FloatArray) -> FeatureNetwork:
        """Network of inputs x whose product with the factors this one reads."""
        column = np.asarray(factors, dtype=np.float64)[:, None]
        return replace(self, frequencies=self.frequencies * column, linear=self.linear * column)

    def _scores(self, X: FloatArray) -> Float64Array:
        scores: Float64Array = X @ self.linear + self.bias
        if self.activation != "table":
            return scores + self.features(X) @ self.head
        n_bins = self.tables.shape[1]
        bins = np.clip(np.floor(X @ self.frequencies + self.offsets), 0, n_bins - 1).astype(int)
        for k, table in enumerate(self.tables):
            scores += table[bins[:, k]]
        return scores


def deploy(network: TrainableNetwork, n_bins: int) -> FeatureNetwork:
    """Fold the moments of the projections into frequencies and offsets; tabulate tables.

    Parameters
    ----------
    network : TrainableNetwork
        Trained.
    n_bins : int
        Of a table.

    Returns
    -------
    FeatureNetwork
        In double precision.
    """
    n_features, n_scores, K = network.n_features, network.n_scores, network.n_components
    _, scales, offsets, heads, direct, bias = (part.astype(np.float64) for part in network.parts())
    inverse = 1.0 / np.sqrt(network.variances.astype(np.float64) + 1e-8)
    weights = network.weight_matrix().toarray().astype(np.float64)
    mask = np.zeros((n_features, K), dtype=np.bool_)
    mask[network.inputs, network.features_of_entries()] = True
    linear = np.zeros((n_features, n_scores))
    linear[network.linear_inputs, network.scores_of_linear()] = direct
    factor = inverse * (scales if network.kind == "cosine" else 1.0)
    tables = np.zeros((0, n_bins, n_scores))
    head = heads if network.kind != "table" else np.zeros((0, n_scores))
    shift = offsets - network.means * factor
    if network.kind == "table":
        per_unit = n_bins / (2.0 * TABLE_END)
        factor, shift = per_unit * factor, (shift + TABLE_END) * per_unit
        tables = tabulate(network.tables().astype(np.float64), n_bins)
    return FeatureNetwork(weights * factor, shift, head, bias, mask, network.kind, linear, tables)


def tabulate(knots: Float64Array, n_bins: int) -> Float64Array:
    """Values (n_components, n_bins, n_scores) at the centres of bins of piecewise linear functions.

    Parameters
    ----------
    knots : ndarray of shape (n_components, n_knots, n_scores)
        Values at evenly spaced knots.
    n_bins : int
        Bins of equal width over the same span.
    """
    n_knots = knots.shape[1]
    position = (np.arange(n_bins) + 0.5) / n_bins * (n_knots - 1)
    low = np.minimum(position.astype(int), n_knots - 2)
    share = (position - low)[None, :, None]
    values: Float64Array = (1.0 - share) * knots[:, low] + share * knots[:, low + 1]
    return values


def choose_bins(network: TrainableNetwork, task: Task, X: Float32Array) -> int:
    """Fewest bins with which tables lose little on the training rows.

    Parameters
    ----------
    network : TrainableNetwork
        Of tables, trained.
    task : Task
        Training rows; evenly spaced ones of many.
    X : ndarray of shape (n_samples, n_features), float32
        Their inputs, scaled as the network has seen them.

    Returns
    -------
    int
        One of :data:`~cerflearn.training.policy.N_BINS`.
    """
    rows = np.linspace(0, len(X) - 1, min(len(X), _BINNED_ROWS)).astype(np.int64)
    part, inputs = task.rows(rows), np.ascontiguousarray(X[rows])
    constant = part.loss(np.broadcast_to(part.constant_scores(), part.targets.shape))
    most = part.loss(network.scores(inputs).astype(np.float64)) + BIN_LOSS * constant
    for n_bins in N_BINS:
        if part.loss(deploy(network, n_bins).scores(inputs)) <= most:
            return n_bins
    return N_BINS[-1]
