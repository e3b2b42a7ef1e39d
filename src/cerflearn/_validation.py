"""Checks of parameters, made once at the door; every message has name, value and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def invalid(name: str, value: Any, must_be: str) -> ValueError:
    """Make the error ``name=value is not valid: it must be ...``.

    Examples
    --------
    >>> invalid("gamma", -1, "a positive number, 'scale' or 'median'")
    ValueError("gamma=-1 is not valid: it must be a positive number, 'scale' or 'median'.")
    """
    if isinstance(value, np.generic):
        value = value.item()
    return ValueError(f"{name}={value!r} is not valid: it must be {must_be}.")


def check_number(
    name: str,
    value: Any,
    must_be: str,
    *,
    above: float = -np.inf,
    at_least: float = -np.inf,
    at_most: float = np.inf,
) -> float:
    """Return a finite real number within bounds as a float; NumPy scalars count, bools do not."""
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        number = float(value)
        if np.isfinite(number) and above < number and at_least <= number <= at_most:
            return number
    raise invalid(name, value, must_be)


def check_integer(
    name: str, value: Any, must_be: str, *, at_least: int = 1, at_most: int | None = None
) -> int:
    """Return an integer within bounds as an int; NumPy scalars count, bools do not."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= at_least and (at_most is None or number <= at_most):
            return number
    raise invalid(name, value, must_be)


def check_choice(name: str, value: Any, choices: Sequence[str | int]) -> None:
    """Refuse a value that is not one of ``choices``, all strings or all integers."""
    kind: Any = str if isinstance(choices[0], str) else Integral
    if not isinstance(value, kind) or isinstance(value, bool) or value not in choices:
        *first, last = (repr(choice) for choice in choices)
        raise invalid(name, value, f"{', '.join(first)} or {last}" if first else last)


def check_flag(name: str, value: Any) -> None:
    """Refuse a value that is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise invalid(name, value, "True or False")


def check_at_most_one(first: str, first_value: Any, second: str, second_value: Any) -> None:
    """Refuse two parameters of which at most one may be given."""
    if first_value is not None and second_value is not None:
        raise ValueError(
            f"{first}={first_value!r} and {second}={second_value!r} are not valid together: "
            f"pass one of them and leave the other None."
        )


def make_generator(random_state: Any) -> np.random.Generator:
    """Turn ``random_state`` into one generator.

    An int seeds it and None takes fresh entropy; a Generator is used as it is, and a RandomState
    draws the seed, so that both go on where they are.
    """
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    must_be = "a non-negative integer, a NumPy generator or None"
    seed = check_integer("random_state", random_state, must_be, at_least=0)
    return np.random.default_rng(seed)
