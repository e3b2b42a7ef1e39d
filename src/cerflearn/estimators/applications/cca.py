"""Canonical correlations of two views in random features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from cerflearn._typing import Float64Array, FloatArray, MatrixLike, RandomStateLike
from cerflearn._validation import (
    Constraint,
    NoEffect,
    Number,
    Passes,
    Whole,
    check_effects,
    check_parameters,
    invalid,
    make_generator,
)
from cerflearn.engine.blocks import BlockSource, ComputedSource
from cerflearn.engine.engines import make_engine, one_thread_blas
from cerflearn.estimators.applications.inner_map import (
    Transformer,
    check_inner_map,
    check_moments,
    fit_inner_map,
    inner_features,
    project,
)
from cerflearn.estimators.block_output import BlockTransforms
from cerflearn.estimators.cost import counted_cost
from cerflearn.estimators.dask_rows import ClusterRows
from cerflearn.estimators.engine_choice import EngineName, engine_jobs
from cerflearn.estimators.input import (
    check_has_columns,
    check_n_jobs,
    is_streamed,
    open_rows,
    read_data,
    thread_count,
    validation_hints,
    varying_inputs,
)
from cerflearn.estimators.streamed_rows import StreamedRows
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.canonical import canonical_axes
from cerflearn.linalg.moments import CrossMoments, cross_moments_block


class TwoViews:
    """Features of some rows of two views, computed where they are.

    Parameters
    ----------
    first, second : transformer
        The maps.
    """

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def __call__(self, rows: Any, others: Any) -> tuple[Float64Array, Float64Array]:
        """Return both."""
        return inner_features(self.first, rows), inner_features(self.second, others)


class RandomizedKernelCCA(
    BlockTransforms,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Kernel canonical correlation analysis on random features.

    .. math:: \max_{a, b}\; a^\top C_{xy} b \quad\text{with}\quad
        a^\top \bigl(C_{xx} + \alpha \tfrac{\operatorname{tr} C_{xx}}{K_x} I\bigr) a =
        b^\top \bigl(C_{yy} + \alpha \tfrac{\operatorname{tr} C_{yy}}{K_y} I\bigr) b = 1,

    C the covariances of the features :math:`\varphi_x(x)` and :math:`\varphi_y(y)` of two views of
    the same samples; further pairs are uncorrelated with the first. Relations that are not linear
    in the inputs show up, in :math:`O(K^2 N)` operations and :math:`O(K^2)` memory.

    Parameters
    ----------
    n_components : int, default=2
        Number of canonical pairs.
    feature_map : transformer, default=None
        :math:`\varphi_x`: a map of cerflearn or any transformer, which is cloned and fitted on X
        as a plain array. None: ``MaskedFourierFeatures(n_components=512)``. Its random state is
        drawn from ``random_state`` if it is None.
    y_feature_map : transformer, default=None
        :math:`\varphi_y`, fitted on y. None: like ``feature_map``, but a draw of its own.
    alpha : float, default=0.1
        Ridge penalty of the squared weights of a view beside the variance of its variate, in
        units of the mean variance of its features. Without it K features correlate perfectly on K
        rows, whatever they are.
    n_jobs : int, default=None
        Threads of ``fit`` and ``transform``: None is 1 unless in a ``joblib.parallel_config``,
        -1 all cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the maps.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components_,)
        Canonical correlations of the training data with the ridge in place, descending.
    feature_map_ : transformer
        The fitted map of X.
    y_feature_map_ : transformer
        The fitted map of y.
    x_components_ : ndarray of shape (n_components_, K_x)
        Rows a; the largest entry of each is positive.
    y_components_ : ndarray of shape (n_components_, K_y)
        Rows b.
    x_mean_ : ndarray of shape (K_x,)
        Mean of the features of X.
    y_mean_ : ndarray of shape (K_y,)
        Mean of the features of y.
    n_components_ : int
        Number of pairs.
    n_features_in_ : int
        Number of features of X.
    n_features_y_ : int
        Number of features of y.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features of X, if all are strings.

    See Also
    --------
    RandomizedKernelPCA : One view.
    sklearn.cross_decomposition.CCA : Linear relations.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained Optimization".

    D. Lopez-Paz, S. Sra, A. Smola, Z. Ghahramani and B. Schoelkopf, "Randomized Nonlinear
    Component Analysis", ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from cerflearn import RandomizedKernelCCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 2))
    >>> Y = np.c_[X[:, 0] ** 2, rng.uniform(size=2000)]  # uncorrelated with X
    >>> model = RandomizedKernelCCA(n_components=1, random_state=0).fit(X[:1000], Y[:1000])
    >>> model.score(X[1000:], Y[1000:]) > 0.9
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": Whole("a positive integer"),
        "feature_map": Passes(check_inner_map),
        "y_feature_map": Passes(check_inner_map),
        "alpha": Number(
            "a number that is not negative, in units of the mean variance of the features",
            at_least=0.0,
        ),
        "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
    }
    _without_effect: ClassVar[tuple[NoEffect, ...]] = ()

    def __init__(
        self,
        *,
        n_components: int = 2,
        feature_map: Transformer | None = None,
        y_feature_map: Transformer | None = None,
        alpha: float = 0.1,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.y_feature_map = y_feature_map
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: MatrixLike = None, *, engine: EngineName | None = None) -> Self:
        """Fit both maps, stream the moments of their features, and solve.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First view; or a source of :mod:`cerflearn.blocks`, or the path of an ``.npy`` file.
        y : {array-like, sparse matrix} of shape (n_samples, n_features_y) or (n_samples,)
            Second view of the same samples, in the same order, or a source of it; left out if X is
            a source with targets, which are then the second view.
        engine : {"serial", "threads", "dask"}, default=None
            Where sums over rows are computed. None: on ``n_jobs`` threads, or where a Dask
            collection is. ``"dask"``: on the workers of the active ``Client``, who open the source
            or file X themselves. ``"threads"``: on ``n_jobs`` threads, or all cores. Same bits.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        n_jobs = self.n_jobs if engine is None else engine_jobs(engine, X, self.n_jobs)
        rng = make_generator(self.random_state)
        self.__dict__.pop("x_components_", None)
        X, y = open_rows(X, y, engine)
        y, _ = open_rows(y, engine=engine)
        X = read_data(self, X, reset=True)
        Y = y if isinstance(y, StreamedRows) else self._read_second(y)
        with validation_hints():
            check_consistent_length(X, Y)
        self._check_views(X, Y)
        self.n_features_y_ = int(Y.shape[1])
        self.feature_map_ = fit_inner_map(self.feature_map, X, None, rng)
        second = self.feature_map if self.y_feature_map is None else self.y_feature_map
        self.y_feature_map_ = fit_inner_map(second, Y, None, rng)
        self._solve(self._stream(X, Y, thread_count(n_jobs, X.shape[0])))
        return self

    def transform(self, X: MatrixLike, y: MatrixLike = None) -> Any:
        """Compute canonical variates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First view.
        y : {array-like, sparse matrix} of shape (n_samples, n_features_y), default=None
            Second view.

        Returns
        -------
        ndarray of shape (n_samples, n_components), or a pair of them if y is given
            Variates of X, and of y.
        """
        if y is None and is_streamed(X):
            return self._transform_blocks(X)
        first = self._first_variates(X)
        return first if y is None else (first, self._second_variates(y, len(first)))

    def score(self, X: MatrixLike, y: MatrixLike) -> float:
        """Return the mean over the pairs of the correlation of their variates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            First view, best of rows that ``fit`` has not seen: at least two.
        y : {array-like, sparse matrix} of shape (n_samples, n_features_y) or (n_samples,)
            Second view of the same rows.

        Returns
        -------
        float
            1 at most; 0 if the views have nothing in common. A variate that is constant counts as
            uncorrelated.
        """
        first = self._first_variates(X).astype(np.float64)
        second = self._second_variates(y, len(first)).astype(np.float64)
        if len(first) < 2:
            raise ValueError("X has one sample (n_samples = 1): correlations need two or more.")
        first, second = first - first.mean(axis=0), second - second.mean(axis=0)
        scale = np.sqrt(np.square(first).sum(axis=0) * np.square(second).sum(axis=0))
        products = (first * second).sum(axis=0)
        return float(np.divide(products, scale, out=np.zeros_like(scale), where=scale > 0).mean())

    @property
    def n_components_(self) -> int:
        """Number of canonical pairs."""
        return len(self.x_components_)

    def _first_variates(self, X: Any) -> FloatArray:
        check_is_fitted(self, "x_components_")
        return self._transform_rows(read_data(self, X, reset=False))

    def _transform_rows(self, X: Any) -> FloatArray:
        n_threads = thread_count(self.n_jobs, X.shape[0])
        return project(self.feature_map_, X, self.x_components_, self._x_intercept, n_threads)

    def _second_variates(self, y: Any, n_samples: int) -> FloatArray:
        Y = self._read_second(y)
        if Y.shape != (n_samples, self.n_features_y_):
            raise ValueError(
                f"y has shape {Y.shape}, expected ({n_samples}, {self.n_features_y_}): pass the "
                "rows of X and the columns that fit saw, in the same order."
            )
        n_threads = thread_count(self.n_jobs, n_samples)
        return project(self.y_feature_map_, Y, self.y_components_, self._y_intercept, n_threads)

    def _read_second(self, y: Any) -> Any:
        """Second view as an array or CSR matrix, float32 or float64; one column if flat."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_has_columns(y)
        settings: dict[str, Any] = {"accept_sparse": "csr", "input_name": "y"}
        with validation_hints("y"):
            Y = check_array(y, dtype=[np.float64, np.float32], ensure_2d=False, **settings)
        return Y[:, None] if Y.ndim == 1 else Y

    def _check_views(self, X: Any, Y: Any) -> None:
        if X.shape[0] < 2:
            raise ValueError("X has one sample (n_samples = 1): correlations need two or more.")
        for name, view in (("X", X), ("y", Y)):
            if not varying_inputs(view).any():
                raise ValueError(f"{name} is constant, all its rows are equal: nothing correlates.")

    def _stream(self, X: Any, Y: Any, n_threads: int) -> CrossMoments:
        """Moments of the features of both views, in one pass over blocks of rows."""

        def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
            first = inner_features(self.feature_map_, X[start:stop])
            return first, inner_features(self.y_feature_map_, Y[start:stop])

        source: BlockSource = ComputedSource(compute, int(X.shape[0]))
        if isinstance(X, ClusterRows):
            views = TwoViews(self.feature_map_, self.y_feature_map_)
            source = X.block_source(views, Y)
        engine = make_engine(source, n_threads)
        moments = engine.map_reduce(cross_moments_block, True)
        check_moments(moments)
        return moments

    def _solve(self, moments: CrossMoments) -> None:
        """Set all fitted attributes from the moments."""
        most = min(len(moments.left_mean), len(moments.right_mean), moments.n_samples - 1)
        if self.n_components > most:
            raise invalid(
                "n_components",
                self.n_components,
                f"at most {most}, the smallest of n_samples - 1 = {moments.n_samples - 1} and the "
                f"outputs of the maps, {len(moments.left_mean)} and {len(moments.right_mean)}",
            )
        with one_thread_blas():
            axes = canonical_axes(moments, int(self.n_components), float(self.alpha))
            self._x_intercept = -(axes.left @ moments.left_mean)
            self._y_intercept = -(axes.right @ moments.right_mean)
        self.y_components_ = axes.right
        self.x_mean_, self.y_mean_ = moments.left_mean, moments.right_mean
        self.correlations_ = axes.correlations
        self._n_features_out = len(axes.left)
        self.x_components_ = axes.left

    def _check_parameters(self) -> None:
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    def _count_cost(self) -> Cost:
        """Cost of ``transform(X)``: the map of X, and outputs times pairs."""
        n_weights = self.x_components_.size
        head = stored_cost(macs=n_weights, n_parameters=n_weights + len(self.x_components_))
        return counted_cost(self.feature_map_) + head

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
