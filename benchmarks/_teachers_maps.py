"""Teachers that are compared, and what is measured of the maps that imitate them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifierCV, RidgeCV
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from cerflearn import MaskedCERF
from datasets import Split

SELECTORS = ("greedy", "shared", "cvem")
UNTRAINED = "untrained"
RANDOM = ("random", "random, 2 a mask")
"""Untrained maps: as the default draws them, and with as many projections a mask as candidates."""

ALPHAS = np.logspace(-2, 4, 13)
KERNEL_ROWS = 500  # test rows of which the kernel error is taken
N_BOOSTED = 50  # boosted trees of 8 leaves, over all classes
BOOSTING_ROUNDS = 30
FOREST = {"n_estimators": 20, "max_leaf_nodes": 32, "max_features": "sqrt"}
"""As good as the best of eight: 20, 50 and 100 trees of 8 to 64 leaves, random forests and extra
trees, with the greedy selector on eight sets of classes; means were within .8 point."""

Make = Callable[[NDArray], Any]


class LeafEncoder(TransformerMixin, BaseEstimator):
    """One-hot leaves of an ensemble of trees, as a sparse array: a row has a one for each tree.

    Parameters
    ----------
    estimator : object
        With ``apply``; cloned and fitted on X and y.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: NDArray, y: NDArray) -> LeafEncoder:
        """Fit the trees; leaves that no row of X reaches get no column."""
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.leaves_ = [np.unique(column) for column in self._apply(X).T]
        self.offsets_ = np.cumsum([0, *map(len, self.leaves_)])
        return self

    def transform(self, X: NDArray) -> csr_array:
        """Return the leaves of all trees, (n_samples, n_leaves)."""
        found = self._apply(X)
        pairs = zip(self.leaves_, found.T, strict=True)
        columns = np.stack([np.searchsorted(known, column) for known, column in pairs], axis=1)
        columns += self.offsets_[:-1]
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        shape = (len(found), int(self.offsets_[-1]))
        return csr_array((np.ones(columns.size), columns.ravel(), starts), shape=shape)

    def _apply(self, X: NDArray) -> NDArray:
        """Leaf of each tree, (n_samples, n_trees)."""
        found = self.estimator_.apply(X)
        return found.reshape(len(found), -1).astype(np.int64)


def _of_kind(classifier: Callable[..., Any], regressor: Callable[..., Any]) -> Make:
    """Maker of a classifier where targets are classes, of a regressor where they are numbers."""
    return lambda y: regressor() if y.dtype.kind == "f" else classifier()


def _boosted_leaves(y: NDArray) -> LeafEncoder:
    settings = {"max_features": "sqrt", "random_state": 0}
    if y.dtype.kind == "f":
        return LeafEncoder(GradientBoostingRegressor(n_estimators=N_BOOSTED, **settings))
    n_classes = len(np.unique(y))
    n_rounds = max(1, round(N_BOOSTED / (1 if n_classes == 2 else n_classes)))
    return LeafEncoder(GradientBoostingClassifier(n_estimators=n_rounds, **settings))


_forest = _of_kind(
    lambda: RandomForestClassifier(**FOREST, random_state=0),
    lambda: RandomForestRegressor(**FOREST, random_state=0),
)

TEACHERS: dict[str, Make] = {
    "rff": lambda _: "rff",
    "nystroem": lambda _: "nystroem",
    "kernel_pca": lambda _: "kernel_pca",
    "inputs": lambda _: FunctionTransformer(),
    "labels": lambda _: "labels",
    "forest, leaves": lambda y: LeafEncoder(_forest(y)),
    "forest, predictions": _forest,
    "boosting, leaves": _boosted_leaves,
    "boosting, scores": _of_kind(
        lambda: HistGradientBoostingClassifier(max_iter=BOOSTING_ROUNDS, random_state=0),
        lambda: HistGradientBoostingRegressor(max_iter=BOOSTING_ROUNDS, random_state=0),
    ),
    "kernel SVM, scores": _of_kind(SVC, SVR),
    "linear model, scores": _of_kind(lambda: LogisticRegression(max_iter=1000), Ridge),
}
"""What ``teacher`` is for given targets: names, or estimators whose first output of ``transform``,
``decision_function``, ``predict_proba`` and ``predict`` teaches."""

SUPERVISED = tuple([*TEACHERS][4:])
"""Teachers that read the targets."""


def measure(name: str, split: Split, macs: tuple[int, ...], seed: int) -> dict[str, Any]:
    """Measure the maps of one teacher: those of every selector at every budget.

    Parameters
    ----------
    name : str
        Teacher, or ``UNTRAINED``.
    split : Split
        Rows.
    macs : tuple of int
        Budgets.
    seed : int
        Of the candidates, which are the same for every teacher.

    Returns
    -------
    dict
        For each selector MACs, outputs, score (accuracy in %, or 100 R2), kernel error and CPU
        seconds of fit, a list over the budgets. Estimators are fitted once, and their time is added
        to every fit.
    """
    if name == UNTRAINED:
        default, paired = RANDOM
        settings = {
            default: {"selector": "random"},
            paired: {"selector": "random", "features_per_mask": 2},
        }
        return {key: _over(split, macs, seed, 0.0, **own) for key, own in settings.items()}
    teacher, seconds = _fitted(TEACHERS[name](split.y_train), split)
    found: dict[str, Any] = {"teacher seconds": round(seconds, 3)}
    for selector in SELECTORS:
        found[selector] = _over(split, macs, seed, seconds, selector=selector, teacher=teacher)
    return found


def _fitted(teacher: Any, split: Split) -> tuple[Any, float]:
    """Teacher with its fit kept, and the CPU seconds of that; names are made by the map's fit."""
    if isinstance(teacher, str):
        return teacher, 0.0
    start = time.process_time()
    teacher.fit(split.X_train, split.y_train)
    return FrozenEstimator(teacher), time.process_time() - start


def _over(
    split: Split, macs: tuple[int, ...], seed: int, seconds: float, **settings: Any
) -> dict[str, list[float]]:
    records = [
        _measure_map(MaskedCERF(macs=budget, random_state=seed, **settings), split, seconds)
        for budget in macs
    ]
    return {key: [record[key] for record in records] for key in records[0]}


def _measure_map(sampler: MaskedCERF, split: Split, seconds: float) -> dict[str, float]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 20 stages, converged or not
        sampler.fit(split.X_train, split.y_train)
    seconds += time.process_time() - start
    train, test = sampler.transform(split.X_train), sampler.transform(split.X_test)
    some = test[:KERNEL_ROWS]
    kernel = sampler.law_.kernel(split.X_test[:KERNEL_ROWS])
    scaler = StandardScaler().fit(train)
    numbers = split.y_train.dtype.kind == "f"
    head = RidgeCV(ALPHAS) if numbers else RidgeClassifierCV(ALPHAS)
    head.fit(scaler.transform(train), split.y_train)
    return {
        "macs": sampler.n_macs_,
        "outputs": sampler.n_components_,
        "score": round(100.0 * head.score(scaler.transform(test), split.y_test), 4),
        "kernel error": round(float(np.abs(some @ some.T - kernel).mean()), 5),
        "seconds": round(seconds, 4),
    }
