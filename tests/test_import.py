"""``import cerflearn`` is lazy: public names are imported on first use."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import cerflearn

PUBLIC = [
    "CVEM",
    "BlockedCERF",
    "CERFClassifier",
    "CERFRegressor",
    "CerfFormatError",
    "FastfoodFeatures",
    "Greedy",
    "KernelAutoencoder",
    "KernelImputer",
    "MaskedCERF",
    "MaskedFourierFeatures",
    "RandomFourierFeatures",
    "RandomizedKernelCCA",
    "RandomizedKernelPCA",
    "Shared",
    "Trained",
    "cost",
    "export_c",
    "export_onnx",
    "frontier",
    "load",
    "save",
]
MODULES = ["blocks", "plotting", "rivals", "spectral"]


def modules_after(code: str) -> set[str]:
    """Names of the modules that a fresh interpreter has imported after ``code``."""
    script = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_loads_neither_numpy_nor_scipy_nor_scikit_learn():
    modules = modules_after("import cerflearn\ndir(cerflearn)")
    assert not modules & {"numpy", "scipy", "sklearn", "joblib", "cerflearn._native"}


def test_maps_and_laws_do_not_load_scikit_learn():
    modules = modules_after(
        "import cerflearn.spectral, cerflearn.features.dense, cerflearn.features.masked, "
        "cerflearn.features.blocked, cerflearn.learning.cvem, cerflearn.engine.engines, "
        "cerflearn.linalg.canonical, cerflearn.linalg.columns"
    )
    assert "sklearn" not in modules


def test_estimators_do_not_load_what_is_optional():
    modules = modules_after(f"import cerflearn.plotting; from cerflearn import {', '.join(PUBLIC)}")
    assert not modules & {"polars", "matplotlib", "dask", "onnx", "click"}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_can_be_reached_and_are_listed(name):
    assert name in dir(cerflearn)
    assert name in cerflearn.__all__
    assert getattr(cerflearn, name).__name__ == name


@pytest.mark.parametrize("name", MODULES)
def test_public_modules_can_be_reached_after_the_import_and_are_listed(name):
    assert name in dir(cerflearn)
    assert name in cerflearn.__all__
    code = f"import cerflearn; assert cerflearn.{name}.__name__ == 'cerflearn.{name}'"
    assert f"cerflearn.{name}" in modules_after(code)
    assert f"cerflearn.{name}" not in modules_after("import cerflearn; dir(cerflearn)")


def test_a_star_import_gives_the_public_names():
    names: dict[str, object] = {}
    exec("from cerflearn import *", names)
    public = {*PUBLIC, *MODULES, "__version__"}
    assert public <= set(names)
    assert public == set(cerflearn.__all__)


def test_version_is_text():
    assert cerflearn.__version__[0].isdigit()


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'cerflearn' has no attribute 'Nystroem'"):
        _ = cerflearn.Nystroem


def test_reloading_keeps_the_names():
    assert importlib.reload(cerflearn).cost.__name__ == "cost"
