"""A ridge regression for each column, each on the rows where that column was hidden.

The rows differ from column to column, so each has its own matrix of products; those of the folds
add up, so that all penalties and folds are tried from one pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from cerflearn._typing import BoolArray, Float64Array, IntArray

N_FOLDS = 3
"""Folds of the cross-validation: rows by their index modulo this."""

_LEAST_ALPHA = 1e-9  # keeps the matrices regular; also the penalty of the intercept


@dataclass(frozen=True, eq=False)
class HiddenColumns:
    """Rows of codes with copies of the same samples in which other values are hidden.

    Attributes
    ----------
    codes : ndarray of shape (n_copies * n_samples, n_codes)
        Regressors; the samples of one copy follow those of the other.
    targets : ndarray of shape (n_samples, n_columns)
        Values that were hidden; what is not known is never read.
    hidden : ndarray of shape (n_copies * n_samples, n_columns), bool
        Which values of which copy were hidden: the rows of a column's regression.
    alphas : ndarray of shape (n_alphas,)
        Penalties to try, for codes whose mean variance is 1.
    """

    codes: Float64Array
    targets: Float64Array
    hidden: BoolArray
    alphas: Float64Array


@dataclass(frozen=True, eq=False)
class ColumnFits:
    """Regressions of some columns.

    Attributes
    ----------
    weights : ndarray of shape (n_columns, n_alphas, n_codes + 1)
        From all rows; the intercept is last. Zero for a column that was hidden nowhere.
    errors : ndarray of shape (n_columns, n_alphas)
        Sums of squared errors, each row predicted from the other folds.
    energies : ndarray of shape (n_columns,)
        Sums of the squared targets: errors of predicting 0.
    """

    weights: Float64Array
    errors: Float64Array
    energies: Float64Array

    def merge(self, other: ColumnFits) -> ColumnFits:
        """Fits of the columns of both, ours first."""
        return ColumnFits(
            weights=np.concatenate([self.weights, other.weights]),
            errors=np.concatenate([self.errors, other.errors]),
            energies=np.concatenate([self.energies, other.energies]),
        )


def fit_columns(task: HiddenColumns, columns: IntArray) -> ColumnFits:
    """Block function: fits of ``columns`` (b,)."""
    fits = [_fit_column(task, int(column)) for column in columns]
    weights, errors, energies = (np.stack(part) for part in zip(*fits, strict=True))
    return ColumnFits(weights, errors, energies)


def _fit_column(
    task: HiddenColumns, column: int
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Weights (n_alphas, n_codes + 1), errors (n_alphas,) and energy () of one column."""
    n_samples, n_codes = len(task.targets), task.codes.shape[1]
    grams = np.zeros((N_FOLDS, n_codes + 1, n_codes + 1))
    cross = np.zeros((N_FOLDS, n_codes + 1))
    energies, counts = np.zeros(N_FOLDS), np.zeros(N_FOLDS)
    rows = np.flatnonzero(task.hidden[:, column])
    samples = rows % n_samples
    for fold in range(N_FOLDS):
        mine = samples % N_FOLDS == fold
        codes = np.concatenate([task.codes[rows[mine]], np.ones((int(mine.sum()), 1))], axis=1)
        values = task.targets[samples[mine], column]
        grams[fold], cross[fold] = codes.T @ codes, codes.T @ values
        energies[fold], counts[fold] = values @ values, len(values)
    if not energies.any():  # a constant column: all that is known of it is its mean
        return np.zeros((len(task.alphas), n_codes + 1)), np.zeros(len(task.alphas)), energies.sum()
    weights = _solve(grams.sum(axis=0), cross.sum(axis=0), counts.sum(), task.alphas)
    errors = np.zeros(len(task.alphas))
    for fold in range(N_FOLDS):
        others = np.arange(N_FOLDS) != fold
        found = _solve(
            grams[others].sum(axis=0), cross[others].sum(axis=0), counts[others].sum(), task.alphas
        )
        quadratic = np.einsum("ai,ij,aj->a", found, grams[fold], found, optimize=True)
        errors += energies[fold] - 2.0 * found @ cross[fold] + quadratic
    return weights, errors, energies.sum()


def _solve(
    gram: Float64Array, cross: Float64Array, count: float, alphas: Float64Array
) -> Float64Array:
    """Weights (n_alphas, n_codes + 1) for each penalty ``alpha * count``; the intercept is free.

    By Cholesky factors: matrices are many, small and bordered by the intercept, so that they are
    neither centred nor decomposed as in :mod:`cerflearn.linalg.ridge`.
    """
    weights = np.zeros((len(alphas), len(cross)))
    if count == 0.0:
        return weights
    for index, alpha in enumerate(alphas):
        ridge = np.full(len(cross), max(alpha, _LEAST_ALPHA) * count)
        ridge[-1] = _LEAST_ALPHA * count
        factor = cho_factor(gram + np.diag(ridge), lower=True, check_finite=False)
        weights[index] = cho_solve(factor, cross, check_finite=False)
    return weights
