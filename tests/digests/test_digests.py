"""Fitted arrays and outputs have the recorded bits, on the machine they were recorded on."""

from __future__ import annotations

import numpy as np
import pytest

from digests.configurations import CONFIGURATIONS, EQUAL, compute, differences, digest
from digests.record import load, other_environment

RECORDED = load()


@pytest.fixture(scope="module")
def same_environment():
    reason = other_environment(RECORDED)
    if reason:
        pytest.skip(f"digests were recorded in another environment: {reason}")


def test_every_configuration_is_recorded():
    assert list(RECORDED["digests"]) == list(CONFIGURATIONS)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_bits_are_as_recorded(name, same_environment):
    assert differences(compute(name), RECORDED["digests"][name]) == []


@pytest.mark.parametrize("name", EQUAL)
def test_recorded_bits_do_not_depend_on_threads_or_cache(name):
    assert RECORDED["digests"][name] == RECORDED["digests"][EQUAL[name]]


def test_a_digest_sees_dtype_shape_and_bytes():
    values = [
        np.zeros(4),
        np.zeros(4, dtype=np.float32),
        np.zeros((2, 2)),
        np.full(4, -0.0),
        np.array([0.0, 0.0, 0.0, 5e-324]),
    ]
    assert len({digest(value) for value in values}) == len(values)
    transposed = np.arange(6.0).reshape(2, 3).T
    assert digest(transposed) == digest(transposed.copy(order="C"))


def test_differences_are_named():
    found = differences({"a": "1", "b": "2", "d": "4"}, {"a": "1", "b": "3", "c": "4"})
    assert found == ["c is missing", "d is new", "b differs"]
