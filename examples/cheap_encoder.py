"""Fifteen codes of a digit at a fraction of the operations of linear PCA.

    python examples/cheap_encoder.py [folder]             # writes cheap_encoder.png
    python examples/cheap_encoder.py [folder] digits.npz  # writes cheap_encoder_400.png

Encoders learn from scikit-learn's digits without labels, or from square pictures of a file, the
arrays X (rows of pixels) and y (0 to 9); the picture shows others, as they are and as a linear
decoder makes them from 15 codes. Linear PCA reads every pixel for every code; the trained encoders
have a quarter, a sixteenth and a thirty-second of its operations. The error is the squared error
divided by that of the mean digit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from cerflearn import KernelAutoencoder, cost

N_CODES = 15
PARTS = (4, 16, 32)  # of the operations of linear PCA


def load(path: Path | None):
    """Pictures from 0 to 1 with their digits, in a random order if they are of a file."""
    if path is None:
        return load_digits().data / 16, load_digits().target
    with np.load(path) as file:
        order = np.random.default_rng(0).permutation(len(file["X"]))
        X, y = file["X"][order].astype(float), file["y"][order]
    return X / X.max(), y


def main(folder: Path, path: Path | None) -> None:
    X, y = load(path)
    n_train, n_pixels = 2 * len(X) // 3, X.shape[1]
    side = round(n_pixels**0.5)
    train, test = X[:n_train], X[n_train:]
    shown = [int(np.flatnonzero(y[n_train:] == digit)[0]) for digit in range(10)]
    pca = PCA(N_CODES).fit(train)
    decoded = pca.inverse_transform(pca.transform(test))
    error = np.square(decoded - test).sum() / np.square(test - pca.mean_).sum()
    macs = n_pixels * N_CODES
    rows = [("as they are", test[shown])]
    rows.append((f"linear PCA\n{macs:,} MACs, error {error:.3f}", decoded[shown]))
    print(f"linear PCA, {macs:,} MACs: error {error:.3f}")
    for part in PARTS:
        model = KernelAutoencoder(n_components=N_CODES, macs=macs // part, random_state=0)
        model.fit(train)
        error, found = model.reconstruction_error(test), cost(model)
        n_read = len(model.encoder_.inputs_read)
        rows.append(
            (f"trained\n{found.macs:,} MACs, error {error:.3f}", model.reconstruct(test[shown]))
        )
        print(
            f"trained, {found.macs:,} MACs, {found.n_bytes:,} bytes: error {error:.3f}, "
            f"{n_read} of {n_pixels} pixels read"
        )
    figure, panels = plt.subplots(len(rows), 10, figsize=(9.5, 1.05 * len(rows)))
    for line, (title, images) in zip(panels, rows, strict=True):
        for axes, image in zip(line, images, strict=True):
            axes.imshow(image.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        line[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=9)
    figure.suptitle(f"What {N_CODES} codes keep of digits of {n_pixels} pixels")
    figure.subplots_adjust(left=0.22, right=0.99, top=0.91, bottom=0.02, wspace=0.05, hspace=0.08)
    written = folder / ("cheap_encoder.png" if path is None else f"cheap_encoder_{n_pixels}.png")
    figure.savefig(written, dpi=150)
    print(f"wrote {written}")


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(),
        Path(sys.argv[2]) if len(sys.argv) > 2 else None,
    )
