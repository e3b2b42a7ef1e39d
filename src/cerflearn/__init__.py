"""Kernel machines on a compute budget.

Public names and modules are imported on first use, so that ``import cerflearn`` costs next to
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerflearn import blocks, plotting, rivals, spectral
    from cerflearn.comparison.frontier import frontier
    from cerflearn.estimators.applications.autoencoder import KernelAutoencoder
    from cerflearn.estimators.applications.cca import RandomizedKernelCCA
    from cerflearn.estimators.applications.imputer import KernelImputer
    from cerflearn.estimators.applications.kernel_pca import RandomizedKernelPCA
    from cerflearn.estimators.cerf.blocked_cerf import BlockedCERF
    from cerflearn.estimators.cerf.cvem_selector import CVEM
    from cerflearn.estimators.cerf.masked_cerf import MaskedCERF
    from cerflearn.estimators.cerf.selectors import Greedy
    from cerflearn.estimators.cerf.shared_selector import Shared
    from cerflearn.estimators.cerf.trained import Trained
    from cerflearn.estimators.maps.fastfood import FastfoodFeatures
    from cerflearn.estimators.maps.masked import MaskedFourierFeatures
    from cerflearn.estimators.maps.rff import RandomFourierFeatures
    from cerflearn.estimators.predictors.classifier import CERFClassifier
    from cerflearn.estimators.predictors.regressor import CERFRegressor
    from cerflearn.export.c99.c_export import export_c
    from cerflearn.export.deployed_cost import cost
    from cerflearn.export.onnx.onnx_export import export_onnx
    from cerflearn.files.format_error import CerfFormatError
    from cerflearn.persistence.model_file import load, save

    __version__: str

__all__ = [
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
    "__version__",
    "blocks",
    "cost",
    "export_c",
    "export_onnx",
    "frontier",
    "load",
    "plotting",
    "rivals",
    "save",
    "spectral",
]

_MODULES = {
    "BlockedCERF": "cerflearn.estimators.cerf.blocked_cerf",
    "CERFClassifier": "cerflearn.estimators.predictors.classifier",
    "CERFRegressor": "cerflearn.estimators.predictors.regressor",
    "CVEM": "cerflearn.estimators.cerf.cvem_selector",
    "CerfFormatError": "cerflearn.files.format_error",
    "FastfoodFeatures": "cerflearn.estimators.maps.fastfood",
    "Greedy": "cerflearn.estimators.cerf.selectors",
    "KernelAutoencoder": "cerflearn.estimators.applications.autoencoder",
    "KernelImputer": "cerflearn.estimators.applications.imputer",
    "MaskedCERF": "cerflearn.estimators.cerf.masked_cerf",
    "MaskedFourierFeatures": "cerflearn.estimators.maps.masked",
    "RandomFourierFeatures": "cerflearn.estimators.maps.rff",
    "RandomizedKernelCCA": "cerflearn.estimators.applications.cca",
    "RandomizedKernelPCA": "cerflearn.estimators.applications.kernel_pca",
    "Shared": "cerflearn.estimators.cerf.shared_selector",
    "Trained": "cerflearn.estimators.cerf.trained",
    "cost": "cerflearn.export.deployed_cost",
    "export_c": "cerflearn.export.c99.c_export",
    "export_onnx": "cerflearn.export.onnx.onnx_export",
    "frontier": "cerflearn.comparison.frontier",
    "load": "cerflearn.persistence.model_file",
    "save": "cerflearn.persistence.model_file",
}

_SUBMODULES = ("blocks", "onnx", "plotting", "rivals", "spectral")


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "__version__":
        value: Any = _version()
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    elif name in _SUBMODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, those not imported yet included, and the module's own attributes."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cerflearn")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"
