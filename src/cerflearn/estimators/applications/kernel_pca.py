"""Kernel principal components in time that grows linearly with the number of rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import Float64Array, FloatArray, MatrixLike, RandomStateLike
from cerflearn._validation import (
    Constraint,
    NoEffect,
    check_effects,
    check_parameters,
    make_generator,
)
from cerflearn.engine.engines import one_thread_blas
from cerflearn.estimators.applications.inner_map import (
    Transformer,
    decode,
    feature_moments,
    fit_inner_map,
    has_inverse,
    n_codes_of,
    needs_target,
    project,
    total_scatter,
)
from cerflearn.estimators.applications.linear_codes import decoder_of
from cerflearn.estimators.applications.trained_codes import (
    BUDGET_EFFECTS,
    CODE_CONSTRAINTS,
    check_reducible,
    check_regressed,
    takes_batches,
    teacher_targets,
    train_codes,
)
from cerflearn.estimators.block_output import BlockTransforms
from cerflearn.estimators.components import CodeTargets
from cerflearn.estimators.cost import counted_cost
from cerflearn.estimators.encoder import Encoder
from cerflearn.estimators.engine_choice import EngineName, engine_jobs
from cerflearn.estimators.input import (
    TrainingData,
    is_streamed,
    open_rows,
    read_data,
    refuse_streamed,
    thread_count,
)
from cerflearn.estimators.teachers import TeacherLike, reads_target
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.moments import CrossMoments
from cerflearn.linalg.principal import principal_axes
from cerflearn.linalg.ridge import ridge_weights

_PCA_ATTRIBUTES = ("components_", "encoder_", "feature_map_", "mean_", "moments_",
                   "inverse_weights_", "inverse_mean_")  # fmt: skip


class RandomizedKernelPCA(
    BlockTransforms,
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
        weights are divided by :math:`\lambda_j + \alpha \bar\lambda`; with ``macs``, of the least
        variance. No effect with ``fit_inverse_transform=False``.
    fit_inverse_transform : bool, default=True
        Whether ``fit`` also finds that regression, in the same pass: :math:`O(K D N)` more
        operations.
    n_jobs : int, default=None
        Threads of ``fit`` and ``transform``: None is 1 unless in a ``joblib.parallel_config``,
        -1 all cores. The bits of the result do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the map, and of training.
    macs : int, default=None
        Budget of operations of one row. Codes are then those of a network within the budget, which
        is trained so that they are close to the J leading components of ``teacher``: cosines, relu
        features or tables, each of few inputs, and a sparse linear part, chosen on held-out rows.
        A feature costs its inputs and J. None: codes are exact components of ``feature_map``. Not
        with ``feature_map`` or ``partial_fit``.
    teacher : {"rff", "nystroem", "kernel_pca"}, SpectralLaw or transformer, default="rff"
        Whose components the network is trained on; it may be large, as it is not kept. With a name:
        1,024 random features, or up to 1,000 Nystroem features or kernel principal components, of
        the Gaussian kernel with ``gamma="scale"``. Only with ``macs``.
    verbose : int, default=0
        Above 0: print what is trained, with ``macs``.

    Attributes
    ----------
    feature_map_ : transformer
        The fitted map; without ``macs``.
    components_ : ndarray of shape (n_components_, K)
        Rows of :math:`P_J^\top`, orthonormal; the largest entry of each is positive. Without
        ``macs``.
    mean_ : ndarray of shape (K,)
        :math:`\bar\varphi`; without ``macs``.
    encoder_ : Encoder
        The trained network, with ``macs``: a dataclass, see
        :class:`cerflearn.estimators.encoder.Encoder`.
    explained_variance_ : ndarray of shape (n_components_,)
        Variance of each code, :math:`\sigma^2 / (N - 1)`.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share of the variance of all features, or of all columns of the teacher.
    singular_values_ : ndarray of shape (n_components_,)
        :math:`\sigma`; their squares approximate the eigenvalues of the centred kernel matrix.
    inverse_weights_ : ndarray of shape (n_components_, n_features)
        From codes to inputs, if ``fit_inverse_transform``.
    inverse_mean_ : ndarray of shape (n_features,)
        Mean of the inputs, if ``fit_inverse_transform``.
    moments_ : CrossMoments
        Means and second moments that ``partial_fit`` adds to, without ``macs``: a dataclass of
        arrays, see :class:`cerflearn.linalg.moments.CrossMoments`.
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

    _constraints: ClassVar[dict[str, Constraint]] = CODE_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = (
        *BUDGET_EFFECTS,
        NoEffect(
            "alpha",
            "fit_inverse_transform",
            lambda estimator: not estimator.fit_inverse_transform,
            "codes are not regressed on; leave alpha out, or pass fit_inverse_transform=True",
        ),
    )

    feature_map_: Any
    encoder_: Encoder
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
        macs: int | None = None,
        teacher: TeacherLike = "rff",
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.feature_map = feature_map
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.macs = macs
        self.teacher = teacher
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: Any = None, *, engine: EngineName | None = None) -> Self:
        """Fit the map, stream the moments of its features, and find their principal components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; or a source of :mod:`cerflearn.blocks`, or the path of an ``.npy`` file.
        y : array-like, default=None
            Passed to ``fit`` of the map or teacher; not used otherwise.
        engine : {"serial", "threads", "dask"}, default=None
            Where sums over rows are computed, see :meth:`MaskedCERF.fit`. Not with ``macs``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        n_jobs = self.n_jobs if engine is None else engine_jobs(engine, X, self.n_jobs, self.macs)
        rng = make_generator(self.random_state)
        # A fit that fails leaves an estimator that is not fitted, never half of an old one.
        for name in _PCA_ATTRIBUTES:
            self.__dict__.pop(name, None)
        given, y = open_rows(X, y, engine)
        X = read_data(self, given, reset=True)
        check_reducible(X)
        if self.macs is None:
            self.feature_map_ = fit_inner_map(self.feature_map, X, y, rng)
            self._n_codes = n_codes_of(self.feature_map_, X, self.n_components)
            self._solve(self._stream(X, n_jobs))
        else:
            self._train(TrainingData(X, given if hasattr(given, "columns") else X, y), rng)
        return self

    @available_if(takes_batches)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Add a batch of rows to those seen so far, by ``fit`` or by this method.

        The first batch decides the map. The result is that of ``fit`` on all rows, up to
        rounding, if ``fit`` had used the same map. Not with ``macs``.

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
        X = read_data(self, open_rows(X)[0], reset=False)
        self._solve(self.moments_.merge(self._stream(X, self.n_jobs)))
        return self

    def transform(self, X: MatrixLike) -> Any:
        """Compute codes of X: its centred features in the directions of ``components_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; float32 and float64 are kept, other types become float64. Or a source of
            :mod:`cerflearn.blocks`, or the path of an ``.npy`` file.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Or the container chosen by ``set_output``; of a source, an iterator of blocks.
        """
        self._check_fitted()
        if is_streamed(X):
            return self._transform_blocks(X)
        return self._transform_rows(read_data(self, X, reset=False))

    def _transform_rows(self, X: Any) -> FloatArray:
        n_threads = thread_count(self.n_jobs, X.shape[0])
        if "encoder_" in self.__dict__:
            return self.encoder_.codes(X, n_threads)
        return project(self.feature_map_, X, self.components_, self._intercept, n_threads)

    @available_if(has_inverse)  # type: ignore[untyped-decorator]
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
        self._check_fitted()
        return decode(X, self.inverse_weights_, self.inverse_mean_)

    @property
    def n_components_(self) -> int:
        """Number of codes."""
        return len(self.explained_variance_)

    def _check_fitted(self) -> None:
        check_is_fitted(self, ["components_", "encoder_"], all_or_any=any)

    def _check_parameters(self) -> None:
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    def _train(self, data: TrainingData, rng: np.random.Generator) -> None:
        """Train a network of codes within the budget, and set all fitted attributes."""
        refuse_streamed(data.X, f"macs={self.macs!r}", "leave macs out, or pass an array")
        if self.fit_inverse_transform:
            check_regressed(data.X)
        targets = self._targets(data, rng, thread_count(self.n_jobs, data.n_samples))
        encoder, moments = train_codes(self, data, targets, rng)
        if self.fit_inverse_transform:
            self.inverse_weights_ = decoder_of(moments, float(self.alpha))
            self.inverse_mean_ = moments.right_mean
        energies = np.diag(moments.left_scatter).copy()
        self._set_variances(energies, targets.total_variance * (moments.n_samples - 1), moments)
        self.encoder_ = encoder

    def _targets(self, data: TrainingData, rng: np.random.Generator, n_threads: int) -> CodeTargets:
        """Make what the codes of a network are to be."""
        return teacher_targets(self.teacher, data, self.n_components, rng, n_threads)

    def _stream(self, X: Any, n_jobs: int | None) -> CrossMoments:
        """Moments of features and inputs of X."""
        n_threads = thread_count(n_jobs, X.shape[0])
        if inverse := self.fit_inverse_transform:
            check_regressed(X)
        return feature_moments(self.feature_map_, X, n_threads, with_inputs=bool(inverse))

    def _solve(self, moments: CrossMoments) -> None:
        """Set all fitted attributes from the moments."""
        total = total_scatter(moments)
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
        self._set_variances(axes.energies, total, moments)
        self.moments_ = moments

    def _set_variances(self, energies: Float64Array, total: float, moments: CrossMoments) -> None:
        self.explained_variance_ = energies / (moments.n_samples - 1)
        self.explained_variance_ratio_ = energies / total
        self.singular_values_ = np.sqrt(energies)
        self.n_samples_seen_ = moments.n_samples
        self._n_features_out = len(energies)

    def _count_cost(self) -> Cost:
        """Cost of ``transform``: the network, or the map, and outputs times codes."""
        if "encoder_" in self.__dict__:
            return self.encoder_.cost()
        n_weights = self.components_.size
        head = stored_cost(macs=n_weights, n_parameters=n_weights + len(self.components_))
        return counted_cost(self.feature_map_) + head

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = needs_target(self.feature_map) or (
            self.macs is not None and reads_target(self.teacher)
        )
        return tags
