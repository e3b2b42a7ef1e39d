"""A classifier within a budget of multiply-accumulates."""

from __future__ import annotations

from collections.abc import Hashable
from os import PathLike
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from cerflearn._typing import Float64Array, FloatArray, IntArray, MatrixLike, RandomStateLike
from cerflearn._validation import Constraint, NoEffect, OneOf
from cerflearn.estimators.block_output import BlockScores
from cerflearn.estimators.engine_choice import EngineName
from cerflearn.estimators.predictors.budgeted import BudgetedPredictor, PredictorTeacher
from cerflearn.estimators.predictors.class_predictions import ClassPredictions
from cerflearn.estimators.predictors.fit_place import FitPlace
from cerflearn.estimators.predictors.fitted_network import FittedNetwork
from cerflearn.estimators.predictors.fitting import fit_network
from cerflearn.estimators.predictors.heads import (
    HEADS,
    fit_head_of,
    ridge_head_of,
    ridge_scores,
)
from cerflearn.estimators.predictors.online import if_it_can_learn_on, learn_from
from cerflearn.estimators.predictors.parameters import PREDICTOR_CONSTRAINTS, PREDICTOR_EFFECTS
from cerflearn.estimators.predictors.training_rows import distinct_rows, in_memory_if_small
from cerflearn.estimators.targets import MULTILABEL_HEADS, read_labels
from cerflearn.training.task import Targets


