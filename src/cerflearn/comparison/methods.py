r"""The methods that are compared: each fits the best model it can within a budget of MACs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor

from cerflearn._typing import FloatArray
from cerflearn.comparison import maps
from cerflearn.comparison.limits import limit_note, max_hidden_units
from cerflearn.comparison.model import BudgetTooSmallError, FittedModel
from cerflearn.comparison.training_set import Predict, TrainingSet
from cerflearn.comparison.trees import fit_trees
from cerflearn.comparison.tuning import FEW_ROWS, best_setting, expected_warnings_ignored, ridge
from cerflearn.estimators.cost import counted_cost
from cerflearn.estimators.predictors.classifier import CERFClassifier
from cerflearn.estimators.predictors.regressor import CERFRegressor
from cerflearn.features.cost import stored_cost

_LINEAR_PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)  # of logistic regression, for a mean loss
_SMALL_PENALTIES = (1e-3, 1e-2, 1e-1, 1e-4)
_PENALTIES, _RATES = (1e-5, 1e-3, 1e-2), (1e-2, 1e-3)


def linear(training: TrainingSet, macs: int) -> FittedModel:
    """Ridge regression (leave-one-out), for classes also logistic regression (held-out rows)."""
    macs_needed = training.n_features * training.n_scores
    if macs_needed > macs:
        raise BudgetTooSmallError("a linear model", macs_needed)
    settings = [None, *_LINEAR_PENALTIES] if training.n_classes else [None]

    def fit(part: TrainingSet, penalty: float | None) -> Predict:
        coef, bias = _linear_scores(part, penalty)
        return lambda X: part.predict_from_scores(X @ coef + bias)

    coef, bias = _linear_scores(training, best_setting(settings, fit, training))
    counted = stored_cost(macs=coef.size, n_parameters=coef.size + bias.size)
    return FittedModel(
        lambda X: training.predict_from_scores(X @ coef + bias), counted, training.n_features
    )


def _linear_scores(training: TrainingSet, penalty: float | None) -> tuple[Any, Any]:
    """Coefficients (n_features, n_scores) and biases: ridge if there is no penalty."""
    if penalty is None or len(np.unique(training.y)) < 2:
        fit = ridge(training.X, training)
        coef, bias = fit.head, fit.bias
    else:
        model = LogisticRegression(C=1.0 / (penalty * training.n_samples), max_iter=300)
        with expected_warnings_ignored():
            model.fit(training.X, training.y)
        coef, bias = model.coef_.T, model.intercept_
        if len(model.classes_) < training.n_classes:  # a class is missing among these rows
            coef, bias = _insert_absent_classes(coef, bias, model.classes_, training)
    return np.ascontiguousarray(coef, dtype=np.float32), bias.astype(np.float32)


def _insert_absent_classes(
    coef: Any, bias: Any, classes: Any, training: TrainingSet
) -> tuple[Any, Any]:
    """Scores of all classes; those absent from the training rows are never predicted."""
    if coef.shape[1] == 1:  # two of several classes: one score, which is the second's
        coef, bias = np.hstack([-coef, coef]), np.concatenate([-bias, bias])
    full = np.zeros((training.n_features, training.n_classes))
    biases = np.full(training.n_classes, -1e30)
    full[:, classes], biases[classes] = coef, bias
    return full, biases


def mlp(training: TrainingSet, macs: int) -> FittedModel:
    """Dense perceptron of scikit-learn: one hidden layer, penalty and rate by held-out rows."""
    per_unit = training.n_features + training.n_scores
    allowed = macs // per_unit
    if allowed < 1:
        raise BudgetTooSmallError("one hidden unit", per_unit)
    n_hidden = min(allowed, max_hidden_units(training.n_samples))
    settings: list[tuple[float, float | None]]
    if training.n_samples <= FEW_ROWS:  # L-BFGS is the quicker
        settings = [(penalty, None) for penalty in _SMALL_PENALTIES]
    else:
        settings = [(penalty, rate) for rate in _RATES for penalty in _PENALTIES]

    def fit(part: TrainingSet, setting: tuple[float, float | None]) -> Predict:
        return _perceptron(part, n_hidden, setting).predict

    model = _perceptron(training, n_hidden, best_setting(settings, fit, training))
    if n_hidden == allowed:
        return model
    return replace(model, note=limit_note(n_hidden, "hidden units", training.n_samples))


def _perceptron(
    training: TrainingSet, n_hidden: int, setting: tuple[float, float | None]
) -> FittedModel:
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
    with expected_warnings_ignored():
        model.fit(training.X, training.y)
    counted = counted_cost(model)
    if training.n_classes and len(model.classes_) < training.n_classes:
        return FittedModel(model.predict, counted, n_hidden)  # rows without some class
    # Run as plain matrix products, without scikit-learn's checks of the input.
    (first, head), (offsets, bias) = model.coefs_, model.intercepts_
    weights, offsets, head, bias = (
        np.ascontiguousarray(array, dtype=np.float32) for array in (first, offsets, head, bias)
    )

    def predict(X: FloatArray) -> Any:
        return training.predict_from_scores(np.maximum(X @ weights + offsets, 0.0) @ head + bias)

    return FittedModel(predict, counted, n_hidden)


def pruned_mlp(training: TrainingSet, macs: int) -> FittedModel:
    """Perceptron of pruned connections: the predictors' trainer and search with relu features."""
    return fit_predictor(training, macs, {"activation": "relu", "teacher": "labels"})


