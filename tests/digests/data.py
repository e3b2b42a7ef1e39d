"""Small data of the configurations: bundled with scikit-learn, or drawn with fixed seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_friedman1,
)


@dataclass(frozen=True)
class Rows:
    """Training and test rows."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any

    def astype(self, dtype: str) -> Rows:
        """The same rows in another float type."""
        return replace(self, X=self.X.astype(dtype), X_test=self.X_test.astype(dtype))

    def sparse(self) -> Rows:
        """The same rows as CSR matrices."""
        return replace(self, X=sp.csr_matrix(self.X), X_test=sp.csr_matrix(self.X_test))

    def head(self, n_samples: int) -> Rows:
        """The first training rows."""
        return replace(self, X=self.X[:n_samples], y=self.y[:n_samples])


def _split(X: Any, y: Any, n_train: int, n_test: int, seed: int = 0) -> Rows:
    """Rows in a fixed random order."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return Rows(X[train], y[train], X[test], y[test])


@cache
def digits() -> Rows:
    """64 inputs, ten classes; some inputs are constant, many values zero."""
    X, y = load_digits(return_X_y=True)
    return _split(X / 16.0, y, 400, 300)


@cache
def many_digits() -> Rows:
    """More than 1,000 training rows."""
    X, y = load_digits(return_X_y=True)
    return _split(X / 16.0, y, 1400, 300)


@cache
def iris() -> Rows:
    """4 inputs, three classes."""
    return _split(*load_iris(return_X_y=True), 100, 50)


@cache
def wine() -> Rows:
    """13 inputs of very different units, three classes."""
    return _split(*load_wine(return_X_y=True), 120, 58)


@cache
def cancer() -> Rows:
    """30 inputs, two classes."""
    return _split(*load_breast_cancer(return_X_y=True), 300, 260)


@cache
def diabetes() -> Rows:
    """10 inputs, one target."""
    return _split(*load_diabetes(return_X_y=True), 300, 140)


@cache
def friedman() -> Rows:
    """10 inputs of which five matter, one target."""
    return _split(*make_friedman1(n_samples=600, noise=0.5, random_state=0), 300, 300)


@cache
def two_targets() -> Rows:
    """10 inputs, two targets."""
    X, y = make_friedman1(n_samples=600, noise=0.5, random_state=1)
    return _split(X, np.column_stack([y, np.sin(4.0 * X[:, 5]) + X[:, 0]]), 300, 300)


@cache
def normal() -> Rows:
    """16 normal inputs, two classes."""
    X = np.random.default_rng(7).normal(size=(700, 16))
    return _split(X, (X[:, 0] * X[:, 1] > 0).astype(np.int64), 400, 300)


@cache
def many_rows(n_samples: int, task: str) -> Rows:
    """Few inputs, many rows: two classes or one target."""
    rng = np.random.default_rng(n_samples)
    X = rng.normal(size=(n_samples + 400, 5))
    value = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=len(X))
    y = value if task == "regression" else (value > 0.0).astype(np.int64)
    return _split(X, y, n_samples, 400)


@cache
def many_values(task: str) -> Rows:
    """So many rows and inputs that networks of 1,000 MACs are trained on mini-batches."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(20_500, 128)).astype(np.float32)
    value = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.2 * rng.normal(size=len(X))
    y = value if task == "regression" else (value > 0.0).astype(np.int64)
    return _split(X, y, 20_100, 400)


@cache
def very_sparse() -> Rows:
    """500 inputs of which a row has five, as CSR matrices; two classes."""
    rng = np.random.default_rng(10)
    X = sp.random(600, 500, density=0.01, format="csr", random_state=rng)
    y = (np.asarray(X[:, :250].sum(axis=1)).ravel() > 1.2).astype(np.int64)
    return Rows(X[:400], y[:400], X[400:], y[400:])


@cache
def incomplete() -> Rows:
    """Wine without a seventh of its values."""
    rows = wine()
    rng = np.random.default_rng(3)
    hide = [np.where(rng.random(X.shape) < 0.15, np.nan, X) for X in (rows.X, rows.X_test)]
    return replace(rows, X=hide[0], X_test=hide[1])


@cache
def incomplete_digits() -> Rows:
    """First 400 digits without a fifth of their values."""
    rows = digits()
    rng = np.random.default_rng(4)
    hide = [np.where(rng.random(X.shape) < 0.2, np.nan, X) for X in (rows.X, rows.X_test)]
    return replace(rows, X=hide[0], X_test=hide[1])


@cache
def two_views() -> Rows:
    """Two views of the same rows, the second in place of y."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, size=(1800, 4))
    Y = np.column_stack([X[:, 0] ** 2, np.cos(3.0 * X[:, 1]), rng.uniform(size=1800)])
    return _split(X, Y + 0.05 * rng.normal(size=Y.shape), 1500, 300)
