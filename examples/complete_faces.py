"""Completion of half-erased faces, of people that are not in the training data.

    python examples/complete_faces.py [folder]    # writes complete_faces.png

Learns from the faces of 34 people and completes those of 6 others, whose right half is erased.
The Olivetti faces are read from olivetti.npz in the folder that CERF_DATA names, or fetched by
scikit-learn; without either, scikit-learn's digits are used instead.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import fetch_olivetti_faces, load_digits
from sklearn.impute import KNNImputer
from sklearn.linear_model import RidgeCV

from cerflearn import KernelImputer, cost


def load_faces() -> tuple[np.ndarray, np.ndarray] | None:
    """Faces (400, 4096) in [0, 1] and their persons, or None if they cannot be had."""
    path = Path(os.environ.get("CERF_DATA", "")) / "olivetti.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as file:
            return file["X"] / 255.0, file["y"].astype(int)
    try:
        faces = fetch_olivetti_faces()
    except OSError as error:
        print("No faces: CERF_DATA names no folder with olivetti.npz, and fetching them failed")
        print(f"({error}). Digits are used instead.")
        return None
    return faces.data.astype(float), faces.target


def load_images() -> tuple[np.ndarray, np.ndarray, int]:
    """Training images, test images and their width; faces at half their resolution."""
    faces = load_faces()
    if faces is None:
        X = load_digits().data / 16
        return X[:1500], X[1500:], 8
    X, person = faces
    X = X.reshape(-1, 32, 2, 32, 2).mean(axis=(2, 4)).reshape(-1, 32 * 32)
    return X[person < 34], X[person >= 34], 32


def draw(path: Path, rows: list[tuple[str, np.ndarray]], width: int) -> None:
    n_images = len(rows[0][1])
    figure, panels = plt.subplots(
        len(rows), n_images, figsize=(1.15 * n_images + 1.6, 1.15 * len(rows))
    )
    for line, (title, images) in zip(panels, rows, strict=True):
        for axes, image in zip(line, images, strict=True):
            axes.imshow(image.reshape(width, width), cmap="gray", vmin=0, vmax=1, aspect="auto")
            axes.set_xticks([])
            axes.set_yticks([])
        line[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=10)
    figure.subplots_adjust(left=0.14, right=0.995, bottom=0.01, top=0.99, wspace=0.04, hspace=0.04)
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


def linear_completion(train: np.ndarray, test: np.ndarray, erased: np.ndarray) -> np.ndarray:
    """Test images whose erased half is a ridge regression of the other half."""
    ridge = RidgeCV(alphas=np.logspace(-1, 3, 9)).fit(train[:, ~erased], train[:, erased])
    completed = test.copy()
    completed[:, erased] = ridge.predict(test[:, ~erased])
    return completed


def main(folder: Path) -> None:
    train, test, width = load_images()
    erased = np.arange(width * width) % width >= width // 2
    holes = np.where(erased, np.nan, test)
    imputer = KernelImputer(n_components=50, patterns=erased, random_state=0).fit(train)
    completions = {
        "5 nearest": KNNImputer().fit(train).transform(holes),
        "linear ridge": linear_completion(train, test, erased),
        "KernelImputer": imputer.transform(holes),
    }
    total = np.square((test - train.mean(axis=0))[:, erased]).sum()
    chosen = np.linspace(0, len(test) - 1, 8).astype(int)
    rows = [("given", holes[chosen])]
    for name, completed in completions.items():
        error = np.square((test - completed)[:, erased]).sum() / total
        print(f"{name}: error {error:.3f} of that of the mean image")
        rows.append((f"{name}\nerror {error:.2f}", completed[chosen]))
    rows.append(("truth", test[chosen]))
    print(f"KernelImputer: {imputer.n_iter_} stages, {cost(imputer).macs:,} MACs an image")
    draw(folder / "complete_faces.png", rows, width)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
