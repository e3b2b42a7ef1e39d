"""Heads of Table 4 on features of total variance 1: logistic regression, and the linear SVM.

Both are the same in any orthogonal axes; those in which features hardly vary, most of them for a
wide kernel, are left out. The loss by which C is chosen is the log loss of logistic regression and
the share of errors of the SVM, which has no probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

TINY = 1e-6  # share of the largest variance below which an axis is left out

Folds = Sequence[tuple[NDArray, NDArray]]


def axes_of(F: NDArray) -> tuple[NDArray, NDArray]:
    """Means, and axes (n_features, rank) of features: uncorrelated, of total variance 1."""
    mean = F.mean(axis=0)
    centred = F - mean
    if len(F) < F.shape[1]:
        variances, vectors = eigh(centred @ centred.T, driver="evd")
        vectors = centred.T @ vectors / np.sqrt(np.maximum(variances, TINY * variances[-1]))
    else:
        variances, vectors = eigh(centred.T @ centred, driver="evd")
    kept = variances > TINY * variances[-1]
    return mean, vectors[:, kept] / np.sqrt(F.var(axis=0).sum())


def logistic(C: float) -> LogisticRegression:
    """Logistic regression by Newton's method, exact and fast in few columns."""
    return LogisticRegression(C=C, solver="newton-cholesky", warm_start=True)


def logistic_losses(F: NDArray, y: NDArray, folds: Folds, values: Sequence[float]) -> NDArray:
    """Cross-validated log loss of logistic regression on features, for each C."""
    mean, axes = axes_of(F)
    codes = (F - mean) @ axes
    losses = np.zeros(len(values))
    for train, test in folds:
        model = logistic(1.0)
        for index, C in enumerate(values):
            model.set_params(C=C).fit(codes[train], y[train])
            losses[index] += log_loss(y[test], model.predict_proba(codes[test]))
    return losses


def svm_losses(F: NDArray, y: NDArray, folds: Folds, values: Sequence[float]) -> NDArray:
    """Cross-validated share of errors of the linear SVM on features, for each C."""
    mean, axes = axes_of(F)
    codes = (F - mean) @ axes
    gram = codes @ codes.T
    losses = np.zeros(len(values))
    for train, test in folds:
        for index, C in enumerate(values):
            model = SVC(kernel="precomputed", C=C).fit(gram[np.ix_(train, train)], y[train])
            losses[index] += np.mean(model.predict(gram[np.ix_(test, train)]) != y[test])
    return losses


class ScaledHead(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear classifier of two classes whose C is for features of total variance 1.

    Parameters
    ----------
    C : float
        Whatever the variance of the features is.
    head : str
        One of ``HEADS``.
    """

    def __init__(self, C: float = 1.0, head: str = "logistic") -> None:
        self.C = C
        self.head = head

    def fit(self, F: NDArray, y: NDArray) -> ScaledHead:
        """Fit in uncorrelated axes; ``coef_`` is for the features as they are."""
        mean, axes = axes_of(F)
        model = HEADS[self.head].make(self.C).fit((F - mean) @ axes, y)
        self.classes_ = model.classes_
        self.coef_ = model.coef_ @ axes.T
        self.intercept_ = model.intercept_ - self.coef_ @ mean
        return self

    def predict(self, F: NDArray) -> NDArray:
        """Class of each row."""
        return self.classes_[((F @ self.coef_.T + self.intercept_)[:, 0] > 0).astype(int)]


@dataclass(frozen=True)
class Head:
    """How a head is made of C, its cross-validated losses, and the name of its grid of C."""

    make: Callable[[float], Any]
    losses: Callable[[NDArray, NDArray, Folds, Sequence[float]], NDArray]
    grid: str


HEADS = {
    "logistic": Head(logistic, logistic_losses, "C"),
    "svm": Head(lambda C: SVC(kernel="linear", C=C), svm_losses, "C_svm"),
}
