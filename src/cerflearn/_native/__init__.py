"""The only importer of the compiled extension: level, threads, model objects, outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cerflearn._native import _core
from cerflearn._native._core import (
    Model,
    cosine_turns,
    dense_model,
    fastfood_model,
    finish_phases,
    fma_peak,
    get_num_threads,
    kept_output_bytes,
    kept_output_limit,
    levels,
    masked_model,
    set_kept_output_limit,
    set_num_threads,
    sine_turns,
    walsh_hadamard,
)
from cerflearn._native._outputs import empty_output
from cerflearn._native._threads import available_cores

__all__ = [
    "Model",
    "available_cores",
    "backend_info",
    "cosine_turns",
    "current_level",
    "dense_model",
    "empty_output",
    "fastfood_model",
    "finish_phases",
    "fma_peak",
    "get_num_threads",
    "kept_output_bytes",
    "kept_output_limit",
    "levels",
    "masked_model",
    "set_kept_output_limit",
    "set_num_threads",
    "sine_turns",
    "use_level",
    "walsh_hadamard",
]

_level = levels()[-1]


def current_level() -> str:
    """Level that new models are packed for: the best this CPU has, or a forced one."""
    return _level


@contextmanager
def use_level(level: str) -> Iterator[None]:
    """Force an instruction-set level inside a ``with`` block (not per thread).

    Parameters
    ----------
    level : {"baseline", "v3", "v4"}
        One of :func:`levels`; anything else is a ValueError.
    """
    global _level
    if level not in levels():
        raise ValueError(f"level={level!r} cannot run on this CPU; it has {', '.join(levels())}.")
    before, _level = _level, level
    try:
        yield
    finally:
        _level = before


def backend_info() -> dict[str, Any]:
    """Tell what the native core runs on: level in use, levels available, threads, compiler."""
    return {
        "level": current_level(),
        "levels": levels(),
        "threads": get_num_threads(),
        "compiler": _core.compiler(),
    }
