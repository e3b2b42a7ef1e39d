"""What a search is asked for, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cerflearn._typing import StateStore
from cerflearn.training.distillation import TeacherFunction, fit_kernel_teacher
from cerflearn.training.network import TrainableNetwork
from cerflearn.training.settings import SettingsRequest, TrainingSettings
from cerflearn.training.task import Task
from cerflearn.training.trials import HeldOutResult, MapTrials, Rescore

FitTeacher = Callable[[Task, np.random.Generator], TeacherFunction]
"""Fits a teacher to a task."""


@dataclass(frozen=True)
class SearchOptions:
    """Options of a fit, beside the data.

    Attributes
    ----------
    request : SettingsRequest
        Settings that are given.
    effort : float
        About proportional to the time that a fit takes.
    early_stopping : bool
        Whether a part of the rows is held out: of the search, and of the last training, whose
        steps it ends.
    fit_teachers : dict of callables
        Fit teachers, by their names.
    rescore : callable or None
        ``rescore(network, settings, train, test)``: scores of test rows by a head that is fitted
        to the features of a trained network. None: the head that was trained with them.
    report : callable or None
        Called with lines that say what is done.
    describe : callable
        Line of settings in them.
    n_threads : int
        Threads; the bits of the result do not depend on their number.
    map_trials : callable or None
        Runs the trainings that are compared elsewhere, with the same bits. None: on threads.
    store : StateStore or None
        Where states are kept, from which the same search goes on.
    """

    request: SettingsRequest
    effort: float = 1.0
    early_stopping: bool = False
    fit_teachers: Mapping[str, FitTeacher] = field(
        default_factory=lambda: {"kernel": fit_kernel_teacher}
    )
    rescore: Rescore | None = None
    report: Callable[[str], None] | None = None
    describe: Callable[[TrainingSettings], str] = str
    n_threads: int = 1
    map_trials: MapTrials | None = None
    store: StateStore | None = None


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search has found.

    Attributes
    ----------
    network : TrainableNetwork
        Trained on all rows, with inputs scaled as the settings say.
    settings : TrainingSettings
        It was trained with.
    held_out : HeldOutResult or None
        Of these settings; None if nothing was compared.
    alpha : float
        Penalty of the last training: weaker than that of the settings, as there are more rows.
    """

    network: TrainableNetwork
    settings: TrainingSettings
    held_out: HeldOutResult | None
    alpha: float
