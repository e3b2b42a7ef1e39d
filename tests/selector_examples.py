"""For each parameter of a selector, an example in which it changes the result or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn import CVEM, Greedy, MaskedCERF, Shared, Trained
from effect_examples import Examples, Parameters, changes, two_classes, values

BLOCKS = two_classes(1100, 6)  # two blocks of rows, and several mini-batches


def with_selector(cls: type, parameters: Parameters) -> Any:
    """Make a map whose selector is of a class."""
    selector = cls(**parameters)
    candidates = {"n_components": 12, "n_candidates": 60, "features_per_mask": 1}
    return MaskedCERF(gamma=0.05, **candidates, selector=selector, random_state=0)


def with_training(cls: type, parameters: Parameters) -> Any:
    """Make a map whose features are trained."""
    return MaskedCERF(macs=30, selector=cls(**parameters), random_state=0)


def selection_probabilities(fitted: Any, X: Any, y: Any) -> Any:
    """What CVEM chooses by."""
    return fitted.feature_proba_


def selection_and_scale(fitted: Any, X: Any, y: Any) -> Any:
    """What the shared selector chooses, and the scale it finds."""
    return np.append(fitted.selected_, fitted.scale_)


STREAM = frozenset({"learning_offset", "learning_decay"})
SELECTORS = {
    Greedy: Examples(changes(normalize=("standardize", None)), make=with_selector),
    Trained: Examples(changes(n_targets=(2, 9), effort=(0.1, 1.0)), make=with_training),
    Shared: Examples(
        changes(
            normalize=("standardize", None),
            max_stages=(2, 20),
            learning_offset=(0.0, 100.0),
            learning_decay=(0.51, 1.0),
        ),
        data=BLOCKS,
        in_stream=STREAM,
        make=with_selector,
        result=selection_and_scale,
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
            schedule=("batch", "incremental"),
            learning_offset=(0.0, 100.0),
            learning_decay=(0.51, 1.0),
        )
        | {"spectral_penalty": values("spectral_penalty", "adaptive", 0.5, solver="admm")}
        | {"e_step": values("e_step", "orthogonal", "literal", solver="admm")},
        {
            ("spectral_penalty", "solver"): {"spectral_penalty": 0.5, "solver": "procrustes"},
            ("e_step", "solver"): {"e_step": "literal", "solver": "procrustes"},
            ("tol", "max_stages"): {"tol": 0.1, "max_stages": 1},
            ("schedule", "solver"): {"schedule": "incremental", "solver": "admm"},
            ("learning_offset", "solver"): {"learning_offset": 1.0, "solver": "admm"},
            ("learning_decay", "solver"): {"learning_decay": 1.0, "solver": "admm"},
        },
        data=BLOCKS,
        in_stream=STREAM,
        make=with_selector,
        result=selection_probabilities,
    ),
}
