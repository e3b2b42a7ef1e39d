"""Digits encoded by a few numbers and reconstructed from them.

    python examples/autoencoder.py [folder]    # writes autoencoder.png

The autoencoder learns from 1,200 of scikit-learn's digits; the picture shows others. The error is
the squared error divided by that of the mean digit.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from cerflearn import KernelAutoencoder, cost

CODE_LENGTHS = (5, 15, 40)


def one_of_each(labels: np.ndarray) -> list[int]:
    """Index of the first sample of each class."""
    return [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]


def draw_row(panels: np.ndarray, images: np.ndarray, title: str) -> None:
    for axes, image in zip(panels, images, strict=True):
        axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks([])
        axes.set_yticks([])
        for side in axes.spines.values():
            side.set_visible(False)
    panels[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=10)


def main(folder: Path) -> None:
    data = load_digits()
    X = data.data / 16
    train, test = X[:1200], X[1200:]
    shown = test[one_of_each(data.target[1200:])]
    rows = [("64 pixels", shown)]
    for length in CODE_LENGTHS:
        model = KernelAutoencoder(n_components=length, random_state=0).fit(train)
        error = model.reconstruction_error(test)
        print(f"{length:2} numbers: error {error:.3f}, {cost(model).macs:,} MACs to encode a digit")
        rows.append((f"{length} numbers\nerror {error:.2f}", model.reconstruct(shown)))

    figure, panels = plt.subplots(len(rows), 10, figsize=(9, 0.5 + 0.8 * len(rows)))
    for row, (title, images) in zip(panels, rows, strict=True):
        draw_row(row, images, title)
    figure.suptitle("Digits drawn again from codes of a kernel autoencoder", fontsize=12)
    figure.subplots_adjust(left=0.14, right=0.99, bottom=0.02, top=0.88, wspace=0.08, hspace=0.08)
    path = folder / "autoencoder.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
