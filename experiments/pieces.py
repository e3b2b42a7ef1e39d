"""A piece of an experiment: what is measured at once and kept under one key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Piece:
    """A call whose result is kept.

    Parameters
    ----------
    key : tuple of str
        Place in the results of the experiment.
    function : callable
        Of a module, so that it can be sent to another process; returns a dict for JSON.
    arguments : dict
        Plain keyword arguments of it.
    needs : tuple of str, default=()
        Key of another piece of the experiment, whose result is passed as the keyword ``given``;
        this piece waits for it. None if empty.
    """

    key: tuple[str, ...]
    function: Callable[..., dict[str, Any]]
    arguments: dict[str, Any]
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Key as one line of text."""
        return " / ".join(self.key)
