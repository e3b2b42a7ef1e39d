"""For each parameter of an application, an example in which it changes the result or is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn import (
    KernelAutoencoder,
    KernelImputer,
    MaskedFourierFeatures,
    RandomFourierFeatures,
    RandomizedKernelCCA,
    RandomizedKernelPCA,
)
from effect_examples import ROWS, Examples, changes, values


def with_gaps() -> tuple[Any, Any]:
    """Rows of which some values are 0 and others 1, to stand for missing ones; no target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6))
    X[rng.random(X.shape) < 0.1] = 0.0
    X[rng.random(X.shape) < 0.1] = 1.0
    return X, None


def encoded(fitted: Any, X: Any, y: Any) -> Any:
    """Codes of the data, and what they reconstruct if they can."""
    codes = fitted.transform(X)
    if not hasattr(fitted, "inverse_transform"):
        return codes
    return np.hstack([codes, fitted.inverse_transform(codes)])


def variates(fitted: Any, X: Any, y: Any) -> Any:
    """Canonical variates of both views."""
    return np.hstack(fitted.transform(X, y))


def completed(fitted: Any, X: Any, y: Any) -> Any:
    """Rows without gaps; if one pattern is completed, of all rows."""
    if fitted.macs is not None:
        X = np.where(ONE_PATTERN, fitted.missing_values, X)
    return fitted.transform(X)


SMALL_MAP = MaskedFourierFeatures(n_components=20)
OF_A_MAP = {"feature_map": SMALL_MAP, "random_state": 0}
ALL_APPLICATIONS = changes(
    n_components=(2, 3),
    feature_map=(SMALL_MAP, RandomFourierFeatures(n_components=20)),
    alpha=(0.01, 1.0),
    random_state=(0, 1),
)
TRAINED = {"macs": 40, "n_components": 3}
ALL_CODES = ALL_APPLICATIONS | {"macs": values("macs", 10, 40, n_components=3)}
NOT_TRAINED = {
    ("feature_map", "macs"): {"feature_map": SMALL_MAP, "macs": 40},
    ("teacher", "macs"): {"teacher": "nystroem", "macs": None},
}
ONE_PATTERN = [True, True, False, False, False, False]
WITHIN_A_BUDGET = {"macs": 30, "patterns": ONE_PATTERN}

APPLICATIONS = {
    RandomizedKernelPCA: Examples(
        ALL_CODES
        | changes(fit_inverse_transform=(True, False))
        | {"teacher": values("teacher", "rff", "nystroem", **TRAINED)},
        {
            ("alpha", "fit_inverse_transform"): {"alpha": 0.1, "fit_inverse_transform": False},
            **NOT_TRAINED,
        },
        {"random_state": 0},
        result=encoded,
    ),
    KernelAutoencoder: Examples(
        ALL_CODES
        | {
            "objective": values("objective", "reconstruction", "teacher", **TRAINED),
            "teacher": values("teacher", "rff", "nystroem", objective="teacher", **TRAINED),
        },
        {
            **NOT_TRAINED,
            ("objective", "macs"): {"objective": "teacher", "macs": None},
            ("teacher", "objective"): {
                "teacher": "nystroem",
                "objective": "reconstruction",
                **TRAINED,
            },
        },
        {"random_state": 0},
        result=encoded,
    ),
    KernelImputer: Examples(
        ALL_APPLICATIONS
        | changes(
            linear_part=(True, False),
            patterns=(None, 0.3),
            n_copies=(1, 3),
            max_iter=(1, 8),
            tol=(0.0, 0.5),
            missing_values=(0.0, 1.0),
            add_indicator=(False, True),
        )
        | {"macs": values("macs", 4, 30, patterns=ONE_PATTERN, missing_values=2.0)},
        {
            ("feature_map", "macs"): {"feature_map": SMALL_MAP, **WITHIN_A_BUDGET},
            ("linear_part", "macs"): {"linear_part": False, **WITHIN_A_BUDGET},
            ("alpha", "macs"): {"alpha": 0.5, **WITHIN_A_BUDGET},
            ("max_iter", "macs"): {"max_iter": 3, **WITHIN_A_BUDGET},
            ("tol", "macs"): {"tol": 0.5, **WITHIN_A_BUDGET},
            ("n_copies", "patterns"): {"n_copies": 2, "patterns": ONE_PATTERN},
            ("tol", "max_iter"): {"tol": 0.1, "max_iter": 1},
            ("max_iter", "tol"): {"max_iter": 4, "tol": 1.0},
        },
        {"random_state": 0, "missing_values": 0.0},
        data=with_gaps(),
        result=completed,
    ),
    RandomizedKernelCCA: Examples(
        ALL_APPLICATIONS | changes(y_feature_map=(None, SMALL_MAP)),
        common=OF_A_MAP | {"feature_map": RandomFourierFeatures(n_components=20)},
        data=(ROWS[0][:, :3], ROWS[0][:, 3:]),
        result=variates,
    ),
}
