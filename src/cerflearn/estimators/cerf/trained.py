r"""Maps whose features are trained by gradient to give a teacher's principal components.

.. math:: \min_{\epsilon, \Omega, b, A} \sum_n \bigl|P_J^\top (\phi(x_n) - \bar\phi)
          - A^\top \cos((\epsilon \odot \Omega)^\top x_n + b)\bigr|^2

within a budget of active inputs :math:`|\epsilon|`, by the trainer of the predictors. A is dropped:
whoever uses the features fits a linear map of his own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from cerflearn._typing import Float64Array
from cerflearn._validation import Constraint, NoEffect, Number, Whole, check_parameters
from cerflearn.engine.blocks import ComputedSource
from cerflearn.engine.engines import make_engine, one_thread_blas
from cerflearn.estimators.components import TEACHER_COLUMNS, CodeTargets, teacher_codes
from cerflearn.estimators.encoder import EncoderOptions, train_for_targets
from cerflearn.estimators.input import TrainingData, refuse_streamed
from cerflearn.estimators.teachers import make_teacher
from cerflearn.features.base import (
    FeatureMap,
    budget_error,
    check_map_size,
    equal_amplitudes,
    outputs_of,
    projections_for,
)
from cerflearn.features.masked import MaskedMap
from cerflearn.features.masked_sampler import MaskPlan
from cerflearn.linalg.moments import cross_moments_block
from cerflearn.linalg.ridge import ridge_weights
from cerflearn.spectral import SpectralLaw
from cerflearn.training.policy import HELD_OUT_PARTS
from cerflearn.training.task import parts_of_rows

TEACHER_RIDGE = 1e-3
"""Penalty of the regression of the teacher's components on the features, in units of the mean
variance of the features."""

LEARNED_SHARE = 0.9
"""Of the teacher's variance, in the components that are learned unless their number is given."""

FEWEST_TARGETS, MOST_TARGETS = 40, 80
"""Bounds of that number. The time of training is in proportion to it, and maps that learned 160 or
320 components were no better than with 80 (docs/encoders.md)."""


def is_trained(selector: Any) -> bool:
    """Whether features are trained, and none is chosen among candidates."""
    return isinstance(selector, Trained) or (isinstance(selector, str) and selector == "trained")


def _trains_for_other_targets(estimator: Any) -> bool:
    named = isinstance(estimator.teacher, str) and estimator.teacher != "labels"
    return is_trained(estimator.selector) and not named


TRAINED_EFFECTS = (
    NoEffect(
        "mask_law",
        "selector",
        lambda estimator: is_trained(estimator.selector),
        "masks are trained, not drawn; pass another selector",
    ),
    *(
        NoEffect(
            name,
            "teacher",
            _trains_for_other_targets,
            "trained features are not drawn from a kernel, and this teacher has its own; leave it "
            "out, or pass another selector",
        )
        for name in ("kernel", "gamma")
    ),
)
"""Combinations of ``selector="trained"`` in which a parameter changes nothing."""


