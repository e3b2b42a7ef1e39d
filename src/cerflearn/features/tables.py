r"""Tables: any function of a sparse projection, looked up by its bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cerflearn import _native
from cerflearn._typing import BoolArray, Float64Array, FloatArray, IntArray
from cerflearn.features.cost import (
    TABLE_WEIGHT_BYTES,
    Cost,
    Storage,
    StoredArray,
    compressed_array,
    stored_bytes,
    table_macs,
)
from cerflearn.features.frozen import (
    LARGEST_SINGLE,
    NOT_FINITE,
    FrozenArrays,
    check_float,
    frozen,
)
from cerflearn.features.linear import LinearPart
from cerflearn.features.sparse import DENSE_AT_ONCE, row_blocks


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableMap(FrozenArrays):
    r"""Scores :math:`s_o(x) = a_o + \sum_d L_{do} x_d + \sum_k T_{k, j_k(x), o}`.

    Table k is looked up at bin :math:`j_k(x) = \min(\max(\lfloor u_k(x) \rfloor, 0), n - 1)` of
    the n bins, with :math:`u_k(x) = \sum_d w_{dk} x_d + b_k` over the inputs d of its mask, in
    bins. There may be no table: scores are then linear.

    It holds float64 values and runs in the dtype of its input. It never changes; what it derives
    (packed arrays) is made on first use, kept, and not pickled.

    Attributes
    ----------
    mask_pointers : ndarray of shape (n_tables + 1,), int64
        Table k reads ``mask_inputs[mask_pointers[k]:mask_pointers[k + 1]]``.
    mask_inputs : ndarray of shape (n_values,), int32
        Inputs of the masks, ascending in each; a mask may be empty.
    values : ndarray of shape (n_values,)
        w of those inputs, in bins.
    offsets : ndarray of shape (n_tables,)
        b, in bins.
    tables : ndarray of shape (n_tables, n_bins, n_scores)
        T; 2 to 65,536 bins.
    linear : ndarray of shape (n_features, n_scores)
        L; zeros cost nothing.
    intercept : ndarray of shape (n_scores,)
        a.

    Notes
    -----
    A phase u of m inputs is off by at most :math:`\epsilon (m + 2) (\sum |w x| + |b|)`, with
    :math:`\epsilon = 2^{-24}` or :math:`2^{-53}`, so that the bin can be another one only where u
    is so close to an edge. Where huge inputs overflow u, infinity is clamped and NaN (infinities of
    both signs) is bin 0; the linear part may then be infinite or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> table_map = TableMap.from_dense(
    ...     frequencies=[[2.0], [0.0]],
    ...     masks=[[True], [False]],
    ...     offsets=[1.0],
    ...     tables=[[[10.0], [20.0], [30.0]]],
    ...     linear=[[0.0], [1.0]],
    ...     intercept=[0.5],
    ... )
    >>> table_map.scores(np.array([[-5.0, 0.0], [0.2, 0.0], [0.5, 4.0], [9.0, 0.0]])).ravel()
    array([10.5, 20.5, 34.5, 30.5])
    >>> table_map.cost()
    Cost(macs=3, trig=0, n_parameters=7, n_bytes=38, lookups=1)
    """

    mask_pointers: IntArray
    mask_inputs: NDArray[np.int32]
    values: Float64Array
    offsets: Float64Array
    tables: Float64Array
    linear: Float64Array
    intercept: Float64Array

    def __post_init__(self) -> None:
        for name in ("values", "offsets", "tables", "linear", "intercept"):
            self._freeze(name, np.float64)
        self._freeze("mask_pointers", np.int64)
        self._freeze("mask_inputs", np.int32)
        fits = (
            self.tables.ndim == 3
            and self.linear.ndim == 2
            and self.mask_pointers.shape == (len(self.tables) + 1,)
            and self.offsets.shape == self.tables.shape[:1]
            and self.intercept.shape == self.tables.shape[2:] == self.linear.shape[1:]
        )
        if not fits:
            raise ValueError(
                f"tables of shape {self.tables.shape}, mask_pointers {self.mask_pointers.shape}, "
                f"offsets {self.offsets.shape}, linear {self.linear.shape} and intercept "
                f"{self.intercept.shape} do not fit."
            )

    @classmethod
    def from_dense(
        cls,
        *,
        frequencies: ArrayLike,
        masks: ArrayLike,
        offsets: ArrayLike,
        tables: ArrayLike,
        linear: ArrayLike,
        intercept: ArrayLike,
    ) -> Self:
        """Tables of dense weights and masks.

        Parameters
        ----------
        frequencies : array_like of shape (n_features, n_tables)
            w, in bins; ignored outside the masks.
        masks : array_like of shape (n_features, n_tables), bool
            Inputs of each table.
        offsets, tables, linear, intercept
            See :class:`TableMap`.
        """
        active = np.asarray(masks, dtype=np.bool_)
        weights = np.asarray(frequencies, dtype=np.float64)
        if active.ndim != 2 or active.shape != weights.shape:
            raise ValueError(f"masks {active.shape} and frequencies {weights.shape} do not fit.")
        table, inputs = np.nonzero(active.T)
        counts = np.bincount(table, minlength=active.shape[1])
        return cls(
            mask_pointers=np.concatenate([[0], np.cumsum(counts)]),
            mask_inputs=inputs.astype(np.int32),
            values=weights[inputs, table],
            offsets=np.asarray(offsets, dtype=np.float64),
            tables=np.asarray(tables, dtype=np.float64),
            linear=np.asarray(linear, dtype=np.float64),
            intercept=np.asarray(intercept, dtype=np.float64),
        )

    def __repr__(self) -> str:
        return (
            f"TableMap(n_features={self.n_features}, n_tables={self.n_tables}, "
            f"n_bins={self.n_bins}, n_scores={self.n_scores})"
        )

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return len(self.linear)

    @property
    def n_tables(self) -> int:
        """Number of tables."""
        return len(self.tables)

    @property
    def n_bins(self) -> int:
        """Bins of each table."""
        return int(self.tables.shape[1])

    @property
    def n_scores(self) -> int:
        """Number of scores."""
        return len(self.intercept)

    @property
    def frequencies(self) -> Float64Array:
        """Weights w (n_features, n_tables) in bins, zero outside the masks; read-only."""
        return self._derived("frequencies", lambda: self._dense(self.values))

    @property
    def masks(self) -> BoolArray:
        """Which inputs a table reads, (n_features, n_tables); read-only."""
        return self._derived("masks", lambda: self._dense(np.ones(len(self.values), np.bool_)))

    @property
    def linear_part(self) -> LinearPart:
        """The linear part, compressed."""
        return self._derived("linear_part", lambda: LinearPart(coef=self.linear))

    @property
    def inputs_read(self) -> IntArray:
        """Inputs that a table or the linear part reads, ascending."""
        return np.union1d(self.mask_inputs, self.linear_part.inputs_read).astype(np.int64)

    def _dense(self, entries: NDArray[Any]) -> NDArray[Any]:
        dense = np.zeros((self.n_features, self.n_tables), entries.dtype)
        dense[
            self.mask_inputs, np.repeat(np.arange(self.n_tables), np.diff(self.mask_pointers))
        ] = entries
        return frozen(dense, entries.dtype)

    def model(self, dtype: np.dtype[Any]) -> _native.TableModel:
        """Packed arrays for float32 or float64 and the instruction-set level in use."""
        level = _native.current_level()
        return self._derived((dtype.char, level), lambda: self._pack(dtype, level))

    def _pack(self, dtype: np.dtype[Any], level: str) -> _native.TableModel:
        check_float(dtype)
        pointers, inputs, values = self.linear_part.compressed
        numbers = (self.values, self.offsets, self.tables, values, self.intercept)
        if dtype == np.float32 and any((np.abs(a) > LARGEST_SINGLE).any() for a in numbers):
            raise ValueError(
                "Weights or tables are beyond single precision: scale X, or pass it in float64."
            )
        return _native.table_model(
            n_features=self.n_features,
            mask_pointers=self.mask_pointers,
            mask_inputs=self.mask_inputs,
            values=self.values,
            offsets=self.offsets,
            tables=self.tables,
            linear_pointers=pointers,
            linear_inputs=inputs,
            linear_values=values,
            intercept=self.intercept,
            dtype=dtype.name,
            level=level,
        )

    def scores(self, X: FloatArray, *, n_threads: int = 1) -> FloatArray:
        """Scores of X.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features), float32 or float64
            Of any strides.
        n_threads : int, default=1
            Most threads to use; the bits do not depend on it.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            In the dtype of X. The bits of a row depend neither on its place nor on the other
            rows, as long as there are ``model(X.dtype).one_row_below`` of them or more.
        """
        model = self.model(X.dtype)
        if not X.flags.aligned:
            X = X.copy()
        out = np.empty((len(X), self.n_scores), X.dtype)
        if not model.scores(X, out, n_threads):
            raise ValueError(NOT_FINITE)
        return out

    def scores_sparse(self, X: Any, *, n_threads: int = 1) -> FloatArray:
        """Scores of a SciPy sparse X, float32 or float64, made dense in blocks of rows.

        The bits are those of :meth:`scores`.
        """
        X = X.tocsr()
        n_samples, n_features = X.shape
        if n_features != self.n_features:
            raise ValueError(f"X has {n_features} features, the tables {self.n_features}.")
        out = np.empty((n_samples, self.n_scores), X.dtype)
        # With fewer rows the core sums in another order, which would change the bits.
        n_rows = max(
            DENSE_AT_ONCE // n_features * max(1, n_threads), self.model(X.dtype).one_row_below
        )
        for rows in row_blocks(n_samples, n_rows):
            out[rows] = self.scores(X[rows].toarray(), n_threads=n_threads)
        return out

    def stored_arrays(self) -> list[StoredArray]:
        """Sizes of what a deployed model stores: weights, tables, linear part."""
        return [
            compressed_array(len(self.values), self.n_tables, self.n_features, TABLE_WEIGHT_BYTES),
            StoredArray(self.tables.size),
            self.linear_part.stored_array(),
        ]

    def cost(self, storage: Storage = "float32") -> Cost:
        """Cost of one sample.

        Parameters
        ----------
        storage : {"float32", "int16", "int8"}, default="float32"
            How a deployed model stores weights and tables; see
            :func:`~cerflearn.features.cost.stored_bytes`.

        Returns
        -------
        Cost
            A table costs its inputs and an addition for each score, and one lookup; the linear
            part its entries that are not zero.
        """
        arrays, n_biases = self.stored_arrays(), self.n_tables + self.n_scores
        tables = table_macs(len(self.values), self.n_tables, self.n_scores)
        return Cost(
            macs=tables + self.linear_part.n_terms,
            n_parameters=sum(array.n_values for array in arrays) + n_biases,
            n_bytes=stored_bytes(
                storage, n_features=self.n_features, arrays=arrays, n_biases=n_biases
            ),
            lookups=self.n_tables,
        )
