r"""Networks whose scores are codes: trained on given targets, within a budget of operations.

The codes of a row x are

.. math:: c(x) = f(X (\epsilon \odot \Omega) + b) A + X L + a,

cosines, relu features or tables with a sparse linear part, as in the predictors. The targets T
keep their relative scales: the squared error :math:`\sum_n |T_n - c(x_n)|^2` is what a decoder with
orthonormal rows loses beyond the best one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.estimators.fused import bytes_of, cost_of, scores_of
from cerflearn.estimators.scaling import InputScaling, check_spread, scale_inputs
from cerflearn.features.cost import Cost
from cerflearn.features.linear import LinearPart
from cerflearn.features.masked import MaskedMap
from cerflearn.features.tables import TableMap
from cerflearn.training.deployed import FeatureNetwork, deploy_scaled
from cerflearn.training.network import Activation
from cerflearn.training.pruning import Budget
from cerflearn.training.search import Search
from cerflearn.training.search_options import SearchOptions, SearchResult
from cerflearn.training.settings import SettingsRequest, TrainingSettings
from cerflearn.training.sizes import least_macs, n_steps_for, step_work
from cerflearn.training.task import Task

MOST_MAP_WORK = 1.5e7
"""Multiply-adds for each row of one training of features alone, at most, about 1.5 ms: beyond,
there are fewer steps. 160 projections with 80 targets take as much (4,000 rows)."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """Trained codes of inputs as they come.

    Attributes
    ----------
    feature_map : MaskedMap or TableMap
        Features; of tables with all that follows.
    head_coef : ndarray of shape (n_codes, n_components)
        From features to codes; empty for tables.
    intercept : ndarray of shape (n_codes,)
        Added.
    linear_coef : ndarray of shape (n_codes, n_features)
        Linear part, sparse.
    settings : dict
        The network was trained with, see :class:`cerflearn.training.settings.TrainingSettings`.
    """

    feature_map: MaskedMap | TableMap
    head_coef: Float64Array
    intercept: Float64Array
    linear_coef: Float64Array
    settings: dict[str, Any]

    @property
    def n_codes(self) -> int:
        """Length of a code."""
        return len(self.intercept)

    @property
    def inputs_read(self) -> IntArray:
        """Sorted indices of the inputs that a feature or the linear part reads."""
        read = self.feature_map.masks.any(axis=1) | self.linear_coef.any(axis=0)
        return np.flatnonzero(read).astype(np.int64)

    @property
    def _linear(self) -> LinearPart | None:
        return LinearPart(coef=self.linear_coef.T) if self.linear_coef.any() else None

    def codes(self, X: Any, n_threads: int = 1) -> FloatArray:
        """Codes (n_samples, n_codes) of checked X, in its dtype, without storing features."""
        feature_map = self.feature_map
        if isinstance(feature_map, TableMap):
            run = feature_map.scores_sparse if issparse(X) else feature_map.scores
            return run(X, n_threads=n_threads)
        return scores_of(
            feature_map, self.head_coef, self.intercept, X, n_threads, linear=self._linear
        )

    def shifted(self, shift: Float64Array) -> Encoder:
        """Return an encoder whose codes are those of this one plus ``shift`` (n_codes,)."""
        intercept, feature_map = self.intercept + shift, self.feature_map
        if isinstance(feature_map, TableMap):
            feature_map = replace(feature_map, intercept=intercept)
        return replace(self, feature_map=feature_map, intercept=intercept)

    def cost(self) -> Cost:
        """Operations and bytes of the codes of one row."""
        feature_map = self.feature_map
        if isinstance(feature_map, TableMap):
            return feature_map.cost()
        parts = feature_map, self.head_coef, self.intercept, self._linear
        return replace(cost_of(*parts), n_bytes=bytes_of(*parts))


@dataclass(frozen=True)
class EncoderOptions:
    """How an encoder is trained.

    Attributes
    ----------
    macs : int
        Budget of one row.
    n_scores : int
        Operations of a feature beside its inputs: the number of codes, or 0 if the features alone
        are used.
    activation : {"cosine", "relu", "table"} or None
        Kind of features; None: chosen on held-out rows, as is whether there is a linear part.
    n_components : int or None
        Number of features; None: chosen.
    linear_part : bool
        Whether a linear part may be chosen.
    group_size, features_per_mask : int
        Blocks of inputs and features that are kept or dropped together.
    effort : float
        About proportional to the time of training.
    n_threads : int
        Threads; the bits of the result do not depend on their number.
    report : callable or None
        Called with lines that say what is done.
    settings : TrainingSettings or None
        Of the network, if they are known; None: searched for.
    """

    macs: int
    n_scores: int
    activation: Activation | None = None
    n_components: int | None = None
    linear_part: bool = True
    group_size: int = 1
    features_per_mask: int = 1
    effort: float = 1.0
    n_threads: int = 1
    report: Callable[[str], None] | None = None
    settings: TrainingSettings | None = None


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network for given targets, in their units, of scaled inputs.

    Attributes
    ----------
    network : FeatureNetwork
        Of inputs scaled one by one.
    scaling : InputScaling
        Of the inputs.
    found : SearchResult
        What it was made of.
    """

    network: FeatureNetwork
    scaling: InputScaling
    found: SearchResult


