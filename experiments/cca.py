"""Kernel CCA (section 1): what two views of the same digits have in common, against linear CCA.

Linear CCA is the same estimator on the inputs themselves, with the same kind of ridge. The ridge,
and the width of the kernel, are those with the largest sum of correlations on held-out rows; the
model is then fitted again with these rows, and judged on others. CERF takes both from the map of
which it chooses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from cerflearn import (
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    cost,
)
from experiments import cca_page
from experiments.datasets import read
from experiments.methods import fit_quietly, median_gamma, microseconds
from experiments.pieces import Piece

TITLE = "Kernel CCA on pairs of views"
HALVES = ("left half", "right half")
"""Views of the digits that come with scikit-learn, of 8 x 8 pixels."""
LINEAR = "linear"
LEARNED = {"cerf bbp": "untrained bbp"}
"""Maps that are chosen, and the method whose settings they take."""

MAPS: dict[str, Callable[..., Any]] = {
    "rff": RandomFourierFeatures,
    "default": MaskedFourierFeatures,
    "untrained bbp": partial(MaskedCERF.paper_setting, selector="random"),
    "cerf bbp": partial(MaskedCERF.paper_setting, solver="procrustes", tol=1e-2),
}

Views = tuple[NDArray[np.float64], NDArray[np.float64]]


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """All methods on each pair of views and each split."""
    names = ("n_pairs", "n_outputs", "n_held", "n_test", "widths", "alphas", "methods")
    settings = {name: config[name] for name in names}
    for first, second in config["pairs"]:
        for seed in range(config["seeds"]):
            arguments = {"views": [first, second], "seed": seed, "config": settings}
            yield Piece((f"{first}, {second}", str(seed)), measure, arguments)


def view(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of a view and their classes."""
    if name not in HALVES:
        X, y = read(f"suite/mfeat_{name}")
        return X.astype(np.float64), y
    X, y = load_digits(return_X_y=True)
    side = HALVES.index(name)
    return X.reshape(-1, 8, 8)[:, :, 4 * side : 4 * side + 4].reshape(len(X), -1), y


def pair(views: Sequence[str]) -> Views:
    """Both views, row by row the same samples."""
    (X, y), (Y, other) = (view(name) for name in views)
    if not np.array_equal(y, other):
        raise ValueError(f"rows of {views[0]} and {views[1]} differ: their classes do not agree.")
    return X, Y


def measure(*, views: Sequence[str], seed: int, config: dict[str, Any]) -> dict[str, Any]:
    """Correlations, retrieval, cost and settings of each method on one pair and one split."""
    both = pair(views)
    order = np.random.default_rng(seed).permutation(len(both[0]))
    test, held, train = np.split(order, np.cumsum([config["n_test"], config["n_held"]]))
    found: dict[str, Any] = {}
    for method in config["methods"]:
        settings = _grid(method, config)
        if method in LEARNED:
            best = {key: found[LEARNED[method]][key] for key in ("alpha", "width")}
        else:
            scores = [_judge(method, both, train, held, seed, config, s)[0] for s in settings]
            best = settings[int(np.argmax(scores))]
        found[method] = _record(method, both, [train, held, test], seed, config, best)
    return found


def _grid(method: str, config: dict[str, Any]) -> list[dict[str, float]]:
    """Return the settings to choose from; the width is that of a kernel."""
    widths = [1.0] if method == LINEAR else config["widths"]
    return [{"alpha": a, "width": w} for w in widths for a in config["alphas"]]


def _record(
    method: str,
    both: Views,
    rows: Sequence[NDArray],
    seed: int,
    config: dict[str, Any],
    setting: dict[str, float],
) -> dict[str, Any]:
    train, held, test = rows
    begin = time.perf_counter()
    total, accuracy, model, X = _judge(
        method, both, np.concatenate([train, held]), test, seed, config, setting
    )
    return {
        "correlation": total,
        "retrieval": 100.0 * accuracy,
        "macs": macs_of(model),
        "seconds": time.perf_counter() - begin,
        "microseconds": microseconds(model.transform, X),
        **setting,
    }


def _judge(
    method: str,
    both: Views,
    train: NDArray,
    test: NDArray,
    seed: int,
    config: dict[str, Any],
    setting: dict[str, float],
) -> tuple[float, float, RandomizedKernelCCA, NDArray]:
    """Sum of correlations and retrieval on test rows, the model, and the test rows of X."""
    scalers = [StandardScaler().fit(rows[train]) for rows in both]
    X, Y = (s.transform(rows[train]) for s, rows in zip(scalers, both, strict=True))
    model = make(method, (X, Y), seed, config, setting)
    fit_quietly(model, X, Y)
    X_test, Y_test = (s.transform(rows[test]) for s, rows in zip(scalers, both, strict=True))
    first, second = model.transform(X_test, Y_test)
    total = float(correlations(first, second).sum())
    return total, retrieval(first, second), model, X_test


def make(
    method: str, both: Views, seed: int, config: dict[str, Any], setting: dict[str, float]
) -> RandomizedKernelCCA:
    """Return the estimator of a method, not fitted."""
    common = {"n_components": config["n_pairs"], "alpha": setting["alpha"], "random_state": seed}
    if method == LINEAR:
        return RandomizedKernelCCA(feature_map=FunctionTransformer(), **common)
    maps = [
        MAPS[method](n_components=config["n_outputs"], gamma=setting["width"] * median_gamma(rows))
        for rows in both
    ]
    return RandomizedKernelCCA(feature_map=maps[0], y_feature_map=maps[1], **common)


def correlations(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Correlation of each pair of variates (n_samples, n_pairs)."""
    first, second = (part - part.mean(axis=0) for part in (first, second))
    scale = np.sqrt(np.square(first).sum(axis=0) * np.square(second).sum(axis=0))
    return (first * second).sum(axis=0) / np.maximum(scale, np.finfo(float).tiny)


def retrieval(first: NDArray, second: NDArray) -> float:
    """Share of rows whose nearest of the other view, by the angle, is their own; both ways."""
    units = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (first, second)]
    similarity = units[0] @ units[1].T
    here = np.arange(len(first))
    return float(np.mean([np.mean(similarity.argmax(axis=side) == here) for side in (0, 1)]))


def macs_of(model: RandomizedKernelCCA) -> int:
    """MACs of the variates of both views of one sample."""
    maps = (model.feature_map_, model.y_feature_map_)
    total = model.x_components_.size + model.y_components_.size
    return total + sum(0 if isinstance(m, FunctionTransformer) else cost(m).macs for m in maps)


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the tables of correlations, retrieval and cost."""
    del folder
    return cca_page.section(results, config)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return how kernel CCA stands to linear CCA."""
    return cca_page.summary(results, config)
