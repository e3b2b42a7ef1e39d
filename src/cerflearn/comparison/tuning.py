"""Choosing settings on training rows: held-out parts for networks, leaving one out for ridges."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cerflearn._typing import Float64Array, FloatArray
from cerflearn.comparison.training_set import Predict, TrainingSet
from cerflearn.linalg.ridge import RidgeFit, fit_ridge_path
from cerflearn.training.task import parts_of_rows

Setting = TypeVar("Setting")

FEW_ROWS = 1_000
"""Most rows of which all are held out once, in several folds."""


def best_setting(
    settings: Sequence[Setting],
    fit: Callable[[TrainingSet, Setting], Predict],
    training: TrainingSet,
) -> Setting:
    """Choose the setting with the best score on held-out training rows; the first of equals.

    Up to :data:`FEW_ROWS` rows in three folds, else on a fifth of them.

    Parameters
    ----------
    settings : sequence
        What to try.
    fit : callable
        Fits some rows with a setting and returns a function that predicts.
    training : TrainingSet
        All training rows.
    """
    if len(settings) == 1:
        return settings[0]
    parts = held_out_parts(training)

    def held_out_score(setting: Setting) -> float:
        scores = []
        for rows, held_out in parts:
            predict = fit(rows, setting)
            scores.append(training.score(predict(held_out.X), held_out.y))
        return float(np.mean(scores))

    return max(settings, key=held_out_score)


def held_out_parts(training: TrainingSet) -> list[tuple[TrainingSet, TrainingSet]]:
    """Pairs of rows to fit on and rows to test on.

    Up to :data:`FEW_ROWS` rows in three folds, else a fifth of them to test on.
    """
    few = training.n_samples <= FEW_ROWS
    strata = training.y if training.n_classes else np.zeros(training.n_samples, dtype=np.int64)
    parts = parts_of_rows(strata, 3 if few else 5, training.seed)
    tested = range(3 if few else 1)
    return [(training.subset(parts != part), training.subset(parts == part)) for part in tested]


@contextmanager
def expected_warnings_ignored() -> Iterator[None]:
    """Fit without warnings of iterations that end early and of classes that have few rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        yield


def ridge(features: FloatArray, training: TrainingSet) -> RidgeFit:
    r"""Ridge regression of the targets (-1 and 1 for two classes), penalty by leaving one out.

    More features than rows are first turned into as many as rows, :math:`F = R^\top Q^\top` with
    orthonormal Q, which changes nothing but the time.
    """
    targets = 2.0 * training.targets - 1.0 if training.n_classes == 2 else training.targets
    weights = np.full(len(features), 1.0 / len(features))
    values: Float64Array = features.astype(np.float64)
    if values.shape[1] <= len(values):
        return fit_ridge_path(values, targets, weights)
    basis, triangle = np.linalg.qr(values.T)
    fit = fit_ridge_path(np.ascontiguousarray(triangle.T), targets, weights)
    head: Float64Array = basis @ fit.head
    return replace(fit, head=head)
