"""How a predictor is fitted: its budget, its task, the search, and the network that is deployed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from cerflearn.estimators.gamma import resolve_gamma
from cerflearn.estimators.input import thread_count
from cerflearn.estimators.predictors.distilled import (
    check_teacher_of,
    fit_boosted_trees,
    teacher_fitter,
)
from cerflearn.estimators.predictors.drawn_features import best_gamma_factor, draw_selected_network
from cerflearn.estimators.predictors.fit_place import FitPlace
from cerflearn.estimators.predictors.fitted_network import FittedNetwork
from cerflearn.estimators.predictors.training_rows import TrainingRows
from cerflearn.estimators.scaling import InputScaling, scale_inputs
from cerflearn.features.cost import (
    TABLE_WEIGHT_BYTES,
    Storage,
    StoredArray,
    compressed_array,
    stored_bytes,
)
from cerflearn.linalg.row_slices import row_slices
from cerflearn.training import policy
from cerflearn.training.compared import compared_teachers
from cerflearn.training.deployed import deploy_scaled
from cerflearn.training.distillation import fit_kernel_teacher
from cerflearn.training.inputs import column_deviations, multiplied
from cerflearn.training.pruning import Budget, sampled_importances
from cerflearn.training.scores import TargetKind
from cerflearn.training.search import Search
from cerflearn.training.search_options import FitTeacher, SearchOptions, SearchResult
from cerflearn.training.settings import Scaling, SettingsRequest, TrainingSettings
from cerflearn.training.sizes import default_macs, least_macs, n_components_for, usual_inputs
from cerflearn.training.task import Task, scaled_inputs
from cerflearn.training.trials import Rescore

# As numbers of Python: those of NumPy may be short, and overflow.
_OPTIONS = {"learn": str, "activation": str, "alpha": float, "n_components": int}


def fit_network(
    model: Any,
    rows: TrainingRows,
    kind: TargetKind,
    place: FitPlace,
    n_scores: int,
    rescore: Rescore | None = None,
) -> FittedNetwork:
    """Choose and train a network for the parameters of a predictor.

    Parameters
    ----------
    model : CERFClassifier or CERFRegressor
        With checked parameters.
    rows : TrainingRows
        Distinct rows.
    kind : {"binary", "multiclass", "multilabel", "regression"}
        Of the targets.
    place : FitPlace
        Seed, where trainings run, and where states are kept.
    n_scores : int
        Scores of the deployed head.
    rescore : callable, optional
        See :class:`~cerflearn.training.search.SearchOptions`.

    Returns
    -------
    FittedNetwork
        Within the budget.
    """
    settings, seed = _given_settings(model), place.seed
    budget = make_budget(model, rows.X.shape[1], n_scores)
    # A coefficient that is given is one of inputs as they are.
    by_column = chooses_gamma(model)
    scaling = scale_inputs(rows.X, rows.weights, by_column=by_column, clip_outliers=by_column)
    if not scaling.varies.any():
        raise ValueError("X is constant, all its rows are equal: nothing can be learned.")
    task = _make_task(model, rows, kind, budget, scaling)
    gamma = _start_gamma(model, task.X if chooses_gamma(model) else scaling.scaled(rows.X))
    if model.learn == "selection":
        return _select(model, task, scaling, gamma, seed)
    options = _search_options(model, settings, gamma, rescore, seed, task)
    n_threads = thread_count(place.n_jobs, task.n_samples)
    options = replace(options, n_threads=n_threads, map_trials=place.map_trials, store=place.store)
    # Probabilities are scaled on held-out rows, compared or not.
    scaled = kind != "regression" and model.head in ("logistic", "ridge")
    found = Search(task, options, seed).run(needs_held_out=scaled)
    return _deployed(found, task, scaling, gamma)


def chooses_gamma(model: Any) -> bool:
    """Whether gamma is left to the fit."""
    if model.settings is not None:
        return model.settings["gamma"] is None
    return isinstance(model.gamma, str) and model.gamma == "cv"


def _has_fitted_head(model: Any) -> bool:
    """Whether the head is fitted to the features once they are trained."""
    return model.head in ("ridge", "svm", "svm_ovo")


def _has_linear_part(model: Any) -> bool:
    return not _has_fitted_head(model) and model.learn in ("auto", "masks")


def make_budget(model: Any, n_features: int, n_scores: int) -> Budget:
    """Budget of the network, refused if it is too small for what is asked."""
    macs = default_macs(n_features, n_scores) if model.macs is None else int(model.macs)
    budget = Budget(
        macs,
        n_scores,
        int(model.group_size),
        int(model.features_per_mask),
        input_shape=_image_shape(model, n_features),
    )
    least = least_macs(budget, n_features)
    if macs < least and model.macs is None:
        budget = replace(budget, macs=least)
    elif macs < least:
        raise _too_small(budget, least)
    n_components = _given_components(model)
    if n_components is not None:
        _check_n_components(model, n_components, budget, n_features)
    if model.max_bytes is None:
        return budget
    return _with_bytes(model, budget, n_features)


def _too_small(budget: Budget, least: int) -> ValueError:
    """Error of a budget below the smallest network."""
    scores = "score" if budget.n_scores == 1 else f"{budget.n_scores} scores"
    smallest, fewer = f"one feature with its {scores} costs", ""
    if budget.features_per_mask > 1:
        smallest = f"features_per_mask={budget.features_per_mask} features, each with its {scores},"
        smallest, fewer = f"{smallest} cost", ", or a smaller features_per_mask"
    return ValueError(
        f"macs={budget.macs} is not valid: {smallest} {least} MACs, the smallest possible budget. "
        f"Pass macs={least} or more{fewer}."
    )


def _image_shape(model: Any, n_features: int) -> tuple[int, int, int] | None:
    """Height, width and channels that are given, refused if they are not those of X."""
    if model.input_shape is None:
        return None
    height, width, depth = (int(n) for n in (*model.input_shape, 1)[:3])
    if height * width * depth != n_features:
        raise ValueError(
            f"input_shape={model.input_shape} is not valid: it has {height * width * depth:,} "
            f"inputs, and X has {n_features:,} columns."
        )
    return height, width, depth


def _count_bytes(
    storage: Storage,
    n_features: int,
    n_scores: int,
    n_entries: int,
    n_components: int,
    n_linear: int,
    n_bins: int | None,
) -> int:
    """Bytes of a network; a function of the module, as fitted models that hold it are pickled."""
    least_bytes = TABLE_WEIGHT_BYTES if n_bins else 1
    arrays = [
        compressed_array(n_entries, n_components, n_features, least_bytes),
        StoredArray(n_components * n_scores * (n_bins or 1)),
        compressed_array(n_linear, n_scores, n_features),
    ]
    biases = n_components + n_scores
    return stored_bytes(storage, n_features=n_features, arrays=arrays, n_biases=biases)


def _with_bytes(model: Any, budget: Budget, n_features: int) -> Budget:
    """Budget that counts bytes, refused if the smallest model has more."""
    count_bytes = partial(_count_bytes, model.storage, n_features, budget.n_scores)
    per_mask = budget.features_per_mask
    group = min(budget.group_size, n_features)
    n_bins = policy.N_BINS[0] if model.activation == "table" else None
    least = count_bytes(group * per_mask, per_mask, 0, n_bins)
    if int(model.max_bytes or 0) < least:
        raise ValueError(
            f"max_bytes={model.max_bytes} is not valid: the smallest model has {least} bytes. "
            f"Pass max_bytes={least} or more."
        )
    return replace(budget, max_bytes=int(model.max_bytes or 0), count_bytes=count_bytes)


def _given_components(model: Any) -> int | None:
    """Return the number of features that is given, by itself or in settings."""
    if model.settings is not None:
        return int(model.settings["n_components"])
    return None if model.n_components == "auto" else int(model.n_components)


def _check_n_components(model: Any, n_components: int, budget: Budget, n_features: int) -> None:
    """Refuse more features than the budget, or memory, is enough for; and none of a kind."""
    if n_components == 0 and not _has_linear_part(model):
        raise ValueError(
            "n_components=0 is not valid: only head='logistic' or 'trained' with "
            "learn='masks' has a linear part, which is left without features."
        )
    most = budget.macs // (min(budget.group_size, n_features) + budget.n_scores)
    if n_components > most:
        given = f"macs={budget.macs}" + (" (the default)" if model.macs is None else "")
        raise ValueError(
            f"n_components={n_components} is not valid: {given} is enough for {most} features, "
            f"one group of inputs and the scores each. Pass n_components={most} or less, or "
            "more macs."
        )
    if n_components * n_features > policy.MOST_FREQUENCIES:
        raise ValueError(
            f"n_components={n_components} is not valid: with {n_features:,} inputs it takes "
            f"more than {policy.MOST_FREQUENCIES:,} frequencies. Pass n_components="
            f"{policy.MOST_FREQUENCIES // n_features} or less."
        )


def _make_task(
    model: Any, rows: TrainingRows, kind: TargetKind, budget: Budget, scaling: InputScaling
) -> Task:
    # Whole groups are read, also where an input of one never varies.
    n_features = rows.X.shape[1]
    groups = np.logical_or.reduceat(scaling.varies, np.arange(0, n_features, budget.group_size))
    usable = np.repeat(groups, budget.group_size)[:n_features]
    return Task(
        scaling.inputs(rows.X),
        rows.targets,
        rows.weights,
        rows.strata,
        kind,
        budget,
        usable,
        scaling.factors() if chooses_gamma(model) else {},
        rows.blocks,
    )


def _start_gamma(model: Any, X: Any) -> float:
    """Kernel coefficient of drawn frequencies, for scaled inputs."""
    if chooses_gamma(model):
        return float(policy.GAMMA_SHARE * resolve_gamma("median", "rbf", X))
    given = model.gamma if model.settings is None else model.settings["gamma"]
    gamma = float(resolve_gamma(given, "rbf", X))
    _check_single_precision(X, gamma)
    return gamma


def _select(
    model: Any, task: Task, scaling: InputScaling, gamma: float, seed: np.random.SeedSequence
) -> FittedNetwork:
    """Draw features, select among them by the targets, and fit a ridge head."""
    budget, n_usable = task.budget, int(task.usable.sum())
    n_components: Any = model.n_components
    if n_components == "auto":
        usual = max(usual_inputs(n_usable, budget.n_scores), min(n_usable, 4))
        n_components = n_components_for(budget, usual, n_usable, task.n_samples)
    n_components, (tuning_seed, seed) = int(n_components), seed.spawn(2)
    name: Scaling = "none"
    inputs, drawn_gamma = task, gamma
    if chooses_gamma(model):
        name, inputs, drawn_gamma = _best_scaling(model, task, n_components, tuning_seed)
    rng = np.random.default_rng(seed)
    network = draw_selected_network(inputs, n_components, drawn_gamma, rng)
    if name in task.input_factors:
        network = network.rescaled(task.input_factors[name])
    settings = TrainingSettings("cosine", n_components, 0.0, learn="selection", scaling=name)
    sizes = np.abs(network.frequencies) @ np.linalg.norm(network.head, axis=1)
    sizes *= column_deviations(task.X)
    shares = sizes / sizes.sum() if sizes.sum() > 0.0 else np.zeros(len(sizes))
    return FittedNetwork(network, settings, None, shares, task, scaling, gamma, 0.0)


def _best_scaling(
    model: Any, task: Task, n_components: int, seed: np.random.SeedSequence
) -> tuple[Scaling, Task, float]:
    """Scaling of the inputs and gamma of drawn features with the least leave-one-out error."""
    found: list[tuple[float, Scaling, Task, float]] = []
    names: tuple[Scaling, ...] = ("column", "common")
    for name in names:
        factors = task.input_factors.get(name)
        inputs = task if factors is None else replace(task, X=multiplied(task.X, factors))
        gamma, rng = _start_gamma(model, inputs.X), np.random.default_rng(seed)
        factor, error = best_gamma_factor(inputs, n_components, gamma, rng)
        found.append((error, name, inputs, factor * gamma))
    return min(found, key=lambda each: each[0])[1:]


def _search_options(
    model: Any,
    settings: TrainingSettings | None,
    gamma: float,
    rescore: Rescore | None,
    seed: np.random.SeedSequence,
    task: Task,
) -> SearchOptions:
    """Parameters in the words of the search; None for "auto"."""
    values: dict[str, Any] = {
        name: None if isinstance(value, str) and value == "auto" else kind(value)
        for name, kind in _OPTIONS.items()
        for value in (getattr(model, name),)
    }
    named = isinstance(model.teacher, str)
    if not named:
        check_teacher_of(model.teacher, classifies=is_classifier(model))
    values["teacher"] = "estimator" if not named else model.teacher
    if values["teacher"] == "auto":
        values["teacher"] = None
    early: Any = model.early_stopping
    name, n_samples = type(model).__name__, task.n_samples
    teachers: dict[str, FitTeacher] = {"kernel": fit_kernel_teacher, "boosting": fit_boosted_trees}
    if not named:
        teachers["estimator"] = teacher_fitter(model.teacher, int(seed.generate_state(1)[0]))
    return SearchOptions(
        request=SettingsRequest(
            **values,
            gamma=None if chooses_gamma(model) else gamma,
            teachers=compared_teachers(task),
            tables=not _has_fitted_head(model),
            linear_part=_has_linear_part(model),
            settings=settings,
        ),
        effort=float(model.effort),
        early_stopping=n_samples >= policy.EARLY_STOPPING_ROWS if early == "auto" else bool(early),
        fit_teachers=teachers,
        rescore=rescore,
        report=(lambda line: print(f"[{name}] {line}")) if model.verbose else None,
    )


def _given_settings(model: Any) -> TrainingSettings | None:
    """Return settings of an earlier fit, refused if other parameters do not admit them."""
    if model.settings is None:
        return None
    found = TrainingSettings(**model.settings)
    if found.teacher == "estimator" and isinstance(model.teacher, str):
        raise ValueError(
            "settings['teacher']='estimator' needs the estimator: pass it as teacher, too."
        )
    if _has_fitted_head(model) and (found.activation == "table" or found.linear_part):
        raise ValueError(
            f"head={model.head!r} is not valid with these settings, which have tables or a linear "
            "part: leave head at its default, or settings at None."
        )
    if found.kind == "table" and model.max_bytes is not None and found.n_bins is None:
        return replace(found, n_bins=policy.BINS_WITHIN_BYTES)
    return found


def _deployed(
    found: SearchResult, task: Task, scaling: InputScaling, gamma: float
) -> FittedNetwork:
    """Network as it is deployed, of inputs scaled one by one, with importances of its inputs."""
    network, settings = found.network, found.settings
    deployed = deploy_scaled(network, settings, task)
    importances = sampled_importances(network, scaled_inputs(task, settings))
    return FittedNetwork(
        deployed,
        settings,
        found.held_out,
        importances,
        task,
        scaling,
        gamma,
        found.alpha,
        network,
    )


def _check_single_precision(X: Any, gamma: float) -> None:
    """Refuse inputs, or frequencies of the kernel, too large for training in float32."""
    largest = max(float(np.abs(X[part]).max()) for part in row_slices(*X.shape))
    if not largest <= policy.LARGEST_INPUT or gamma > policy.LARGEST_START_GAMMA:
        raise ValueError(
            f"gamma={gamma:.3g} with inputs up to {largest:.3g} is beyond single precision, in "
            "which features are trained: scale X, or pass gamma='cv', which scales it."
        )
