"""Classifiers of Table 4, each with its settings chosen inside the training part.

A model is made of a feature map and a head (``heads.py``): logistic regression, or the linear SVM
where a name ends with ``SVM``. The kernel's width and C are those with the least cross-validated
loss of the head. Learned maps take both from the map of which they choose, as the paper transfers
them. Inputs are standardised before, which no method is charged for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
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
from experiments.heads import HEADS, ScaledHead
from experiments.methods import fit_quietly, median_gamma, n_landmarks

Make = Callable[..., Any]
Config = dict[str, Any]

SVM = " svm"  # ending of the name of a map with that head
PERCEPTRON_PENALTIES = (1e-2, 1e-1, 1.0, 10.0)


def folds_of(y: NDArray, seed: int, config: Config) -> list[tuple[NDArray, NDArray]]:
    """Inner folds, the same for all methods."""
    folds = StratifiedKFold(config["inner_folds"], shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(y)), y))


def choose(
    make: Make, X: NDArray, y: NDArray, seed: int, config: Config, head: str = "logistic"
) -> tuple[float, float]:
    """Gamma and C with the least cross-validated loss of the head; maps do not see y."""
    median, folds = median_gamma(X), folds_of(y, seed, config)
    grid = config[HEADS[head].grid]
    losses = []
    for width in config["widths"]:
        features = make(gamma=width * median, random_state=seed).fit_transform(X)
        losses.append(HEADS[head].losses(features, y, folds, grid))
    row, column = np.unravel_index(np.argmin(losses), np.shape(losses))
    return float(config["widths"][row] * median), float(grid[column])


def on_features(feature_map: Any, C: float, X: NDArray, y: NDArray, head: str) -> Pipeline:
    """Feature map and head, fitted."""
    return fit_quietly(make_pipeline(feature_map, ScaledHead(C, head)), X, y)


def tuned(make: Make, head: str = "logistic") -> Make:
    """Classifier of a map at the settings that suit it best."""

    def fit(X: NDArray, y: NDArray, seed: int, config: Config) -> Pipeline:
        size = {"n_components": config["n_components"]}
        gamma, C = choose(lambda **p: make(**size, **p), X, y, seed, config, head)
        return on_features(make(gamma=gamma, random_state=seed, **size), C, X, y, head)

    return fit


def rff(**parameters: Any) -> Any:
    """Dense cosines."""
    return RandomFourierFeatures(paired=False, **parameters)


def untrained(**parameters: Any) -> Any:
    """Masks of density .4 as they are drawn, each of as many inputs unless said."""
    setting = {"mask_law": "fixed", "selector": "random"} | parameters
    return MaskedCERF.paper_setting(**setting)


def cvem(*, n_components: int, **parameters: Any) -> Any:
    """As many candidates as others have features, of which CVEM keeps .4.

    The exact M-step, to a tolerance that takes about ten stages: the paper's takes a minute here.
    """
    learning = {"solver": "procrustes", "tol": 1e-2, "n_candidates": n_components}
    setting = {"mask_law": "fixed", "n_components": round(0.4 * n_components)} | learning
    return MaskedCERF.paper_setting(**(setting | parameters))


def greedy(*, n_components: int, **parameters: Any) -> Any:
    """As many candidates, of which greedy pursuit of dense features keeps .4, in pairs."""
    kept = 2 * round(0.2 * n_components)
    return MaskedCERF(n_candidates=n_components, n_components=kept, selector="greedy", **parameters)


def nystroem(X: NDArray, y: NDArray, seed: int, config: Config) -> Pipeline:
    """As many components K as the MACs of dense cosines allow, D K + K^2."""
    n_inputs = X.shape[1]
    width = min(n_landmarks(n_inputs * config["n_components"], n_inputs), len(X) // 2)
    return tuned(Nystroem)(X, y, seed, config | {"n_components": width})


def linear(X: NDArray, y: NDArray, seed: int, config: Config) -> ScaledHead:
    """Logistic regression on the inputs."""
    losses = HEADS["logistic"].losses(X, y, folds_of(y, seed, config), config["C"])
    return ScaledHead(config["C"][int(losses.argmin())]).fit(X, y)


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


PROCESS = {"mask_law": "beta_bernoulli"}
MAPS: dict[str, Make] = {
    "rff": rff,
    "untrained": untrained,
    "untrained bbp": partial(untrained, **PROCESS),
    "default": MaskedFourierFeatures,
    "orthogonal": partial(rff, orthogonal=True),
}
"""Maps that are drawn, each with both heads."""

METHODS: dict[str, Make] = {
    "RKS": rival("RandomKitchenSinks"),
    "MKL": rival("MultipleKernelLearning"),
    "AlaC": rival("ALaCarte"),
    "BaNK": rival("BaNK"),
    "classifier": classifier,
    "nystroem": nystroem,
    "svm": svm,
    "linear": linear,
    "mlp": mlp,
    **{name: tuned(make) for name, make in MAPS.items()},
    **{name + SVM: tuned(make, "svm") for name, make in MAPS.items()},
}
"""Each ``fit(X, y, seed, config)`` returns a fitted classifier."""

CHOSEN: dict[str, tuple[str, Make]] = {
    "cerf": ("untrained", cvem),
    "cerf bbp": ("untrained bbp", partial(cvem, **PROCESS)),
    "greedy": ("default", greedy),
}
LEARNED = CHOSEN | {name + SVM: (of + SVM, make) for name, (of, make) in CHOSEN.items()}
"""Learned maps, and the method whose settings they take."""


def fit_learned(
    name: str, X: NDArray, y: NDArray, seed: int, config: Config, setting: dict[str, float]
) -> Pipeline:
    """Classifier of a learned map at settings that were chosen for another."""
    feature_map = LEARNED[name][1](
        n_components=config["n_components"], gamma=setting["gamma"], random_state=seed
    )
    head = "svm" if name.endswith(SVM) else "logistic"
    return on_features(feature_map, setting["C"], X, y, head)


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
