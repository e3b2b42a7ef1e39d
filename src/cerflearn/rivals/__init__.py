"""Rivals of the paper's Table 4 as estimators: baselines of the comparison, not the method.

``_base`` has what they share: reading, standardising, gamma, scores and probabilities. One
estimator a file: ``kitchen_sinks``, ``mkl`` (solver on arrays: ``_simplex``), ``alacarte``
(``_evidence``) and ``bank`` (``_dirichlet`` for the mixture, ``_sampler`` for the chain). Names
are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerflearn.rivals.alacarte import ALaCarte
    from cerflearn.rivals.bank import BaNK
    from cerflearn.rivals.kitchen_sinks import RandomKitchenSinks
    from cerflearn.rivals.mkl import MultipleKernelLearning

__all__ = ["ALaCarte", "BaNK", "MultipleKernelLearning", "RandomKitchenSinks"]

_RIVAL_MODULES = {
    "ALaCarte": "cerflearn.rivals.alacarte",
    "BaNK": "cerflearn.rivals.bank",
    "MultipleKernelLearning": "cerflearn.rivals.mkl",
    "RandomKitchenSinks": "cerflearn.rivals.kitchen_sinks",
}


def __getattr__(name: str) -> Any:
    """Import a rival on first use (PEP 562)."""
    if name not in _RIVAL_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_RIVAL_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Names of the module, those not imported yet included."""
    return sorted({*globals(), *__all__})
