"""Fifteen codes of a digit at a fraction of the operations of linear PCA.

    python examples/cheap_encoder.py [folder]    # writes cheap_encoder.png

Encoders learn from 1,200 of scikit-learn's digits without labels; the picture shows others, as they
are and as a linear decoder makes them from 15 codes. Linear PCA reads every pixel for every code;
the trained encoders have a budget of operations. The error is the squared error divided by that of
the mean digit.
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
BUDGETS = (240, 60, 30)


def main(folder: Path) -> None:
    data = load_digits()
    X = data.data / 16
    train, test = X[:1200], X[1200:]
    shown = [int(np.flatnonzero(data.target[1200:] == digit)[0]) for digit in range(10)]
    pca = PCA(N_CODES).fit(train)
    decoded = pca.inverse_transform(pca.transform(test))
    error = np.square(decoded - test).sum() / np.square(test - pca.mean_).sum()
    rows = [("as they are", test[shown])]
    rows.append((f"linear PCA\n{64 * N_CODES} MACs, error {error:.3f}", decoded[shown]))
    print(f"linear PCA, {64 * N_CODES} MACs: error {error:.3f}")
    for macs in BUDGETS:
        model = KernelAutoencoder(n_components=N_CODES, macs=macs, random_state=0).fit(train)
        error, found = model.reconstruction_error(test), cost(model)
        n_read = len(model.encoder_.inputs_read)
        rows.append(
            (f"trained\n{found.macs} MACs, error {error:.3f}", model.reconstruct(test[shown]))
        )
        print(
            f"trained, {found.macs} MACs, {found.n_bytes:,} bytes: error {error:.3f}, "
            f"{n_read} of 64 pixels read"
        )
    figure, panels = plt.subplots(len(rows), 10, figsize=(9.5, 1.05 * len(rows)))
    for line, (title, images) in zip(panels, rows, strict=True):
        for axes, image in zip(line, images, strict=True):
            axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        line[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=9)
    figure.suptitle(f"What {N_CODES} codes keep of digits")
    figure.subplots_adjust(left=0.22, right=0.99, top=0.9, bottom=0.02, wspace=0.05, hspace=0.08)
    path = folder / "cheap_encoder.png"
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
