"""Feature maps and whole predictors by name, at a budget of multiply-accumulates."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import FunctionTransformer

from cerflearn import MaskedCERF, MaskedFourierFeatures, RandomFourierFeatures, cost, frontier
from experiments.datasets import Split

TIMED_ROWS = 2_000
REPEATS = 5

MAPS = {
    "rff": "dense random Fourier features, as in the paper: cosines with random offsets",
    "untrained": "masked features at the paper's setting, drawn and not chosen",
    "cerf": '`MaskedCERF.paper_setting(mask_law="fixed")`: mask density .4, .4 of the candidates '
    "chosen by CVEM, with standardised embeddings; each mask reads as many inputs",
    "cerf as printed": "the same with the embeddings as the paper prints them",
    "untrained bbp": "as untrained, with masks of a Beta-Bernoulli process, as in the paper",
    "cerf bbp": "as cerf, with masks of a Beta-Bernoulli process: `MaskedCERF.paper_setting()`",
    "cerf 20 %": "as cerf, with .2 of the candidates chosen",
    "default": "`MaskedFourierFeatures(macs=...)`: sparse masks, cosine and sine of each "
    "projection, nothing chosen and no labels",
    "greedy": "the paper's setting, but chosen by greedy pursuit of the same teacher",
    "greedy labels": "our default density and pairing, chosen by greedy pursuit of the labels",
    "orthogonal": "dense features with orthogonal frequencies",
    "nystroem": "Nystroem features of scikit-learn, D K + K² MACs for K rows",
    "linear": "the inputs themselves, no features",
}
"""Maps, by the names that tables use."""

PREDICTORS = {
    "linear model": "linear",
    "mlp": "mlp",
    "classifier": "cerf",
}
"""Whole predictors whose budget includes the scores, and what `cerflearn.frontier` calls them:
ridge or logistic regression, a ReLU perceptron, CERFClassifier."""


def n_landmarks(macs: int, n_inputs: int) -> int:
    """Largest K with D K + K² <= macs, at least 1."""
    return max(1, int((math.sqrt(n_inputs**2 + 4 * macs) - n_inputs) / 2))


def feature_map(
    name: str, *, macs: int, n_inputs: int, gamma: float, seed: int, **parameters: Any
) -> Any:
    """Return a map that is not fitted, of at most ``macs`` MACs a row.

    Parameters
    ----------
    name : str
        One of ``MAPS``.
    macs : int
        Budget of a row.
    n_inputs : int
        Number of input columns.
    gamma : float
        Width of the Gaussian kernel; "default" and "greedy labels" take the library's own.
    seed : int
        Of the draw.
    **parameters
        Added to, or in place of, those of a masked map.
    """
    setting = {"macs": macs, "gamma": gamma, "random_state": seed} | parameters
    ours = {key: value for key, value in setting.items() if key != "gamma"}
    dense = {key: setting[key] for key in ("macs", "gamma", "random_state")} | {"paired": False}
    process = MaskedCERF.paper_setting
    paper = partial(process, mask_law="fixed")
    makers: dict[str, Callable[[], Any]] = {
        "rff": lambda: RandomFourierFeatures(**dense),
        "orthogonal": lambda: RandomFourierFeatures(orthogonal=True, **dense),
        "untrained": lambda: paper(selector="random", **setting),
        "cerf": lambda: paper(**setting),
        "cerf as printed": lambda: paper(normalize=None, **setting),
        "untrained bbp": lambda: process(selector="random", **setting),
        "cerf bbp": lambda: process(**setting),
        "cerf 20 %": lambda: paper(selected_fraction=0.2, **setting),
        "greedy": lambda: paper(selector="greedy", **setting),
        "default": lambda: MaskedFourierFeatures(**ours),
        "greedy labels": lambda: MaskedCERF(selector="greedy", teacher="labels", **ours),
        "nystroem": lambda: Nystroem(
            gamma=gamma, n_components=n_landmarks(macs, n_inputs), random_state=seed
        ),
        "linear": FunctionTransformer,
    }
    if name not in makers:
        raise ValueError(f"no feature map {name!r}: choose of {', '.join(makers)}.")
    return makers[name]()


class Projections(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Projections of a feature map without its cosines, ``W^T x``."""

    def __init__(self, feature_map: Any) -> None:
        self.feature_map = feature_map

    def fit(self, X: NDArray, y: NDArray | None = None) -> Projections:
        """Fit the map, which is changed."""
        self.feature_map.fit(X, y)
        return self

    def transform(self, X: NDArray) -> NDArray:
        """Project rows."""
        return X @ self.feature_map.frequencies_


def fit_quietly(estimator: Any, X: NDArray, y: NDArray | None = None) -> Any:
    """Fit; CVEM stops after the paper's 20 stages, converged or not, and need not say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y)


def n_macs(estimator: Any) -> int:
    """MACs of one row of a fitted map; the inputs themselves cost none."""
    if isinstance(estimator, Projections):
        return n_macs(estimator.feature_map)
    return 0 if isinstance(estimator, FunctionTransformer) else int(cost(estimator).macs)


def median_gamma(X: NDArray) -> float:
    """One over the median squared distance of training rows."""
    return float(RandomFourierFeatures(gamma="median", random_state=0).fit(X).gamma_)


def microseconds(transform: Callable[[NDArray], Any], X: NDArray) -> float:
    """Time of one of about 2,000 float32 rows, the best of a few runs, in this one thread."""
    rows = np.ascontiguousarray(np.resize(X[:TIMED_ROWS], (TIMED_ROWS, X.shape[1])), np.float32)
    best = math.inf
    for _ in range(REPEATS):
        begin = time.perf_counter()
        transform(rows)
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best / len(rows)


def predictor(name: str, split: Split, *, budgets: Sequence[int], seed: int) -> dict[str, Any]:
    """Accuracy (%) of a predictor of ``PREDICTORS``, all its MACs within each of the budgets.

    Settings are chosen on training rows by :func:`cerflearn.frontier`. Without a model within a
    budget the accuracy is None.
    """
    method, test = PREDICTORS[name], (split.X_test, split.y_test)
    X, y = split.X_train, split.y_train
    setting: dict[str, Any] = {"test_set": test, "random_state": seed, "task": "classification"}
    rows = frontier(X, y, budgets, [method], **setting).rows
    keys = ("budget", "macs", "microseconds", "fit_seconds")
    record: dict[str, Any] = {key: [row[key] for row in rows] for key in keys}
    scores = [row["score"] for row in rows]
    return record | {"accuracy": [None if s is None else 100.0 * s for s in scores]}
