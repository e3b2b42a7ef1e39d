"""Kernel CCA: find the right half of a digit by its left half.

    python examples/kernel_cca.py

The two halves of an image are two views of it. Canonical correlation analysis finds variates of
each view that agree between the views; here they are learned from 1,200 digits, and 597 others are
matched by them. How the halves of a digit belong together is not linear in the pixels.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import FunctionTransformer

from cerflearn import MaskedFourierFeatures, RandomizedKernelCCA, cost

N_TRAIN, N_PAIRS = 1_200, 8


def halves() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left and right halves (n_samples, 32) of scikit-learn's digits, shuffled, and classes."""
    X, y = load_digits(return_X_y=True)
    images = X.reshape(-1, 8, 8) / 16.0
    order = np.random.default_rng(0).permutation(len(y))
    left, right = (half.reshape(len(y), -1)[order] for half in np.split(images, 2, axis=2))
    return left, right, y[order]


def nearest(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Row of the second view whose variates have the least angle to those of each of the first."""
    first, second = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (first, second))
    return (first @ second.T).argmax(axis=1)


def main() -> None:
    left, right, digit = halves()
    maps = {
        "linear CCA": FunctionTransformer(),
        "kernel CCA": MaskedFourierFeatures(n_components=512, gamma=0.1),
    }
    n_test = len(digit) - N_TRAIN
    print(f"{N_TRAIN:,} digits to learn from, {n_test} to match by {N_PAIRS} canonical pairs")
    for name, feature_map in maps.items():
        begin = time.perf_counter()
        model = RandomizedKernelCCA(n_components=N_PAIRS, feature_map=feature_map, random_state=0)
        model.fit(left[:N_TRAIN], right[:N_TRAIN])
        seconds = time.perf_counter() - begin
        test = (left[N_TRAIN:], right[N_TRAIN:])
        found = nearest(*model.transform(*test))
        own = np.mean(found == np.arange(n_test))
        same = np.mean(digit[N_TRAIN:][found] == digit[N_TRAIN:])
        macs = N_PAIRS * left.shape[1] if name == "linear CCA" else cost(model).macs
        print(
            f"{name}: mean test correlation {model.score(*test):.2f}; the nearest right half shows "
            f"the same digit in {same:.0%}, is the one of that image in {own:.1%} (chance "
            f"{1 / n_test:.1%}); {macs:,} MACs a half, fitted in {seconds:.2f} s"
        )


if __name__ == "__main__":
    main()
