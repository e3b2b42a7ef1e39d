"""Classifiers of Table 4, each with its settings chosen inside the training part.

A model is made of a feature map and logistic regression; the kernel's width and C are those with
the least cross-validated log loss. Learned maps take both from the map of which they choose, as
the paper transfers them. Inputs are standardised before, which no method is charged for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

from cerflearn import (
    CERFClassifier,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    cost,
)
from experiments.methods import fit_quietly, median_gamma, n_landmarks

Make = Callable[..., Any]
Config = dict[str, Any]

TINY = 1e-6  # share of the largest variance below which an axis is left out
PERCEPTRON_PENALTIES = (1e-2, 1e-1, 1.0, 10.0)


def folds_of(y: NDArray, seed: int, config: Config) -> list[tuple[NDArray, NDArray]]:
    """Inner folds, the same for all methods."""
    folds = StratifiedKFold(config["inner_folds"], shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y))


def choose(make: Make, X: NDArray, y: NDArray, seed: int, config: Config) -> tuple[float, float]:
    """Gamma and C with the least cross-validated log loss; maps do not see y."""
    median = median_gamma(X)
    losses = []
    for width in config["widths"]:
        features = make(gamma=width * median, random_state=seed).fit_transform(X)
        losses.append(losses_of_c(features, y, seed, config))
    row, column = np.unravel_index(np.argmin(losses), np.shape(losses))
    return float(config["widths"][row] * median), float(config["C"][column])


def losses_of_c(F: NDArray, y: NDArray, seed: int, config: Config) -> NDArray:
    """Cross-validated log loss of logistic regression on features, for each C."""
    mean, axes = axes_of(F)
    codes = (F - mean) @ axes
    losses = np.zeros(len(config["C"]))
    for train, test in folds_of(y, seed, config):
        model = logistic(1.0)
        for index, C in enumerate(config["C"]):
            model.set_params(C=C).fit(codes[train], y[train])
            losses[index] += log_loss(y[test], model.predict_proba(codes[test]))
    return losses


def axes_of(F: NDArray) -> tuple[NDArray, NDArray]:
    """Means, and axes (n_features, rank) in which features are uncorrelated, of total variance 1.

    Logistic regression with a ridge is the same in any orthogonal axes; those in which features
    hardly vary, most of them for a wide kernel, are left out.
    """
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


class ScaledLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression whose C is for features of total variance 1, whatever theirs is."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, F: NDArray, y: NDArray) -> ScaledLogistic:
        """Fit in uncorrelated axes; ``coef_`` is for the features as they are."""
        mean, axes = axes_of(F)
        model = logistic(self.C).fit((F - mean) @ axes, y)
        self.classes_ = model.classes_
        self.coef_ = model.coef_ @ axes.T
        self.intercept_ = model.intercept_ - self.coef_ @ mean
        return self

    def predict(self, F: NDArray) -> NDArray:
        """Class of each row."""
        return self.classes_[((F @ self.coef_.T + self.intercept_)[:, 0] > 0).astype(int)]


def on_features(feature_map: Any, C: float, X: NDArray, y: NDArray) -> Pipeline:
    """Feature map and logistic regression, fitted."""
    return fit_quietly(make_pipeline(feature_map, ScaledLogistic(C)), X, y)


def tuned(make: Make) -> Make:
    """Classifier of a map at the settings that suit it best."""

    def fit(X: NDArray, y: NDArray, seed: int, config: Config) -> Pipeline:
        size = {"n_components": config["n_components"]}
        gamma, C = choose(lambda **p: make(**size, **p), X, y, seed, config)
        return on_features(make(gamma=gamma, random_state=seed, **size), C, X, y)

    return fit


def rff(**parameters: Any) -> Any:
    """Dense cosines."""
    return RandomFourierFeatures(paired=False, **parameters)


def untrained(**parameters: Any) -> Any:
    """Masks of density .4 as they are drawn."""
    return MaskedCERF.paper_setting(mask_law="fixed", selector="random", **parameters)


def cvem(*, n_components: int, **parameters: Any) -> Any:
    """As many candidates as others have features, of which CVEM keeps .4.

    The exact M-step, to a tolerance that takes about ten stages: the paper's takes a minute here.
    """
    learning = {"solver": "procrustes", "tol": 1e-2, "n_candidates": n_components}
    kept = round(0.4 * n_components)
    return MaskedCERF.paper_setting(mask_law="fixed", n_components=kept, **learning, **parameters)


def greedy(*, n_components: int, **parameters: Any) -> Any:
    """As many candidates, of which greedy pursuit of dense features keeps .4, in pairs."""
    kept = 2 * round(0.2 * n_components)
    return MaskedCERF(n_candidates=n_components, n_components=kept, selector="greedy", **parameters)


def nystroem(X: NDArray, y: NDArray, seed: int, config: Config) -> Pipeline:
    """As many components K as the MACs of dense cosines allow, D K + K^2."""
    n_inputs = X.shape[1]
    width = min(n_landmarks(n_inputs * config["n_components"], n_inputs), len(X) // 2)
    return tuned(Nystroem)(X, y, seed, config | {"n_components": width})


def linear(X: NDArray, y: NDArray, seed: int, config: Config) -> ScaledLogistic:
    """Logistic regression on the inputs."""
    losses = losses_of_c(X, y, seed, config)
    return ScaledLogistic(config["C"][int(losses.argmin())]).fit(X, y)


def svm(X: NDArray, y: NDArray, seed: int, config: Config) -> Any:
    """Exact kernel machine: width and C by cross-validated accuracy, as it has no probabilities."""
    grid = {"gamma": median_gamma(X) * np.array(config["widths"]), "C": config["C_svm"]}
    return GridSearchCV(SVC(), grid, cv=folds_of(y, seed, config)).fit(X, y)


def mlp(X: NDArray, y: NDArray, seed: int, config: Config) -> Any:
    """One hidden layer within the MACs of CERFClassifier; penalty by cross-validated log loss."""
    hidden = max(1, config["classifier_macs"] // (X.shape[1] + 1))
    model = MLPClassifier((hidden,), solver="lbfgs", max_iter=500, random_state=seed)
    grid = {"alpha": PERCEPTRON_PENALTIES}
    folds = folds_of(y, seed, config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GridSearchCV(model, grid, scoring="neg_log_loss", cv=folds).fit(X, y)


def classifier(X: NDArray, y: NDArray, seed: int, config: Config) -> Any:
    """Learned masks, all settings but the budget chosen by the estimator."""
    return CERFClassifier(macs=config["classifier_macs"], random_state=seed).fit(X, y)


def rival(name: str) -> Make:
    """Estimator of ``cerflearn.rivals``, which chooses its settings itself."""

    def fit(X: NDArray, y: NDArray, seed: int, config: Config) -> Any:
        from cerflearn import rivals

        model = getattr(rivals, name)(**config["rivals"][name], random_state=seed)
        return model.fit(X, y)

    return fit


METHODS: dict[str, Make] = {
    "RKS": rival("RandomKitchenSinks"),
    "MKL": rival("MultipleKernelLearning"),
    "AlaC": rival("ALaCarte"),
    "BaNK": rival("BaNK"),
    "untrained": tuned(untrained),
    "default": tuned(MaskedFourierFeatures),
    "classifier": classifier,
    "rff": tuned(rff),
    "orthogonal": tuned(lambda **p: rff(orthogonal=True, **p)),
    "nystroem": nystroem,
    "svm": svm,
    "linear": linear,
    "mlp": mlp,
}
"""Each ``fit(X, y, seed, config)`` returns a fitted classifier."""

LEARNED: dict[str, tuple[str, Make]] = {"cerf": ("untrained", cvem), "greedy": ("default", greedy)}
"""Learned maps, and the method whose settings they take."""


def fit_learned(
    name: str, X: NDArray, y: NDArray, seed: int, config: Config, setting: dict[str, float]
) -> Pipeline:
    """Classifier of a learned map at settings that were chosen for another."""
    feature_map = LEARNED[name][1](
        n_components=config["n_components"], gamma=setting["gamma"], random_state=seed
    )
    return on_features(feature_map, setting["C"], X, y)


def setting_of(model: Any) -> dict[str, float]:
    """Gamma and C of a classifier made here; other models keep theirs to themselves."""
    if not isinstance(model, Pipeline):
        return {}
    return {"gamma": model[0].gamma, "C": model[1].C}


def macs_of(model: Any) -> int:
    """MACs of one prediction; an SVM with n support vectors has n (D + 1)."""
    best = getattr(model, "best_estimator_", model)
    if isinstance(best, SVC):
        return int(best.support_vectors_.size + best.dual_coef_.size)
    return int(cost(model).macs)
