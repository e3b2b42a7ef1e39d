"""What parameters of the predictors must be, and combinations in which one has no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cerflearn._validation import (
    Constraint,
    Flag,
    NoEffect,
    Number,
    OneOf,
    Passes,
    Verbosity,
    Whole,
    invalid,
)
from cerflearn.estimators.input import check_n_jobs

_MOST_BUDGET = 10**12  # far beyond any model; arithmetic stays exact

_TEACHER_WORDS = ("auto", "labels", "kernel", "boosting")


def _check_early_stopping(name: str, value: Any) -> None:
    automatic = isinstance(value, str) and value == "auto"
    if not automatic and not isinstance(value, bool | np.bool_):
        raise invalid(name, value, "True, False or 'auto'")


def _check_teacher_name(name: str, value: Any) -> None:
    if isinstance(value, str) and value in _TEACHER_WORDS:
        return
    if isinstance(value, str) or not hasattr(value, "fit"):
        raise invalid(name, value, "'auto', 'labels', 'kernel', 'boosting' or an estimator")


def _check_input_shape(name: str, value: Any) -> None:
    if value is None:
        return
    whole = isinstance(value, tuple | list) and all(
        isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in value
    )
    if not whole or len(value) not in (2, 3):
        raise invalid(name, value, "None or a tuple (height, width) or (height, width, channels)")


_ALPHA = Number("a number from 0 to 1e20", at_least=0.0, at_most=1e20)
_SETTINGS: dict[str, Constraint] = {
    "activation": OneOf(("cosine", "relu", "table")),
    "n_components": Whole("0 or a positive integer", at_least=0),
    "alpha": _ALPHA,
    "teacher": OneOf(("labels", "kernel", "boosting", "estimator")),
    "learn": OneOf(("masks", "features")),
    "linear_part": Flag(),
    "scaling": OneOf(("column", "common", "robust", "none")),
    "frequency_scale": Number("a positive number", above=0.0),
    "gamma": Number("a positive number or None", above=0.0, also=(None,)),
    "n_knots": Whole("an integer from 2 to 1,000", at_least=2, at_most=1000),
    "n_bins": Whole("an integer from 2 to 65,536, or None", 2, 65_536, (None,)),
    "refit": Number("a number from 0 to 1e9, or None", at_least=0.0, at_most=1e9, also=(None,)),
    "draw": Whole("0 or a positive integer", at_least=0),
    "n_resumed": Whole("0 or a positive integer", at_least=0),
    "macs": Whole("a positive integer or None", also=(None,)),
}


def _check_settings(name: str, value: Any) -> None:
    if value is None:
        return
    if not (isinstance(value, dict) and set(value) == set(_SETTINGS)):
        raise invalid(name, value, "None, or the settings_ of a fitted predictor")
    for key, constraint in _SETTINGS.items():
        constraint.check(f"{name}[{key!r}]", value[key])


def _contradicts(model: Any, name: str) -> bool:
    """Whether settings are given and say something else than a parameter."""
    value = getattr(model, name)
    word = value if isinstance(value, str) else "estimator"
    return model.settings is not None and model.settings[name] != word


PREDICTOR_CONSTRAINTS: dict[str, Constraint] = {
    "macs": Whole(
        f"a positive integer of at most {_MOST_BUDGET:,}, or None",
        at_most=_MOST_BUDGET,
        also=(None,),
    ),
    "max_bytes": Whole(
        f"a positive integer of at most {_MOST_BUDGET:,}, or None",
        at_most=_MOST_BUDGET,
        also=(None,),
    ),
    "storage": OneOf(("float32", "int16", "int8")),
    "learn": OneOf(("auto", "masks", "features", "selection")),
    "teacher": Passes(_check_teacher_name),
    "activation": OneOf(("auto", "cosine", "relu", "table")),
    "n_components": Whole("0, a positive integer or 'auto'", at_least=0, also=("auto",)),
    "gamma": Number(
        "'cv', 'scale', 'median' or a positive number", above=0.0, also=("cv", "scale", "median")
    ),
    "alpha": replace(_ALPHA, must_be=f"'auto' or {_ALPHA.must_be}", also=("auto",)),
    "settings": Passes(_check_settings),
    "group_size": OneOf((1, 2, 4, 8, 16)),
    "features_per_mask": Whole("a positive integer"),
    "input_shape": Passes(_check_input_shape),
    "effort": Number("a number from .01 to 1,000", at_least=0.01, at_most=1000.0),
    "early_stopping": Passes(_check_early_stopping),
    "warm_start": Flag(),
    "verbose": Verbosity(),
    "n_jobs": Passes(lambda _, value: check_n_jobs(value)),
}
"""What each parameter that both predictors have must be; the heads differ."""

PREDICTOR_EFFECTS = (
    NoEffect(
        "gamma",
        "activation",
        lambda model: model.activation in ("relu", "table"),
        "only cosines have a kernel coefficient; leave gamma at 'cv'",
    ),
    NoEffect(
        "activation",
        "learn",
        lambda model: model.activation in ("relu", "table") and model.learn == "selection",
        "features that are selected are cosines; leave activation at 'auto', or pass learn='masks'",
    ),
    NoEffect(
        "teacher",
        "learn",
        lambda model: model.teacher not in ("auto", "labels") and model.learn == "selection",
        "features are selected by the labels; leave teacher at 'auto', or train features",
    ),
    *(
        NoEffect(
            name,
            "learn",
            lambda model: model.learn == "selection",
            f"no frequencies are trained; leave {name} at its default, or train features",
        )
        for name in ("alpha", "input_shape", "effort", "early_stopping", "max_bytes", "settings")
    ),
    NoEffect(
        "group_size",
        "input_shape",
        lambda model: model.input_shape is not None,
        "patches are not cut into groups; leave group_size at 1, or input_shape at None",
    ),
    *(
        NoEffect(
            name,
            "n_components",
            lambda model: model.n_components == 0,
            f"there are no features; leave {name} at its default, or ask for features",
        )
        for name in ("group_size", "features_per_mask", "input_shape")
    ),
    *(
        NoEffect(
            name,
            "settings",
            lambda model: model.settings is not None,
            f"settings say it too; leave {name} at its default, or settings at None",
        )
        for name in ("activation", "n_components", "alpha", "gamma")
    ),
    *(
        NoEffect(
            name,
            "settings",
            lambda model, name=name: _contradicts(model, name),  # type: ignore[misc]
            f"settings say something else; leave {name} at 'auto', or settings at None",
        )
        for name in ("learn", "teacher")
    ),
)
"""Combinations in which a parameter never changes the result."""
