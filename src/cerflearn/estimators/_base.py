"""What all feature-map estimators share: parameters, fit, transform, fitted attributes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from joblib import cpu_count, effective_n_jobs
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, validate_data

from cerflearn._typing import BoolArray, Float64Array, FloatArray
from cerflearn._validation import (
    check_at_most_one,
    check_flag,
    check_integer,
    invalid,
    make_generator,
)
from cerflearn.estimators.gamma import check_kernel_parameters, resolve_law
from cerflearn.features.base import FeatureMap
from cerflearn.spectral import SpectralLaw

_FLOATS = frozenset((np.dtype(np.float64), np.dtype(np.float32)))
_DEFAULT_OUTPUTS = 100
_MOST_COLUMNS, _MOST_MACS = 2**30, 10**12  # far beyond any memory; arithmetic stays exact
_THREADED_ROWS = 256  # the core uses one thread for fewer: asking joblib would cost more

# What scikit-learn's messages leave out.
_HINTS = {
    "could not convert string": "X must be numeric: encode text, for example with OneHotEncoder.",
    "compatible with arrays of bytes/strings": "X must be numeric, encode text.",
    "Found array with 0": "X must have at least one row and one column.",
    "X contains infinity": "Replace or drop such values.",
    "features as input": "Pass the columns that fit saw, in the same order.",
    "inhomogeneous shape": "X must be a table: rows of equal length.",
}


def read_data(
    estimator: Any, X: Any, *, reset: bool, y: Any = None, incomplete: bool = False
) -> Any:
    """Check X: a finite array or CSR matrix, float32 or float64, with names and width recorded.

    With y, which must have as many rows and be finite where it has numbers, both are returned.
    ``incomplete`` lets NaN pass, and arrays only.
    """
    # scikit-learn does not see the types of frames other than pandas: with a list it would make
    # float64 of float32.
    other_frame = hasattr(X, "to_numpy") and not hasattr(X, "iloc")
    settings: dict[str, Any] = {
        "accept_sparse": False if incomplete else "csr",
        "dtype": "numeric" if other_frame else [np.float64, np.float32],
        "ensure_all_finite": "allow-nan" if incomplete else True,
        "reset": reset,
    }
    try:
        if y is not None:
            X, y = validate_data(estimator, X, y=y, multi_output=True, **settings)
        else:
            X = validate_data(estimator, X, **settings)
    except ValueError as error:
        for sign, hint in _HINTS.items():
            if sign in str(error):
                raise ValueError(f"{str(error).rstrip('.')}. {hint}") from error
        raise
    X = _as_float(X, incomplete)
    return X if y is None else (X, y)


def _as_float(X: Any, incomplete: bool) -> Any:
    """Keep float32 and float64, make float64 of other numbers."""
    if X.dtype in _FLOATS:
        return X
    converted = X.astype(np.float64)
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:  # longer floats may not fit
        assert_all_finite(converted, allow_nan=incomplete, input_name="X")
    return converted


def check_n_jobs(n_jobs: Any) -> int | None:
    """Return scikit-learn's ``n_jobs`` as None or an integer other than 0."""
    if n_jobs is None:
        return None
    must_be = "None or an integer other than 0, such as 2, or -1 for all cores"
    number = check_integer("n_jobs", n_jobs, must_be, at_least=-(2**31))
    if number == 0:
        raise invalid("n_jobs", n_jobs, must_be)
    return min(number, 2**15)


def thread_count(n_jobs: Any, n_samples: int) -> int:
    """Threads for so many rows."""
    if n_samples < _THREADED_ROWS:
        return 1
    number = check_n_jobs(n_jobs)
    if number is None:
        return int(effective_n_jobs(None))  # 1, or what joblib.parallel_config says
    # Not through joblib: these are threads of the core, which processes do not restrict.
    return number if number > 0 else max(1, cpu_count() + 1 + number)


