"""What RandomizedKernelPCA and KernelAutoencoder share: codes of inputs, and inputs of codes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from cerflearn._typing import Float64Array, FloatArray
from cerflearn._validation import check_integer, check_number, invalid, make_generator
from cerflearn.engine.blas import one_thread_blas
from cerflearn.estimators.applications.inner_map import (
    check_inner_map,
    feature_engine,
    fit_inner_map,
    n_inner_outputs,
    needs_target,
    project,
)
from cerflearn.estimators.cost import cost
from cerflearn.estimators.input import check_n_jobs, read_data, thread_count, varying_inputs
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.linalg.moments import CrossMoments, moments_block
from cerflearn.linalg.principal import principal_axes
from cerflearn.linalg.ridge import ridge_weights

DEFAULT_CODES = 15
"""Length of a code unless told otherwise, as in the paper."""

_FITTED = ("components_", "moments_", "inverse_weights_", "inverse_mean_")


def _has_inverse(estimator: Any) -> bool:
    if not estimator._inverts:
        raise AttributeError(
            "inverse_transform needs fit_inverse_transform=True: set it and fit again."
        )
    return True


class KernelCodes(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base of estimators that reduce the features of an inner map to principal components.

    Subclasses have the parameters n_components, feature_map, alpha, n_jobs and random_state, and
    say in ``_inverts`` whether codes are to be turned back into inputs.
    """

    n_components: Any
    feature_map: Any
    alpha: Any
    n_jobs: Any
    random_state: Any
    feature_map_: Any
    moments_: CrossMoments
    components_: Float64Array
    mean_: Float64Array
    explained_variance_: Float64Array
    explained_variance_ratio_: Float64Array
    singular_values_: Float64Array
    inverse_weights_: Float64Array
    inverse_mean_: Float64Array

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map, stream the moments of its features, and find their principal components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; memory maps are read block by block.
        y : array-like, default=None
            Handed to ``fit`` of the map; not used else.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        rng = make_generator(self.random_state)
        # A fit that fails leaves an estimator that is not fitted, never half of an old one.
        for name in _FITTED:
            self.__dict__.pop(name, None)
        X = read_data(self, X, reset=True)
        self._start(X, y, rng)
        moments = self._stream(X)
        self._solve(moments)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add a batch of rows to those seen so far, by ``fit`` or by this method.

        The first batch decides the map. The result is that of ``fit`` on all rows, up to
        rounding, if ``fit`` had used the same map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to add; the first batch needs more than one.
        y : array-like, default=None
            Handed to ``fit`` of the map with the first batch; not used else.

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

    def transform(self, X: Any) -> Any:
        """Codes of X: its centred features in the directions of ``components_``.

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
    def inverse_transform(self, X: Any) -> FloatArray:
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
    def _inverts(self) -> bool:
        """Whether the regression from codes to inputs is wanted."""
        return True

    @property
    def n_components_(self) -> int:
        """Number of codes."""
        return len(self.components_)

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
        asked = DEFAULT_CODES if self.n_components is None else self.n_components
        self._n_codes = min(int(asked), most)
        if self.n_components is not None and self.n_components > most:
            raise invalid(
                "n_components",
                self.n_components,
                f"at most {most}, the smaller of n_samples={n_samples} and the {n_outputs} "
                "outputs of feature_map",
            )

    def _stream(self, X: Any) -> CrossMoments:
        """Moments of features and inputs of X, in one pass over blocks of rows."""
        n_threads = thread_count(self.n_jobs, X.shape[0])
        engine = feature_engine(self.feature_map_, X, n_threads, with_inputs=self._inverts)
        return engine.map_reduce(moments_block, False)

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
            if self._inverts:
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

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_integer("n_components", self.n_components, "a positive integer or None")
        check_inner_map("feature_map", self.feature_map)
        must_be = "a number that is not negative, in units of the mean variance of the codes"
        check_number("alpha", self.alpha, must_be, at_least=0.0)
        check_n_jobs(self.n_jobs)

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
