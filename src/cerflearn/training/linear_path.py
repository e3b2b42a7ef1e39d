r"""Penalty of the linear part alone, by the leave-one-out error of ridge regression.

A path of ridge regressions costs one eigendecomposition, so that penalties of any strength are
compared, down to constant scores: where targets are mostly noise, networks with the penalties that
are compared by training are worse than their mean.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from cerflearn._typing import Float64Array
from cerflearn.linalg.ridge import fit_ridge_path
from cerflearn.training import policy
from cerflearn.training.scores import TargetKind, score_targets
from cerflearn.training.task import Task


def linear_penalty(task: Task, n_trained: int) -> float:
    """Choose the penalty of a linear part without features, beside the mean loss.

    Parameters
    ----------
    task : Task
        Rows that settings are compared on.
    n_trained : int
        Rows that it is trained on: as a prior, the penalty falls with one over them.

    Returns
    -------
    float
        That of the ridge regression with the least leave-one-out error, for the loss of the task.
    """
    widest = max(task.X.shape[1], task.n_scores)
    rows = task.evenly_spaced(min(policy.PATH_ROWS, max(2, policy.PATH_ENTRIES // widest)))
    X = np.asarray(rows.X[:], dtype=np.float64)[:, task.usable]
    targets = score_targets(rows.targets[:], task.kind)
    found = fit_ridge_path(_narrow(X), targets, rows.weights, policy.PATH_ALPHAS)
    curvature = _curvature(task.kind, task.n_scores)
    return float(curvature * found.penalty * rows.n_samples / n_trained)


def _narrow(X: Float64Array) -> Float64Array:
    """Columns with the inner products of the centred rows, at most one for each row."""
    n_rows, n_columns = X.shape
    if n_columns <= n_rows:
        return X
    centred = X - X.mean(axis=0)
    values, vectors = eigh(centred @ centred.T)
    narrow: Float64Array = vectors * np.sqrt(np.maximum(values, 0.0))
    return narrow


def _curvature(kind: TargetKind, n_scores: int) -> float:
    """Second derivative of the loss of a row in a score, where all classes are as likely."""
    if kind == "regression":
        return 1.0
    share = 1.0 / n_scores if kind == "multiclass" else 0.5
    return share * (1.0 - share)
