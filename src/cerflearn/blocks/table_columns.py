"""Columns of tables by name: those of X, and those of y."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class TableColumns:
    """Columns of X and of y of a table with named columns.

    Parameters
    ----------
    names : list of str
        All there are.
    columns : str, sequence of str or None
        Columns of X; all but those of y if None.
    target : str, sequence of str or None
        Columns of y.
    where : str
        The file, for errors.

    Attributes
    ----------
    features : list of str
        Columns of X.
    targets : list of str
        Columns of y.
    """

    def __init__(self, names: list[str], columns: Any, target: Any, where: str) -> None:
        named = [target] if isinstance(target, str) else list(target or ())
        self.targets: list[str] = named
        self.features = _pick_columns(names, columns, named, where)

    @property
    def all(self) -> list[str]:
        """Columns to read."""
        return [*self.features, *self.targets]

    def target(self, values: Callable[[str], Any]) -> Any:
        """Return y of a block: one dimension for one column, two for more, None for none.

        Parameters
        ----------
        values : callable
            Values of a column, by its name.
        """
        found = [values(name) for name in self.targets]
        if not found:
            return None
        return found[0] if len(found) == 1 else np.column_stack(found)


def _pick_columns(names: list[str], columns: Any, target: list[str], where: str) -> list[str]:
    """Names of the columns of X: those asked for, or all but the targets."""
    if isinstance(columns, str):
        columns = [columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{where} has several columns with the name {twice[0]!r}.")
    wanted = [name for name in names if name not in target] if columns is None else list(columns)
    missing = [name for name in (*wanted, *target) if name not in names]
    if missing:
        shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{where} has no column {missing[0]!r}; it has {shown}.")
    both = [name for name in wanted if name in target]
    if both:
        raise ValueError(f"The column {both[0]!r} is in columns and is the target: leave one out.")
    if not wanted:
        raise ValueError(f"{where} has no columns for X.")
    return wanted
