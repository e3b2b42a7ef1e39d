"""A digit classifier for a given number of multiply-accumulates.

    python examples/budgeted_digits.py [folder]    # writes budgeted_digits.png

Features and scores of a prediction together cost no more than the budget. The picture shows how
many features of each model read each pixel.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from cerflearn import CERFClassifier

BUDGETS = (200, 600)


def draw(models: list[CERFClassifier], titles: list[str], path: Path) -> None:
    """Write how many features read each pixel."""
    figure, panels = plt.subplots(1, len(models), figsize=(4 * len(models), 3.6))
    for axes, model, title in zip(panels, models, titles, strict=True):
        reads = model.feature_map_.masks.sum(axis=1).reshape(8, 8)
        image = axes.imshow(reads, cmap="viridis")
        axes.set_title(title, fontsize=10)
        axes.set_axis_off()
        figure.colorbar(image, ax=axes, label="features that read it", shrink=0.8)
    figure.savefig(path, dpi=120, bbox_inches="tight")


def main(folder: Path) -> None:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:1000], order[1000:]
    models, titles = [], []
    for macs in BUDGETS:
        model = CERFClassifier(macs=macs, random_state=0).fit(X[train], y[train])
        accuracy = 100 * model.score(X[test], y[test])
        print(f"{accuracy:.1f} % of {len(test)} test digits\n{model.report()}\n")
        models.append(model)
        titles.append(f"{model.n_macs_} MACs, {accuracy:.1f} %")
    print(f"A linear model costs {X.shape[1] * 10} MACs.")
    path = folder / "budgeted_digits.png"
    draw(models, titles, path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
