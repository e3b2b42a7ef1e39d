"""Features and a classifier learned from rows that come in mini-batches and are seen once.

    python examples/mini_batches.py

Every mini-batch is first predicted, then learned from, by the features and by the classifier. The
classes depend on products of inputs, which a linear model cannot see.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import SGDClassifier

from cerflearn import MaskedCERF, cost

N_BATCHES, ROWS, N_INPUTS = 60, 500, 12


def mini_batch(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and whether a sum of products of their inputs is positive."""
    X = rng.normal(size=(ROWS, N_INPUTS))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 0).astype(int)


def main() -> None:
    rng = np.random.default_rng(0)
    features = MaskedCERF(n_components=150, selector="shared", teacher="labels", random_state=0)
    on_features = SGDClassifier(loss="log_loss", alpha=1e-4, random_state=0)
    on_inputs = SGDClassifier(loss="log_loss", alpha=1e-4, random_state=0)
    right: list[tuple[float, float]] = []
    for batch in range(N_BATCHES):
        X, y = mini_batch(rng)
        if batch > 3:
            found = on_features.score(features.transform(X), y), on_inputs.score(X, y)
            right.append(found)
        features.partial_fit(X, y)
        on_inputs.partial_fit(X, y, classes=[0, 1])
        if hasattr(features, "feature_map_"):  # after two rows for each candidate
            on_features.partial_fit(features.transform(X), y, classes=[0, 1])
    print("right predictions of rows not seen before, in per cent")
    print(f"{'mini-batches':>14}{'inputs':>10}{'learned features':>20}")
    for start in range(0, len(right), 14):
        part = 100 * np.mean(right[start : start + 14], axis=0)
        print(f"{start + 5:>8} to {start + 18:<3}{part[1]:>10.1f}{part[0]:>20.1f}")
    print(f"MACs of a row: {N_INPUTS} for the inputs, {cost(features).macs + 150} with features")


if __name__ == "__main__":
    main()
