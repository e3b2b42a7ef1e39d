"""A fitted estimator as plain data: steps that turn a row of inputs into an output.

A step takes a row of ``n_inputs`` numbers and gives one of ``n_outputs``. Exports write steps; they
know nothing of estimators. ``run`` is the slow, plain definition of each in NumPy, float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from cerflearn._typing import Float64Array, IntArray
from cerflearn.features.base import FeatureMap
from cerflearn.features.linear import LinearPart
from cerflearn.features.tables import TableMap

OutputKind: TypeAlias = Literal["features", "values", "binary", "multiclass", "pairs", "multilabel"]
"""What the last row of numbers means; see :class:`Output`."""


class Step(Protocol):
    """Numbers of a row to numbers of a row."""

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""

    def run(self, X: Float64Array) -> Float64Array:
        """Compute outputs (n_samples, n_outputs) of rows (n_samples, n_inputs)."""


class Columnwise(ABC):
    """A step that makes one number of each."""

    @property
    @abstractmethod
    def n_inputs(self) -> int:
        """Numbers that are read."""

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        return self.n_inputs


@dataclass(frozen=True, eq=False)
class Fill(Columnwise):
    """Missing values replaced by constants.

    Attributes
    ----------
    values : ndarray of shape (n_inputs,)
        What stands for a missing value of each column.
    missing : float
        The value that means missing; NaN, or a number.
    """

    values: Float64Array
    missing: float

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return len(self.values)

    def run(self, X: Float64Array) -> Float64Array:
        """Rows with constants where values are missing."""
        absent = np.isnan(X) if np.isnan(self.missing) else self.missing == X
        return np.where(absent, self.values, X)


@dataclass(frozen=True, eq=False)
class Scale(Columnwise):
    """Columns scaled: ``(x - centre) * factor + shift``, within bounds if there are any.

    Attributes
    ----------
    centre, factor, shift : ndarray of shape (n_inputs,)
        Of each column.
    bounds : tuple of float, optional
        Least and largest output.
    """

    centre: Float64Array
    factor: Float64Array
    shift: Float64Array
    bounds: tuple[float, float] | None = None

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return len(self.factor)

    def run(self, X: Float64Array) -> Float64Array:
        """Rows scaled."""
        scaled: Float64Array = (X - self.centre) * self.factor + self.shift
        return scaled if self.bounds is None else np.clip(scaled, *self.bounds)


@dataclass(frozen=True, eq=False)
class OneHot:
    """Columns of numeric codes as 0 and 1 for each category; codes that are unknown as zeros.

    Attributes
    ----------
    categories : tuple of ndarray
        Of each column, those that have an output, in the order of the outputs. A category that is
        dropped is left out.
    """

    categories: tuple[Float64Array, ...]

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return len(self.categories)

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        return sum(len(codes) for codes in self.categories)

    def run(self, X: Float64Array) -> Float64Array:
        """Zeros and ones."""
        parts = [X[:, [i]] == codes for i, codes in enumerate(self.categories)]
        return np.hstack(parts).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Branch:
    """Some columns, and the steps they go through; no steps pass them on.

    Attributes
    ----------
    columns : ndarray of int
        Columns that are read, in order.
    steps : tuple of Step
        Applied one after the other.
    """

    columns: IntArray
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Parallel:
    """Branches side by side, their outputs one after the other (ColumnTransformer, FeatureUnion).

    Attributes
    ----------
    width : int
        Numbers of a row that branches choose from.
    branches : tuple of Branch
        What is computed.
    """

    width: int
    branches: tuple[Branch, ...]

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return self.width

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        ends = [(branch.steps, len(branch.columns)) for branch in self.branches]
        return sum(steps[-1].n_outputs if steps else n_columns for steps, n_columns in ends)

    def run(self, X: Float64Array) -> Float64Array:
        """Compute outputs of all branches."""
        return np.hstack([run_steps(b.steps, X[:, b.columns]) for b in self.branches])


@dataclass(frozen=True, eq=False)
class Features:
    """Columns of a feature map: cosines (and sines), or positive parts.

    Attributes
    ----------
    feature_map : FeatureMap
        Dense, masked or Fastfood blocks.
    """

    feature_map: FeatureMap

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return self.feature_map.n_features

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        return self.feature_map.n_outputs

    def run(self, X: Float64Array) -> Float64Array:
        """Features from dense frequencies, offsets and amplitudes."""
        feature_map = self.feature_map
        phases = X @ feature_map.frequencies + feature_map.offsets
        amplitudes = feature_map.amplitudes
        if feature_map.relu:
            return np.maximum(phases, 0.0) * amplitudes
        if not feature_map.paired:
            return np.cos(phases) * amplitudes
        pairs = np.stack([np.cos(phases), np.sin(phases)], axis=2) * amplitudes[:, None]
        return pairs.reshape(len(X), -1)[:, : feature_map.n_outputs]


@dataclass(frozen=True, eq=False)
class Linear:
    """``coef @ x + intercept``.

    Attributes
    ----------
    coef : ndarray of shape (n_outputs, n_inputs)
        Weights.
    intercept : ndarray of shape (n_outputs,)
        Biases.
    """

    coef: Float64Array
    intercept: Float64Array

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return int(self.coef.shape[1])

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        return len(self.coef)

    def run(self, X: Float64Array) -> Float64Array:
        """Scores."""
        scores: Float64Array = X @ self.coef.T + self.intercept
        return scores


@dataclass(frozen=True, eq=False)
class Scores:
    """Features, a linear head on them, and a linear part of the inputs themselves.

    Attributes
    ----------
    feature_map : FeatureMap
        Features.
    coef : ndarray of shape (n_outputs, n_columns)
        Head on the columns of the map.
    intercept : ndarray of shape (n_outputs,)
        Biases.
    linear : LinearPart or None
        From inputs to scores.
    """

    feature_map: FeatureMap
    coef: Float64Array
    intercept: Float64Array
    linear: LinearPart | None = None

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return self.feature_map.n_features

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        return len(self.coef)

    def run(self, X: Float64Array) -> Float64Array:
        """Scores."""
        scores: Float64Array = Features(self.feature_map).run(X) @ self.coef.T + self.intercept
        return scores if self.linear is None else scores + X @ self.linear.coef


@dataclass(frozen=True, eq=False)
class TableScores:
    """Scores of tables and their linear part.

    Attributes
    ----------
    table_map : TableMap
        Tables.
    """

    table_map: TableMap

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return self.table_map.n_features

    @property
    def n_outputs(self) -> int:
        """Numbers that are made."""
        return self.table_map.n_scores

    def run(self, X: Float64Array) -> Float64Array:
        """Scores."""
        tables = self.table_map
        bins = np.floor(X @ tables.frequencies + tables.offsets)
        index = np.clip(bins, 0, tables.n_bins - 1).astype(np.int64)
        found = tables.tables[np.arange(tables.n_tables), index].sum(axis=1)
        scores: Float64Array = found + X @ tables.linear + tables.intercept
        return scores


@dataclass(frozen=True, eq=False)
class Clip(Columnwise):
    """Outputs kept within bounds.

    Attributes
    ----------
    low, high : ndarray of shape (n_outputs,)
        Bounds of each.
    """

    low: Float64Array
    high: Float64Array

    @property
    def n_inputs(self) -> int:
        """Numbers that are read."""
        return len(self.low)

    def run(self, X: Float64Array) -> Float64Array:
        """Rows within the bounds."""
        return np.minimum(np.maximum(X, self.low), self.high)


@dataclass(frozen=True, eq=False)
class Output:
    """What the numbers after the last step mean.

    Attributes
    ----------
    kind : str
        ``"features"``: columns of ``transform``. ``"values"``: predictions of numbers.
        ``"binary"``: one score, the second class if it is positive. ``"multiclass"``: a score for
        each class, the largest wins, the first of equals. ``"pairs"``: one-against-one scores,
        which vote (see :func:`cerflearn.estimators.predictors.heads.pair_votes`).
        ``"multilabel"``: a label for each positive score.
    classes : ndarray or None
        Labels, in the order of the classes.
    flat : bool
        Whether ``predict`` gives one number for a row, not a row of numbers.
    """

    kind: OutputKind
    classes: Any = None
    flat: bool = False


@dataclass(frozen=True, eq=False)
class Program:
    """All steps of an estimator.

    Attributes
    ----------
    n_inputs : int
        Inputs of a row.
    input_names : tuple of str or None
        Their names, if ``fit`` saw names.
    steps : tuple of Step
        Applied one after the other.
    output : Output
        What comes out.
    """

    n_inputs: int
    input_names: tuple[str, ...] | None
    steps: tuple[Step, ...]
    output: Output

    @property
    def n_outputs(self) -> int:
        """Numbers after the last step."""
        return self.steps[-1].n_outputs if self.steps else self.n_inputs

    def run(self, X: Float64Array) -> Float64Array:
        """Numbers (n_samples, n_outputs) after the last step."""
        return run_steps(self.steps, np.asarray(X, dtype=np.float64))


def run_steps(steps: tuple[Step, ...], X: Float64Array) -> Float64Array:
    """Apply steps one after the other."""
    for step in steps:
        X = step.run(X)
    return X
