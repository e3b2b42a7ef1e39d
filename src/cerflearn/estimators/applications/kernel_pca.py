"""Kernel principal components in time that grows linearly with the number of rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from cerflearn._typing import Float64Array, FloatArray, MatrixLike, RandomStateLike
from cerflearn._validation import (
    Constraint,
    Flag,
    NoEffect,
    Number,
    Passes,
    Whole,
    check_effects,
    check_parameters,
    invalid,
    make_generator,
)
from cerflearn.engine.blas import one_thread_blas
from cerflearn.estimators.applications.inner_map import (
    Transformer,
    check_inner_map,
    check_moments,
    feature_engine,
    fit_inner_map,
    n_inner_outputs,
    needs_target,
    project,
)
from cerflearn.estimators.cost import cost
from cerflearn.estimators.input import check_n_jobs, read_data, thread_count, varying_inputs
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.moments import CrossMoments, cross_moments_block
from cerflearn.linalg.principal import principal_axes
from cerflearn.linalg.ridge import ridge_weights

DEFAULT_CODES = 15
"""Default number of codes, as in the paper."""

_LARGEST_REGRESSED = 1e140  # its square times the number of entries is still a number
_PCA_ATTRIBUTES = ("components_", "moments_", "inverse_weights_", "inverse_mean_")


def _has_inverse(estimator: Any) -> bool:
    if not estimator.fit_inverse_transform:
        raise AttributeError(
            "inverse_transform needs fit_inverse_transform=True: set it and fit again."
        )
    return True


class RandomizedKernelPCA(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Principal components of random features (section 4.2).

    .. math:: \varphi(X) - \bar\varphi = R \operatorname{diag}(\sigma) P^\top, \qquad
        \mathrm{code}(x) = P_J^\top (\varphi(x) - \bar\varphi),

    with the map :math:`\varphi` of K outputs and the J right singular vectors :math:`P_J` of the
    largest singular values. Where inner products of :math:`\varphi` approximate a kernel, this
    approximates its kernel PCA, in :math:`O(K^2 N)` instead of :math:`O(N^3)` operations. Rows are
    read in blocks: memory is :math:`O(K^2 + K D)`, never N x K.

    Parameters
    ----------
    n_components : int, default=None
        J, the number of codes, at most the outputs of the map and the number of rows. None: 15, or
        fewer where there are fewer.
    feature_map : transformer, default=None
        :math:`\varphi`: a map of cerflearn or any transformer, which is cloned and fitted on X as
        a plain array. None: ``MaskedFourierFeatures(n_components=512)``. Its random state is drawn
        from ``random_state`` if it is None.
    alpha : float, default=1e-3
        Ridge penalty of the regression from codes to inputs, beside the mean squared error over
        rows, in units of the mean variance of the codes: with :math:`\lambda` the variances,
        weights are divided by :math:`\lambda_j + \alpha \bar\lambda`. No effect with
        ``fit_inverse_transform=False``.
    fit_inverse_transform : bool, default=True
        Whether ``fit`` also finds that regression, in the same pass: :math:`O(K D N)` more
        operations.
    n_jobs : int, default=None
        Threads of ``fit`` and ``transform``: None is 1 unless in a ``joblib.parallel_config``,
        -1 all cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the map.

    Attributes
    ----------
    feature_map_ : transformer
        The fitted map.
    components_ : ndarray of shape (n_components_, K)
        Rows of :math:`P_J^\top`, orthonormal; the largest entry of each is positive.
    mean_ : ndarray of shape (K,)
        :math:`\bar\varphi`.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of each code, :math:`\sigma^2 / (N - 1)`.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share of the variance of all features.
    singular_values_ : ndarray of shape (n_components_,)
        :math:`\sigma`; their squares approximate the eigenvalues of the centred kernel matrix.
    inverse_weights_ : ndarray of shape (n_components_, n_features)
        From codes to inputs, if ``fit_inverse_transform``.
    inverse_mean_ : ndarray of shape (n_features,)
        Mean of the inputs, if ``fit_inverse_transform``.
    moments_ : CrossMoments
        Means and second moments of features and inputs, which ``partial_fit`` adds to: a
        dataclass of arrays, see :class:`cerflearn.linalg.moments.CrossMoments`.
    n_components_ : int
        Number of codes.
    n_samples_seen_ : int
        Number of rows seen.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    KernelAutoencoder : The same codes, with the reconstruction error as score.
    RandomizedKernelCCA : Directions that two views have in common.
    sklearn.decomposition.KernelPCA : The exact N x N problem.

    References
    ----------
    Wangni, Zhuo and Zhu, "Learning Random Fourier Features by Hybrid Constrained
    Optimization".

    D. Lopez-Paz, S. Sra, A. Smola, Z. Ghahramani and B. Schoelkopf, "Randomized Nonlinear
    Component Analysis", ICML 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from cerflearn import MaskedFourierFeatures, RandomizedKernelPCA
    >>> X = load_digits().data / 16
    >>> feature_map = MaskedFourierFeatures(macs=1000)
    >>> pca = RandomizedKernelPCA(feature_map=feature_map, random_state=0).fit(X)
    >>> codes = pca.transform(X)
    >>> codes.shape, pca.inverse_transform(codes).shape
    ((1797, 15), (1797, 64))
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_components": Whole("a positive integer or None", also=(None,)),
        "feature_map": Passes(check_inner_map),
        "alpha": Number(
            "a number that is not negative, in units of the mean variance of the codes",
            at_least=0.0,
        ),
        "fit_inverse_transform": Flag(),
        "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
    }
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        NoEffect(
            "alpha",
            "fit_inverse_transform",
            lambda estimator: not estimator.fit_inverse_transform,
            "codes are not regressed on; leave alpha out, or pass fit_inverse_transform=True",
        ),
    )

    feature_map_: Any
    moments_: CrossMoments
    components_: Float64Array
    mean_: Float64Array
    explained_variance_: Float64Array
    explained_variance_ratio_: Float64Array
    singular_values_: Float64Array
    inverse_weights_: Float64Array
    inverse_mean_: Float64Array
    n_samples_seen_: int

    def __init__(
        self,
        *,
        n_components: int | None = None,
        feature_map: Transformer | None = None,
        alpha: float = 1e-3,
        fit_inverse_transform: bool = True,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Fit the map, stream the moments of its features, and find their principal components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; memory maps are read block by block.
        y : array-like, default=None
            Passed to ``fit`` of the map; not used otherwise.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        rng = make_generator(self.random_state)
        # A fit that fails leaves an estimator that is not fitted, never half of an old one.
        for name in _PCA_ATTRIBUTES:
            self.__dict__.pop(name, None)
        X = read_data(self, X, reset=True)
        self._start(X, y, rng)
        self._solve(self._stream(X))
        return self

    def partial_fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Add a batch of rows to those seen so far, by ``fit`` or by this method.

        The first batch decides the map. The result is that of ``fit`` on all rows, up to
        rounding, if ``fit`` had used the same map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to add; the first batch needs more than one.
        y : array-like, default=None
            Passed to ``fit`` of the map with the first batch; not used otherwise.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if "moments_" not in self.__dict__:
            return self.fit(X, y)
        self._check_parameters()
        X = read_data(self, X, reset=False)
        self._solve(self.moments_.merge(self._stream(X)))
        return self

    def transform(self, X: MatrixLike) -> Any:
        """Compute codes of X: its centred features in the directions of ``components_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; float32 and float64 are kept, other types become float64.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Or the container chosen by ``set_output``.
        """
        check_is_fitted(self, "components_")
        X = read_data(self, X, reset=False)
        n_threads = thread_count(self.n_jobs, X.shape[0])
        return project(self.feature_map_, X, self.components_, self._intercept, n_threads)

    @available_if(_has_inverse)  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: MatrixLike) -> FloatArray:
        """Estimate the inputs of given codes by ridge regression.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Estimated inputs, in the dtype of the codes.
        """
        check_is_fitted(self, "components_")
        codes: Any = check_array(X, dtype=[np.float64, np.float32], input_name="codes")
        if codes.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {codes.shape[1]} columns, but codes have {len(self.components_)}: pass "
                "what transform returns."
            )
        with one_thread_blas():
            inputs: FloatArray = codes @ self.inverse_weights_ + self.inverse_mean_
        return inputs.astype(codes.dtype, copy=False)

    @property
    def n_components_(self) -> int:
        """Number of codes."""
        return len(self.components_)

    def _check_parameters(self) -> None:
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    def _start(self, X: Any, y: Any, rng: np.random.Generator) -> None:
        """Fit the map, after the checks that need no features."""
        n_samples = int(X.shape[0])
        if n_samples < 2:
            raise ValueError(
                f"X has one sample (n_samples = {n_samples}): principal components need two or "
                "more."
            )
        if not varying_inputs(X).any():
            raise ValueError("X is constant, all its rows are equal: there is nothing to reduce.")
        self.feature_map_ = fit_inner_map(self.feature_map, X, y, rng)
        n_outputs = n_inner_outputs(self.feature_map_, X)
        most = min(n_outputs, n_samples)
        if self.n_components is not None and self.n_components > most:
            raise invalid(
                "n_components",
                self.n_components,
                f"at most {most}, the smaller of n_samples={n_samples} and the {n_outputs} "
                "outputs of feature_map",
            )
        self._n_codes = min(int(self.n_components or DEFAULT_CODES), most)

    def _stream(self, X: Any) -> CrossMoments:
        """Moments of features and inputs of X, in one pass over blocks of rows."""
        inverse = bool(self.fit_inverse_transform)
        if inverse:
            largest = max(float(X.max()), -float(X.min()))
            if largest > _LARGEST_REGRESSED:
                raise ValueError(
                    f"X holds values of {largest:.3e}, above {_LARGEST_REGRESSED:g}, which cannot "
                    "be regressed on codes: scale X, for example with StandardScaler."
                )
        n_threads = thread_count(self.n_jobs, X.shape[0])
        engine = feature_engine(self.feature_map_, X, n_threads, with_inputs=inverse)
        moments = engine.map_reduce(cross_moments_block, False)
        check_moments(moments)
        return moments

    def _solve(self, moments: CrossMoments) -> None:
        """Set all fitted attributes from the moments."""
        total = float(np.trace(moments.left_scatter))
        if not total > 0.0:
            raise ValueError(
                "The features of X are constant: there is nothing to reduce. Scale X or choose "
                "another feature_map or gamma."
            )
        with one_thread_blas():
            axes = principal_axes(moments.left_scatter, self._n_codes)
            if self.fit_inverse_transform:
                cross = axes.components @ moments.cross_scatter
                scatter = np.diag(axes.energies)
                self.inverse_weights_ = ridge_weights(scatter, cross, float(self.alpha))
                self.inverse_mean_ = moments.right_mean
            self._intercept = -(axes.components @ moments.left_mean)
        self.components_ = axes.components
        self.mean_ = moments.left_mean
        self.explained_variance_ = axes.energies / (moments.n_samples - 1)
        self.explained_variance_ratio_ = axes.energies / total
        self.singular_values_ = np.sqrt(axes.energies)
        self.n_samples_seen_ = moments.n_samples
        self.moments_ = moments
        self._n_features_out = len(axes.components)

    def _count_cost(self) -> Cost:
        """Cost of ``transform``: the map, and outputs times codes."""
        n_weights = self.components_.size
        head = stored_cost(macs=n_weights, n_parameters=n_weights + len(self.components_))
        return cost(self.feature_map_) + head

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = needs_target(self.feature_map)
        return tags
