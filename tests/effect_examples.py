"""For each parameter of an estimator, an example in which it changes the result or is refused.

One table a class, in :data:`EXAMPLES`; ``tests/estimators/test_effects.py`` walks them. A new
public class gets a table here; those of selectors are in ``selector_examples.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cerflearn import (
    BlockedCERF,
    CERFClassifier,
    CERFRegressor,
    FastfoodFeatures,
    MaskedCERF,
    MaskedFourierFeatures,
    RandomFourierFeatures,
)
from cerflearn.rivals import ALaCarte, BaNK, MultipleKernelLearning, RandomKitchenSinks
from cerflearn.spectral import Gaussian


def two_classes(n_samples: int, n_features: int) -> tuple[Any, Any]:
    """Normal rows, and whether the first two inputs have one sign."""
    X = np.random.default_rng(0).normal(size=(n_samples, n_features))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(int)


ROWS = two_classes(60, 6)

EXECUTION = frozenset({"n_jobs", "verbose", "cache_bytes"})
"""Parameters that change how something is computed, not the result."""

IN_SECOND_FIT = frozenset({"warm_start"})
"""Parameters that only a second ``fit`` reads: their examples are fitted twice."""

Parameters = Mapping[str, Any]


def build(cls: type, parameters: Parameters) -> Any:
    """Make an estimator of a class."""
    return cls(**parameters)


def transformed(fitted: Any, X: Any, y: Any) -> Any:
    """Features of the data."""
    return fitted.transform(X)


def predicted(fitted: Any, X: Any, y: Any) -> Any:
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
    data : tuple of ndarray
        X and y that all examples are fitted to.
    in_stream : frozenset
        Parameters that only ``partial_fit`` reads: their examples are fitted by it, in parts.
    make : callable
        Of the class and the parameters: what is fitted.
    result : callable
        Of what was fitted, X and y: an array.
    """

    changes: Mapping[str, tuple[Parameters, Parameters]]
    refused: Mapping[tuple[str, str], Parameters] = field(default_factory=dict)
    common: Parameters = field(default_factory=dict)
    data: tuple[Any, Any] = ROWS
    in_stream: frozenset[str] = frozenset()
    make: Callable[[type, Parameters], Any] = build
    result: Callable[[Any, Any, Any], Any] = transformed


def values(name: str, first: Any, second: Any, **beside: Any) -> Any:
    """Two settings with these values of a parameter."""
    return {name: first, **beside}, {name: second, **beside}


def changes(**pairs: tuple[Any, Any]) -> dict[str, Any]:
    """Settings that differ by these values, and in nothing else."""
    return {name: values(name, *pair) for name, pair in pairs.items()}


LAW = Gaussian(0.5)
OUTPUTS = {"n_components": 12, "random_state": 0}
GAMMA_OF_A_LAW = {("gamma", "kernel"): {"gamma": 0.5, "kernel": LAW}}
ALL_INPUTS_READ = {
    ("mask_law", "mask_density"): {"mask_law": "beta_bernoulli", "mask_density": 1.0}
}
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
        ALL_MAPS | {"share": values("share", (), ("scales",), n_components=40)},
        GAMMA_OF_A_LAW,
        OUTPUTS,
    ),
    MaskedFourierFeatures: Examples(
        ALL_MAPS | ALL_MASKS, GAMMA_OF_A_LAW | ALL_INPUTS_READ, OUTPUTS
    ),
}

CERF = {
    MaskedCERF: Examples(
        ALL_MAPS | ALL_MASKS | ALL_LEARNED,
        GAMMA_OF_A_LAW
        | ALL_INPUTS_READ
        | NOTHING_CHOSEN
        | {
            ("mask_law", "selector"): {"mask_law": "beta_bernoulli", "selector": "trained"},
            ("kernel", "teacher"): {"kernel": "cauchy", "teacher": "labels", "selector": "trained"},
            ("gamma", "teacher"): {"gamma": 0.5, "teacher": "labels", "selector": "trained"},
        },
        OUTPUTS,
    ),
    BlockedCERF: Examples(
        ALL_MAPS
        | ALL_LEARNED
        | changes(
            share=((), ("signs",)),
            mask_density=(None, 0.5),
            spread=(None, 0.5),
            scale_spread=(0.0, 0.5),
            unit=("block", "output"),
        )
        | {
            "mask_law": values("mask_law", "fixed", "beta_bernoulli", mask_density=0.5),
            "spaced_offsets": values("spaced_offsets", True, False, paired=False),
        },
        GAMMA_OF_A_LAW
        | NOTHING_CHOSEN
        | {
            ("unit", "selector"): {"unit": "output", "selector": "random"},
            ("mask_law", "mask_density"): {"mask_law": "beta_bernoulli", "mask_density": None},
            ("spaced_offsets", "paired"): {"spaced_offsets": False, "paired": True},
        },
        OUTPUTS,
    ),
}

