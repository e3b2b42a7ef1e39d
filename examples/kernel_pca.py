"""Kernel PCA of 40,000 points, where exact kernel PCA would need a 13 GB matrix.

    python examples/kernel_pca.py [folder]    # writes kernel_pca.png

Three rings lie in the first two of ten noisy inputs. No straight line separates them, so linear
principal components cannot; kernel principal components can.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from cerflearn import RandomFourierFeatures, RandomizedKernelPCA

N_POINTS, N_TEST = 50_000, 10_000
COLOURS = ("tab:blue", "tab:orange", "tab:green")


def rings(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of three rings in two inputs, eight inputs of noise, and the number of the ring."""
    rng = np.random.default_rng(0)
    ring = rng.integers(3, size=n_points)
    angle = rng.uniform(0, 2 * np.pi, n_points)
    radius = 0.5 + ring + 0.12 * rng.normal(size=n_points)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return np.hstack([points, 0.1 * rng.normal(size=(n_points, 8))]), ring


def separation(codes: np.ndarray, ring: np.ndarray) -> float:
    """Test accuracy of a linear classifier on the codes; the last points are the test."""
    model = LogisticRegression(C=100.0, max_iter=1000).fit(codes[:-N_TEST], ring[:-N_TEST])
    return float(model.score(codes[-N_TEST:], ring[-N_TEST:]))


def draw(axes: plt.Axes, points: np.ndarray, ring: np.ndarray, title: str) -> None:
    for number, colour in enumerate(COLOURS):
        shown = points[:3000][ring[:3000] == number]
        axes.scatter(*shown.T, s=3, c=colour, alpha=0.6, linewidths=0)
    axes.set_title(title, fontsize=11)
    axes.set_xticks([])
    axes.set_yticks([])


def main(folder: Path) -> None:
    X, ring = rings(N_POINTS)
    linear = PCA(n_components=2).fit(X[:-N_TEST]).transform(X)
    features = RandomFourierFeatures(n_components=512, gamma=0.5)
    start = time.perf_counter()
    model = RandomizedKernelPCA(n_components=2, feature_map=features, random_state=0)
    codes = model.fit(X[:-N_TEST]).transform(X)
    seconds = time.perf_counter() - start
    shares = [separation(c, ring) for c in (linear, codes)]
    print(f"kernel PCA of {N_POINTS - N_TEST:,} points, {N_POINTS:,} codes: {seconds:.1f} s")
    print(f"rings classified by two linear components: {shares[0]:.1%}")
    print(f"rings classified by two kernel components: {shares[1]:.1%}")

    figure, panels = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    draw(panels[0], X[:, :2], ring, "two of ten inputs")
    draw(panels[1], linear, ring, f"linear PCA: {shares[0]:.0%} classified")
    draw(panels[2], codes, ring, f"randomized kernel PCA: {shares[1]:.0%} classified")
    path = folder / "kernel_pca.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
