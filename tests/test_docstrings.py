"""numpydoc's own validation of everything public."""

from __future__ import annotations

import inspect

import pytest
from numpydoc.validate import validate

import cerflearn
from cerflearn import blocks, rivals

# Not asked for: an extended summary; text on the line of the quotes; "self : object", which
# scikit-learn has in its own docstrings; See Also and examples of methods, which stand with their
# class.
NOT_ASKED = {"ES01", "GL01", "RT02", "EX01", "SA01"}
OF_CLASSES_TOO = {"EX01", "SA01"}


def public_objects():
    """Dotted names of public classes and functions, and of the methods that are ours."""
    owners = {"cerflearn": cerflearn, "cerflearn.blocks": blocks, "cerflearn.rivals": rivals}
    for module_name, module in owners.items():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value):
                yield f"{module_name}.{name}"
                for method, function in inspect.getmembers(value, inspect.isfunction):
                    if not method.startswith("_") and function.__module__.startswith("cerflearn"):
                        yield f"{module_name}.{name}.{method}"
            elif inspect.isfunction(value):
                yield f"{module_name}.{name}"


def test_every_public_class_names_the_paper():
    for module in (cerflearn, rivals):
        public = (getattr(module, name) for name in module.__all__)
        classes = [cls for cls in public if inspect.isclass(cls)]
        for cls in (cls for cls in classes if not issubclass(cls, Exception)):
            references = inspect.getdoc(cls).split("References\n----------\n")[1]
            assert "Wangni, Zhuo" in references, cls


@pytest.mark.parametrize("name", list(public_objects()))
def test_docstrings_pass_numpydocs_validation(name):
    is_method = name.count(".") > 1 + name.startswith(("cerflearn.blocks", "cerflearn.rivals"))
    ignored = NOT_ASKED if is_method else NOT_ASKED - OF_CLASSES_TOO
    errors = [error for error in validate(name)["errors"] if error[0] not in ignored]
    assert not errors


@pytest.mark.parametrize("module", [cerflearn, rivals])
def test_every_parameter_of_a_constructor_has_a_type(module):
    public = [getattr(module, name) for name in module.__all__]
    classes = [c for c in public if inspect.isclass(c) and not issubclass(c, Exception)]
    assert classes
    for cls in classes:
        for parameter in inspect.signature(cls).parameters.values():
            assert parameter.annotation not in (parameter.empty, "Any"), (cls, parameter)
