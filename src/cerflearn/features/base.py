"""What all feature maps share: outputs, packing for the native core, running over rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from cerflearn import _native
from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.features.cost import Cost, stored_cost
from cerflearn.features.frozen import (
    LARGEST_SINGLE,
    NOT_FINITE,
    FrozenArrays,
    check_float,
    frozen,
)
from cerflearn.features.linear import LinearPart
from cerflearn.features.sparse import transform_sparse

MOST_VALUES = 2**28
"""Stored numbers of the largest map that is drawn: 2 GiB in float64."""


def budget_error(macs: int, n_features: int, least: int, what: str, remedy: str) -> ValueError:
    """Make the error for a budget below the cost of one projection or block.

    Examples
    --------
    >>> budget_error(3, 8, 8, "a dense projection", "or use MaskedFourierFeatures")
    ... # doctest: +NORMALIZE_WHITESPACE
    ValueError('macs=3 is not valid: a dense projection of 8 features costs 8 MACs. Pass macs=8 or
    more, or use MaskedFourierFeatures.')
    """
    return ValueError(
        f"macs={macs} is not valid: {what} of {n_features} features costs {least} MACs. "
        f"Pass macs={least} or more, {remedy}."
    )


def check_map_size(n_values: float, asked: str) -> None:
    """Refuse a map of more than :data:`MOST_VALUES` stored numbers, before memory runs out.

    Parameters
    ----------
    n_values : float
        Numbers that the map would store, about.
    asked : str
        What was asked for, such as ``"macs=1000000000000"``.
    """
    if n_values > MOST_VALUES:
        raise ValueError(
            f"{asked} cannot be drawn: the map would store about {n_values:.2g} numbers, and at "
            f"most {MOST_VALUES:,} are possible. Ask for less."
        )


def projections_for(n_outputs: int, paired: bool) -> int:
    """Projections that ``n_outputs`` columns need: half of them, rounded up, if paired."""
    return -(-n_outputs // 2) if paired else n_outputs


def outputs_of(n_projections: int, paired: bool) -> int:
    """Columns that projections have: two each if paired."""
    return 2 * n_projections if paired else n_projections


def equal_amplitudes(n_projections: int, paired: bool) -> Float64Array:
    r"""Amplitudes (n_projections,) with which inner products of features approximate the kernel.

    :math:`\sqrt{1 / n}` for pairs and :math:`\sqrt{2 / n}` for single cosines with a random
    offset, n the number of projections (Eq. 1 prints :math:`\sqrt{1 / n}`: half the kernel).
    """
    return np.full(n_projections, np.sqrt((1.0 if paired else 2.0) / n_projections))


def runs_of(labels: IntArray) -> tuple[IntArray, IntArray]:
    """Label and length of each run of equal labels."""
    first = np.flatnonzero(np.diff(labels, prepend=-1))
    return labels[first], np.diff(first, append=len(labels))


def draw_offsets(n_projections: int, paired: bool, rng: np.random.Generator) -> Float64Array:
    """Offsets (n_projections,): uniform on [0, 2 pi), or zeros for pairs, which need none."""
    if paired:
        return np.zeros(n_projections)
    return rng.uniform(0.0, 2.0 * np.pi, n_projections)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FeatureMap(FrozenArrays, ABC):
    r"""Random Fourier features :math:`a_k \cos(\omega_k^\top x + b_k)` (Eq. 1).

    Paired maps have two columns a projection: column 2 k is the cosine and column 2 k + 1 the
    sine of :math:`\omega_k^\top x + b_k`; an odd ``n_outputs`` drops the last sine. A map holds
    float64 values in radians and runs in the dtype of its input. It never changes; what it
    derives (packed weights, dense frequencies) is made on first use, kept, and not pickled.

    Attributes
    ----------
    offsets : ndarray of shape (n_projections,)
        b; zeros if drawn for pairs.
    amplitudes : ndarray of shape (n_projections,)
        a, shared by the two columns of a pair.
    n_outputs : int
        Columns of :meth:`transform`.
    paired : bool
        Whether a projection has a cosine and a sine column.
    """

    offsets: Float64Array
    amplitudes: Float64Array
    n_outputs: int
    paired: bool

    def __post_init__(self) -> None:
        self._freeze("offsets", np.float64)
        self._freeze("amplitudes", np.float64)
        n = len(self.offsets)
        if n == 0 or len(self.amplitudes) != n:
            raise ValueError(f"{n} offsets and {len(self.amplitudes)} amplitudes do not fit.")
        if self.n_outputs not in ((2 * n, 2 * n - 1) if self.paired else (n,)):
            raise ValueError(f"{n} projections cannot have n_outputs={self.n_outputs} columns.")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_features={self.n_features}, "
            f"n_projections={self.n_projections}, n_outputs={self.n_outputs}, "
            f"paired={self.paired}{', relu=True' if self.relu else ''})"
        )

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of inputs."""

    @property
    def n_projections(self) -> int:
        """Number of frequencies."""
        return len(self.offsets)

    @property
    def relu(self) -> bool:
        """Whether features are positive parts of phases, not cosines; masked maps alone can be."""
        return False

    @property
    def frequencies(self) -> Float64Array:
        """Frequencies (n_features, n_projections) in radians, zero outside the masks; read-only."""
        return self._derived("frequencies", lambda: frozen(self._frequencies(), np.float64))

    @property
    def masks(self) -> BoolArray:
        """Which inputs a projection reads, (n_features, n_projections); read-only."""
        return self._derived("masks", lambda: frozen(self._masks(), np.bool_))

    @property
    def inputs_read(self) -> IntArray:
        """Inputs that at least one projection reads, ascending: all, unless there are masks."""
        return np.arange(self.n_features)

    @abstractmethod
    def _frequencies(self) -> Float64Array: ...

    @abstractmethod
    def _masks(self) -> BoolArray: ...

    @abstractmethod
    def _largest_frequency(self) -> float:
        """Size of the largest frequency, or a bound of it."""

    @abstractmethod
    def _pack(self, dtype: str, level: str) -> _native.Model:
        """Pack the weights for one dtype and instruction-set level."""

    @abstractmethod
    def _select(self, projections: IntArray) -> dict[str, Any]:
        """Fields of the subclass after :meth:`select` or :meth:`reorder`."""

    @abstractmethod
    def _structure_cost(self) -> Cost:
        """Cost of the phases alone."""

    def model(self, dtype: np.dtype[Any]) -> _native.Model:
        """Packed weights for float32 or float64 and the instruction-set level in use."""
        level = _native.current_level()
        model: _native.Model | None = self._cache.get((dtype.char, level))
        if model is None:
            check_float(dtype)
            largest = self._largest_frequency()
            if dtype == np.float32 and not largest < LARGEST_SINGLE:
                raise ValueError(
                    f"Frequencies of up to {largest:.2g} are beyond single precision: scale X, or "
                    "pass it in float64."
                )
            model = self._derived((dtype.char, level), lambda: self._pack(dtype.name, level))
        return model

    def sparse_factor(self) -> Any:
        """Return what turns sparse rows into phases: an array, a CSR matrix, or None if nothing."""
        return None

    def in_turns(self, dtype: np.dtype[Any]) -> tuple[Any, FloatArray, FloatArray]:
        """``sparse_factor`` and offsets divided by 2 pi, and amplitudes, all in ``dtype``.

        Amplitudes of a relu map are multiplied by 2 pi, which takes the division back.
        """
        turn = 2.0 * np.pi
        scale = turn if self.relu else 1.0
        return self._derived(
            ("turns", dtype.char),
            lambda: (
                (self.sparse_factor() / turn).astype(dtype),
                (self.offsets / turn).astype(dtype),
                (self.amplitudes * scale).astype(dtype),
            ),
        )

    def transform_if_finite(self, X: FloatArray, n_threads: int = 1) -> FloatArray | None:
        """Compute :meth:`transform`, or None if X holds NaN or infinity."""
        model = self.model(X.dtype)
        if not X.flags.aligned:
            X = X.copy()
        out = _native.empty_output(X.shape[0], self.n_outputs, X.dtype)
        return out if model.transform(X, out, n_threads) else None

    def transform(self, X: FloatArray, *, n_threads: int = 1) -> FloatArray:
        """Features of X.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), float32 or float64
            Of any strides.
        n_threads : int, default=1
            Most threads to use; the bits do not depend on it.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
            In the dtype of X. The bits of a row depend neither on its place nor on the other
            rows, as long as there are ``model(X.dtype).one_row_below`` of them or more: for
            fewer, another order of summation is quicker.
        """
        out = self.transform_if_finite(X, n_threads)
        if out is None:
            raise ValueError(NOT_FINITE)
        return out

    def transform_batch(self, X: Float64Array) -> Float64Array:
        """Features of float64 rows, each with the bits it has among many rows.

        For a few rows the core sums in another order, which is quicker; such blocks are filled up.
        """
        least = self.model(X.dtype).one_row_below
        n_rows = len(X)
        if n_rows < least:
            X = np.concatenate([X, np.zeros((least - n_rows, X.shape[1]))])
        features: Float64Array = self.transform(X)[:n_rows]  # type: ignore[assignment]
        return features

    def scores(
        self,
        X: FloatArray,
        coef: FloatArray,
        intercept: FloatArray,
        *,
        n_threads: int = 1,
        linear: LinearPart | Float64Array | None = None,
    ) -> FloatArray:
        """``transform(X) @ coef.T + X @ linear + intercept`` without storing the features.

        Parameters
        ----------
        X, n_threads
            As in :meth:`transform`.
        coef : ndarray of shape (n_scores, n_outputs)
            Weights of a linear head.
        intercept : ndarray of shape (n_scores,)
            Biases of it.
        linear : LinearPart or ndarray of shape (n_features, n_scores), optional
            Linear part; one that is used again is better given as a
            :class:`~cerflearn.features.linear.LinearPart`, which is compressed once.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            In the dtype of X.
        """
        model = self.model(X.dtype)
        if not X.flags.aligned:
            X = X.copy()
        weights = np.ascontiguousarray(coef, dtype=X.dtype)
        biases = np.ascontiguousarray(intercept, dtype=X.dtype)
        out = np.empty((len(X), len(weights)), X.dtype)
        part = () if linear is None else (LinearPart.of(linear).packed(X.dtype),)
        if not model.scores(X, weights, biases, out, n_threads, *part):
            raise ValueError(NOT_FINITE)
        return out

    def transform_sparse(self, X: Any, *, n_threads: int = 1) -> FloatArray:
        """Features of a SciPy sparse X, float32 or float64, in row blocks of bounded memory.

        Rows are made dense for the native kernel, or multiplied by SciPy, on one thread, where
        few values are stored and that is quicker (dense and masked maps). The latter needs a
        copy of the frequencies in the dtype of X, which is kept.
        """
        out = transform_sparse(self, X, n_threads)
        if out is None:
            raise ValueError(NOT_FINITE)
        return out

    def select(self, projections: ArrayLike, n_outputs: int | None = None) -> Self:
        """Map of some projections, with their amplitudes as they are.

        Parameters
        ----------
        projections : array_like of int
            Strictly ascending indices, at least one.
        n_outputs : int, optional
            Columns of the result; all that the projections have (twice as many if paired) by
            default, one less to drop the last sine.
        """
        index = np.asarray(projections, dtype=np.int64).ravel()
        if (
            len(index) == 0
            or index[0] < 0
            or index[-1] >= self.n_projections
            or not (np.diff(index) > 0).all()
        ):
            raise ValueError(
                f"projections={projections!r} must be ascending indices below "
                f"{self.n_projections}, at least one."
            )
        if n_outputs is None:
            n_outputs = outputs_of(len(index), self.paired)
        return replace(
            self,
            offsets=self.offsets[index],
            amplitudes=self.amplitudes[index],
            n_outputs=n_outputs,
            **self._select(index),
        )

    def reorder(self, order: ArrayLike) -> Self:
        """Map whose projection i is ``order[i]`` of this one; blocks must stay in one piece."""
        index = np.asarray(order, dtype=np.int64).ravel()
        if not np.array_equal(np.sort(index), np.arange(self.n_projections)):
            raise ValueError(f"order={order!r} must be a permutation of {self.n_projections}.")
        return replace(
            self,
            offsets=self.offsets[index],
            amplitudes=self.amplitudes[index],
            **self._select(index),
        )

    def with_amplitudes(self, amplitudes: ArrayLike) -> Self:
        """Map with other amplitudes (n_projections,)."""
        return replace(self, amplitudes=np.asarray(amplitudes, dtype=np.float64))

    def cost(self) -> Cost:
        """MACs, cosines and sines, stored parameters and bytes for one sample."""
        n_offsets = self.n_projections if self.offsets.any() else 0
        equal = bool((self.amplitudes == self.amplitudes[0]).all())
        n_amplitudes = 1 if equal else self.n_projections
        trig = 0 if self.relu else self.n_outputs
        outputs = stored_cost(macs=0, trig=trig, n_parameters=n_offsets + n_amplitudes)
        return self._structure_cost() + outputs
