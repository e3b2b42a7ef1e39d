"""Splits of the predictor benchmark: classes and numbers to predict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)

from datasets import Split, few, fold, hog, letter, letter_raw, mnist, raw, read, whole

COVTYPE_ROWS = 20_000
HIDDEN_COLUMN = 10  # of the 20 x 20 pixels of RAW
FRIEDMAN_ROWS = (400, 1_000)  # training, test


def covtype(seed: int) -> Split:
    """Five folds of a sample that is drawn once."""
    X, y = read("covtype")
    rows = np.random.default_rng(0).permutation(len(y))[:COVTYPE_ROWS]
    return fold(X[rows], y[rows], seed)


CLASSES: dict[str, Callable[[int], Split]] = {
    "MNIST-500": mnist,
    "RAW": raw,
    "HOG": hog,
    "Letter": letter,
    "Olivetti": whole("olivetti", 255.0),
    "ORL": whole("orl_32x32", 255.0),
    "Pima": whole("pima"),
    "retinopathy": whole("diabetic_retinopathy"),
    "covtype": covtype,
    "satimage": whole("satimage"),
}
"""Datasets of the frontier."""

BUDGETS = {
    "MNIST-500": (mnist, (4_000, 8_000)),
    "RAW": (raw, (2_000, 4_500)),
    "HOG": (hog, (450, 900)),
    "Letter": (letter, (2_000, 4_000)),
    "Letter, 128 pixels": (letter_raw, (2_000, 4_000)),
}
"""Split, and total MACs at which its accuracy is measured."""

TINY_BUDGETS = {"few digits": (few, (300,))}


def numbers(X: NDArray, y: NDArray, seed: int) -> Split:
    split = fold(X, np.arange(len(X)), seed)  # fold takes whole numbers: rows stand for targets
    return Split(split.X_train, y[split.y_train], split.X_test, y[split.y_test])


def diabetes(seed: int) -> Split:
    return numbers(*load_diabetes(return_X_y=True), seed)


def friedman(make: Callable[..., tuple[NDArray, NDArray]], noise: float) -> Callable[[int], Split]:
    """Fresh rows for each seed, noise as in the literature in training and test rows."""

    def draw(seed: int) -> Split:
        n_train, n_test = FRIEDMAN_ROWS
        X, y = make(n_samples=n_train + n_test, noise=noise, random_state=seed)
        return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])

    return draw


def raw_column(seed: int) -> Split:
    """One column of pixels, 20 numbers, from the other 380 pixels."""
    X, _ = read("digits_raw")
    images = (X / 255.0).reshape(-1, 20, 20)
    others = np.delete(images, HIDDEN_COLUMN, axis=2).reshape(len(X), -1)
    return numbers(others, images[:, :, HIDDEN_COLUMN], seed)


NUMBERS: dict[str, Callable[[int], Split]] = {
    "diabetes": diabetes,
    "Friedman 1": friedman(make_friedman1, 1.0),
    "Friedman 2": friedman(make_friedman2, 125.0),
    "Friedman 3": friedman(make_friedman3, 0.1),
    "RAW, hidden column": raw_column,
}
"""Datasets of the regression."""


def linear_macs(split: Split) -> int:
    """MACs of a linear model: inputs times scores."""
    if split.y_train.dtype.kind == "f":
        n_scores = split.y_train.reshape(len(split.y_train), -1).shape[1]
    else:
        n_classes = len(np.unique(split.y_train))
        n_scores = 1 if n_classes == 2 else n_classes
    return split.X_train.shape[1] * n_scores
