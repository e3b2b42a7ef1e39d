"""A regressor within a budget of multiply-accumulates."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from cerflearn._typing import Float64Array, FloatArray, IntArray, MatrixLike, RandomStateLike
from cerflearn._validation import Constraint, NoEffect, OneOf
from cerflearn.estimators.block_output import BlockScores, in_blocks
from cerflearn.estimators.engine_choice import EngineName
from cerflearn.estimators.predictors.budgeted import BudgetedPredictor, PredictorTeacher
from cerflearn.estimators.predictors.fit_place import FitPlace
from cerflearn.estimators.predictors.fitting import fit_network
from cerflearn.estimators.predictors.heads import ridge_head_of, ridge_scores
from cerflearn.estimators.predictors.online import if_it_can_learn_on, learn_from, state_to_go_on
from cerflearn.estimators.predictors.parameters import PREDICTOR_CONSTRAINTS, PREDICTOR_EFFECTS
from cerflearn.estimators.predictors.training_rows import (
    TrainingRows,
    distinct_rows,
    in_memory_if_small,
)
from cerflearn.estimators.scaling import check_spread, weighted_moments
from cerflearn.estimators.targets import dense_targets, number_targets
from cerflearn.training.scores import score_bounds
from cerflearn.training.task import Targets


class CERFRegressor(BlockScores, RegressorMixin, BudgetedPredictor):  # type: ignore[misc]
    r"""Regressor whose features and outputs cost at most ``macs`` multiply-accumulates a row.

    .. math:: \hat y(x) = a + L^\top x + \sum_k f_k(w_k^\top x)

    with sparse weights :math:`w_k`, so that each feature reads few inputs, and a sparse linear part
    L. Features :math:`f_k` are cosines or positive parts times a head, or tables: any function of
    the weighted sum, looked up. They are trained on the targets, from many inputs to few, within
    the budget, with the squared error of standardised targets as loss. Settings are chosen on
    held-out rows.

    Parameters
    ----------
    macs : int, default=None
        Most operations of one row, features and outputs together: multiply-accumulates, and
        additions of table rows. None: as many as a linear model needs, or 32 features of 8 inputs
        if that is more.
    max_bytes : int, default=None
        Most bytes of constant data of the deployed model, as ``storage`` counts them.
    storage : {"float32", "int16", "int8"}, default="float32"
        How a deployed model stores weights and tables: counted in ``cost`` and ``max_bytes``.
    head : {"trained", "ridge"}, default="trained"
        Linear model on the features: as trained together with them, or ridge regression fitted to
        them at the end. Features that are selected and not trained have a ridge head in any case.
    learn : {"auto", "masks", "features", "selection"}, default="auto"
        What is learned. ``"masks"``: which inputs a feature reads, by gradual pruning, with
        weights and outputs. ``"features"``: masks are drawn; weights and outputs are learned.
        ``"selection"``: cosines are drawn and selected greedily by the targets, and only the
        head is fitted. ``"auto"``: masks.
    teacher : {"auto", "labels", "kernel", "boosting"} or estimator, default="auto"
        What features are trained on: the targets, or predictions at the rows and at points between
        them of kernel ridge regression (fitted to at most 4,000 rows), boosted trees, or an
        estimator, which is cloned. ``"auto"``: by held-out rows; targets if there are over 16,000.
    activation : {"auto", "cosine", "relu", "table"}, default="auto"
        What a feature does with the weighted sum of its inputs: take the cosine, take the positive
        part, or look up the bin of the sum in a table, which has a number for each score and bin.
        ``"auto"``: by held-out rows. Tables have no head, and need ``head="trained"``.
    n_components : int or "auto", default="auto"
        Features that training starts with; pruning may leave fewer. 0: the linear part alone.
        ``"auto"``: by budget and rows, at most 5 sqrt(n_samples); several numbers are compared.
    gamma : {"cv", "scale", "median"} or float, default="cv"
        Coefficient of the Gaussian kernel whose frequencies cosines start with. ``"cv"``: inputs
        are scaled, and frequencies are a radian or two for a deviation, by held-out rows; others
        keep inputs. ``"scale"``: 1 / (n_features * X.var()), ``"median"``: 1 / median distance^2.
    alpha : float or "auto", default="auto"
        Penalty of squared weights of the head beside the mean loss over rows, in units of the
        features' variance, as in ridge regression. ``"auto"``: by held-out rows.
    settings : dict, default=None
        Settings of an earlier fit, its ``settings_``: nothing is compared. None: search for them.
    group_size : {1, 2, 4, 8, 16}, default=1
        Consecutive inputs that a feature reads or leaves together.
    features_per_mask : int, default=1
        Consecutive features that read the same inputs, for speed.
    input_shape : tuple of int, default=None
        Height and width, and channels, of images whose pixels are the columns of X, row by row;
        (1, length) of signals: features start with patches. None: with inputs drawn at random.
    effort : float, default=1.0
        About proportional to the time of ``fit``: steps of training, and settings compared.
    early_stopping : bool or "auto", default="auto"
        Hold out a tenth of the rows, at most 5,000, in the last training, and keep the network with
        the least loss on them of those after pruning. ``"auto"``: from 10,000 rows on.
    warm_start : bool, default=False
        Whether ``fit`` trains the network of the last one on, as in :class:`CERFClassifier`.
    verbose : int, default=0
        Above 0: print the settings that are compared and the progress of training.
    n_jobs : int, default=None
        Threads of ``fit`` and ``predict``: None is 1 unless in a ``joblib.parallel_config``, -1 all
        cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Attributes
    ----------
    outputs_2d_ : bool
        Whether y was a table, which predictions are then too.
    feature_map_ : MaskedMap or TableMap
        The features; tables also if only a linear part is left.
    head_coef_ : ndarray of shape (n_targets, n_outputs)
        Weights of the head on the outputs of the map.
    head_intercept_ : ndarray of shape (n_targets,)
        Its biases.
    linear_coef_ : ndarray of shape (n_targets, n_features_in_)
        Weights of the inputs themselves, most or all of them zero.
    tables_ : ndarray of shape (n_tables, n_bins, n_targets)
        Scores that are added for each bin of each table; no tables for other features.
    bin_edges_ : ndarray of shape (n_tables, n_bins + 1)
        Edges of the bins of ``X @ feature_map_.frequencies``; the outer bins are open.
    settings_ : dict
        All that was chosen; see ``settings``.
    learn_ : str
        ``"masks"``, ``"features"`` or ``"selection"``.
    teacher_ : str
        ``"labels"``, ``"kernel"``, ``"boosting"`` or ``"estimator"``.
    activation_ : str
        ``"cosine"``, ``"relu"`` or ``"table"``.
    n_components_ : int
        Features that training started with.
    alpha_ : float or "auto"
        Penalty that was used; ``"auto"`` where no features were trained.
    gamma_ : float
        Coefficient of the kernel that frequencies were drawn with; for ``gamma="cv"`` a fifth of
        one over the median squared distance of scaled inputs, which drawn masks start from.
    macs_ : int
        Budget.
    n_macs_ : int
        Operations of one row.
    inputs_read_ : ndarray of shape (n_inputs_read,), int64
        Sorted indices of the inputs that a feature or the linear part reads.
    feature_importances_ : ndarray of shape (n_features_in_,)
        For each input the sum over features of its share of the projection's deviation times the
        deviation of the feature's scores, :math:`|w_{dk}| \operatorname{std}(x_d) / \sigma_k
        \cdot \operatorname{std}(f_k)`, and of :math:`|L_{do}| \operatorname{std}(x_d)` over the
        linear part, divided by the total: what pruning goes by. Zeros if scores are constant.
    prediction_range_ : ndarray of shape (2, n_targets)
        Least and greatest prediction: the range of the training targets, widened by a tenth of it
        at either end. Rows far from all training rows would otherwise get any value.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    CERFClassifier : The same for classes.
    MaskedCERF : Features alone, which imitate a kernel.
    cost : Multiply-accumulates of any fitted model.

    Notes
    -----
    Equal rows are merged and rows sorted before anything is drawn, in blocks of 65,536 rows: a
    weight of 2 is the same as a row given twice, and the order of fewer rows has no effect. Sparse
    X of up to 2^24 values is made dense as a whole, more a few rows at a time.

    Features are trained by Adam on mini-batches while the least important inputs are dropped.
    Candidates (kinds of features, their number, penalties, with and without a linear part, and
    for the best of them scalings, starts and teachers) compete by successive halving on held-out
    rows. Steps grow with the square root of the rows.

    ``settings_`` passed back as ``settings`` give the same model again, with the same data, budget,
    ``effort`` and ``random_state``, and a teacher that is an estimator. Not of ``"selection"``.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization".

    Friedman and Stuetzle, "Projection Pursuit Regression", JASA 1981: functions of projections.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from cerflearn import CERFRegressor
    >>> X, y = make_friedman1(n_samples=400, random_state=0)
    >>> model = CERFRegressor(macs=300, random_state=0).fit(X[:300], y[:300])
    >>> model.n_macs_ <= 300, model.score(X[300:], y[300:]) > 0.8
    (True, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "head": OneOf(("trained", "ridge"))
    } | PREDICTOR_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        *PREDICTOR_EFFECTS,
        NoEffect(
            "head",
            "learn",
            lambda model: model.learn == "selection",
            "selected features have a head of ridge regression in any case; leave head at "
            "'trained', or train features",
        ),
        NoEffect(
            "activation",
            "head",
            lambda model: model.activation == "table" and model.head == "ridge",
            "tables have no head; leave head at 'trained', or take other features",
        ),
    )

    head: Literal["trained", "ridge"]
    prediction_range_: Float64Array

    def __init__(
        self,
        *,
        macs: int | None = None,
        max_bytes: int | None = None,
        storage: Literal["float32", "int16", "int8"] = "float32",
        head: Literal["trained", "ridge"] = "trained",
        learn: Literal["auto", "masks", "features", "selection"] = "auto",
        teacher: PredictorTeacher = "auto",
        activation: Literal["auto", "cosine", "relu", "table"] = "auto",
        n_components: int | Literal["auto"] = "auto",
        gamma: float | Literal["cv", "scale", "median"] = "cv",
        alpha: float | Literal["auto"] = "auto",
        settings: dict[str, Any] | None = None,
        group_size: int = 1,
        features_per_mask: int = 1,
        input_shape: tuple[int, ...] | None = None,
        effort: float = 1.0,
        early_stopping: bool | Literal["auto"] = "auto",
        warm_start: bool = False,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.macs = macs
        self.max_bytes = max_bytes
        self.storage = storage
        self.head = head
        self.learn = learn
        self.teacher = teacher
        self.activation = activation
        self.n_components = n_components
        self.gamma = gamma
        self.alpha = alpha
        self.settings = settings
        self.group_size = group_size
        self.features_per_mask = features_per_mask
        self.input_shape = input_shape
        self.effort = effort
        self.early_stopping = early_stopping
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        engine: EngineName | None = None,
    ) -> Self:
        """Choose and train features and head.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; or, read block by block, a source of :mod:`cerflearn.blocks`, the path of
            an ``.npy`` file, or a Dask array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Left out if X is a source with a target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        checkpoint : str or path-like, default=None
            Folder to keep the state of the fit in, from which the same call goes on.
        engine : {"serial", "threads", "dask"}, default=None
            Where settings are compared; both as in :meth:`CERFClassifier.fit`.

        Returns
        -------
        CERFRegressor
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, checkpoint, engine)
        return self

    @if_it_can_learn_on  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows; the first call is a ``fit``.

        :meth:`CERFClassifier.partial_fit` says what later calls keep, and at which rate they learn.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; or a source, path or Dask collection, of which each block counts as a call.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Left out if X is a source with a target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        CERFRegressor
            The estimator; if an error is raised, it stays as it was.
        """
        learn_from(self, X, y, sample_weight, None)
        return self

    def _fit_rows(
        self, X: Any, y: Any, weights: Float64Array, place: FitPlace, classes: Any = None
    ) -> None:
        """See :meth:`BudgetedPredictor._fit_rows`."""
        del classes
        targets = number_targets(dense_targets(y))
        if not (weights > 0.0).any():
            raise ValueError("sample_weight is zero for all rows: at least two must count.")
        strata = np.zeros(len(targets), dtype=np.int8)
        X = in_memory_if_small(X)
        self._fit_scaled(distinct_rows(X, targets, weights, strata), place)
        self.outputs_2d_ = y.ndim > 1

    def _encoded(self, y: Any, weights: Float64Array) -> tuple[Targets, Float64Array, IntArray]:
        """See :meth:`BudgetedPredictor._encoded`."""
        targets = number_targets(dense_targets(y))
        standardised = state_to_go_on(self).standardised(targets)
        low, high = self.prediction_range_
        new_low, new_high = score_bounds(targets)
        self.prediction_range_ = np.array([np.minimum(low, new_low), np.maximum(high, new_high)])
        return standardised, weights, np.zeros(len(targets), dtype=np.int8)

    def _fit_scaled(self, rows: TrainingRows, place: FitPlace) -> None:
        """Train on standardised targets and undo the scaling in the head."""
        targets = rows.targets[:]
        mean, variance = weighted_moments(targets, rows.weights)
        varies = targets.max(axis=0) > targets.min(axis=0)
        for column in np.flatnonzero(varies):
            name = f"y[:, {column}]" if len(varies) > 1 else "y"
            check_spread(name, varies[[column]], variance[[column]])
        # Rounding must not make a constant vary.
        mean = np.where(varies, mean, targets[0])
        deviation = np.sqrt(np.where(varies, variance, 1.0))
        scaled_rows = replace(rows, targets=(targets - mean) / deviation)
        rescore = ridge_scores if self.head == "ridge" else None
        fitted = fit_network(self, scaled_rows, "regression", place, targets.shape[1], rescore)
        refits = self.head == "ridge" and fitted.trains
        head = ridge_head_of(fitted.network, fitted.task) if refits else None
        units = np.where(varies, deviation, 0.0)  # a constant is predicted exactly
        self.prediction_range_ = np.array(score_bounds(targets))
        self._store(fitted, head, units=units, shift=mean)

    @in_blocks
    def predict(self, X: MatrixLike) -> FloatArray:
        """Predict the targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; or a source of :mod:`cerflearn.blocks`, or a Dask array or data frame.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions, in the dtype of X if that is float32 or float64; of a source an iterator
            of blocks, of Dask's a lazy array.
        """
        scores = self._scores(X)
        return scores if self.outputs_2d_ else scores.ravel()

    def raw_scores(self, X: MatrixLike, n_threads: int = 1) -> FloatArray:
        """Compute predictions of rows without any check but that they are finite.

        Parameters
        ----------
        X : {ndarray, CSR matrix} of shape (n_samples, n_features), float32 or float64
            Data as ``fit`` has seen them.
        n_threads : int, default=1
            Threads; the bits of the result do not depend on their number.

        Returns
        -------
        ndarray of shape (n_samples, n_targets)
            In the dtype of X, within ``prediction_range_``.
        """
        scores = super().raw_scores(X, n_threads)
        low, high = self.prediction_range_
        np.minimum(np.maximum(scores, low, out=scores), high, out=scores)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
