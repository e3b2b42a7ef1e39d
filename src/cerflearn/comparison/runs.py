"""One method at one budget on one split, and the average over splits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np

from cerflearn._typing import FloatArray
from cerflearn.comparison.dataset import TrainTestSplit
from cerflearn.comparison.methods import METHODS
from cerflearn.comparison.model import BudgetTooSmallError, FittedModel
from cerflearn.comparison.table import NUMBERS, Row
from cerflearn.comparison.training_set import Predict, TrainingSet

_TIMED_ROWS = 2_000
_REPEATS = 7
_NOTE_WIDTH = 200  # characters of an error in a row


@dataclass(frozen=True, eq=False)
class Run:
    """Result of one method, budget and seed; without a model, ``note`` says why."""

    seed: int
    model: FittedModel | None
    score: float = np.nan
    microseconds: float = np.nan
    fit_seconds: float = np.nan
    note: str = ""


def run_method(name: str, budget: int, split: TrainTestSplit) -> Run:
    """Fit, test and time one method by its name."""
    return run_fit(METHODS[name], budget, split)


def run_fit(
    fit: Callable[[TrainingSet, int], FittedModel],
    budget: int,
    split: TrainTestSplit,
    unit: str = "macs",
) -> Run:
    """Fit, test and time a model. What is raised becomes the note of the run.

    Parameters
    ----------
    fit : callable
        Fits training rows within a budget.
    budget : int
        Most that the model may cost.
    split : TrainTestSplit
        Rows to fit and test on.
    unit : {"macs", "bytes"}, default="macs"
        Of the budget.
    """
    start = time.perf_counter()
    seed = split.training.seed
    try:
        model = fit(split.training, budget)
        fit_seconds = time.perf_counter() - start
        spent = model.cost.macs if unit == "macs" else model.cost.n_bytes
        if spent > budget:
            raise RuntimeError(f"the model costs {spent:,} {'MACs' if unit == 'macs' else unit}")
        predicted = model.predict(split.X_test)
        if not np.isfinite(predicted).all():
            raise ArithmeticError("predictions are not finite")
        score = split.training.score(predicted, split.y_test)
        if not np.isfinite(score):
            raise ArithmeticError("predictions are too large to compute their error")
        microseconds = time_per_row(model.predict, split.X_test)
    except BudgetTooSmallError as reason:
        return Run(seed, None, note=str(reason))
    except Exception as error:
        message = shorten(f"{type(error).__name__}: {error}", _NOTE_WIDTH, placeholder=" ...")
        return Run(seed, None, note=f"failed with {message.rstrip(': ')}")
    return Run(seed, model, score, microseconds, fit_seconds, model.note)


def time_per_row(predict: Predict, X: FloatArray) -> float:
    """Microseconds for one of 2,000 rows, the best of several runs."""
    rows = np.ascontiguousarray(np.resize(X, (_TIMED_ROWS, X.shape[1])))
    best = np.inf
    for _ in range(_REPEATS):
        start = time.perf_counter()
        predict(rows)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / len(rows)


def average(name: str, budget: int, runs: list[Run]) -> Row:
    """Row of the table: mean over seeds; without a model for one seed there is none."""
    row: Row = {"method": name, "budget": budget}
    failed = [run for run in runs if run.model is None]
    if failed:
        seed = f" (seed {failed[0].seed})" if len(failed) < len(runs) else ""
        return row | dict.fromkeys(NUMBERS) | {"note": failed[0].note + seed}
    models = [run.model for run in runs if run.model is not None]
    scores = [run.score for run in runs]
    several = len(scores) > 1
    numbers: dict[str, Any] = {
        "macs": max(model.cost.macs for model in models),
        "score": float(np.mean(scores)),
        "error": float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if several else np.nan,
        "scores": scores,
        "microseconds": min(run.microseconds for run in runs),
        "fit_seconds": float(np.mean([run.fit_seconds for run in runs])),
        "size": max(model.size for model in models),
        "n_bytes": max(model.cost.n_bytes for model in models),
    }
    return row | numbers | {"note": next((run.note for run in runs if run.note), "")}
