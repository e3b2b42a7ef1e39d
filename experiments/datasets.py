"""Data of experiments and benchmarks: one split into training and test rows for each seed.

Files are looked for in the folder that the environment variable ``CERF_DATA`` names. Each is an
``.npz`` with ``X`` (one sample a row) and ``y``; ``FILES`` says what they hold and where from.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

FILES = {
    "mnist": "MNIST, (70000, 784) uint8, the 60,000 training images first (OpenML: mnist_784)",
    "digits_raw": "5,000 digits of 20 x 20 pixels, uint8, from OpenCV's samples/data/digits.png",
    "digits_hog": "64-bin HOG of digits_raw as in OpenCV's digits sample; X_hellinger: rows "
    "divided by their sum, square-rooted, scaled to unit length",
    "satimage": "Statlog Landsat, (6435, 36), UCI",
    "uci_letter": "letter recognition, (20000, 16), UCI",
    "letters": "OCR letters of Kassel and Taskar, (52152, 128) of 0 and 1; fold: 0 to 9",
    "nuswide_substitute_cifar10": "CH, CORR, EDH, CM: 64, 144, 73 and 225 colour and edge "
    "descriptors of 27,807 images of CIFAR-10, a substitute for NUS-WIDE",
    "covtype": "forest cover type, (581012, 54), UCI",
    "olivetti": "Olivetti faces, (400, 4096), 40 persons, sorted",
    "orl_32x32": "ORL faces, (400, 1024), 40 persons, sorted",
    "pima": "Pima Indians diabetes, (768, 8)",
    "diabetic_retinopathy": "diabetic retinopathy Debrecen, (1151, 19), UCI",
    **{
        f"suite/mfeat_{view}": f"multiple features, view {view}, (2000, {n}): the same 2,000 "
        "digits in the same order in each of five views, UCI"
        for view, n in (
            ("pixel", 240),
            ("factors", 216),
            ("fourier", 76),
            ("karhunen", 64),
            ("zernike", 47),
        )
    },
}

N_FOLDS = 5
LETTER_INPUTS = 70  # principal components, section 4
LETTER_FOLD = 1  # of ten, of 5,375 rows as in the paper
IMAGES_OF_A_PERSON = 10


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


def whole(name: str, scale: float = 1.0, key: str = "X") -> Callable[[int], Split]:
    """Five folds of a file, divided by ``scale``."""

    def load(seed: int) -> Split:
        X, y = read(name, key)
        return fold(X / scale, y, seed)

    return load


def mnist(seed: int, n_train: int = 500) -> Split:
    """Random training images, all 10,000 test images, pixels in [0, 1]."""
    X, y = read("mnist")
    train = np.random.default_rng(seed).permutation(60_000)[:n_train]
    return Split(X[train] / 255.0, y[train], X[60_000:] / 255.0, y[60_000:])


raw = whole("digits_raw", 255.0)
hog = whole("digits_hog", key="X_hellinger")


def letter_raw(seed: int) -> Split:  # noqa: ARG001
    """Return the paper's split, fold 1 for training: the seed draws models alone."""
    X, y = read("letters")
    chosen = read("letters", "fold")[0] == LETTER_FOLD
    X = X.astype(np.float64)
    return Split(X[chosen], y[chosen], X[~chosen], y[~chosen])


def letter(seed: int) -> Split:
    """Return its 70 principal components of the training rows, as in the paper; not counted."""
    split = letter_raw(seed)
    reduce = PCA(LETTER_INPUTS, svd_solver="full").fit(split.X_train)
    train, test = reduce.transform(split.X_train), reduce.transform(split.X_test)
    return Split(train, split.y_train, test, split.y_test)


def olivetti_persons(seed: int) -> Split:
    """Five folds of the 200 images of the first 20 persons: one reading of the paper's 200."""
    X, y = read("olivetti")
    chosen = y < 20
    return fold(X[chosen] / 255.0, y[chosen], seed)


def olivetti_images(seed: int) -> Split:
    """Five folds of the first five images of all 40 persons: the other reading."""
    X, y = read("olivetti")
    chosen = np.arange(len(y)) % IMAGES_OF_A_PERSON < 5
    return fold(X[chosen] / 255.0, y[chosen], seed)


def nuswide_substitute(descriptor: str) -> Callable[[int], Split]:
    """Five folds of a descriptor ("CH", "CORR", "EDH", "CM") of the substitute for NUS-WIDE."""
    return whole("nuswide_substitute_cifar10", key=descriptor)


def bundled(seed: int) -> Split:
    """Return the digits that come with scikit-learn: small, and always there."""
    X, y = load_digits(return_X_y=True)
    return fold(X / 16.0, y.astype(np.int64), seed)


def few(seed: int) -> Split:
    """Return 200 training and 100 test rows of the bundled digits, for smoke tests."""
    split = bundled(seed)
    return Split(split.X_train[:200], split.y_train[:200], split.X_test[:100], split.y_test[:100])


def few_halves(seed: int) -> Split:
    """Return the same with two classes, digits up to 4 and above, for smoke tests."""
    split = few(seed)
    train, test = ((y > 4).astype(np.int64) for y in (split.y_train, split.y_test))
    return Split(split.X_train, train, split.X_test, test)


SPLITS: dict[str, Callable[[int], Split]] = {
    "MNIST-500": mnist,
    "RAW": raw,
    "HOG": hog,
    "Letter": letter,
    "Letter, 128 pixels": letter_raw,
    "Olivetti, 20 persons": olivetti_persons,
    "Olivetti, 5 images": olivetti_images,
    "Olivetti": whole("olivetti", 255.0),
    "ORL": whole("orl_32x32", 255.0),
    "Pima": whole("pima"),
    "retinopathy": whole("diabetic_retinopathy"),
    "satimage": whole("satimage"),
    **{f"substitute {name}": nuswide_substitute(name) for name in ("CH", "CORR", "EDH", "CM")},
    "digits": bundled,
    "few digits": few,
    "few digits, two classes": few_halves,
}
"""Split by a seed, for each name that a table shows; the last three need no file."""


@lru_cache(maxsize=2)
def split_of(name: str, seed: int) -> Split:
    """Return a split, kept for the next piece that asks for it."""
    return SPLITS[name](seed)
