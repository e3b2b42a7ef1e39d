"""For each parameter of an estimator, an example in which it changes the result or is refused.

One table a class, in :data:`EXAMPLES`; ``tests/estimators/test_effects.py`` walks them. A new
public class gets a table here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cerflearn import (
    CVEM,
    BlockedCERF,
    CERFClassifier,
    CERFRegressor,
    FastfoodFeatures,
    Greedy,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    Shared,
)
from cerflearn.spectral import Gaussian

X = np.random.default_rng(0).normal(size=(60, 6))
Y = (X[:, 0] * X[:, 1] > 0.0).astype(int)

EXECUTION = frozenset({"n_jobs", "verbose", "cache_bytes"})
"""Parameters that change how something is computed, not the result."""

Parameters = Mapping[str, Any]


def build(cls: type, parameters: Parameters) -> Any:
    """Make an estimator of a class."""
    return cls(**parameters)


def with_selector(cls: type, parameters: Parameters) -> Any:
    """Make a map whose selector is of a class."""
    selector = cls(**parameters)
    candidates = {"n_components": 12, "n_candidates": 60, "features_per_mask": 1}
    return MaskedCERF(gamma=0.05, **candidates, selector=selector, random_state=0)


def transformed(fitted: Any) -> Any:
    """Features of the data."""
    return fitted.transform(X)


def selection_probabilities(fitted: Any) -> Any:
    """What CVEM chooses by."""
    return fitted.feature_proba_


def predicted(fitted: Any) -> Any:
    """Scores of a classifier, or predictions, of the data."""
    return getattr(fitted, "decision_function", fitted.predict)(X)


@dataclass(frozen=True)
class Examples:
    """Examples for the parameters of one class.

    Attributes
    ----------
    changes : mapping
        Parameter to two settings that differ in it alone and whose results differ; parameters not
        named have the values of ``common``, or their defaults.
    refused : mapping
        Parameter and the one beside it to a setting of both in which the first has no effect.
    common : mapping
        Parameters of all examples, unless they name them.
    of_many_rows : frozenset
        Parameters that change the result for many rows only, and have tests of their own.
    make : callable
        Of the class and the parameters: what is fitted.
    result : callable
        Of what was fitted to ``X`` and ``Y``: an array.
    """

    changes: Mapping[str, tuple[Parameters, Parameters]]
    refused: Mapping[tuple[str, str], Parameters] = field(default_factory=dict)
    common: Parameters = field(default_factory=dict)
    of_many_rows: frozenset[str] = frozenset()
    make: Callable[[type, Parameters], Any] = build
    result: Callable[[Any], Any] = transformed


def values(name: str, first: Any, second: Any, **beside: Any) -> Any:
    """Two settings with these values of a parameter."""
    return {name: first, **beside}, {name: second, **beside}


def changes(**pairs: tuple[Any, Any]) -> dict[str, Any]:
    """Settings that differ by these values, and in nothing else."""
    return {name: values(name, *pair) for name, pair in pairs.items()}


LAW = Gaussian(0.5)
OUTPUTS = {"n_components": 12, "random_state": 0}
GAMMA_OF_A_LAW = {("gamma", "kernel"): {"gamma": 0.5, "kernel": LAW}}
ALL_MAPS = changes(
    kernel=("rbf", "matern32"),
    gamma=("scale", 2.0),
    n_components=(8, 9),
    paired=(True, False),
    random_state=(0, 1),
) | {"macs": values("macs", 150, 300, n_components=None)}
ALL_MASKS = changes(
    mask_density=(0.3, 0.9), mask_law=("fixed", "beta_bernoulli"), features_per_mask=(1, 3)
) | {"group_size": values("group_size", 1, 2, mask_density=0.4)}
ALL_LEARNED = changes(
    n_candidates=(20, 60),
    selected_fraction=(0.9, 0.1),
    teacher=("rff", "labels"),
    selector=("greedy", "random"),
    weights=("equal", "nnls"),
)
NOTHING_CHOSEN = {
    ("teacher", "selector"): {"teacher": "labels", "selector": "random"},
    ("n_candidates", "selector"): {"n_candidates": 100, "selector": "random"},
    ("selected_fraction", "selector"): {"selected_fraction": 0.5, "selector": "random"},
    ("weights", "selector"): {"weights": "nnls", "selector": "random"},
}

MAPS = {
    RandomFourierFeatures: Examples(
        ALL_MAPS | changes(orthogonal=(False, True)), GAMMA_OF_A_LAW, OUTPUTS
    ),
    FastfoodFeatures: Examples(
        ALL_MAPS | {"shared_signs": values("shared_signs", False, True, n_components=40)},
        GAMMA_OF_A_LAW,
        OUTPUTS,
    ),
    MaskedFourierFeatures: Examples(ALL_MAPS | ALL_MASKS, GAMMA_OF_A_LAW, OUTPUTS),
}

CERF = {
    MaskedCERF: Examples(
        ALL_MAPS | ALL_MASKS | ALL_LEARNED, GAMMA_OF_A_LAW | NOTHING_CHOSEN, OUTPUTS
    ),
    BlockedCERF: Examples(
        ALL_MAPS
        | ALL_LEARNED
        | changes(
            shared_signs=(False, True),
            spread=(None, 0.5),
            scale_spread=(0.0, 0.5),
            unit=("block", "output"),
        ),
        GAMMA_OF_A_LAW
        | NOTHING_CHOSEN
        | {("unit", "selector"): {"unit": "output", "selector": "random"}},
        OUTPUTS,
    ),
}

SELECTORS = {
    Greedy: Examples(changes(normalize=("standardize", None)), make=with_selector),
    Shared: Examples(
        changes(normalize=("standardize", None), max_stages=(2, 20)), make=with_selector
    ),
    CVEM: Examples(
        changes(
            solver=("procrustes", "admm"),
            normalize=("standardize", None),
            prior_concentration=(None, 1e-3),
            noise_std=(None, 0.3),
            scale=(None, 0.3),
            initial_proba=(0.5, 0.05),
            max_stages=(1, 20),
            n_closing_stages=(0, 3),
            tol=(1.0, 0.0),
        )
        | {"spectral_penalty": values("spectral_penalty", "adaptive", 0.5, solver="admm")}
        | {"e_step": values("e_step", "orthogonal", "literal", solver="admm")},
        {
            ("spectral_penalty", "solver"): {"spectral_penalty": 0.5, "solver": "procrustes"},
            ("e_step", "solver"): {"e_step": "literal", "solver": "procrustes"},
        },
        make=with_selector,
        result=selection_probabilities,
    ),
}

TRAINED = {"learn": "masks", "teacher": "labels", "alpha": 1e-2}
ALL_PREDICTORS = {
    name: values(name, *pair, **{key: TRAINED[key] for key in TRAINED if key != name})
    for name, pair in {
        "macs": (20, 30),
        "learn": ("masks", "features"),
        "teacher": ("labels", "kernel"),
        "activation": ("cosine", "relu"),
        "n_components": (2, 4),
        "gamma": ("cv", 0.5),
        "alpha": (1e-2, 1e-1),
        "group_size": (1, 2),
        "features_per_mask": (1, 2),
        "random_state": (0, 1),
    }.items()
}
NOTHING_TRAINED = {
    ("gamma", "activation"): {"gamma": 0.5, "activation": "relu"},
    ("activation", "learn"): {"activation": "relu", "learn": "features"},
    ("teacher", "learn"): {"teacher": "kernel", "learn": "selection"},
    ("alpha", "learn"): {"alpha": 0.1, "learn": "selection"},
    ("early_stopping", "learn"): {"early_stopping": True, "learn": "selection"},
}
WITHIN_A_BUDGET: dict[str, Any] = {
    "refused": NOTHING_TRAINED,
    "common": {"macs": 20, "random_state": 0},
    "result": predicted,
    "of_many_rows": frozenset({"early_stopping"}),
}
PREDICTORS = {
    CERFClassifier: Examples(
        ALL_PREDICTORS | changes(head=("logistic", "ridge"), class_weight=(None, {0: 1.0, 1: 9.0})),
        **WITHIN_A_BUDGET,
    ),
    CERFRegressor: Examples(
        ALL_PREDICTORS | {"head": values("head", "trained", "ridge", **TRAINED)},
        **WITHIN_A_BUDGET,
    ),
}

EXAMPLES: dict[type, Examples] = MAPS | CERF | SELECTORS | PREDICTORS
