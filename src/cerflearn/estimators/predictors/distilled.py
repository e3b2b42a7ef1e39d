"""Estimators as teachers of a network: boosted trees, or one of the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from cerflearn._typing import Float64Array, IntArray
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training import policy
from cerflearn.training.distillation import TeacherFunction
from cerflearn.training.inputs import Inputs
from cerflearn.training.search_options import FitTeacher
from cerflearn.training.sizes import boosting_rounds_for
from cerflearn.training.task import Task


def check_teacher_of(teacher: Any, *, classifies: bool) -> None:
    """Refuse an estimator that cannot give the targets of a network."""
    needed = "predict_proba" if classifies else "predict"
    if not hasattr(teacher, "fit") or not hasattr(teacher, needed):
        kind = "classifier" if classifies else "regressor"
        raise ValueError(
            f"teacher={teacher!r} is not valid: it must be a {kind} with fit and {needed}, or "
            "'auto', 'labels', 'kernel' or 'boosting'."
        )
    if is_classifier(teacher) != classifies:
        kind, other = (
            ("classifier", "CERFRegressor") if classifies else ("regressor", "CERFClassifier")
        )
        raise ValueError(
            f"teacher={teacher!r} is not valid: a {kind} is needed here; {other} takes this one."
        )


def boosted_trees(task: Task) -> Any:
    """Histogram trees of scikit-learn for a task, unfitted: fewer where one takes long.

    See :data:`~cerflearn.training.policy.BOOSTING_ROUNDS`.
    """
    rounds = boosting_rounds_for(task.n_samples, task.X.shape[1], task.n_scores)
    rounds = max(rounds, policy.BOOSTING_ROUNDS[0])
    options = {
        "max_iter": rounds,
        "learning_rate": policy.BOOSTING_RATE / rounds,
        "max_bins": policy.BOOSTING_BINS,
        "early_stopping": False,
    }
    if task.classifies:
        return HistGradientBoostingClassifier(**options)
    trees = HistGradientBoostingRegressor(**options)
    return trees if task.n_scores == 1 else MultiOutputRegressor(trees)


def fit_boosted_trees(task: Task, rng: np.random.Generator) -> TeacherFunction:
    """Fit boosted trees to a task, on one thread: the teacher ``"boosting"``."""
    with threadpool_limits(1, user_api="openmp"):
        teacher = teacher_fitter(boosted_trees(task), int(rng.integers(2**31)))(task, rng)

    def targets(X: Inputs) -> Float64Array:
        with threadpool_limits(1, user_api="openmp"):
            return teacher(X)

    return targets


def teacher_fitter(teacher: Any, seed: int) -> FitTeacher:
    """Return a function that fits a clone of an estimator to a task.

    The estimator sees inputs of mean 0 and deviation 1, and weights if it takes them. Those of its
    parameters called ``random_state`` that are None are set.

    Parameters
    ----------
    teacher : estimator
        Not changed.
    seed : int
        For its random states.

    Returns
    -------
    callable
        See :data:`~cerflearn.training.search_options.FitTeacher`.
    """

    def fit(task: Task, rng: np.random.Generator) -> TeacherFunction:
        del rng
        model = clone(teacher)
        parameters = model.get_params()
        free = [
            name for name, value in parameters.items() if value is None and _is_random_state(name)
        ]
        model.set_params(**dict.fromkeys(free, seed % 2**31))
        weights = task.weights * task.n_samples
        # Equal weights are left out: some estimators are much slower with any.
        weighted = bool(np.ptp(weights) > 1e-12) and has_fit_parameter(model, "sample_weight")
        extra = {"sample_weight": weights} if weighted else {}
        if task.kind == "multilabel":
            raise ValueError(
                "teacher must be 'auto', 'labels' or 'kernel' where y has several labels a row."
            )
        if not task.classifies:
            numbers = task.targets[:]
            model.fit(task.X[:], numbers[:, 0] if task.n_scores == 1 else numbers, **extra)
            return lambda X: _in_slices(lambda rows: _predictions(model, rows), X)
        model.fit(task.X[:], _codes(task), **extra)
        return lambda X: _in_slices(lambda rows: _probabilities(model, rows, task), X)

    return fit


def _is_random_state(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def _codes(task: Task) -> IntArray:
    """Numbers of the classes."""
    targets = task.targets[:]
    codes = targets[:, 0] if task.kind == "binary" else targets.argmax(axis=1)
    return codes.astype(np.int64)


def _in_slices(function: TeacherFunction, X: Inputs) -> Float64Array:
    """Targets of all rows, some rows at a time."""
    return np.concatenate([function(X[part]) for part in row_slices(*X.shape)])


def _predictions(model: Any, X: Inputs) -> Float64Array:
    """Numbers (n_samples, n_scores)."""
    return np.asarray(model.predict(X), dtype=np.float64).reshape(len(X), -1)


def _probabilities(model: Any, X: Inputs, task: Task) -> Float64Array:
    """Probabilities (n_samples, n_scores); classes that the teacher has not seen have none."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    full = np.zeros((len(X), 2 if task.kind == "binary" else task.n_scores))
    full[:, np.asarray(model.classes_, dtype=np.int64)] = found
    return full[:, 1:] if task.kind == "binary" else full