class Trained(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    r"""Selector that trains masks, frequencies and offsets instead of choosing drawn ones.

    Features are trained by gradient steps so that a linear map of them gives the leading principal
    components of the teacher, and pruned to the budget on the way, as in :class:`CERFClassifier`.
    No labels are needed, unless the teacher does.

    Parameters
    ----------
    n_targets : int, default=None
        Components of the teacher to learn; fewer where the teacher or the rows have fewer. None:
        those that have nine tenths of its variance, as far as they are at least 40, at most 80,
        and at most one for each projection if there are more than 40 of these.
    effort : float, default=1.0
        About proportional to the time that training takes: how many settings are compared on
        held-out rows, and how many steps there are.

    See Also
    --------
    Greedy : Features chosen one after the other.
    MaskedCERF : Features that a selector chooses, or trains.
    KernelAutoencoder : Codes within a budget.

    Notes
    -----
    Inner products of trained features approximate no kernel by themselves: the teacher's components
    are approximated by ``transform(X) @ teacher_coef_.T + teacher_intercept_``.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization"
    (section 2: the teacher).

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import MaskedCERF, Trained
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> sampler = MaskedCERF(macs=40, selector=Trained(n_targets=4), random_state=0).fit(X)
    >>> sampler.n_macs_ <= 40, sampler.teacher_coef_.shape == (4, sampler.n_components_)
    (True, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_targets": Whole("a positive integer or None", also=(None,)),
        "effort": Number("a number above 0", above=0.0),
    }

    def __init__(self, *, n_targets: int | None = None, effort: float = 1.0) -> None:
        self.n_targets = n_targets
        self.effort = effort

    _without_effect: ClassVar[tuple[NoEffect, ...]] = ()
    _n_reports = 1  # training is one stage

    def _check_parameters(self) -> None:
        check_parameters(self, self._constraints)

    @property
    def _most_targets(self) -> int:
        """Components that are enough, whatever their variances."""
        return MOST_TARGETS if self.n_targets is None else int(self.n_targets)

    def _with_targets_of(self, components: CodeTargets, n_projections: int) -> Trained:
        """Return settings in which the number of components to learn is given."""
        if self.n_targets is not None:
            return self
        shares = components.values.var(axis=0, ddof=1) / components.total_variance
        enough = 1 + int(np.count_nonzero(np.cumsum(shares) < LEARNED_SHARE))
        most = max(FEWEST_TARGETS, min(MOST_TARGETS, n_projections))
        return Trained(n_targets=int(np.clip(enough, FEWEST_TARGETS, most)), effort=self.effort)


@dataclass(frozen=True, eq=False)
class TrainedMap:
    """A trained map, and the linear map to the teacher's components.

    Attributes
    ----------
    feature_map : MaskedMap
        Of inputs as they come.
    coef : ndarray of shape (n_targets, n_outputs)
        From features to components.
    intercept : ndarray of shape (n_targets,)
        Added.
    error : float
        Share of the components' variance that is unexplained, on the training rows.
    """

    feature_map: MaskedMap
    coef: Float64Array
    intercept: Float64Array
    error: float


@dataclass(frozen=True)
class MapShape:
    """What a trained map has to be.

    Attributes
    ----------
    macs : int
        Budget of all projections.
    n_projections, n_outputs : int
        Number of projections, and of columns.
    paired : bool
        Cosine and sine of each projection, or cosines with offsets.
    group_size, features_per_mask : int
        Blocks of inputs and projections that are kept or dropped together.
    """

    macs: int
    n_projections: int
    n_outputs: int
    paired: bool
    group_size: int
    features_per_mask: int

    @classmethod
    def of(cls, parameters: Any, plan: MaskPlan, n_outputs: int, macs: int | None) -> Self:
        """Shape with as many projections as masks of the planned density would have.

        Parameters
        ----------
        parameters : object
            With ``paired`` and ``group_size``.
        plan : MaskPlan
            Density, and projections that share a mask.
        n_outputs : int
            Columns, if ``macs`` is None.
        macs : int or None
            Budget.
        """
        paired, group_size = bool(parameters.paired), int(parameters.group_size)
        n_features = len(plan.usable)
        # Whole groups are trained, also where an input of one never varies.
        active = int(np.clip(round(plan.expected_active), min(group_size, n_features), n_features))
        if macs is None:
            n_projections = projections_for(n_outputs, paired)
            macs = n_projections * active
        else:
            n_projections = macs // active
            if n_projections == 0:
                remedy = "or lower mask_density" + (" or group_size" if group_size > 1 else "")
                raise budget_error(macs, len(plan.usable), active, "the first projection", remedy)
            n_outputs = outputs_of(n_projections, paired)
        check_map_size(macs, f"{macs:,} MACs")
        per_mask = min(plan.features_per_mask, n_projections)
        return cls(macs, n_projections, n_outputs, paired, group_size, per_mask)


def held_out_errors(
    learn: Callable[[str, TrainingData, Float64Array], FeatureMap],
    data: TrainingData,
    targets: Float64Array,
) -> dict[str, float]:
    """Share of the targets that maps of greedy and trained features leave unexplained.

    They are learned from three quarters of the rows and compared on the others, chosen by a hash of
    the index.

    Parameters
    ----------
    learn : callable
        Map by the name of a selector, rows and targets.
    data : TrainingData
        All rows.
    targets : ndarray of shape (n_samples, n_targets)
        Components of the teacher.

    Returns
    -------
    dict of float
        By the names of the selectors; of greedy alone where nothing can be learned from a part, as
        a class, or all that varies, is among the held-out rows.
    """
    parts = parts_of_rows(np.zeros(data.n_samples, dtype=np.int64), HELD_OUT_PARTS, 0)
    train, test = np.flatnonzero(parts != 0), np.flatnonzero(parts == 0)
    errors: dict[str, float] = {}
    try:
        for name in ("greedy", "trained"):
            part, held_out = data.rows(train), data.rows(test)
            feature_map = learn(name, part, targets[train])
            fitted = regressed(feature_map, part, targets[train], 1)
            features = feature_map.transform_batch(held_out.dense(0, held_out.n_samples))
            left = targets[test] - features @ fitted.coef.T - fitted.intercept
            around = targets[test] - targets[train].mean(axis=0)
            errors[name] = float(np.square(left).sum() / np.square(around).sum())
    except ValueError:
        return {"greedy": 1.0}
    return errors


def teacher_components(
    teacher: Any,
    data: TrainingData,
    law: SpectralLaw,
    n_targets: int,
    rng: np.random.Generator,
    n_threads: int,
) -> CodeTargets:
    """Leading principal components of the teacher of a map, as many as there are up to a number."""
    refuse_streamed(data.X, "Training a map", "pass selector='greedy', or an array")
    made = make_teacher(teacher, data, law, TEACHER_COLUMNS, True, rng)
    n_codes = min(n_targets, made.rows(0, 1).shape[1], data.n_samples)
    return teacher_codes(teacher, made, data.n_samples, n_codes, n_threads)


def train_map(
    selector: Trained,
    shape: MapShape,
    data: TrainingData,
    targets: Float64Array,
    rng: np.random.Generator,
    options: dict[str, Any],
) -> TrainedMap:
    """Train a map of some shape on targets.

    Parameters
    ----------
    selector : Trained
        With valid parameters.
    shape : MapShape
        What is asked for.
    data : TrainingData
        The rows.
    targets : ndarray of shape (n_samples, n_targets)
        Components of the teacher.
    rng : numpy.random.Generator
        Source of randomness.
    options : dict
        ``n_threads`` and ``report`` of :class:`~cerflearn.estimators.encoder.EncoderOptions`.

    Returns
    -------
    TrainedMap
        Within the budget.
    """
    settings = EncoderOptions(
        shape.macs,
        0,
        activation="cosine",
        n_components=shape.n_projections,
        linear_part=False,
        group_size=shape.group_size,
        features_per_mask=shape.features_per_mask,
        effort=float(selector.effort),
        **options,
    )
    seed = np.random.SeedSequence(rng.integers(2**63, size=2))
    trained = train_for_targets(data.X, targets, settings, seed)
    network, varies = trained.network, trained.scaling.varies[:, None]
    # Inputs that never vary, of groups that do, are zero once they are scaled.
    network = replace(network, mask=network.mask & varies, frequencies=network.frequencies * varies)
    found = trained.scaling.to_map(network, shape.group_size)
    # Offsets turn pairs of cosine and sine only, which leaves their span and inner products.
    offsets = np.zeros_like(found.offsets) if shape.paired else found.offsets
    n_projections = len(offsets)
    feature_map = replace(
        found,
        paired=shape.paired,
        offsets=offsets,
        n_outputs=min(shape.n_outputs, n_projections * (1 + shape.paired)),
        amplitudes=equal_amplitudes(n_projections, shape.paired),
    )
    return regressed(feature_map, data, targets, int(options["n_threads"]))


def regressed(
    feature_map: Any, data: TrainingData, targets: Float64Array, n_threads: int
) -> TrainedMap:
    """Fit the linear map from features to targets, by ridge regression over blocks of rows."""

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        return feature_map.transform_batch(data.dense(start, stop)), targets[start:stop]

    engine = make_engine(ComputedSource(compute, data.n_samples), n_threads)
    moments = engine.map_reduce(cross_moments_block, True)
    with one_thread_blas():
        weights = ridge_weights(moments.left_scatter, moments.cross_scatter, TEACHER_RIDGE)
        explained = 2.0 * np.vdot(weights, moments.cross_scatter) - np.vdot(
            weights, moments.left_scatter @ weights
        )
        intercept = moments.right_mean - moments.left_mean @ weights
    right: Any = moments.right_scatter
    error = 1.0 - float(explained) / float(np.trace(right))
    return TrainedMap(feature_map, np.ascontiguousarray(weights.T), intercept, max(error, 0.0))
