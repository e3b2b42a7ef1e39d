"""Data of the benchmarks: one split into training and test rows for each seed.

Files are looked for in the folder that the environment variable ``CERF_DATA`` names. Each is an
``.npz`` with ``X`` (one sample a row) and ``y``; ``FILES`` says what they hold and where from.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

FILES = {
    "mnist": "MNIST, (70000, 784) uint8, the 60,000 training images first (OpenML: mnist_784)",
    "digits_raw": "5,000 digits of 20 x 20 pixels, uint8, from OpenCV's samples/data/digits.png",
    "digits_hog": "64-bin HOG of digits_raw as in OpenCV's digits sample; X_hellinger: rows "
    "divided by their sum, square-rooted, scaled to unit length",
    "satimage": "Statlog Landsat, (6435, 36), UCI",
    "uci_letter": "letter recognition, (20000, 16), UCI",
    "letters": "OCR letters of Kassel and Taskar, (52152, 128) of 0 and 1",
    "nuswide_substitute_cifar10": "CM: 225 colour moments of 27,807 images of CIFAR-10",
    "covtype": "forest cover type, (581012, 54), UCI",
    "orl_32x32": "ORL faces, (400, 1024)",
    "pima": "Pima Indians diabetes, (768, 8)",
}

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows, float64, and their classes."""

    X_train: NDArray[np.float64]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


@lru_cache(maxsize=2)
def read(name: str, key: str = "X") -> tuple[NDArray, NDArray[np.int64]]:
    """Rows (n_samples, n_features) in C order, as stored, and classes (n_samples,) of a file."""
    folder = os.environ.get("CERF_DATA")
    path = Path(folder or "") / f"{name}.npz"
    if not folder or not path.exists():
        raise FileNotFoundError(
            f"{name}.npz is not in the folder that CERF_DATA names ({folder or 'unset'}). It holds "
            f"X and y of: {FILES.get(name, name)}. Save it with numpy.savez({name!r}, X=X, y=y)."
        )
    with np.load(path, allow_pickle=False) as file:
        return np.ascontiguousarray(file[key]), file["y"].astype(np.int64)


def fold(X: NDArray, y: NDArray[np.int64], seed: int) -> Split:
    """Test on one of five folds, train on the others; each five seeds share one shuffle."""
    order = np.random.default_rng(seed // N_FOLDS).permutation(len(y))
    parts = np.array_split(order, N_FOLDS)
    test = parts.pop(seed % N_FOLDS)
    train = np.concatenate(parts)
    X = X.astype(np.float64)
    return Split(X[train], y[train], X[test], y[test])


def mnist(seed: int, n_train: int = 500) -> Split:
    """Random training images, all 10,000 test images, pixels in [0, 1]."""
    X, y = read("mnist")
    train = np.random.default_rng(seed).permutation(60_000)[:n_train]
    return Split(X[train] / 255.0, y[train], X[60_000:] / 255.0, y[60_000:])


def raw(seed: int) -> Split:
    X, y = read("digits_raw")
    return fold(X / 255.0, y, seed)


def hog(seed: int) -> Split:
    return fold(*read("digits_hog", "X_hellinger"), seed)


def bundled(seed: int) -> Split:
    """Return the digits that come with scikit-learn: small, and always there."""
    X, y = load_digits(return_X_y=True)
    return fold(X / 16.0, y.astype(np.int64), seed)


def few(seed: int) -> Split:
    """Return 200 training and 100 test rows of the bundled digits, for smoke tests."""
    split = bundled(seed)
    return Split(split.X_train[:200], split.y_train[:200], split.X_test[:100], split.y_test[:100])


SPLITS = {"MNIST-500": mnist, "RAW": raw, "HOG": hog, "digits": bundled, "few digits": few}
"""Split by a seed, for each name that a table shows."""
