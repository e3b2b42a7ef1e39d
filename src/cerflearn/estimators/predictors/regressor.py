"""A regressor within a budget of multiply-accumulates."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight

from cerflearn._typing import Float64Array
from cerflearn._validation import check_choice, make_generator
from cerflearn.engine.blas import one_thread_blas
from cerflearn.estimators.input import read_data
from cerflearn.estimators.predictors.budgeted import BudgetedPredictor, distinct_rows
from cerflearn.estimators.predictors.scaling import check_spread, weighted_moments
from cerflearn.training.losses import squared_error


class CERFRegressor(RegressorMixin, BudgetedPredictor):  # type: ignore[misc]
    r"""Regressor whose features and outputs cost at most ``macs`` multiply-accumulates a row.

    .. math:: \hat y(x) = A^\top \cos(\Omega^\top (x - \mu) / \sigma + b) + a

    with sparse frequencies :math:`\Omega`, trained as in :class:`CERFClassifier`, with the squared
    error of standardised targets as loss.

    Parameters
    ----------
    macs : int, default=None
        Most multiply-accumulates of one row, features and outputs together. None: as many as a
        linear model needs, or 32 features of 8 inputs if that is more.
    head : {"trained", "ridge"}, default="trained"
        As trained together with the features, or ridge regression fitted to them at the end.
    refine, masks, teacher, activation, gamma, alpha, group_size, features_per_mask, early_stopping
        As in :class:`CERFClassifier`; ``teacher="kernel"`` adds points between training rows with
        the predictions of kernel ridge regression, ``"labels"`` are the targets, and ``"auto"``
        tries both for 1,001 to 6,000 rows. ``activation="auto"`` takes
        cosines, ``"relu"`` :math:`\max(\cdot, 0)` in their place.
    n_jobs, random_state, verbose
        As in :class:`CERFClassifier`.

    Attributes
    ----------
    feature_map_ : MaskedMap
        The features.
    coef_ : ndarray of shape (n_targets, n_features_of_the_map)
        Head.
    intercept_ : ndarray of shape (n_targets,)
        Its biases.
    gamma_, recipe_, n_macs_, n_features_in_, feature_names_in_
        As in :class:`CERFClassifier`.

    See Also
    --------
    CERFClassifier : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from cerflearn import CERFRegressor
    >>> X, y = make_friedman1(n_samples=400, random_state=0)
    >>> model = CERFRegressor(macs=300, random_state=0).fit(X[:300], y[:300])
    >>> model.n_macs_ <= 300, model.score(X[300:], y[300:]) > 0.8
    (True, True)
    """

    _predicts_classes = False

    def __init__(
        self,
        *,
        macs: Any = None,
        head: Any = "trained",
        refine: Any = "auto",
        masks: Any = "auto",
        teacher: Any = "auto",
        activation: Any = "auto",
        gamma: Any = "cv",
        alpha: Any = "auto",
        group_size: Any = 1,
        features_per_mask: Any = 1,
        early_stopping: Any = "auto",
        n_jobs: Any = None,
        random_state: Any = None,
        verbose: Any = 0,
    ) -> None:
        self.macs = macs
        self.head = head
        self.refine = refine
        self.masks = masks
        self.teacher = teacher
        self.activation = activation
        self.gamma = gamma
        self.alpha = alpha
        self.group_size = group_size
        self.features_per_mask = features_per_mask
        self.early_stopping = early_stopping
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose and train features and head.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        check_choice("head", self.head, ("trained", "ridge"))
        if y is None:
            raise ValueError(
                "This CERFRegressor requires y to be passed, but the target y is None."
            )
        seed = np.random.SeedSequence(make_generator(self.random_state).integers(2**63, size=2))
        self.__dict__.pop("coef_", None)  # a fit that fails leaves no half of an old model
        X, y = read_data(self, X, reset=True, y=y)
        if issparse(y):
            raise TypeError("y is sparse: targets must be dense, pass y.toarray().")
        self._one_target = y.ndim == 1
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not (weights > 0.0).any():
            raise ValueError("sample_weight is zero for all rows: at least two must count.")
        with one_thread_blas():
            self._fit_scaled(*distinct_rows(X, targets, weights)[:3], seed)
        return self

    def _fit_scaled(
        self,
        X: Any,
        targets: Float64Array,
        weights: Float64Array,
        seed: np.random.SeedSequence,
    ) -> None:
        """Train on standardised targets and undo the scaling in the head."""
        mean, variance = weighted_moments(targets, weights)
        check_spread("y", targets.max(axis=0) > targets.min(axis=0), variance)
        deviation = np.sqrt(variance)
        deviation[deviation == 0.0] = 1.0
        scaled = (targets - mean) / deviation
        strata = np.zeros(len(X), dtype=np.int64)
        network = self._fit_network(
            X, scaled, weights, strata, squared_error, seed, targets.shape[1]
        )[0]
        self._store(network)
        self.coef_ *= deviation[:, None]
        self.intercept_ = self.intercept_ * deviation + mean

    def predict(self, X: Any) -> Any:
        """Predictions (n_samples,) or (n_samples, n_targets) of X."""
        scores = self._scores(X)
        return scores.ravel() if self._one_target else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
