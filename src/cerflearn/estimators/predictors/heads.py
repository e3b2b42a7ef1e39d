"""Linear heads on given features: coefficients (n_scores, n_outputs) and intercepts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from cerflearn._typing import Float64Array, FloatArray, IntArray

HEADS = ("logistic", "ridge", "svm", "svm_ovo")
"""Heads of a classifier."""

_STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C of the vector machines and of logistic regression
_FOLDS = 3


def n_scores_of(head: str, n_classes: int) -> int:
    """Scores of a head: one for two classes, one for each pair if one against one."""
    if n_classes == 2:
        return 1
    return n_classes * (n_classes - 1) // 2 if head == "svm_ovo" else n_classes


def fit_head(
    head: str,
    features: FloatArray,
    classes: IntArray,
    weights: Float64Array,
    seed: int,
) -> tuple[Float64Array, Float64Array]:
    """Fit a head of scikit-learn to standardised features, and fold the standardising into it.

    Parameters
    ----------
    head : {"logistic", "svm", "svm_ovo"}
        Logistic regression, liblinear's or LIBSVM's linear SVM, with C by cross-validation.
    features : ndarray of shape (n_samples, n_outputs)
        Of the rows.
    classes : ndarray of shape (n_samples,), int
        Numbers of the classes.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    seed : int
        Of the folds.

    Returns
    -------
    coef : ndarray of shape (n_scores, n_outputs)
        Weights.
    intercept : ndarray of shape (n_scores,)
        Biases.
    """
    mean = weights @ features
    deviation = np.sqrt(weights @ np.square(features - mean))
    deviation[deviation < 1e-12] = 1.0
    model = _search(head, (features - mean) / deviation, classes, weights * len(weights), seed)
    coef = np.asarray(model.coef_) / deviation
    return coef, np.asarray(model.intercept_) - coef @ mean


def _search(
    head: str, features: FloatArray, classes: IntArray, weights: Float64Array, seed: int
) -> Any:
    """Model of scikit-learn with the best C."""
    models: dict[str, Any] = {
        "logistic": LogisticRegression(max_iter=500),
        "svm": LinearSVC(dual=False, max_iter=2_000),
        "svm_ovo": SVC(kernel="linear"),
    }
    model = models[head]
    if np.bincount(classes).min() < _FOLDS:  # too few for folds
        return model.fit(features, classes, sample_weight=weights)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(model, {"C": list(_STRENGTHS)}, cv=folds)
    return search.fit(features, classes, sample_weight=weights).best_estimator_


def pair_votes(scores: FloatArray, n_classes: int) -> Float64Array:
    """Votes (n_samples, n_classes) of one-against-one scores (n_samples, n_pairs).

    A pair's score votes for its first class if positive; summed scores decide between classes
    with equally many votes.
    """
    votes = np.zeros((len(scores), n_classes))
    sums = np.zeros_like(votes)
    first, second = np.triu_indices(n_classes, k=1)
    for pair, (one, other) in enumerate(zip(first, second, strict=True)):
        score = scores[:, pair]
        votes[:, one] += score > 0
        votes[:, other] += score <= 0
        sums[:, one] += score
        sums[:, other] -= score
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))
