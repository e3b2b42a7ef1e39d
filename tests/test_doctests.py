"""The examples in the docstrings run."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import cerflearn


def modules():
    for module in pkgutil.walk_packages(cerflearn.__path__, "cerflearn."):
        if "._core" not in module.name:
            yield module.name


@pytest.mark.parametrize("name", sorted(modules()))
def test_examples_of_module(name):
    result = doctest.testmod(import_module(name))
    assert result.failed == 0


def test_public_classes_have_examples():
    finder = doctest.DocTestFinder()
    for name in cerflearn.__all__:
        thing = getattr(cerflearn, name)
        if isinstance(thing, type):
            examples = [e for test in finder.find(thing) for e in test.examples]
            assert examples, f"{name} has no example in its docstring"
