"""A classifier within a budget of multiply-accumulates."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn._validation import check_choice, make_generator
from cerflearn.engine.blas import one_thread_blas
from cerflearn.estimators.input import read_data
from cerflearn.estimators.predictors.budgeted import BudgetedPredictor, distinct_rows
from cerflearn.estimators.predictors.distinct_rows import weigh_classes
from cerflearn.estimators.predictors.heads import HEADS, fit_head, n_scores_of, pair_votes
from cerflearn.training.calibration import best_sharpness
from cerflearn.training.distillation import softened
from cerflearn.training.judging import Trial
from cerflearn.training.losses import cross_entropy, logistic


def _has_probabilities(estimator: Any) -> bool:
    return estimator.head in ("logistic", "ridge")


class CERFClassifier(ClassifierMixin, BudgetedPredictor):  # type: ignore[misc]
    r"""Classifier whose features and scores cost at most ``macs`` multiply-accumulates a row.

    .. math:: s(x) = A^\top \cos(\Omega^\top (x - \mu) / \sigma + b) + a

    with sparse frequencies :math:`\Omega`: each feature reads few inputs. By default they are
    trained on the labels from dense to sparse, the least important inputs dropped on the way
    (``masks="learned"``), and, for few rows of many inputs where that helps, on the scores of a
    kernel machine. In small networks of many rows features may be :math:`\max(\cdot, 0)` instead of
    cosines.
    What to train with is chosen on rows that were held out.

    Parameters
    ----------
    macs : int, default=None
        Most multiply-accumulates of one row, features and scores together. None: as many as a
        linear model needs, or 32 features of 8 inputs if that is more.
    head : {"logistic", "ridge", "svm", "svm_ovo"}, default="logistic"
        Linear model on the features: as trained together with them; or ridge regression, a linear
        SVM (liblinear), or one SVM for each pair of classes (LIBSVM, as in the paper), fitted to
        them at the end. Pairs of C classes have C (C - 1) / 2 scores, which the budget pays for.
    refine : {"auto", "supervised"} or None, default="auto"
        Whether frequencies, offsets and head are trained together on the labels. None: features
        are drawn and chosen (greedy, labels as teacher), and only the head is fitted.
        ``"auto"``: what does better on held-out rows.
    masks : {"auto", "learned", "random"}, default="auto"
        Which inputs a feature reads: learned by gradual pruning, or drawn. ``"auto"``: learned
        where features are refined.
    teacher : {"auto", "labels", "kernel"}, default="auto"
        What refinement imitates: the labels, or the scores of kernel ridge regression, also at
        points between training rows (up to 6,000 rows). ``"auto"``: the labels, but for up to 1,000
        rows of 32 inputs or more what does better on held-out rows.
    activation : {"auto", "cosine", "relu"}, default="auto"
        What a feature does with the weighted sum of its inputs: take the cosine, or the positive
        part (random features of the arc-cosine kernel), which costs no trigonometric function.
        ``"auto"``: cosines, and for 1,001 to 6,000 rows and small budgets what does better on
        held-out rows. With ``"relu"`` inputs are always scaled, and ``gamma`` has no effect.
    gamma : {"cv", "scale", "median"} or float, default="cv"
        Coefficient of the Gaussian kernel whose frequencies are drawn to start with. ``"cv"``
        also chooses whether inputs are scaled one by one or all alike; others keep them as they
        are.
    alpha : float or "auto", default="auto"
        Penalty of frequencies and head in refinement; ``"auto"`` by held-out rows.
    group_size : {1, 2, 4, 8, 16}, default=1
        Consecutive inputs that a feature reads or leaves together.
    features_per_mask : int, default=1
        Consecutive features that read the same inputs, for speed.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; ``"balanced"`` makes rows of every class weigh as much together.
        Classes whose rows all have weight 0 are left out.
    early_stopping : bool or "auto", default="auto"
        Hold out a tenth of the rows and keep the state of training that suits them best, where
        mini-batches are used. ``"auto"``: from 10,000 rows on.
    n_jobs : int, default=None
        Threads; the bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed.
    verbose : int, default=0
        Above 0: print what is tried and how training goes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    feature_map_ : MaskedMap
        The features.
    coef_ : ndarray of shape (n_scores, n_features_of_the_map)
        Head; one score for two classes.
    intercept_ : ndarray of shape (n_scores,)
        Its biases.
    gamma_ : float
        Coefficient that frequencies were drawn with, of scaled inputs; for random masks and
        ``gamma="cv"``, the one that a multiple was chosen of.
    recipe_ : Recipe
        What was chosen to train with.
    n_macs_ : int
        MACs of one row.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    CERFRegressor : The same for numbers.
    MaskedCERF : Features alone, without labels.

    Notes
    -----
    Equal rows are merged and rows sorted before anything is drawn: a weight of 2 is the same as a
    row given twice, and the order of the rows has no effect. Sparse X is made dense in ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cerflearn import CERFClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CERFClassifier(macs=500, random_state=0).fit(X[:1000], y[:1000])
    >>> model.n_macs_ <= 500, model.score(X[1000:], y[1000:]) > 0.9
    (True, True)
    """

    _predicts_classes = True

    def __init__(
        self,
        *,
        macs: Any = None,
        head: Any = "logistic",
        refine: Any = "auto",
        masks: Any = "auto",
        teacher: Any = "auto",
        activation: Any = "auto",
        gamma: Any = "cv",
        alpha: Any = "auto",
        group_size: Any = 1,
        features_per_mask: Any = 1,
        class_weight: Any = None,
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
        self.class_weight = class_weight
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
        y : array-like of shape (n_samples,)
            Labels, of two classes or more.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        check_choice("head", self.head, HEADS)
        seed = np.random.SeedSequence(make_generator(self.random_state).integers(2**63, size=2))
        self.__dict__.pop("coef_", None)  # a fit that fails leaves no half of an old model
        X, classes, weights = self._read(X, y, sample_weight)
        n_classes = len(self.classes_)
        targets = one_hot(classes, n_classes)
        X, targets, weights, rows = distinct_rows(X, targets, weights)
        with one_thread_blas():
            network, trial, task = self._fit_network(
                X, targets, weights, classes[rows], logistic if n_classes == 2 else cross_entropy,
                seed, n_scores_of(self.head, n_classes),
            )  # fmt: skip
            self._store(network)
            self._sharpness = self._held_out_sharpness(trial)
            if self.head in ("svm", "svm_ovo") or (
                self.head == "logistic" and not self.recipe_.refined
            ):
                features = network.features(task.X)
                self._fit_other_head(features, classes[rows], weights, seed)
        return self

    def _held_out_sharpness(self, trial: Trial | None) -> float:
        """Factor of the scores for probabilities, where there were held-out rows to tell."""
        if trial is None:
            return 1.0
        return best_sharpness(trial.scores, trial.targets, trial.weights)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, IntArray, Float64Array]:
        """Check X and y; number the classes; weigh the rows."""
        if y is None:
            raise ValueError(
                "This CERFClassifier requires y to be passed, but the target y is None."
            )
        X, y = read_data(self, X, reset=True, y=y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        labels, classes = np.unique(y, return_inverse=True)
        weights = weigh_classes(self.class_weight, y, classes, weights)
        used = np.unique(classes[weights > 0.0])
        if len(used) < 2:
            raise ValueError(
                f"y has one class, {labels[used].tolist()}, among the rows with a weight "
                "above 0: a classifier needs two or more."
            )
        # Rows without weight count as rows that are not there, and so do their classes.
        self.classes_ = labels[used]
        return X, np.minimum(np.searchsorted(used, classes), len(used) - 1), weights

    def _fit_other_head(
        self,
        features: FloatArray,
        classes: IntArray,
        weights: Float64Array,
        seed: np.random.SeedSequence,
    ) -> None:
        """Fit a head of scikit-learn to the final features."""
        number = int(seed.generate_state(1)[0])
        self.coef_, self.intercept_ = fit_head(self.head, features, classes, weights, number)
        self._sharpness = 1.0

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One score for two classes, positive for the second. For ``head="svm_ovo"`` the votes.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        return pair_votes(scores, len(self.classes_)) if self.head == "svm_ovo" else scores

    def predict(self, X: Any) -> Any:
        """Labels (n_samples,) of X."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Float64Array:
        """Probabilities (n_samples, n_classes) of the classes; for logistic and ridge heads."""
        check_is_fitted(self, "coef_")
        scores = self.decision_function(X).astype(np.float64)
        if scores.ndim == 1:
            positive = 1.0 / (1.0 + np.exp(-np.clip(self._sharpness * scores, -500.0, 500.0)))
            return np.column_stack([1.0 - positive, positive])
        return softened(scores, self._sharpness)


def one_hot(classes: IntArray, n_classes: int) -> Float64Array:
    """Targets (n_samples, n_classes); one column, the second class, for two."""
    if n_classes == 2:
        return classes[:, None].astype(np.float64)
    rows: Float64Array = np.eye(n_classes)[classes]
    return rows
