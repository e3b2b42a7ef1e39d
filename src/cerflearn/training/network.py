r"""A network of masked features while it is trained: its numbers, its masks, native steps.

.. math:: s(x) = a + L^\top x + \sum_k f_k(y_k), \quad y_k = (w_k^\top x - \mu_k) / \sigma_k

with sparse weights :math:`w_k` and a sparse linear part L; :math:`\mu_k, \sigma_k` are mean and
deviation of the projection on the training rows. Features :math:`f_k` are
:math:`A_k \cos(c_k y_k + b_k)`, :math:`A_k \max(y_k + b_k, 0)`, or tables: piecewise linear
functions of :math:`y_k`, one for each score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from cerflearn import _native
from cerflearn._typing import BoolArray, IntArray
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training import policy

Float32Array: TypeAlias = NDArray[np.float32]
"""Any shape, float32: what networks are trained in."""

Int32Array: TypeAlias = NDArray[np.int32]
"""Any shape, int32: inputs and rows."""

Activation: TypeAlias = Literal["cosine", "relu", "table"]
"""What a feature does with its projection."""


def padded_scores(n_scores: int) -> int:
    """Numbers stored for a row of a table while it is trained: whole vectors."""
    if n_scores <= 4:
        return 1 if n_scores == 1 else 4
    return -(-n_scores // 8) * 8


@dataclass(eq=False)
class TrainableNetwork:
    """Masks, parameters and optimiser state of a network; steps change the arrays in place.

    Attributes
    ----------
    kind : {"cosine", "relu", "table"}
        Of the features.
    n_features, n_scores, n_knots : int
        Inputs, scores, and knots of a table.
    pointers, inputs : ndarray of shape (n_components + 1,) and (n_entries,)
        Inputs of feature k: ``inputs[pointers[k]:pointers[k + 1]]``.
    linear_pointers, linear_inputs : ndarray of shape (n_scores + 1,) and (n_linear,)
        Inputs of the linear part of each score, likewise.
    parameters, first, second : ndarray of shape (n_parameters,), float32
        Weights, scales, offsets, heads, linear part, bias, one after the other; and the moments
        that Adam keeps of their gradient.
    means, variances : ndarray of shape (n_components,), float32
        Of the projections.
    n_steps : int
        Steps of Adam so far.
    """

    kind: Activation
    n_features: int
    n_scores: int
    n_knots: int
    pointers: IntArray
    inputs: Int32Array
    linear_pointers: IntArray
    linear_inputs: Int32Array
    parameters: Float32Array
    first: Float32Array
    second: Float32Array
    means: Float32Array
    variances: Float32Array
    n_steps: int = 0

    @property
    def n_components(self) -> int:
        """Number of features."""
        return len(self.pointers) - 1

    @property
    def head_size(self) -> int:
        """Numbers of one head."""
        if self.kind == "table":
            return self.n_knots * padded_scores(self.n_scores)
        return self.n_scores

    @property
    def n_macs(self) -> int:
        """Operations of one row: an entry each, a score of each feature, the linear part."""
        return len(self.inputs) + self.n_components * self.n_scores + len(self.linear_inputs)

    def ends(self) -> list[int]:
        """Where weights, scales, offsets, heads and linear part end in the parameters."""
        K = self.n_components
        sizes = [len(self.inputs), K, K, K * self.head_size, len(self.linear_inputs)]
        return list(accumulate(sizes))

    def parts(self, values: Float32Array | None = None) -> list[Float32Array]:
        """Return views of weights, scales, offsets, heads (K, head_size), linear part and bias."""
        array = self.parameters if values is None else values
        bounds = [0, *self.ends(), len(array)]
        found = [array[start:end] for start, end in pairwise(bounds)]
        found[3] = found[3].reshape(self.n_components, self.head_size)
        return found

    def tables(self) -> Float32Array:
        """View (n_components, n_knots, n_scores) of the tables."""
        shape = (self.n_components, self.n_knots, padded_scores(self.n_scores))
        return self.parts()[3].reshape(shape)[:, :, : self.n_scores]

    def features_of_entries(self) -> IntArray:
        """Feature (n_entries,) that each entry of ``inputs`` belongs to."""
        return np.repeat(np.arange(self.n_components), np.diff(self.pointers))

    def scores_of_linear(self) -> IntArray:
        """Score (n_linear,) that each entry of ``linear_inputs`` belongs to."""
        return np.repeat(np.arange(self.n_scores), np.diff(self.linear_pointers))

    def weight_matrix(self) -> csc_array:
        """Weights (n_features, n_components), sparse."""
        shape = (self.n_features, self.n_components)
        return csc_array((self.parts()[0], self.inputs, self.pointers), shape=shape)

    def projections(self, X: Float32Array) -> Float32Array:
        """Weighted sums (n_samples, n_components) of the inputs, before they are normalised."""
        if self.n_features * self.n_components > policy.DENSE_WEIGHTS:
            return np.asarray(X @ self.weight_matrix())
        weights = np.zeros((self.n_features, self.n_components), dtype=np.float32)
        weights[self.inputs, self.features_of_entries()] = self.parts()[0]
        return X @ weights

    def native(self) -> _native.TrainingNetwork:
        """Native object over these arrays."""
        return _native.TrainingNetwork(
            kind=self.kind,
            n_features=self.n_features,
            n_scores=self.n_scores,
            n_knots=self.n_knots,
            pointers=self.pointers,
            inputs=self.inputs,
            linear_pointers=self.linear_pointers,
            linear_inputs=self.linear_inputs,
            parameters=self.parameters,
            first=self.first,
            second=self.second,
            means=self.means,
            variances=self.variances,
            n_steps=self.n_steps,
            level=_native.current_level(),
        )

    def scores(self, X: Any) -> Float32Array:
        """Scores (n_samples, n_scores) with the moments as they are; tables interpolated."""
        out = np.empty((len(X), self.n_scores), dtype=np.float32)
        native = self.native()
        for part in row_slices(*X.shape):
            native.scores(X=np.ascontiguousarray(X[part]), out=out[part])
        return out

    def copy(self) -> TrainableNetwork:
        """Network with arrays of its own."""
        names = ("parameters", "first", "second", "means", "variances")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def restarted(self) -> TrainableNetwork:
        """Copy with the optimiser as at the start."""
        found = self.copy()
        found.first[:] = 0.0
        found.second[:] = 0.0
        found.n_steps = 0
        return found

    def pruned(self, entries: BoolArray, linear: BoolArray) -> TrainableNetwork:
        """Network of the marked entries; features without any are left out.

        Parameters
        ----------
        entries : ndarray of shape (n_entries,), bool
            Of the features' inputs.
        linear : ndarray of shape (n_linear,), bool
            Of the linear part.
        """
        counts = np.bincount(self.features_of_entries()[entries], minlength=self.n_components)
        reads = counts > 0
        kept_scores = np.bincount(self.scores_of_linear()[linear], minlength=self.n_scores)

        def part(values: Float32Array) -> Float32Array:
            weights, scales, offsets, heads, direct, bias = self.parts(values)
            chosen = [weights[entries], scales[reads], offsets[reads], heads[reads].ravel()]
            return np.concatenate([*chosen, direct[linear], bias])

        return replace(
            self,
            pointers=np.concatenate([[0], np.cumsum(counts[reads])]).astype(np.int64),
            inputs=self.inputs[entries],
            linear_pointers=np.concatenate([[0], np.cumsum(kept_scores)]).astype(np.int64),
            linear_inputs=self.linear_inputs[linear],
            parameters=part(self.parameters),
            first=part(self.first),
            second=part(self.second),
            means=self.means[reads],
            variances=self.variances[reads],
        )
