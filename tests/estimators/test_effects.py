"""Every parameter of a public class changes the result, or is refused where it would not."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

import cerflearn
from cerflearn._validation import NoEffect
from effect_examples import EXAMPLES, EXECUTION, X, Y

ROOMS = tuple(f"cerflearn.estimators.{room}" for room in ("maps", "cerf", "predictors"))
"""Whose public classes have examples."""


def name_of(value):
    return value.__name__ if isinstance(value, type) else str(value)


def parameters_of(cls):
    return set(inspect.signature(cls).parameters)


def fitted(cls, setting):
    examples = EXAMPLES[cls]
    parameters = {**examples.common, **setting}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that stages were too few is no error
        return examples.make(cls, parameters).fit(X, Y)


def entries():
    return [(cls, entry) for cls in EXAMPLES for entry in cls._without_effect]


ENTRIES = entries()


def test_every_public_class_has_examples():
    public = [getattr(cerflearn, name) for name in cerflearn.__all__]
    classes = {c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)}
    assert {c for c in classes if c.__module__.startswith(ROOMS)} == set(EXAMPLES)


@pytest.mark.parametrize("cls", EXAMPLES, ids=name_of)
def test_every_parameter_has_an_example(cls):
    examples = EXAMPLES[cls]
    assert set(examples.changes) | examples.of_many_rows == parameters_of(cls) - EXECUTION
    declared = {(entry.parameter, entry.beside) for entry in cls._without_effect}
    assert set(EXAMPLES[cls].refused) == declared


@pytest.mark.parametrize(
    ("cls", "name"), [(c, n) for c in EXAMPLES for n in EXAMPLES[c].changes], ids=name_of
)
def test_a_parameter_changes_the_result(cls, name):
    examples = EXAMPLES[cls]
    settings = examples.changes[name]
    first, second = ({**examples.common, **setting} for setting in settings)
    assert {key for key in first if first[key] is not second[key]} == {name}
    results = [examples.result(fitted(cls, setting)) for setting in settings]
    assert not np.array_equal(*results)
    again = examples.result(fitted(cls, settings[0]))
    np.testing.assert_array_equal(again, results[0])  # it is not chance that they differ


@pytest.mark.parametrize(
    ("cls", "entry"), ENTRIES, ids=[f"{c.__name__}-{e.parameter}-{e.beside}" for c, e in ENTRIES]
)
def test_a_parameter_without_effect_is_refused(cls, entry: NoEffect):
    setting = EXAMPLES[cls].refused[entry.parameter, entry.beside]
    value, beside = setting[entry.parameter], setting[entry.beside]
    message = f"{entry.parameter}={value!r} has no effect with {entry.beside}={beside!r}: "
    with pytest.raises(ValueError, match=re.escape(message + entry.remedy)):
        fitted(cls, setting)
    # It is for this parameter alone that the setting is refused.
    fitted(cls, {name: other for name, other in setting.items() if name != entry.parameter})