class RandomFeatureMap(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """Base of estimators that draw a feature map in ``fit`` and apply it in ``transform``.

    Subclasses have the parameters kernel, gamma, n_components, macs, paired, n_jobs and
    random_state, and draw the map in ``_draw_map``.
    """

    kernel: Any
    gamma: Any
    n_components: Any
    macs: Any
    paired: Any
    n_jobs: Any
    random_state: Any
    gamma_: Any
    law_: SpectralLaw
    feature_map_: FeatureMap

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Read gamma off X if it is not a number, and draw the feature map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : Ignored
            Not used; present for API consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        rng = make_generator(self.random_state)
        # A fit that fails leaves an estimator that is not fitted, never an old map and a new width.
        self.__dict__.pop("feature_map_", None)
        X = read_data(self, X, reset=True)
        self.law_, self.gamma_ = resolve_law(self.kernel, self.gamma, X)
        self.feature_map_ = self._draw_map(X, rng)
        self._n_features_out = self.feature_map_.n_outputs
        return self

    def transform(self, X: Any) -> Any:
        """Features of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; float32 and float64 are kept, other types become float64.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            Or the container chosen by ``set_output``.
        """
        # Plain arrays that need no conversion skip scikit-learn's validation, which takes longer
        # than the features of a row. The core refuses what is not finite.
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype in _FLOATS:
            fitted = self.__dict__
            feature_map: FeatureMap | None = fitted.get("feature_map_")
            n_samples, n_features = X.shape
            if (
                feature_map is not None
                and n_features == feature_map.n_features
                and n_samples > 0
                and "feature_names_in_" not in fitted
            ):
                n_threads = 1 if n_samples < _THREADED_ROWS else self._n_threads(n_samples)
                features = feature_map.transform_if_finite(X, n_threads)
                if features is not None:
                    return features
        return self._transform_checked(X)

    def _transform_checked(self, X: Any) -> FloatArray:
        check_is_fitted(self, "feature_map_")
        X = read_data(self, X, reset=False)
        run = self.feature_map_.transform_sparse if issparse(X) else self.feature_map_.transform
        return run(X, n_threads=self._n_threads(X.shape[0]))

    def _n_threads(self, n_samples: int) -> int:
        return thread_count(self.n_jobs, n_samples)

    def _check_parameters(self) -> None:
        check_kernel_parameters(self.kernel, self.gamma)
        check_at_most_one("n_components", self.n_components, "macs", self.macs)
        for name in ("n_components", "macs"):
            if getattr(self, name) is not None:
                most = _MOST_COLUMNS if name == "n_components" else _MOST_MACS
                must_be = f"a positive integer of at most {most:,}, or None"
                check_integer(name, getattr(self, name), must_be, at_most=most)
        check_flag("paired", self.paired)
        check_n_jobs(self.n_jobs)

    @abstractmethod
    def _draw_map(self, X: Any, rng: np.random.Generator) -> FeatureMap:
        """Draw the map for checked parameters and data; ``law_`` is set."""

    def _n_outputs_asked(self) -> int:
        return _DEFAULT_OUTPUTS if self.n_components is None else int(self.n_components)

    def _n_outputs_of(self, n_projections: int) -> int:
        return 2 * n_projections if self.paired else n_projections

    def _budget_error(self, least: int, what: str, remedy: str) -> ValueError:
        return ValueError(
            f"macs={self.macs} is not valid: {what} of {self.n_features_in_} features costs "
            f"{least} MACs. Pass macs={least} or more, {remedy}."
        )

    @property
    def n_components_(self) -> int:
        """Number of output columns."""
        return self.feature_map_.n_outputs

    @property
    def n_projections_(self) -> int:
        """Number of frequencies."""
        return self.feature_map_.n_projections

    @property
    def n_macs_(self) -> int:
        """MACs of one row, counted from the map."""
        return self.feature_map_.cost().macs

    @property
    def frequencies_(self) -> Float64Array:
        """Frequencies (n_features, n_projections_) in radians; made on first use."""
        return self.feature_map_.frequencies

    @property
    def offsets_(self) -> Float64Array:
        """Offsets (n_projections_,) in radians, zeros if paired."""
        return self.feature_map_.offsets

    @property
    def masks_(self) -> BoolArray:
        """Inputs that each projection reads, (n_features, n_projections_); made on first use."""
        return self.feature_map_.masks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def varying_inputs(X: Any) -> BoolArray:
    """Which columns of an array or CSR matrix hold more than one value, (n_features,)."""
    highest, lowest = X.max(axis=0), X.min(axis=0)
    if issparse(X):
        highest, lowest = highest.toarray().ravel(), lowest.toarray().ravel()
    varying: BoolArray = highest > lowest
    return varying
