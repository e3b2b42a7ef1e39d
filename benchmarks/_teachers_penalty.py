"""The penalty of the head, chosen with the features given and with the whole pipeline refitted.

Features that were chosen by y fit the noise of the training rows. Leave-one-out errors of a ridge
head on these features do not show it; those of folds in which the features are chosen anew do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from _teachers_maps import ALPHAS
from cerflearn import MaskedCERF
from datasets import Split

PENALTY_TEACHERS = ("rff", "labels")
LEAVE_ONE_OUT, WHOLE = "leave one out", "whole pipeline"
N_FOLDS = 5


def measure_penalty(teacher: str, split: Split, macs: int, seed: int) -> dict[str, Any]:
    """Score, in points, and penalty by either choice, for the greedy selector."""
    numbers = split.y_train.dtype.kind == "f"
    train, test = _features(teacher, split.X_train, split.y_train, split.X_test, macs, seed)
    given = (RidgeCV(ALPHAS) if numbers else RidgeClassifierCV(ALPHAS)).fit(train, split.y_train)
    scores = np.zeros(len(ALPHAS))
    folds = (KFold if numbers else StratifiedKFold)(N_FOLDS, shuffle=True, random_state=seed)
    for inner, outer in folds.split(split.X_train, split.y_train):
        X, y = split.X_train[inner], split.y_train[inner]
        chosen, others = _features(teacher, X, y, split.X_train[outer], macs, seed)
        for i, alpha in enumerate(ALPHAS):
            head = _head(numbers, alpha).fit(chosen, y)
            scores[i] += head.score(others, split.y_train[outer])
    alpha = float(ALPHAS[int(np.argmax(scores))])
    whole = _head(numbers, alpha).fit(train, split.y_train)
    return {
        name: {
            "score": round(100.0 * float(head.score(test, split.y_test)), 4),
            "alpha": float(f"{value:.4g}"),
        }
        for name, head, value in (
            (LEAVE_ONE_OUT, given, float(given.alpha_)),
            (WHOLE, whole, alpha),
        )
    }


def _head(numbers: bool, alpha: float) -> Any:
    return Ridge(alpha) if numbers else RidgeClassifier(alpha)


def _features(
    teacher: str, X: NDArray, y: NDArray, others: NDArray, macs: int, seed: int
) -> tuple[NDArray, NDArray]:
    """Standardised features of the rows they are chosen on, and of other rows."""
    sampler = MaskedCERF(macs=macs, teacher=teacher, random_state=seed).fit(X, y)
    train = sampler.transform(X)
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(sampler.transform(others))