def train_encoder(
    X: Any,
    targets: Float64Array,
    options: EncoderOptions,
    seed: np.random.SeedSequence,
) -> Encoder:
    """Train codes that are close to given targets, within a budget.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Training rows, checked; a dense copy in single precision is made.
    targets : ndarray of shape (n_samples, n_codes)
        What the codes are to be.
    options : EncoderOptions
        Budget, and what is given.
    seed : numpy.random.SeedSequence
        Of all randomness.

    Returns
    -------
    Encoder
        Within the budget.
    """
    trained = train_for_targets(X, targets, options, seed)
    network, scaling = trained.network, trained.scaling
    linear, intercept = scaling.linear_of_inputs(network)
    feature_map: MaskedMap | TableMap
    if network.activation == "table" or network.mask.shape[1] == 0:
        feature_map = scaling.to_tables(network, linear, intercept)
    else:
        feature_map = scaling.to_map(network, 1)
    settings = asdict(trained.found.settings)
    return Encoder(feature_map, network.head.T, intercept, linear.T, settings)


def train_for_targets(
    X: Any,
    targets: Float64Array,
    options: EncoderOptions,
    seed: np.random.SeedSequence,
) -> TrainedNetwork:
    """Search and train a network; parameters as in :func:`train_encoder`."""
    rows = X if issparse(X) else np.asarray(X)
    n_samples = rows.shape[0]
    weights = np.full(n_samples, 1.0 / n_samples)
    budget = Budget(options.macs, options.n_scores, options.group_size, options.features_per_mask)
    least = least_macs(budget, rows.shape[1])
    if options.macs < least:
        codes, fewer = (
            ("code", "") if options.n_scores == 1 else ("codes", ", or lower n_components")
        )
        raise ValueError(
            f"macs={options.macs} is not valid: one feature with its {options.n_scores} {codes} "
            f"costs {least} MACs, the smallest possible budget. Pass macs={least} or more{fewer}."
        )
    mean, unit = _location_and_unit(targets)
    scaling = scale_inputs(rows, weights, by_column=True)
    task = Task(
        scaling.inputs(rows),
        (targets - mean) / unit,
        weights,
        np.zeros(n_samples, dtype=np.int64),
        "regression",
        budget,
        scaling.varies,
        scaling.factors(),
    )
    request = SettingsRequest(
        learn="masks",
        teacher="labels",
        activation=options.activation,
        n_components=options.n_components,
        tables=options.activation in (None, "table"),
        linear_part=options.linear_part,
        settings=options.settings,
    )
    search_options = SearchOptions(
        request,
        effort=options.effort
        * _share_of_steps(options, budget, targets.shape[1], scaling.varies, n_samples),
        n_threads=options.n_threads,
        report=options.report,
        describe=TrainingSettings.described,
    )
    found = Search(task, search_options, seed).run(needs_held_out=False)
    network = deploy_scaled(found.network, found.settings, task)
    return TrainedNetwork(_in_units(network, unit, mean), scaling, found)


def _share_of_steps(
    options: EncoderOptions, budget: Budget, n_targets: int, varies: BoolArray, n_samples: int
) -> float:
    """Share of the usual steps that there is work for.

    Targets of features alone take work in training, though they are no part of the budget, by which
    the search counts it.
    """
    if options.n_scores > 0 or options.n_components is None:
        return 1.0
    n_usable, n_features = int(varies.sum()), options.n_components
    settings = TrainingSettings("cosine", n_features, 1.0)
    whole = replace(budget, macs=budget.macs + n_features * n_targets, n_scores=n_targets)
    n_steps = n_steps_for(settings, budget, n_usable, n_samples)
    work = n_steps * step_work(settings, whole, n_usable, n_samples)
    return min(1.0, MOST_MAP_WORK * n_samples / work)


def _location_and_unit(targets: Float64Array) -> tuple[Float64Array, float]:
    """Means of the targets and their root mean variance; refused if they do not vary."""
    mean = targets.mean(axis=0)
    variance = np.square(targets - mean).mean(axis=0)
    varies = targets.max(axis=0) > targets.min(axis=0)
    if not varies.any():
        raise ValueError("The targets of the codes are constant: there is nothing to encode.")
    check_spread("X", varies, variance)
    return mean, float(np.sqrt(variance.mean()))


def _in_units(network: FeatureNetwork, unit: float, shift: Float64Array) -> FeatureNetwork:
    """Network whose scores are multiplied by a unit and shifted."""
    return replace(
        network,
        head=unit * network.head,
        bias=unit * network.bias + shift,
        linear=unit * network.linear,
        tables=unit * network.tables,
    )
