"""Checks of parameters: what passes, what is refused, and what the messages say."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cerflearn._validation import (
    Flag,
    NoEffect,
    Number,
    OneOf,
    Passes,
    Verbosity,
    Whole,
    check_effects,
    check_parameters,
    invalid,
    make_generator,
)

NUMBER = Number("a number in (0, 1], 'auto' or None", above=0.0, at_most=1.0, also=("auto", None))
WHOLE = Whole("an integer from 2 to 9 or None", at_least=2, at_most=9, also=(None,))

VALID = [
    (NUMBER, [0.5, 1, np.float32(0.25), np.int64(1), "auto", None]),
    (WHOLE, [2, 9, np.int8(3), None]),
    (OneOf(("a", "b")), ["a", np.str_("b")]),
    (OneOf((1, 2, 4)), [1, np.int64(4)]),
    (Flag(), [True, False, np.True_]),
    (Verbosity(), [True, 0, 3, np.int64(2)]),
]
INVALID = [
    (NUMBER, [0.0, 1.1, np.nan, np.inf, True, "other", np.array([0.5]), 0.5j, [0.5], 10**400]),
    (WHOLE, [1, 10, 2.0, True, "auto", np.array([3])]),
    (OneOf(("a", "b")), ["c", None, 1, np.array(["a"]), ("a",)]),
    (OneOf((1, 2, 4)), [3, 2.0, True, "1", np.array([1])]),
    (Flag(), [0, 1, None, "True", np.array([True])]),
    (Verbosity(), [-1, 1.5, "much", None]),
]


def pairs(cases):
    return [(constraint, value) for constraint, given in cases for value in given]


@pytest.mark.parametrize(("constraint", "value"), pairs(VALID), ids=repr)
def test_valid_values_pass(constraint, value):
    constraint.check("name", value)


@pytest.mark.parametrize(("constraint", "value"), pairs(INVALID), ids=repr)
def test_other_values_are_refused_with_name_and_value(constraint, value):
    shown = value.item() if isinstance(value, np.generic) else value
    with pytest.raises(ValueError, match=re.escape(f"name={shown!r} is not valid: it must be ")):
        constraint.check("name", value)


class Thing:
    """With the attributes of an estimator that was made, not fitted."""

    def __init__(self, *, first=1.0, second="on", third=None):
        self.first, self.second, self.third = first, second, third


def refuse_odd(name, value):
    if value % 2:
        raise invalid(name, value, "even")


def test_a_table_is_checked_in_its_order():
    table = {"second": OneOf(("on", "off")), "first": Passes(refuse_odd)}
    check_parameters(Thing(first=2), table)
    with pytest.raises(ValueError, match=r"first=3 is not valid: it must be even\."):
        check_parameters(Thing(first=3), table)
    with pytest.raises(ValueError, match="second='no' is not valid: it must be 'on' or 'off'"):
        check_parameters(Thing(first=3, second="no"), table)


WITHOUT_EFFECT = (
    NoEffect("first", "second", lambda thing: thing.second == "off", "pass second='on'"),
    NoEffect("third", "second", lambda thing: thing.second == "off", "it is never read"),
)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"second": "off"}, {"second": "off", "first": 1.0, "third": None}, {"first": 2.0}],
    ids=str,
)
def test_defaults_and_parameters_with_effect_pass(parameters):
    check_effects(Thing(**parameters), WITHOUT_EFFECT)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"first": 2.0}, "first=2.0 has no effect with second='off': pass second='on'."),
        ({"third": 0}, "third=0 has no effect with second='off': it is never read."),
        ({"third": np.ones(2)}, "third=array([1., 1.]) has no effect with second='off'"),
        ({"first": np.ones(2)}, "first=array([1., 1.]) has no effect with second='off'"),
    ],
    ids=str,
)
def test_parameters_without_effect_are_refused(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_effects(Thing(second="off", **parameters), WITHOUT_EFFECT)


def test_a_random_state_seeds_with_four_words_and_goes_on():
    state, expected = np.random.RandomState(0), np.random.RandomState(0)
    words = expected.randint(0, 2**32, size=4, dtype=np.uint32)
    drawn = make_generator(state).random(3)
    np.testing.assert_array_equal(drawn, np.random.default_rng(words).random(3))
    assert state.randint(2**31) == expected.randint(2**31)
