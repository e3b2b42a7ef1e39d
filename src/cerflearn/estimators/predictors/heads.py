"""Linear heads on given features: coefficients (n_scores, n_outputs) and intercepts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC

from cerflearn._typing import Float64Array, FloatArray, IntArray
from cerflearn.linalg.ridge import fit_ridge_path
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training import policy
from cerflearn.training.deployed import FeatureNetwork, deploy
from cerflearn.training.inputs import Inputs
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.scores import TargetKind, score_targets
from cerflearn.training.settings import TrainingSettings
from cerflearn.training.task import Task, scaled_inputs

HEADS = ("logistic", "ridge", "svm", "svm_ovo")
"""Heads of a classifier."""


def fit_head(
    head: str,
    features: FloatArray,
    targets: Float64Array,
    weights: Float64Array,
    kind: TargetKind,
    seed: int,
) -> tuple[Float64Array, Float64Array]:
    """Fit a head of scikit-learn to standardised features, and fold the standardising into it.

    Parameters
    ----------
    head : {"logistic", "svm", "svm_ovo"}
        Logistic regression, liblinear's or LIBSVM's linear SVM; C by cross-validation for up to
        100 classes.
    features : ndarray of shape (n_samples, n_outputs)
        Of the rows.
    targets : ndarray of shape (n_samples, n_scores)
        One-hot classes, one column for two; or 0 and 1 for each label.
    weights : ndarray of shape (n_samples,)
        Of the rows; they sum to one.
    kind : {"binary", "multiclass", "multilabel"}
        Of the targets.
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
    scaled, counts = (features - mean) / deviation, weights * len(weights)
    if kind == "multilabel":
        fits = [_fit_label(head, scaled, label, counts, seed) for label in targets.T]
        coef, intercept = (np.concatenate(parts) for parts in zip(*fits, strict=True))
    else:
        codes = targets[:, 0] if kind == "binary" else targets.argmax(axis=1)
        model = _search(head, scaled, codes.astype(np.int64), counts, seed)
        coef, intercept = np.asarray(model.coef_), np.asarray(model.intercept_)
    coef = coef / deviation
    return coef, intercept - coef @ mean


def ridge_head_of(network: FeatureNetwork, task: Task) -> tuple[Float64Array, Float64Array]:
    """Coefficients (n_scores, n_outputs) and biases of ridge regression on the features.

    The penalty has the least leave-one-out error. That error is too low, as the features were
    fitted to the rows: probabilities need other rows.
    """
    part = head_rows(network, task)
    features = features_of(network, part.X)
    fit = fit_ridge_path(features, score_targets(part.targets[:], task.kind), part.weights)
    return fit.head.T, fit.bias


def fit_head_of(
    head: str, network: FeatureNetwork, task: Task, seed: int
) -> tuple[Float64Array, Float64Array]:
    """Fit a head to the features of a network, see :func:`fit_head`."""
    part = head_rows(network, task)
    features = features_of(network, part.X)
    return fit_head(head, features, part.targets[:], part.weights, task.kind, seed)


def head_rows(network: FeatureNetwork, task: Task) -> Task:
    """Rows that a head is fitted to: all, or evenly spaced ones where features need much memory."""
    return task.evenly_spaced(policy.FEATURE_ENTRIES // max(1, network.mask.shape[1]))


def features_of(network: FeatureNetwork, X: Inputs) -> Float64Array:
    """Features (n_samples, n_components) of all rows, in double precision."""
    slices = row_slices(*X.shape)
    return np.concatenate([network.features(X[part].astype(np.float64)) for part in slices])


def ridge_scores(
    network: TrainableNetwork, settings: TrainingSettings, train: Task, test: Task
) -> Float64Array:
    """Scores of test rows by a ridge head that is fitted to a trained network's features."""
    deployed = deploy(network, 2)
    inputs = replace(train, X=scaled_inputs(train, settings))
    coef, bias = ridge_head_of(deployed, inputs)
    features = features_of(deployed, scaled_inputs(test, settings))
    scores: Float64Array = features @ coef.T + bias
    return scores


def _fit_label(
    head: str, features: FloatArray, label: Float64Array, weights: Float64Array, seed: int
) -> tuple[Float64Array, Float64Array]:
    """Weights (1, n_outputs) and bias (1,) of one label; a constant one gets a constant score."""
    if label.min() == label.max():  # log-odds of the rule of succession
        log_odds = np.log(len(label) + 1.0) * (1.0 if label[0] > 0.5 else -1.0)
        return np.zeros((1, features.shape[1])), np.array([log_odds])
    model = _search(head, features, label.astype(np.int64), weights, seed)
    return np.asarray(model.coef_), np.asarray(model.intercept_)


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
    counts = np.bincount(classes)
    if counts.min() < policy.HEAD_FOLDS or len(counts) > policy.MOST_TUNED_CLASSES:
        return model.fit(features, classes, sample_weight=weights)
    folds = StratifiedKFold(policy.HEAD_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(model, {"C": list(policy.INVERSE_PENALTIES)}, cv=folds)
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
