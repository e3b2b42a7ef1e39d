"""Kernel machines on a compute budget.

Public names are imported on first use, so that ``import cerflearn`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerflearn.estimators.blocked import BlockedCERF
    from cerflearn.estimators.cost import cost
    from cerflearn.estimators.fastfood import FastfoodFeatures
    from cerflearn.estimators.masked import MaskedCERF
    from cerflearn.estimators.rff import RandomFourierFeatures

    __version__: str

__all__ = [
    "BlockedCERF",
    "FastfoodFeatures",
    "MaskedCERF",
    "RandomFourierFeatures",
    "__version__",
    "cost",
]

_MODULES = {
    "BlockedCERF": "cerflearn.estimators.blocked",
    "FastfoodFeatures": "cerflearn.estimators.fastfood",
    "MaskedCERF": "cerflearn.estimators.masked",
    "RandomFourierFeatures": "cerflearn.estimators.rff",
    "cost": "cerflearn.estimators.cost",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "__version__":
        value: Any = _version()
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
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
