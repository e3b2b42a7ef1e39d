r"""A trained network as it is deployed: moments folded into frequencies, tables in bins.

A table is trained as a piecewise linear function on few knots while its projection moves. Once the
projection stands, the values T of its bins enter the scores linearly, and are fitted again:

.. math:: \min_T \; \frac1N \sum_n \ell\Big(s_n + \sum_k T_{k, j_k(x_n)}, t_n\Big)
          + \frac12 \Big(\frac mN + \frac \alpha B\Big) |T - T_0|^2

from the trained values :math:`T_0`, which weigh as much as m rows, with B bins a table and the
penalty :math:`\alpha` of training. Bins can then follow functions that jump, which knots cannot.
Number of bins and m are chosen on held-out rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training import policy
from cerflearn.training.inputs import Inputs
from cerflearn.training.network import Activation, TrainableNetwork
from cerflearn.training.scores import LOSSES
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Task, scaled_inputs


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

    def scores(self, X: Inputs) -> Float64Array:
        """Scores (n_samples, n_scores) of X, in blocks of rows."""
        return np.concatenate([self._scores(X[part]) for part in row_slices(*X.shape)])

    def rescaled(self, factors: FloatArray) -> FeatureNetwork:
        """Network of inputs x whose product with the factors this one reads."""
        column = np.asarray(factors, dtype=np.float64)[:, None]
        return replace(self, frequencies=self.frequencies * column, linear=self.linear * column)

    def _scores(self, X: FloatArray) -> Float64Array:
        scores: Float64Array = X @ self.linear + self.bias
        if self.activation != "table":
            return scores + self.features(X) @ self.head
        bins = self.bins(X)
        for k, table in enumerate(self.tables):
            scores += table[bins[:, k]]
        return scores

    def bins(self, X: FloatArray) -> IntArray:
        """Bin (n_samples, n_tables) of each table."""
        last = self.tables.shape[1] - 1
        places = np.floor(X @ self.frequencies + self.offsets)
        return np.clip(places, 0, last).astype(np.int64)


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
    inverse = 1.0 / np.sqrt(network.variances.astype(np.float64) + policy.LEAST_VARIANCE)
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
        per_unit = n_bins / (2.0 * policy.TABLE_END)
        factor, shift = per_unit * factor, (shift + policy.TABLE_END) * per_unit
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


def deploy_fitted(
    network: TrainableNetwork, settings: TrainingSettings, task: Task
) -> FeatureNetwork:
    """Deploy a network; tables in bins that are fitted to a task, as the settings say.

    Parameters
    ----------
    network : TrainableNetwork
        Trained.
    settings : TrainingSettings
        With a number of bins, if features are tables.
    task : Task
        Training rows; of many, evenly spaced ones are used.

    Returns
    -------
    FeatureNetwork
        In double precision, of inputs scaled as the network has seen them.
    """
    deployed = deploy(network, settings.n_bins or 2)
    if not settings.refit or len(deployed.tables) == 0:
        return deployed
    penalty = settings.refit / task.n_samples + settings.alpha / deployed.tables.shape[1]
    part = task.evenly_spaced(policy.SEARCH_ROWS)
    inputs = scaled_inputs(part, settings)
    return replace(deployed, tables=fit_tables(deployed, part, inputs, penalty))


def deploy_scaled(
    network: TrainableNetwork, settings: TrainingSettings, task: Task
) -> FeatureNetwork:
    """Deploy a network for inputs as they are in a task, however it was trained to scale them.

    Parameters
    ----------
    network : TrainableNetwork
        Trained.
    settings : TrainingSettings
        It was trained with.
    task : Task
        Training rows.

    Returns
    -------
    FeatureNetwork
        In double precision; ``ValueError`` if training has diverged.
    """
    if not (np.isfinite(network.parameters).all() and np.isfinite(network.variances).all()):
        raise ValueError(
            "Training diverged: values of X or y are too far apart. Clip outliers, or scale X, "
            "for example with QuantileTransformer."
        )
    deployed = deploy_fitted(network, settings, task)
    factors = task.input_factors.get(settings.scaling)
    return deployed if factors is None else deployed.rescaled(factors)


def fit_tables(network: FeatureNetwork, task: Task, X: Inputs, penalty: float) -> Float64Array:
    """Fit the values of tables to the targets, see above.

    Parameters
    ----------
    network : FeatureNetwork
        Of tables, whose values are the prior.
    task : Task
        Training rows.
    X : ndarray of shape (n_samples, n_features), float32
        Their scaled inputs.
    penalty : float
        Of changes, beside the mean loss.

    Returns
    -------
    ndarray of shape (n_tables, n_bins, n_scores)
        The values.
    """
    chosen = bin_indicators(network, X)
    slices = row_slices(*X.shape)
    fixed = np.concatenate([X[part] @ network.linear + network.bias for part in slices])
    transposed = csr_array(chosen.T)
    prior = network.tables.reshape(-1, network.n_scores)
    fixed = fixed + chosen @ prior
    loss, targets = LOSSES[task.kind], task.targets[:]

    def objective(flat: Float64Array) -> tuple[float, Float64Array]:
        change = flat.reshape(prior.shape)
        value, slopes = loss(fixed + chosen @ change, targets, task.weights)
        gradient = transposed @ slopes + penalty * change
        return value + 0.5 * penalty * float(flat @ flat), gradient.ravel()

    options = {"maxiter": policy.REFIT_STEPS, "maxfun": 2 * policy.REFIT_STEPS}
    found = minimize(objective, np.zeros(prior.size), jac=True, method="L-BFGS-B", options=options)
    values: Float64Array = (prior + found.x.reshape(prior.shape)).reshape(network.tables.shape)
    return values


def bin_indicators(network: FeatureNetwork, X: Inputs) -> csr_array:
    """Matrix (n_samples, n_tables * n_bins) with a one for the bin of each table, sparse."""
    n_tables, n_bins, _ = network.tables.shape
    bins = np.concatenate([network.bins(X[part]) for part in row_slices(*X.shape)])
    columns = bins + n_bins * np.arange(n_tables)
    pointers = n_tables * np.arange(len(X) + 1)
    ones = np.ones(columns.size)
    return csr_array((ones, columns.ravel(), pointers), shape=(len(X), n_tables * n_bins))


def first_bins(settings: TrainingSettings, n_scores: int, n_samples: int) -> TrainingSettings:
    """Return settings that tables are compared with, before their bins are chosen.

    Values are fitted only where that takes a small part of the work of a search.
    """
    n_bins = policy.FIRST_BINS if settings.n_bins is None else settings.n_bins
    refit = settings.refit
    if refit is None:
        refit = (
            policy.REFITS[1]
            if _is_fitted_fast(settings.n_components * n_scores, n_samples)
            else 0.0
        )
    return replace(settings, n_bins=n_bins, refit=refit)


def _is_fitted_fast(n_values: int, n_samples: int) -> bool:
    work = 2.0 * policy.REFIT_STEPS * n_values
    return work <= policy.REFIT_WORK_PER_ROW and n_samples <= policy.SEARCH_ROWS
