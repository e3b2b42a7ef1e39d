"""Kernel machines on a compute budget.

Public names and modules are imported on first use, so that ``import cerflearn`` costs next to
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerflearn import plotting, rivals, spectral
    from cerflearn.comparison.frontier import frontier
    from cerflearn.estimators.autoencoder import KernelAutoencoder
    from cerflearn.estimators.blocked import BlockedCERF
    from cerflearn.estimators.cca import RandomizedKernelCCA
    from cerflearn.estimators.classifier import CERFClassifier
    from cerflearn.estimators.cost import cost
    from cerflearn.estimators.fastfood import FastfoodFeatures
    from cerflearn.estimators.imputer import KernelImputer
    from cerflearn.estimators.kernel_pca import RandomizedKernelPCA
    from cerflearn.estimators.masked import MaskedCERF
    from cerflearn.estimators.regressor import CERFRegressor
    from cerflearn.estimators.rff import RandomFourierFeatures

    __version__: str

__all__ = [
    "BlockedCERF",
    "CERFClassifier",
    "CERFRegressor",
    "FastfoodFeatures",
    "KernelAutoencoder",
    "KernelImputer",
    "MaskedCERF",
    "RandomFourierFeatures",
    "RandomizedKernelCCA",
    "RandomizedKernelPCA",
    "__version__",
    "cost",
    "frontier",
    "plotting",
    "rivals",
    "spectral",
]

_MODULES = {
    "BlockedCERF": "cerflearn.estimators.blocked",
    "CERFClassifier": "cerflearn.estimators.classifier",
    "CERFRegressor": "cerflearn.estimators.regressor",
    "FastfoodFeatures": "cerflearn.estimators.fastfood",
    "KernelAutoencoder": "cerflearn.estimators.autoencoder",
    "KernelImputer": "cerflearn.estimators.imputer",
    "MaskedCERF": "cerflearn.estimators.masked",
    "RandomFourierFeatures": "cerflearn.estimators.rff",
    "RandomizedKernelCCA": "cerflearn.estimators.cca",
    "RandomizedKernelPCA": "cerflearn.estimators.kernel_pca",
    "cost": "cerflearn.estimators.cost",
    "frontier": "cerflearn.comparison.frontier",
}

_SUBMODULES = ("plotting", "rivals", "spectral")


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
    """Names of the module, those not imported yet included."""
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cerflearn")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"
