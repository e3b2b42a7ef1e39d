"""Checks of parameters, made once in ``fit``; every message has name, value and remedy.

An estimator has two tables beside its class: what each parameter must be
(:func:`check_parameters`), and in which combinations a parameter changes nothing
(:func:`check_effects`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

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
    below: float = np.inf,
) -> float:
    """Return a finite real number within bounds as a float; NumPy scalars count, bools do not."""
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        try:
            number = float(value)
        except OverflowError:  # of integers and fractions; longer floats become infinite
            number = np.inf
        within = above < number < below and at_least <= number <= at_most
        if np.isfinite(number) and within:
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


class Constraint(Protocol):
    """What a parameter must be."""

    def check(self, name: str, value: Any) -> None:
        """Raise a ValueError that names the parameter unless ``value`` is valid."""


@dataclass(frozen=True)
class Number:
    """A finite real number within bounds, or one of ``also`` (None or strings)."""

    must_be: str
    above: float = -np.inf
    at_least: float = -np.inf
    at_most: float = np.inf
    below: float = np.inf
    also: tuple[str | None, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Refuse other values."""
        if not _is_one_of(value, self.also):
            bounds = {"above": self.above, "at_least": self.at_least}
            bounds |= {"at_most": self.at_most, "below": self.below}
            check_number(name, value, self.must_be, **bounds)


@dataclass(frozen=True)
class Whole:
    """An integer within bounds, or one of ``also`` (None or strings)."""

    must_be: str
    at_least: int = 1
    at_most: int | None = None
    also: tuple[str | None, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Refuse other values."""
        if not _is_one_of(value, self.also):
            check_integer(name, value, self.must_be, at_least=self.at_least, at_most=self.at_most)


@dataclass(frozen=True)
class OneOf:
    """One of some strings, or one of some integers."""

    choices: tuple[str | int, ...]

    def check(self, name: str, value: Any) -> None:
        """Refuse other values."""
        check_choice(name, value, self.choices)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, name: str, value: Any) -> None:
        """Refuse other values."""
        check_flag(name, value)


@dataclass(frozen=True)
class Verbosity:
    """True, False or a number that is not negative."""

    def check(self, name: str, value: Any) -> None:
        """Refuse other values."""
        if not isinstance(value, bool | np.bool_):
            check_integer(name, value, "True, False or a number", at_least=0)


@dataclass(frozen=True)
class Passes:
    """Whatever a function lets pass: ``function(name, value)`` raises or returns."""

    function: Callable[[str, Any], object]

    def check(self, name: str, value: Any) -> None:
        """Refuse other values."""
        self.function(name, value)


def check_parameters(estimator: Any, constraints: Mapping[str, Constraint]) -> None:
    """Check the parameters of an estimator that a table names, in its order."""
    for name, constraint in constraints.items():
        constraint.check(name, getattr(estimator, name))


@dataclass(frozen=True)
class NoEffect:
    """A combination in which a parameter changes nothing.

    Attributes
    ----------
    parameter : str
        What has no effect, unless it has its default value.
    beside : str
        The parameter whose value is the reason.
    when : callable
        Of the estimator: whether that parameter has such a value.
    remedy : str
        End of the message.
    """

    parameter: str
    beside: str
    when: Callable[[Any], bool]
    remedy: str


def check_effects(estimator: Any, combinations: Sequence[NoEffect]) -> None:
    """Refuse parameters that were given and never change the result, each with the reason."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    for combination in combinations:
        name, beside = combination.parameter, combination.beside
        value = getattr(estimator, name)
        if _same(value, defaults[name].default) or not combination.when(estimator):
            continue
        raise ValueError(
            f"{name}={value!r} has no effect with {beside}={getattr(estimator, beside)!r}: "
            f"{combination.remedy}."
        )


def _is_one_of(value: Any, allowed: tuple[str | None, ...]) -> bool:
    """Whether a value is None or a string among those allowed; arrays are never."""
    return (value is None or isinstance(value, str)) and value in allowed


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default value: equal and of the same kind."""
    return value is default or (isinstance(value, type(default)) and bool(value == default))