class CERFClassifier(BlockScores, ClassifierMixin, BudgetedPredictor, ClassPredictions):  # type: ignore[misc]
    r"""Classifier whose features and scores cost at most ``macs`` multiply-accumulates a row.

    .. math:: s(x) = a + L^\top x + \sum_k f_k(w_k^\top x)

    with sparse weights :math:`w_k`, so that each feature reads few inputs, and a sparse linear part
    L. Features :math:`f_k` are cosines or positive parts times a head, or tables: any function of
    the weighted sum, looked up. They are trained on the labels, from many inputs to few, within the
    budget. Settings are chosen on held-out rows.

    Parameters
    ----------
    macs : int, default=None
        Most operations of one row, features and scores together: multiply-accumulates, and
        additions of table rows. None: as many as a linear model needs, or 32 features of 8 inputs
        if that is more.
    max_bytes : int, default=None
        Most bytes of constant data of the deployed model, as ``storage`` counts them.
    storage : {"float32", "int16", "int8"}, default="float32"
        How a deployed model stores weights and tables: counted in ``cost`` and ``max_bytes``.
    head : {"logistic", "ridge", "svm", "svm_ovo"}, default="logistic"
        Linear model on the features. ``"logistic"``: as trained together with them. Fitted to them
        at the end: ridge regression, a linear support vector machine (liblinear), or one for each
        pair of classes (LIBSVM, as in the paper). Pairs of C classes have C (C - 1) / 2 scores,
        which count in the budget.
    learn : {"auto", "masks", "features", "selection"}, default="auto"
        What is learned. ``"masks"``: which inputs a feature reads, by gradual pruning, with
        weights and scores. ``"features"``: masks are drawn; weights and scores are learned.
        ``"selection"``: cosines are drawn and selected greedily by the labels, and only the scores
        are fitted. ``"auto"``: masks.
    teacher : {"auto", "labels", "kernel", "boosting"} or estimator, default="auto"
        What features are trained on: the labels, or predictions at the rows and at points between
        them of kernel ridge regression (fitted to at most 4,000 rows), boosted trees, or an
        estimator, which is cloned. ``"auto"``: by held-out rows; labels if there are over 16,000.
    activation : {"auto", "cosine", "relu", "table"}, default="auto"
        What a feature does with the weighted sum of its inputs: take the cosine, take the positive
        part, or look up the bin of the sum in a table, which has a number for each score and bin.
        ``"auto"``: by held-out rows. Tables have no head, and need ``head="logistic"``.
    n_components : int or "auto", default="auto"
        Features that training starts with; pruning may leave fewer. 0: the linear part alone.
        ``"auto"``: by the budget and the number of rows, at most 5 sqrt(n_samples); several numbers
        are compared, and where rows bound them also networks that use a part of the budget only.
    gamma : {"cv", "scale", "median"} or float, default="cv"
        Coefficient of the Gaussian kernel whose frequencies cosines start with. ``"cv"`` scales
        inputs, one by one or all alike, and starts with about one radian for a standard deviation
        of each projection, or two, by held-out rows. Others keep inputs as they are: ``"scale"`` is
        1 / (n_features * X.var()), ``"median"`` one over the median squared distance.
    alpha : float or "auto", default="auto"
        Penalty of squared weights of the head beside the mean loss over rows, in units of the
        features' variance, as in ridge regression. ``"auto"``: by held-out rows.
    settings : dict, default=None
        Settings of an earlier fit, its ``settings_``: nothing is compared, which saves most of the
        time. None: they are searched for.
    group_size : {1, 2, 4, 8, 16}, default=1
        Consecutive inputs that a feature reads or leaves together.
    features_per_mask : int, default=1
        Consecutive features that read the same inputs, for speed.
    input_shape : tuple of int, default=None
        Height and width, and channels, of images whose pixels are the columns of X, row by row;
        (1, length) of signals: features start with patches. None: with inputs drawn at random.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; ``"balanced"`` gives every class the same total weight. Classes
        whose rows all have weight 0 are left out. Not for several labels a row.
    effort : float, default=1.0
        About proportional to the time of ``fit``: more steps of training, and with twice the effort
        twice as many settings.
    early_stopping : bool or "auto", default="auto"
        Hold out a tenth of the rows, at most 5,000, in the last training, and keep the network with
        the least loss on them of those after pruning. ``"auto"``: from 10,000 rows on.
    warm_start : bool, default=False
        Whether ``fit`` begins with the network of the last ``fit`` or ``partial_fit``, whose masks,
        budget and settings stay: nothing is compared, and the network is trained on with the new
        rows alone, for a third of the steps and at half of the rate.
    verbose : int, default=0
        Above 0: print the settings that are compared and the progress of training.
    n_jobs : int, default=None
        Threads of ``fit`` and ``predict``: None is 1 unless in a ``joblib.parallel_config``, -1 all
        cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes; for several labels a row, the numbers of the columns of y.
    outputs_2d_ : bool
        Whether y had several labels a row.
    feature_map_ : MaskedMap or TableMap
        The features; tables also if only a linear part is left.
    head_coef_ : ndarray of shape (n_scores, n_outputs)
        Weights of the head on the outputs of the map; one score for two classes.
    head_intercept_ : ndarray of shape (n_scores,)
        Its biases.
    linear_coef_ : ndarray of shape (n_scores, n_features_in_)
        Weights of the inputs themselves, most or all of them zero.
    tables_ : ndarray of shape (n_tables, n_bins, n_scores)
        Scores that are added for each bin of each table; no tables for other features.
    bin_edges_ : ndarray of shape (n_tables, n_bins + 1)
        Edges of the bins of ``X @ feature_map_.frequencies``; the outer bins are open.
    settings_ : dict
        All that was chosen; see ``settings``.
    inverse_temperature_ : float
        Factor of the scores in ``predict_proba``.
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
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    CERFRegressor : The same for numbers.
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
    >>> from sklearn.datasets import load_digits
    >>> from cerflearn import CERFClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CERFClassifier(macs=500, random_state=0).fit(X[:1000], y[:1000])
    >>> model.n_macs_ <= 500, model.score(X[1000:], y[1000:]) > 0.9
    (True, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = {"head": OneOf(HEADS)} | PREDICTOR_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        *PREDICTOR_EFFECTS,
        NoEffect(
            "activation",
            "head",
            lambda model: model.activation == "table" and model.head != "logistic",
            "tables have no head; leave head at 'logistic', or take other features",
        ),
    )

    head: Literal["logistic", "ridge", "svm", "svm_ovo"]

    def __init__(
        self,
        *,
        macs: int | None = None,
        max_bytes: int | None = None,
        storage: Literal["float32", "int16", "int8"] = "float32",
        head: Literal["logistic", "ridge", "svm", "svm_ovo"] = "logistic",
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
        class_weight: dict[Hashable, float] | Literal["balanced"] | None = None,
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
        self.class_weight = class_weight
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
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Classes, two or more; or 0 and 1 for each of several labels (``head="logistic"`` and
            ``"ridge"``). Left out if X is a source with a target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        checkpoint : str or path-like, default=None
            Folder to keep the state of the fit in: after each round of the comparison of settings,
            and of the last training now and then. The same call after a crash goes on from there,
            to the same bits. ``ValueError`` if the folder has the states of another fit. See
            docs/large_data.md.
        engine : {"serial", "threads", "dask"}, default=None
            Where settings are compared. None: on ``n_jobs`` threads, or on the cluster of a Dask
            collection. ``"dask"``: on the workers of the active ``Client``, who also read the
            source or file X; the last training runs here. ``"threads"``: on ``n_jobs`` threads, or
            all cores. Same bits.

        Returns
        -------
        CERFClassifier
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, checkpoint, engine)
        return self

    @if_it_can_learn_on  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows; the first call is a ``fit``.

        Later calls train the network on: masks, budget and settings are kept. The learning rate is
        that of ``fit`` times the root of the share of new rows, at most a half, and falls to zero
        within each call; a stream takes as many steps in all as a ``fit`` of all its rows. Up to
        65,536 rows of the stream are kept, of more a random part, and trained on together with the
        new ones. When four times as many rows are kept as masks and settings were chosen on, these
        are chosen anew. Kept rows are left out of pickles. After ``fit``, training goes on from
        its network.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; or a source of :mod:`cerflearn.blocks`, the path of an ``.npy`` file or a Dask
            collection, of which each block or partition counts as a call.
        y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
            Classes or labels. Left out if X is a source with a target.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, in the first call. None: those of its rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        CERFClassifier
            The estimator; if an error is raised, it stays as it was.
        """
        learn_from(self, X, y, sample_weight, classes)
        return self

    def _fit_rows(
        self, X: Any, y: Any, weights: Float64Array, place: FitPlace, classes: Any = None
    ) -> None:
        """See :meth:`BudgetedPredictor._fit_rows`."""
        encoded = read_labels(y, weights, self.class_weight, self.head, classes)
        X = in_memory_if_small(X)
        rows = distinct_rows(X, encoded.targets, encoded.weights, encoded.strata)
        n_scores = encoded.targets.shape[1]
        if self.head == "svm_ovo" and n_scores > 1:
            n_scores = n_scores * (n_scores - 1) // 2  # pairs of classes
        rescore = ridge_scores if self.head == "ridge" else None
        fitted = fit_network(self, rows, encoded.kind, place, n_scores, rescore)
        self.classes_, self.outputs_2d_ = encoded.classes, encoded.kind == "multilabel"
        self.inverse_temperature_ = fitted.inverse_temperature(encoded.kind)
        self._store(fitted, self._refitted_head(fitted, int(place.seed.generate_state(1)[0])))

    def _encoded(self, y: Any, weights: Float64Array) -> tuple[Targets, Float64Array, IntArray]:
        """See :meth:`BudgetedPredictor._encoded`."""
        found = read_labels(y, weights, self.class_weight, self.head, self._known_classes())
        if (found.kind == "multilabel") != self.outputs_2d_:
            raise ValueError("y has one label a row in some calls and several in others.")
        return found.targets, found.weights, found.strata

    def _known_classes(self) -> Any:
        """See :meth:`BudgetedPredictor._known_classes`."""
        return self.classes_

    def _refitted_head(
        self, fitted: FittedNetwork, seed: int
    ) -> tuple[FloatArray, FloatArray] | None:
        """Head that is fitted to the features at the end; None keeps the one that is there."""
        if self.head == "ridge":
            return ridge_head_of(fitted.network, fitted.task) if fitted.trains else None
        if self.head == "logistic" and fitted.trains:
            return None
        return fit_head_of(self.head, fitted.network, fitted.task, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = isinstance(self.head, str)
        tags.classifier_tags.multi_label = known and self.head in MULTILABEL_HEADS
        return tags
