r"""The methods that are compared: each fits the best model it can within a budget of MACs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor

from cerflearn.comparison import maps
from cerflearn.comparison.data import Predict, Training
from cerflearn.comparison.model import Model, TooDearError
from cerflearn.comparison.pruned_mlp import fit_pruned_mlp
from cerflearn.comparison.relu import ReluNetwork
from cerflearn.comparison.tuning import best_setting, ridge
from cerflearn.estimators.cost import cost
from cerflearn.estimators.predictors.classifier import CERFClassifier
from cerflearn.estimators.predictors.regressor import CERFRegressor
from cerflearn.features.cost import stored_cost
from cerflearn.training.settings import FEW_ROWS

_LINEAR_PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)  # of logistic regression, for a mean loss
_SMALL_PENALTIES = (1e-3, 1e-2, 1e-1, 1e-4)
_PENALTIES, _RATES = (1e-5, 1e-3, 1e-2), (1e-2, 1e-3)


def linear(training: Training, macs: int) -> Model:
    """Ridge regression (leave-one-out), for classes also logistic regression (held-out rows)."""
    price = training.n_features * training.n_scores
    if price > macs:
        raise TooDearError("a linear model", price)
    settings = [None, *_LINEAR_PENALTIES] if training.n_classes else [None]

    def fit(part: Training, penalty: float | None) -> Predict:
        coef, bias = _linear_scores(part, penalty)
        return lambda X: part.decide(X @ coef + bias)

    coef, bias = _linear_scores(training, best_setting(settings, fit, training))
    counted = stored_cost(macs=coef.size, n_parameters=coef.size + bias.size)
    return Model(lambda X: training.decide(X @ coef + bias), counted, training.n_features)


def _linear_scores(training: Training, penalty: float | None) -> tuple[Any, Any]:
    """Coefficients (n_features, n_scores) and biases: ridge if there is no penalty."""
    if penalty is None or len(np.unique(training.y)) < 2:
        fit = ridge(training.X, training)
        coef, bias = fit.head, fit.bias
    else:
        model = LogisticRegression(C=1.0 / (penalty * training.n_samples), max_iter=300)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(training.X, training.y)
        coef, bias = model.coef_.T, model.intercept_
        if len(model.classes_) < training.n_classes:  # a class is missing among these rows
            coef, bias = _spread(coef, bias, model.classes_, training)
    return np.ascontiguousarray(coef, dtype=np.float32), bias.astype(np.float32)


def _spread(coef: Any, bias: Any, classes: Any, training: Training) -> tuple[Any, Any]:
    """Scores of all classes, of which some were not seen and are never chosen."""
    if coef.shape[1] == 1:  # two of several classes: one score, which is the second's
        coef, bias = np.hstack([-coef, coef]), np.concatenate([-bias, bias])
    full = np.zeros((training.n_features, training.n_classes))
    biases = np.full(training.n_classes, -1e30)
    full[:, classes], biases[classes] = coef, bias
    return full, biases


def mlp(training: Training, macs: int) -> Model:
    """Dense perceptron of scikit-learn: one hidden layer, penalty and rate by held-out rows."""
    per_unit = training.n_features + training.n_scores
    n_hidden = macs // per_unit
    if n_hidden < 1:
        raise TooDearError("one hidden unit", per_unit)
    settings: list[tuple[float, float | None]]
    if training.n_samples <= FEW_ROWS:  # L-BFGS is the quicker
        settings = [(penalty, None) for penalty in _SMALL_PENALTIES]
    else:
        settings = [(penalty, rate) for rate in _RATES for penalty in _PENALTIES]

    def fit(part: Training, setting: tuple[float, float | None]) -> Predict:
        return _perceptron(part, n_hidden, setting).predict

    return _perceptron(training, n_hidden, best_setting(settings, fit, training))


def _perceptron(training: Training, n_hidden: int, setting: tuple[float, float | None]) -> Model:
    penalty, rate = setting
    parameters: dict[str, Any] = {
        "hidden_layer_sizes": (n_hidden,),
        "alpha": penalty * training.n_samples,
        "random_state": training.seed,
    }
    if rate is None:
        parameters |= {"solver": "lbfgs", "max_iter": 500}
    else:
        parameters |= {"learning_rate_init": rate, "max_iter": 200}
    kind = MLPClassifier if training.n_classes else MLPRegressor
    model = kind(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(training.X, training.y)
    counted = cost(model)
    if training.n_classes and len(model.classes_) < training.n_classes:
        return Model(model.predict, counted, n_hidden)  # a fold without some class
    # Run as plain matrix products, without what scikit-learn does around them.
    (first, head), (offsets, bias) = model.coefs_, model.intercepts_
    network = ReluNetwork(first, offsets, head, bias, np.ones(first.shape, np.bool_)).as_float32()
    return Model(lambda X: training.decide(network.scores(X)), counted, n_hidden)


def pruned_mlp(training: Training, macs: int) -> Model:
    """Perceptron that is pruned while it is trained, as learned masks are."""
    _check_least(training, macs)
    network = fit_pruned_mlp(training, macs)
    return Model(
        lambda X: training.decide(network.scores(X)), network.cost(), network.head.shape[0]
    )


def refined(training: Training, macs: int) -> Model:
    """Random masks, with frequencies, offsets and head trained on the labels."""
    return _budgeted(training, macs, {"learn": "features"})


def cerf(training: Training, macs: int) -> Model:
    """CERFClassifier or CERFRegressor as they are."""
    return _budgeted(training, macs, {})


def _budgeted(training: Training, macs: int, parameters: dict[str, Any]) -> Model:
    _check_least(training, macs)
    kind: Any = CERFClassifier if training.n_classes else CERFRegressor
    model = kind(macs=macs, random_state=training.seed, n_jobs=1, **parameters)
    model.fit(training.X, training.y)
    # As predict does, without its checks of X: rivals are run without theirs too.
    feature_map, bias = model.feature_map_, model.head_intercept_.astype(np.float32)
    coef = np.ascontiguousarray(model.head_coef_, dtype=np.float32)
    return Model(
        lambda X: training.decide(feature_map.scores(X, coef, bias)),
        cost(model),
        feature_map.n_projections,
    )


def _check_least(training: Training, macs: int) -> None:
    """Refuse a budget below one feature of one input, and its scores."""
    least = 1 + training.n_scores
    if least > macs:
        raise TooDearError("one feature", least)


METHODS: dict[str, Callable[[Training, int], Model]] = {
    "linear": linear,
    "mlp": mlp,
    "pruned_mlp": pruned_mlp,
    "rff": maps.rff,
    "fastfood": maps.fastfood,
    "nystroem": maps.nystroem,
    "masked": maps.masked,
    "cvem": maps.cvem,
    "blocked": maps.blocked,
    "refined": refined,
    "cerf": cerf,
}
"""By the names that :func:`cerflearn.frontier` takes."""

SAME_AT_EVERY_BUDGET = ("linear",)
"""Methods with one size: fitted once."""
