"""Classification at equal MACs, section 4.2: settings for RFF, transferred; accuracy of two heads.

Width and C are chosen by 5-fold cross-validation of dense random Fourier features at one MAC count
of a dataset, on the training rows of the split alone, and used for every map as the paper does;
maps at our defaults take the library's width and the same C. Two endings of a map's name alter
that: ``MEDIAN`` takes the width of the median heuristic, and the C that is best for RFF there;
``LINEAR`` leaves the projections without their cosines.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.datasets import Split, split_of
from experiments.methods import (
    Projections,
    feature_map,
    fit_quietly,
    median_gamma,
    microseconds,
    n_macs,
    predictor,
)

ALPHAS = np.logspace(-4, 4, 9)  # of the ridge head, by leave-one-out
BLOCK = 5_000  # rows whose pairs of classes are decided at once
MEDIAN = ", median width"
LINEAR = ", no cosine"


def votes(decisions: NDArray, n_classes: int) -> NDArray[np.int64]:
    """Classes (n,) from the scores (n, C (C - 1) / 2) of all pairs, as LIBSVM counts them."""
    pairs = np.array([*combinations(range(n_classes), 2)])
    first, second = (np.eye(n_classes)[pairs[:, side]] for side in (0, 1))
    wins = (decisions > 0.0).astype(np.float64)
    return np.argmax(wins @ first + (1.0 - wins) @ second, axis=1)


class PairwiseSVM:
    """LIBSVM's linear machine, one against one, on standardised features.

    Decides by one weight vector for each pair of classes, which gives LIBSVM's labels without its
    pass over the support vectors.
    """

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: NDArray, y: NDArray) -> PairwiseSVM:
        """Fit to features (n_samples, n_components) and classes."""
        self.scaler_ = StandardScaler().fit(X)
        self.machine_ = SVC(kernel="linear", C=self.C).fit(self.scaler_.transform(X), y)
        return self

    def predict(self, X: NDArray) -> NDArray:
        """Return the classes of rows."""
        classes, weights = self.machine_.classes_, self.machine_.coef_.T
        if len(classes) == 2:
            return self.machine_.predict(self.scaler_.transform(X))
        parts = []
        for start in range(0, len(X), BLOCK):
            rows = self.scaler_.transform(X[start : start + BLOCK])
            decisions = rows @ weights + self.machine_.intercept_
            parts.append(classes[votes(decisions, len(classes))])
        return np.concatenate(parts)

    def score(self, X: NDArray, y: NDArray) -> float:
        """Return the share of right classes."""
        return float(np.mean(self.predict(X) == y))


def ridge() -> Pipeline:
    """Return our head: one score a class."""
    return make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=ALPHAS))


def choose(
    *,
    split: str,
    seed: int,
    n_dense: int,
    widths: Sequence[float],
    C: Sequence[float],
    give_up: float = math.inf,
    n_folds: int = 5,
) -> dict[str, Any]:
    """Width, as a multiple of the median heuristic, and C of the best cross-validated accuracy.

    ``n_dense`` dense features are drawn once for all widths, so that widths differ by width alone.
    C rises; once a width is more than ``give_up`` points below the best of all so far at each C up
    to 1, its larger C are left out, as LIBSVM is slow there: their accuracy is NaN.
    """
    data = split_of(split, seed)
    X, y, median = data.X_train, data.y_train, median_gamma(data.X_train)
    folds = [*KFold(n_folds, shuffle=True, random_state=seed).split(X)]
    scores = np.full((len(widths), len(C)), np.nan)
    for row, width in enumerate(widths):
        setting = {"macs": n_dense * X.shape[1], "n_inputs": X.shape[1], "gamma": width * median}
        features = feature_map("rff", seed=1000 + seed, **setting).fit_transform(X)
        for column, value in enumerate(C):
            if (
                column
                and value > 1.0
                and np.nanmax(scores) - np.nanmax(scores[row]) > give_up / 100.0
            ):
                break
            scores[row, column] = np.mean(
                [
                    PairwiseSVM(value).fit(features[a], y[a]).score(features[b], y[b])
                    for a, b in folds
                ]
            )
    best_width, best_c = divmod(int(np.nanargmax(scores)), len(C))
    at_median = [
        C[int(np.nanargmax(row))] for w, row in zip(widths, scores, strict=True) if w == 1.0
    ]
    return {
        "width": widths[best_width],
        "gamma": widths[best_width] * median,
        "C": C[best_c],
        "median_gamma": median,
        "median_C": at_median[0] if at_median else None,
        "accuracy": 100.0 * scores,
        "n_inputs": X.shape[1],
        "n_classes": len(np.unique(y)),
        "rows": [len(X), len(data.X_test)],
    }


def measure(
    *, split: str, seed: int, method: str, dense: Sequence[int], given: dict[str, Any]
) -> dict[str, Any]:
    """Accuracy (%) of a map under both heads, at the MACs of each number of dense features."""
    data = split_of(split, seed)
    sizes = dense[:1] if method == "linear" else dense  # which has one size
    return _columns([_measure_one(data, seed, method, n, given) for n in sizes])


def _measure_one(
    data: Split, seed: int, method: str, n_dense: int, given: dict[str, Any]
) -> dict[str, Any]:
    n_inputs = data.X_train.shape[1]
    name = method.removesuffix(LINEAR).removesuffix(MEDIAN)
    gamma, C = (given[("median_" if MEDIAN in method else "") + key] for key in ("gamma", "C"))
    begin = time.perf_counter()
    sampler = feature_map(name, macs=n_dense * n_inputs, n_inputs=n_inputs, gamma=gamma, seed=seed)
    if method.endswith(LINEAR):
        sampler = Projections(sampler)
    fit_quietly(sampler, data.X_train, data.y_train)
    fit_seconds = time.perf_counter() - begin
    train, test = sampler.transform(data.X_train), sampler.transform(data.X_test)
    heads = {"svc": PairwiseSVM(C), "ridge": ridge()}
    scores = {
        name: 100.0 * head.fit(train, data.y_train).score(test, data.y_test)
        for name, head in heads.items()
    }
    return {
        "budget": n_dense * n_inputs,
        "macs": n_macs(sampler),
        "outputs": train.shape[1],
        **scores,
        "fit_seconds": fit_seconds,
        "microseconds": microseconds(sampler.transform, data.X_test),
    }


def measure_predictor(
    *, split: str, seed: int, method: str, budgets: Sequence[int]
) -> dict[str, Any]:
    """Accuracy (%) of a whole predictor at each budget of total MACs."""
    return predictor(method, split_of(split, seed), budgets=budgets, seed=seed)


def _columns(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {key: [record[key] for record in records] for key in records[0]}
