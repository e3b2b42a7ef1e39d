"""Inputs from codes, section 4.2: features, their principal components, ridge regression.

Errors are squared, on test rows, divided by those of the training mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from cerflearn import RandomizedKernelPCA
from experiments.methods import fit_quietly, median_gamma

N_CODES = 15  # J of section 4.2
RIDGE = 1e-3  # in units of the mean variance of the codes

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Training and test rows."""


def normalised(found: NDArray, wanted: NDArray, mean: NDArray) -> float:
    """Squared error of ``found`` over that of ``mean``."""
    return float(np.square(found - wanted).sum() / np.square(mean - wanted).sum())


def reconstruction_error(
    feature_map: Any, inputs: Rows, targets: Rows, *, seed: int, n_codes: int | None = None
) -> tuple[float, Any]:
    """Normalised error of targets from the codes of a map, and the map, fitted.

    There are ``N_CODES`` codes, or as many as features where these are fewer, unless said.
    """
    pca = RandomizedKernelPCA(
        n_components=n_codes,
        feature_map=feature_map,
        fit_inverse_transform=False,
        random_state=seed,
    )
    fit_quietly(pca, inputs[0])
    train, test = (pca.transform(rows) for rows in inputs)
    penalty = RIDGE * len(train) * train.var(axis=0).mean()
    found = Ridge(alpha=penalty).fit(train, targets[0]).predict(test)
    return normalised(found, targets[1], targets[0].mean(axis=0)), pca.feature_map_


def choose_width(
    make: Callable[[float], Any],
    X: NDArray,
    Y: NDArray,
    widths: Sequence[float],
    *,
    seed: int,
    n_folds: int = 5,
) -> float:
    """Multiple of the median heuristic with the least cross-validated error of ``make(gamma)``."""
    base, errors = median_gamma(X), np.zeros(len(widths))
    for train, test in KFold(n_folds, shuffle=True, random_state=seed).split(X):
        for index, width in enumerate(widths):
            inputs, targets = (X[train], X[test]), (Y[train], Y[test])
            errors[index] += reconstruction_error(make(width * base), inputs, targets, seed=seed)[0]
    return float(widths[int(errors.argmin())])
