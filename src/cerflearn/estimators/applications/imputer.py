"""Completing rows of which some values are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import BoolArray, Float64Array, MatrixLike, RandomStateLike
from cerflearn._validation import (
    Constraint,
    Flag,
    NoEffect,
    Number,
    Passes,
    Verbosity,
    Whole,
    check_effects,
    check_integer,
    check_parameters,
    make_generator,
)
from cerflearn.engine.engines import one_thread_blas
from cerflearn.estimators.applications.imputation import (
    StageOptions,
    check_incomplete_rows,
    check_range,
    complete,
    standardise,
    train_stages,
)
from cerflearn.estimators.applications.inner_map import (
    MACS_CONSTRAINT,
    Transformer,
    check_inner_map,
)
from cerflearn.estimators.applications.patterns import (
    check_covered,
    check_missing_values,
    check_one_pattern,
    check_patterns,
    has_one_pattern,
    hide_values,
    is_nan,
)
from cerflearn.estimators.applications.trained_completion import (
    COMPLETION_EFFECTS,
    CompletionOptions,
    train_completion,
)
from cerflearn.estimators.input import check_n_jobs, read_data, thread_count
from cerflearn.features.cost import Cost

_IMPUTER_ROWS, _MOST_COPIES = 20_000, 4
_MOST_COPIED = 2**24  # values of all copies, 128 MiB


class KernelImputer(
    OneToOneFeatureMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Fill in missing values from the kernel code of what is there (section 4.2).

    .. math:: \hat x_d = w_d^\top P_J \bigl(\varphi(\tilde x) - \bar\varphi\bigr) + b_d,

    where :math:`\tilde x` is a row whose missing values are the column means, :math:`\varphi`
    random features, :math:`P_J` their J principal directions, and :math:`w_d` a ridge regressor
    for each column. It is trained on rows of which known values are hidden on purpose: the
    regressor of a column is fitted to exactly the rows where that column was hidden. Further
    stages do the same on rows filled by the stage before, until the cross-validated error of hidden
    values falls no more. If all rows miss the same inputs, one stage is the paper's method.

    Parameters
    ----------
    n_components : int, default=None
        J, the number of codes, at most the outputs of the map and the inputs together. None: 100,
        or fewer for few rows (half their number) or few outputs.
    feature_map : transformer, default=None
        :math:`\varphi`: a map of cerflearn or any transformer, cloned and fitted on filled,
        standardised rows, with a new draw in each stage. None:
        ``MaskedFourierFeatures(n_components=512)``.
    linear_part : bool, default=True
        Whether codes are made of :math:`[\varphi(\tilde x), \tilde x / \sqrt D]`; False: of
        :math:`\varphi` alone, as in the paper.
    alpha : float or "auto", default="auto"
        Ridge penalty of the regressors, beside the mean squared error over rows, in units of the
        mean variance of the codes. ``"auto"``: for each column and stage the best of .01 to 10
        by cross-validation.
    patterns : None, float or array-like of bool, default=None
        What to hide in training. None: what other rows miss (and each column that no row misses
        in some rows of one more copy), or .2 of the values at random if none is missing in
        training. A number: this share of the values at random. An array of shape (n_features,)
        or (n_patterns, n_features): these patterns, True where missing; ``transform`` then
        refuses rows that miss other columns.
    n_copies : int, default=None
        Copies of the training rows, in each of which other values are hidden. None: as many as
        give 20,000 rows, from 1 to 4. No effect if ``patterns`` is one pattern: copies would be
        equal, and there is one. Memory is a few times this many X in float64.
    max_iter : int, default=8
        Most stages. No effect with ``tol=1.0``: there is one.
    tol : float, default=0.03
        Stop when a stage lowers the cross-validated error by less than this share. No effect with
        ``max_iter=1``.
    missing_values : number or np.nan, default=np.nan
        What stands for a missing value.
    add_indicator : bool, default=False
        Whether to append a :class:`~sklearn.impute.MissingIndicator` of the columns that miss
        values in training.
    n_jobs : int, default=None
        Threads of ``fit``: None is 1 unless in a ``joblib.parallel_config``, -1 all cores. The bits
        of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the maps, of what is hidden, and of training.
    macs : int, default=None
        Budget of operations of completing one row, for a single pattern, which ``patterns`` must
        be. The missing inputs are then predicted from the observed ones by one trained network:
        J codes and a linear decoder, or a score for each missing input, whichever has the lower
        error on held-out rows. ``n_components`` is the number of codes then.
    verbose : int, default=0
        Above 0: print what is trained, with ``macs``.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        Means of the known values: the first guess.
    scale_ : ndarray of shape (n_features,)
        Their standard deviations; 1 where constant.
    stages_ : list of ImputationStage or TrainedStage
        Map, codes and regressors of each stage: dataclasses of arrays, see
        :class:`cerflearn.estimators.applications.imputation.ImputationStage`; with ``macs`` one
        :class:`cerflearn.estimators.applications.trained_completion.TrainedStage`.
    errors_ : ndarray of shape (n_iter_,)
        After each stage, the cross-validated squared error of hidden values divided by that of the
        means, in units of the standard deviations. Rows hidden in one fold were filled with the
        help of the others from the second stage on: optimistic as an estimate of the error. With
        ``macs``, of held-out rows.
    alphas_ : ndarray of shape (n_iter_, n_features)
        Penalty of each column in each stage, in the units of ``alpha``, which is one number for
        all of them.
    n_iter_ : int
        Number of stages; 0 if no stage has a lower error than the means.
    indicator_ : MissingIndicator or None
        If ``add_indicator``.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    KernelAutoencoder : Codes of complete rows.
    sklearn.impute.IterativeImputer : Linear regressors, column after column.
    sklearn.impute.KNNImputer : Means of similar rows.

    Notes
    -----
    Columns are standardised inside: the result does not depend on their units. Known values farther
    than 5 standard deviations from the mean are returned as they are, but read as 5 when others are
    predicted from them. A row costs the MACs of all stages, see :func:`cerflearn.cost`. ``fit``
    needs :math:`O(N (K + D)^2)` operations a stage for the codes and :math:`O(h J^2)` for h hidden
    values.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from cerflearn import KernelImputer
    >>> rng = np.random.default_rng(0)
    >>> X = load_digits().data[:600]
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> imputer = KernelImputer(max_iter=2, random_state=0).fit(X[:500])
    >>> np.isnan(imputer.transform(X[500:])).any()
    np.False_
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": Whole("a positive integer or None", also=(None,)),
        "feature_map": Passes(check_inner_map),
        "linear_part": Flag(),
        "alpha": Number(
            "'auto' or a number from 0 to 1e20", at_least=0.0, at_most=1e20, also=("auto",)
        ),
        "n_copies": Whole("a positive integer or None", also=(None,)),
        "max_iter": Whole("a positive integer"),
        "tol": Number("a number of at least 0 and at most 1", at_least=0.0, at_most=1.0),
        "missing_values": Passes(check_missing_values),
        "add_indicator": Flag(),
        "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
        "macs": MACS_CONSTRAINT,
        "verbose": Verbosity(),
    }
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        *COMPLETION_EFFECTS,
        NoEffect(
            "n_copies",
            "patterns",
            lambda estimator: has_one_pattern(estimator.patterns),
            "all copies would be equal; leave n_copies out, or pass more patterns",
        ),
        NoEffect(
            "tol",
            "max_iter",
            lambda estimator: estimator.max_iter == 1,
            "there is no second stage to stop before; leave tol out, or pass a larger max_iter",
        ),
        NoEffect(
            "max_iter",
            "tol",
            lambda estimator: estimator.tol == 1.0,
            "no stage lowers the error by all of it, so that the first one is the last; leave "
            "max_iter out, or pass a smaller tol",
        ),
    )

    stages_: list[Any]

    def __init__(
        self,
        *,
        n_components: int | None = None,
        feature_map: Transformer | None = None,
        linear_part: bool = True,
        alpha: float | Literal["auto"] = "auto",
        patterns: float | ArrayLike | None = None,
        n_copies: int | None = None,
        max_iter: int = 8,
        tol: float = 0.03,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        macs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.linear_part = linear_part
        self.alpha = alpha
        self.patterns = patterns
        self.n_copies = n_copies
        self.max_iter = max_iter
        self.tol = tol
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.macs = macs
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn to predict each column from the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, of which values may be missing.
        y : Ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        rng = make_generator(self.random_state)
        self.__dict__.pop("stages_", None)
        X, missing = self._read(X, reset=True)
        check_incomplete_rows(X, missing, getattr(self, "feature_names_in_", None))
        patterns = check_patterns(self.patterns, X.shape[1])
        self.indicator_ = None
        if self.add_indicator:
            indicator = MissingIndicator(missing_values=self.missing_values, error_on_new=False)
            self.indicator_ = indicator.fit(X)
        self._covered = np.any(patterns, axis=0) if isinstance(patterns, np.ndarray) else None
        names = getattr(self, "feature_names_in_", None)
        values, self.statistics_, self.scale_ = standardise(X, missing, names)
        stages, errors = self._train(values, missing, patterns, rng)
        self.errors_ = np.array(errors)
        self.alphas_ = np.array([stage.alphas for stage in stages]).reshape(-1, X.shape[1])
        self.n_iter_ = len(stages)
        self.stages_ = stages
        return self

    def transform(self, X: MatrixLike) -> Any:
        """Fill in what is missing; values that are there are returned as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data, of which any values may be missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_features + n_indicators)
            Completed data, float32 or float64 as X; or the container chosen by ``set_output``.
        """
        check_is_fitted(self, "stages_")
        X, missing = self._read(X, reset=False)
        rows = np.flatnonzero(missing.any(axis=1))
        check_covered(missing, self._covered, self.macs)
        completed = X.copy()
        if len(rows):
            absent = missing[rows]
            with np.errstate(over="ignore"):  # values that far away are read as 5 deviations
                filled = (X[rows].astype(np.float64) - self.statistics_) / self.scale_
            filled[absent] = 0.0
            found = complete(self.stages_, filled, absent) * self.scale_ + self.statistics_
            check_range(found[absent], completed.dtype)
            completed[rows] = np.where(absent, found, completed[rows])
        if self.indicator_ is None:
            return completed
        flags = self.indicator_.transform(X).astype(completed.dtype)
        return np.hstack([completed, flags])

    def get_feature_names_out(
        self, input_features: Sequence[str] | None = None
    ) -> NDArray[np.object_]:
        """Return names of the inputs, and of the indicators if there are any.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the inputs; those seen in ``fit`` by default, or x0, x1 and so on.

        Returns
        -------
        ndarray of shape (n_outputs,), str
            One name for each column of ``transform``.
        """
        check_is_fitted(self, "stages_")
        names: NDArray[np.object_] = super().get_feature_names_out(input_features)
        if self.indicator_ is None:
            return names
        return np.concatenate([names, self.indicator_.get_feature_names_out(names)])

    def _read(self, X: Any, *, reset: bool) -> tuple[Any, BoolArray]:
        """X as an array, float32 or float64, and where values are missing."""
        X = read_data(self, X, reset=reset, incomplete=True)
        missing: BoolArray = np.isnan(X)
        if not is_nan(self.missing_values):
            if missing.any():
                raise ValueError(
                    f"Input X contains NaN, but missing_values={self.missing_values!r}: pass "
                    "missing_values=np.nan."
                )
            missing = np.equal(X, self.missing_values)
        return X, missing

    def _copies(self, n_samples: int, n_features: int) -> int:
        if self.n_copies is not None:
            most = max(1, _MOST_COPIED // (n_samples * n_features))
            must_be = f"at most {most:,} for {n_samples:,} rows of {n_features:,} inputs"
            return check_integer("n_copies", self.n_copies, must_be, at_most=most)
        return int(np.clip(_IMPUTER_ROWS // n_samples, 1, _MOST_COPIES))

    def _train(
        self, values: Float64Array, missing: BoolArray, patterns: Any, rng: np.random.Generator
    ) -> Any:
        """Stages with their errors."""
        if self.macs is not None:
            budgeted = CompletionOptions.of(self, thread_count(self.n_jobs, len(values)))
            return train_completion(values, missing, patterns[0], budgeted, rng)
        n_copies = 1 if has_one_pattern(self.patterns) else self._copies(*values.shape)
        hidden = hide_values(missing, patterns, n_copies, rng)
        with one_thread_blas():
            options = StageOptions.of(self, values, thread_count(self.n_jobs, len(values)))
            return train_stages(values, missing, hidden, options, rng)

    def _check_parameters(self) -> None:
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)
        if self.macs is not None:
            check_one_pattern(self.patterns, self.macs)

    def _count_cost(self) -> Cost:
        """Cost of completing a row of which any value may be missing: all stages."""
        return sum((stage.cost() for stage in self.stages_), start=Cost())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_nan(self.missing_values)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
