"""Where the fit of a predictor computes, and what it keeps: a cluster or threads, a checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cerflearn._validation import make_generator
from cerflearn.engine.dask_engine import map_on_workers
from cerflearn.estimators.dask_rows import ClusterRows
from cerflearn.estimators.fingerprint import fit_fingerprint, repeatable
from cerflearn.features.level import SameLevel
from cerflearn.files.checkpoint import Checkpoint, make_folder
from cerflearn.training.trials import MapTrials


@dataclass(frozen=True, eq=False)
class FitPlace:
    """Seed of a fit, where its trainings run, and where its states are kept.

    Attributes
    ----------
    seed : numpy.random.SeedSequence
        Of all randomness.
    n_jobs : int or None
        Of the estimator, or of the engine that ``fit`` was given.
    map_trials : callable or None
        Runs the trainings that are compared on a cluster. None: on threads.
    store : Checkpoint or None
        Of states.
    """

    seed: np.random.SeedSequence
    n_jobs: int | None = None
    map_trials: MapTrials | None = None
    store: Checkpoint | None = None


def new_seed(rng: np.random.Generator) -> np.random.SeedSequence:
    """Draw the seed of a fit."""
    return np.random.SeedSequence(rng.integers(2**63, size=2))


def check_predictor_checkpoint(folder: Any, model: Any) -> None:
    """Refuse a folder that cannot be made, and a fit without rounds."""
    if model.learn == "selection":
        raise ValueError(
            f"checkpoint={folder!r} has no effect with learn='selection': there are no rounds "
            "after which anything could be kept; leave it out."
        )
    make_folder(folder)


def open_place(
    place: FitPlace,
    model: Any,
    X: Any,
    others: Mapping[str, Any],
    checkpoint: str | os.PathLike[str] | None,
) -> FitPlace:
    """Return the place of a fit on a cluster, or with a checkpoint.

    Parameters
    ----------
    place : FitPlace
        Of a fit without both; its seed is used unless the checkpoint has one.
    model : CERFClassifier or CERFRegressor
        With checked parameters.
    X : {ndarray, CSR matrix, StreamedRows} of shape (n_samples, n_features)
        Checked data. Trainings run on the cluster whose workers read it.
    others : mapping of str to array-like
        What else the fit reads.
    checkpoint : str, path-like or None
        Folder of states; ``ValueError`` if it has those of another fit.
    """
    if isinstance(X, ClusterRows):
        place = replace(
            place,
            map_trials=lambda function, trials: map_on_workers(SameLevel(function), trials),
        )
    if checkpoint is None:
        return place
    store = Checkpoint(checkpoint, fit_fingerprint(model, X, others))
    if model.random_state is None:
        place = replace(place, seed=new_seed(repeatable(store, None, make_generator(None))))
    return replace(place, store=store)
