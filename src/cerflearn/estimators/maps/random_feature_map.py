"""What all feature-map estimators share: parameters, fit, transform, fitted attributes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cerflearn._typing import (
    BoolArray,
    Float64Array,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
)
from cerflearn._validation import (
    Constraint,
    Flag,
    NoEffect,
    Passes,
    Whole,
    check_at_most_one,
    check_effects,
    check_parameters,
    make_generator,
)
from cerflearn.estimators.block_output import BlockTransforms
from cerflearn.estimators.gamma import GammaLike, KernelLike, check_kernel_parameters, resolve_law
from cerflearn.estimators.input import (
    FLOATS,
    THREADED_ROWS,
    check_n_jobs,
    is_streamed,
    open_rows,
    read_data,
    thread_count,
)
from cerflearn.features.base import FeatureMap
from cerflearn.spectral import SpectralLaw

DEFAULT_OUTPUTS = 100
"""Output columns if neither ``n_components`` nor ``macs`` is given."""

_MOST_COLUMNS, _MOST_MACS = 2**30, 10**12  # far beyond any memory; arithmetic stays exact

OUTPUT_CONSTRAINTS: dict[str, Constraint] = {
    "n_components": Whole(
        f"a positive integer of at most {_MOST_COLUMNS:,}, or None",
        at_most=_MOST_COLUMNS,
        also=(None,),
    ),
    "macs": Whole(
        f"a positive integer of at most {_MOST_MACS:,}, or None", at_most=_MOST_MACS, also=(None,)
    ),
    "paired": Flag(),
    "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
}
"""What the parameters that all maps have must be; kernel and gamma are checked together."""

KERNEL_EFFECTS = (
    NoEffect(
        "gamma",
        "kernel",
        lambda estimator: isinstance(estimator.kernel, SpectralLaw),
        "a law has its own scale; leave gamma at 'scale'",
    ),
)
"""Combinations of the parameters that all maps have in which one changes nothing."""


class RandomFeatureMap(
    BlockTransforms,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """Base of estimators that draw a feature map in ``fit`` and apply it in ``transform``.

    Subclasses have the parameters kernel, gamma, n_components, macs, paired, n_jobs and
    random_state, and draw the map in ``_draw_map``.
    """

    _constraints: ClassVar[dict[str, Constraint]] = OUTPUT_CONSTRAINTS
    _without_effect: ClassVar[tuple[NoEffect, ...]] = KERNEL_EFFECTS

    kernel: KernelLike
    gamma: GammaLike
    n_components: int | None
    macs: int | None
    paired: bool
    n_jobs: int | None
    random_state: RandomStateLike
    gamma_: float | None
    law_: SpectralLaw
    feature_map_: FeatureMap

    def fit(self, X: MatrixLike, y: Any = None) -> Self:  # noqa: ARG002
        """Read gamma off X if it is not a number, and draw the feature map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; or a source of :mod:`cerflearn.blocks`, or the path of an ``.npy`` file.
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
        X = read_data(self, open_rows(X)[0], reset=True)
        self.law_, self.gamma_ = resolve_law(self.kernel, self.gamma, X)
        self.feature_map_ = self._draw_map(X, rng)
        self._n_features_out = self.feature_map_.n_outputs
        return self

    def transform(self, X: MatrixLike) -> Any:
        """Compute the features of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; float32 and float64 are kept, other types become float64. Or a source of
            :mod:`cerflearn.blocks`, or the path of an ``.npy`` file.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            Or the container chosen by ``set_output``; of a source, an iterator of blocks.
        """
        # Plain arrays that need no conversion skip scikit-learn's validation, which takes longer
        # than the features of a row. The core refuses what is not finite.
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS:
            fitted = self.__dict__
            feature_map: FeatureMap | None = fitted.get("feature_map_")
            n_samples, n_features = X.shape
            if (
                feature_map is not None
                and n_features == feature_map.n_features
                and n_samples > 0
                and "feature_names_in_" not in fitted
            ):
                n_threads = 1 if n_samples < THREADED_ROWS else self._n_threads(n_samples)
                features = feature_map.transform_if_finite(X, n_threads)
                if features is not None:
                    return features
        return self._transform_checked(X)

    def _transform_checked(self, X: MatrixLike) -> Any:
        check_is_fitted(self)
        if is_streamed(X):
            return self._transform_blocks(X)
        return self._transform_rows(read_data(self, X, reset=False))

    def _transform_rows(self, X: Any) -> FloatArray:
        run = self.feature_map_.transform_sparse if issparse(X) else self.feature_map_.transform
        return run(X, n_threads=self._n_threads(X.shape[0]))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a map."""
        return "feature_map_" in self.__dict__

    def _n_threads(self, n_samples: int) -> int:
        return thread_count(self.n_jobs, n_samples)

    def _check_parameters(self) -> None:
        check_kernel_parameters(self.kernel, self.gamma)
        check_at_most_one("n_components", self.n_components, "macs", self.macs)
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    @abstractmethod
    def _draw_map(self, X: Any, rng: np.random.Generator) -> FeatureMap:
        """Draw the map for checked parameters and data; ``law_`` is set."""

    @property
    def _n_outputs_asked(self) -> int:
        return DEFAULT_OUTPUTS if self.n_components is None else int(self.n_components)

    @property
    def _budget(self) -> int | None:
        return None if self.macs is None else int(self.macs)

    @property
    def _fitted_map(self) -> FeatureMap:
        """The map, or an error that says why there is none."""
        check_is_fitted(self)
        return self.feature_map_

    @property
    def n_components_(self) -> int:
        """Number of output columns."""
        return self._fitted_map.n_outputs

    @property
    def n_projections_(self) -> int:
        """Number of frequencies."""
        return self._fitted_map.n_projections

    @property
    def n_macs_(self) -> int:
        """MACs of one row, counted from the map."""
        return self._fitted_map.cost().macs

    @property
    def frequencies_(self) -> Float64Array:
        """Frequencies (n_features, n_projections_) in radians; made on first use."""
        return self._fitted_map.frequencies

    @property
    def offsets_(self) -> Float64Array:
        """Offsets (n_projections_,) in radians, zeros if paired."""
        return self._fitted_map.offsets

    @property
    def masks_(self) -> BoolArray:
        """Inputs that each projection reads, (n_features, n_projections_); made on first use."""
        return self._fitted_map.masks

    @property
    def inputs_read_(self) -> IntArray:
        """Inputs that at least one projection reads, ascending indices."""
        return self._fitted_map.inputs_read

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