SELECTED = {"learn": "selection"}
SETTINGS: dict[str, Any] = {
    "activation": "cosine", "n_components": 4, "alpha": 1e-2, "teacher": "labels",
    "learn": "masks", "linear_part": False, "scaling": "column", "frequency_scale": 1.0,
    "gamma": None, "n_knots": 17, "n_bins": None, "refit": None, "draw": 0, "n_resumed": 0,
    "macs": None,
}  # fmt: skip
TRAINED: dict[str, Any] = {
    "activation": "cosine", "learn": "masks", "teacher": "labels", "alpha": 1e-2, "effort": 0.1,
}  # fmt: skip
SAME_BUT_TEACHER = {key: TRAINED[key] for key in TRAINED if key != "teacher"}
OF_A_TREE = DecisionTreeClassifier(max_depth=3), DecisionTreeRegressor(max_depth=3)
ALL_PREDICTORS = {
    name: values(name, *pair, **{key: TRAINED[key] for key in TRAINED if key != name})
    for name, pair in {
        "macs": (20, 30),
        "max_bytes": (None, 60),
        "learn": ("masks", "features"),
        "activation": ("relu", "table"),
        "n_components": (2, 4),
        "gamma": ("cv", 0.5),
        "alpha": (1e-2, 1e-1),
        "group_size": (1, 2),
        "features_per_mask": (1, 2),
        "input_shape": (None, (2, 3)),
        "effort": (1.0, 0.1),
        "early_stopping": (True, False),
        "warm_start": (False, True),
        "random_state": (0, 1),
    }.items()
} | {
    "settings": values("settings", SETTINGS, SETTINGS | {"n_components": 3}, effort=0.1),
    "storage": values("storage", "float32", "int8", max_bytes=60, **TRAINED),
}
NOTHING_TRAINED = {
    ("gamma", "activation"): {"gamma": 0.5, "activation": "relu"},
    ("activation", "learn"): {"activation": "table", **SELECTED},
    ("teacher", "learn"): {"teacher": "kernel", **SELECTED},
    ("alpha", "learn"): {"alpha": 0.1, **SELECTED},
    ("effort", "learn"): {"effort": 2.0, **SELECTED},
    ("input_shape", "learn"): {"input_shape": (2, 3), **SELECTED},
    ("group_size", "input_shape"): {"group_size": 2, "input_shape": (2, 3)},
    ("group_size", "n_components"): {"group_size": 2, "n_components": 0},
    ("features_per_mask", "n_components"): {"features_per_mask": 2, "n_components": 0},
    ("input_shape", "n_components"): {"input_shape": (2, 3), "n_components": 0},
    ("early_stopping", "learn"): {"early_stopping": True, **SELECTED},
    ("max_bytes", "learn"): {"max_bytes": 1_000, **SELECTED},
    ("settings", "learn"): {"settings": SETTINGS, **SELECTED},
}
SAID_BY_SETTINGS = {
    (name, "settings"): {name: value, "settings": SETTINGS}
    for name, value in {
        "activation": "relu",
        "n_components": 2,
        "alpha": 0.1,
        "gamma": 0.5,
        "learn": "features",
        "teacher": "kernel",
    }.items()
}
WITHIN_A_BUDGET: dict[str, Any] = {
    "common": {"macs": 20, "random_state": 0},
    "result": predicted,
}
PREDICTORS = {
    CERFClassifier: Examples(
        ALL_PREDICTORS
        | {"class_weight": values("class_weight", None, {0: 1.0, 1: 9.0}, **TRAINED)}
        | {
            "head": values("head", "logistic", "ridge", **TRAINED),
            "teacher": values("teacher", "labels", OF_A_TREE[0], **SAME_BUT_TEACHER),
        },
        NOTHING_TRAINED
        | SAID_BY_SETTINGS
        | {("activation", "head"): {"activation": "table", "head": "svm"}},
        **WITHIN_A_BUDGET,
    ),
    CERFRegressor: Examples(
        ALL_PREDICTORS
        | {
            "head": values("head", "trained", "ridge", **TRAINED),
            "teacher": values("teacher", "kernel", OF_A_TREE[1], **SAME_BUT_TEACHER),
        },
        NOTHING_TRAINED
        | SAID_BY_SETTINGS
        | {
            ("head", "learn"): {"head": "ridge", **SELECTED},
            ("activation", "head"): {"activation": "table", "head": "ridge"},
        },
        **WITHIN_A_BUDGET,
    ),
}

ONE_KERNEL = {"widths": (0.5,)}
RIVALS = {
    RandomKitchenSinks: Examples(
        changes(
            n_components=(8, 9),
            gamma=("cv", 0.5),
            alpha=("auto", 10.0),
            bound=(None, 0.01),
            random_state=(0, 1),
        ),
        common=OUTPUTS,
        result=predicted,
    ),
    MultipleKernelLearning: Examples(
        changes(
            gamma=("cv", 0.5),
            widths=((0.5, 1.0), (0.5, 2.0)),
            single_inputs=(False, True),
            alpha=("auto", 5.0),
        )
        | {
            name: values(name, *pair, single_inputs=True)  # one kernel alone is not best
            for name, pair in {
                "tol": (1e-9, 0.5),
                "max_iter": (1, 20),
                "random_state": (0, 1),
            }.items()
        },
        {
            ("tol", "widths"): {"tol": 0.1, **ONE_KERNEL},
            ("max_iter", "widths"): {"max_iter": 9, **ONE_KERNEL},
        },
        {"random_state": 0},
        data=two_classes(320, 3),  # 300 of them choose the weights to start with
        result=predicted,
    ),
    ALaCarte: Examples(
        changes(
            n_components=(40, 48),
            n_groups=(1, 3),
            gamma=("cv", 0.5),
            max_iter=(0, 5),
            random_state=(0, 1),
        ),
        common={"n_components": 48, "random_state": 0},
        result=predicted,
    ),
    BaNK: Examples(
        changes(
            n_components=(8, 9),
            n_sweeps=(3, 4),
            n_average=(1, 2),
            gamma=("cv", 0.5),
            concentration=(0.1, 10.0),
            max_mixture=(3, 5),
            random_state=(0, 1),
        ),
        {("concentration", "max_mixture"): {"concentration": 2.0, "max_mixture": 1}},
        {"n_components": 12, "n_sweeps": 5, "random_state": 0},
        result=predicted,
    ),
}

EXAMPLES: dict[type, Examples] = MAPS | CERF | PREDICTORS | RIVALS
