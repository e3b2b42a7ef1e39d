"""Datasets of the teachers' benchmark: standardised inputs, a random split for each seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_digits
from sklearn.preprocessing import StandardScaler

from datasets import Split, read

TRAINING_ROWS = 1_000
TEST_ROWS = 2_000
"""Most rows for training and for testing; smaller sets are halved."""


@dataclass(frozen=True)
class Dataset:
    """Where a dataset is found, and the budgets it is measured at.

    Attributes
    ----------
    load : callable
        Returns inputs and targets; targets of type float are numbers to predict, others classes.
    macs : tuple of int
        MACs of the maps: those of about 12, 30 and 60 projections at the default density.
    """

    load: Callable[[], tuple[NDArray, NDArray]]
    macs: tuple[int, ...]


def stored(name: str, key: str = "X") -> Callable[[], tuple[NDArray, NDArray]]:
    """Loader of a file in the folder that ``CERF_DATA`` names."""
    return lambda: (read(name, key)[0], read(name, "y")[0])


_FEW_INPUTS = (48, 120, 240)  # masks of 4 inputs

DATASETS = {
    "HOG": Dataset(stored("digits_hog", "X_hellinger"), (84, 210, 420)),
    "RAW": Dataset(stored("digits_raw"), (400, 750, 1_500)),
    "satimage": Dataset(stored("satimage"), (60, 150, 300)),
    "letter": Dataset(stored("uci_letter"), _FEW_INPUTS),
    "phoneme": Dataset(stored("suite/phoneme"), _FEW_INPUTS),
    "dry_bean": Dataset(stored("suite/dry_bean"), _FEW_INPUTS),
    "mfeat_factors": Dataset(stored("suite/mfeat_factors"), (216, 510, 1_020)),
    "electricity": Dataset(stored("suite/electricity"), _FEW_INPUTS),
    "pol": Dataset(stored("suite/pol"), _FEW_INPUTS),
    "protein": Dataset(stored("suite/protein"), _FEW_INPUTS),
}
"""Eight sets of classes, then two of numbers."""

NUMBERS = ("pol", "protein", "few patients")
"""Datasets with numbers to predict."""


def _few_digits() -> tuple[NDArray, NDArray]:
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


TINY = {
    "few digits": Dataset(_few_digits, (40, 80)),
    "few patients": Dataset(lambda: load_diabetes(return_X_y=True), (40, 80)),
}
"""Small sets that need no file."""


def split_of(dataset: Dataset, seed: int) -> Split:
    """Random rows, scaled by the training rows."""
    X, y = dataset.load()
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = min(TRAINING_ROWS, len(y) // 2)
    train, test = order[:n_train], order[n_train : n_train + TEST_ROWS]
    scaler = StandardScaler().fit(X[train].astype(np.float64))
    if y.dtype.kind == "f":
        y = (y - y[train].mean()) / y[train].std()
    X_train, X_test = (scaler.transform(X[rows].astype(np.float64)) for rows in (train, test))
    return Split(X_train, y[train], X_test, y[test])
