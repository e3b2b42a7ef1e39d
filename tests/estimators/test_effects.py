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
from application_examples import APPLICATIONS
from cerflearn import rivals
from cerflearn._validation import NoEffect
from effect_examples import EXAMPLES as OTHERS
from effect_examples import EXECUTION, IN_SECOND_FIT
from selector_examples import SELECTORS

EXAMPLES = OTHERS | APPLICATIONS | SELECTORS


def name_of(value):
    return value.__name__ if isinstance(value, type) else str(value)


def parameters_of(cls):
    return set(inspect.signature(cls).parameters)


def fitted(cls, setting, *, stream=False, n_fits=1):
    examples = EXAMPLES[cls]
    parameters = {**examples.common, **setting}
    model = examples.make(cls, parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that stages were too few is no error
        if not stream:
            for _ in range(n_fits):
                model.fit(*examples.data)
            return model
        X, y = examples.data
        for part in np.array_split(np.arange(len(X)), 5):
            model.partial_fit(X[part], y[part])
        return model


def result(cls, setting, **how):
    examples = EXAMPLES[cls]
    return examples.result(fitted(cls, setting, **how), *examples.data)


def entries():
    return [(cls, entry) for cls in EXAMPLES for entry in cls._without_effect]


ENTRIES = entries()


def test_every_public_class_has_examples():
    public = [getattr(room, name) for room in (cerflearn, rivals) for name in room.__all__]
    classes = {c for c in public if isinstance(c, type) and issubclass(c, BaseEstimator)}
    assert classes == set(EXAMPLES)


@pytest.mark.parametrize("cls", EXAMPLES, ids=name_of)
def test_every_parameter_has_an_example(cls):
    examples = EXAMPLES[cls]
    assert set(examples.changes) == parameters_of(cls) - EXECUTION
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
    how = {"stream": name in examples.in_stream, "n_fits": 2 if name in IN_SECOND_FIT else 1}
    results = [result(cls, setting, **how) for setting in settings]
    assert not np.array_equal(*results)
    # It is not chance that they differ.
    np.testing.assert_array_equal(result(cls, settings[0], **how), results[0])


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
