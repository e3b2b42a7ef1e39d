"""Data in blocks of rows, read again and again: more rows than memory holds.

``from_npy``, ``from_parquet``, ``from_csv`` and ``from_svmlight`` read files, ``from_blocks`` calls
a function of yours; what they return can be passed as X to ``fit`` and ``transform``. A source of
another kind is a class with :class:`RowSource` as base. Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerflearn.blocks.called import from_blocks
    from cerflearn.blocks.lines import from_csv, from_svmlight
    from cerflearn.blocks.npy import from_npy
    from cerflearn.blocks.parquet import from_parquet
    from cerflearn.blocks.row_source import RowSource

__all__ = ["RowSource", "from_blocks", "from_csv", "from_npy", "from_parquet", "from_svmlight"]

_SOURCE_MODULES = {
    "RowSource": "cerflearn.blocks.row_source",
    "from_blocks": "cerflearn.blocks.called",
    "from_csv": "cerflearn.blocks.lines",
    "from_npy": "cerflearn.blocks.npy",
    "from_parquet": "cerflearn.blocks.parquet",
    "from_svmlight": "cerflearn.blocks.lines",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use (PEP 562)."""
    if name not in _SOURCE_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_SOURCE_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Names of the module, those not imported yet included."""
    return sorted({*globals(), *__all__})