def refined(training: TrainingSet, macs: int) -> FittedModel:
    """Drawn masks, with frequencies, offsets and head trained on the targets."""
    return fit_predictor(training, macs, {"learn": "features"})


def cerf(training: TrainingSet, macs: int) -> FittedModel:
    """CERFClassifier or CERFRegressor with their defaults."""
    return fit_predictor(training, macs, {})


def fit_predictor(training: TrainingSet, macs: int, parameters: dict[str, Any]) -> FittedModel:
    """Predictor of this package, run without its checks of X, as the other methods are.

    Parameters
    ----------
    training : TrainingSet
        Scaled rows.
    macs : int
        Budget, head included.
    parameters : dict
        Of the predictor, beside budget, seed and jobs.
    """
    _check_least(training, macs)
    kind: Any = CERFClassifier if training.n_classes else CERFRegressor
    model = kind(macs=macs, random_state=training.seed, n_jobs=1, **parameters)
    model.fit(training.X, training.y)
    classes = model.classes_ if training.n_classes else None

    def predict(X: FloatArray) -> Any:
        scores = model.raw_scores(X)
        if classes is None:
            return training.predict_from_scores(scores)
        # Scores are those of the classes in the training rows, of which some may be absent.
        if len(classes) == 2:
            return classes[(scores[:, 0] > 0.0).astype(np.int64)]
        return classes[scores.argmax(axis=1)]

    n_features = model.feature_map_.masks.shape[1]
    return FittedModel(predict, counted_cost(model), n_features, settings=model.settings_)


def trees(training: TrainingSet, macs: int) -> FittedModel:
    """Boosted trees of scikit-learn: depth, rate and rounds by held-out rows."""
    return fit_trees(training, macs)


def _check_least(training: TrainingSet, macs: int) -> None:
    """Refuse a budget below one feature of one input, and its scores."""
    least = 1 + training.n_scores
    if least > macs:
        raise BudgetTooSmallError("one feature", least)


METHODS: dict[str, Callable[[TrainingSet, int], FittedModel]] = {
    "linear": linear,
    "mlp": mlp,
    "pruned_mlp": pruned_mlp,
    "rff": maps.rff,
    "fastfood": maps.fastfood,
    "nystroem": maps.nystroem,
    "masked": maps.masked,
    "cvem": maps.cvem,
    "blocked": maps.blocked,
    "trees": trees,
    "refined": refined,
    "cerf": cerf,
}
"""By the names that :func:`cerflearn.frontier` takes."""

SAME_AT_EVERY_BUDGET = ("linear",)
"""Methods whose model does not depend on the budget: fitted once."""
