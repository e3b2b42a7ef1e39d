"""What a comparison found: rows, a table to read, a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from cerflearn._validation import check_integer

Row = dict[str, Any]

NUMBERS = ("macs", "score", "error", "scores", "microseconds", "fit_seconds", "size", "n_bytes")
"""Entries of a row that are None without a model."""

_RIGHT, _LEFT = "right", "left"
_COLUMNS = (
    ("budget", 9, _RIGHT),
    ("method", 12, _LEFT),
    ("MACs", 9, _RIGHT),
    ("{metric}", 16, _RIGHT),
    ("us/row", 9, _RIGHT),
    ("fit s", 8, _RIGHT),
    ("size", 8, _RIGHT),
)


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """Accuracy against cost for several methods, the result of :func:`cerflearn.frontier`.

    It prints as a table, by budget and the best first, and is shown as one in notebooks.

    Parameters
    ----------
    rows : list of dict
        One for each method and budget, with the keys ``method``; ``budget``; ``macs``, counted
        (the highest of the seeds); ``score``, the mean over seeds, and ``error``, its standard
        error (NaN for one seed); ``scores``, of each seed; ``microseconds`` per row, the least of
        the seeds; ``fit_seconds``, the mean, with the choice of settings and width; ``size``,
        features or hidden units; ``n_bytes``; and ``note``: why there is no model (then the
        numbers are None), or why it is smaller than the budget allows.
    metric : {"accuracy", "R2"}
        What ``score`` is: share of right labels, or coefficient of determination, the mean over
        targets.
    title : str
        Data and seeds, in one line.

    See Also
    --------
    cerflearn.frontier : Makes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cerflearn import frontier
    >>> X, y = load_iris(return_X_y=True)
    >>> found = frontier(X, y, macs=[20, 50], methods=["linear", "rff"])
    >>> found.best(30)["method"]
    'linear'
    """

    rows: list[Row]
    metric: str
    title: str = field(default="")

    @property
    def fitted(self) -> list[Row]:
        """Rows with a model."""
        return [row for row in self.rows if row["score"] is not None]

    def best(self, macs: int) -> Row:
        """Row with the highest score among models of at most ``macs`` MACs, the cheapest of equals.

        Parameters
        ----------
        macs : int
            Budget, any number.

        Returns
        -------
        dict
            One of ``rows``; those without a model are not considered.
        """
        check_integer("macs", macs, "a positive integer")
        affordable = [row for row in self.fitted if row["macs"] <= macs]
        if not affordable:
            cheapest = min((row["macs"] for row in self.fitted), default=None)
            known = "no model was fitted" if cheapest is None else f"the cheapest costs {cheapest}"
            raise ValueError(f"macs={macs} is too small for any model: {known}.")
        return max(affordable, key=lambda row: (row["score"], -row["macs"]))

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; needs pandas (``pip install 'cerflearn[data]'``).

        Returns
        -------
        pandas.DataFrame
            A column for each key of a row.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas: pip install 'cerflearn[data]', or use .rows."
            ) from error
        return pd.DataFrame(self.rows)

    def plot(self, path: Any = None, *, ax: Any = None, against: str = "macs") -> Any:
        """Draw scores against cost; needs matplotlib (``pip install 'cerflearn[report]'``).

        Parameters
        ----------
        path : path-like, default=None
            Where to write the picture; its suffix gives the format.
        ax : matplotlib Axes, default=None
            Where to draw. None: a new figure.
        against : {"macs", "time"}, default="macs"
            Multiply-accumulates, or microseconds, of one row.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
        from cerflearn.comparison.picture import draw_frontier

        return draw_frontier(self, path, ax, against)

    def __str__(self) -> str:
        """Table by budget, the best first, with the notes."""
        rows = [(row["budget"], *self._cells(row)) for row in self._sorted_rows()]
        header = [name for name, _, _ in self._columns()]
        widths = [width for _, width, _ in _COLUMNS]
        for _, cells, _ in rows:  # large numbers widen their column
            widths[: len(cells)] = map(max, widths, map(len, cells))
        lines = [self.title] if self.title else []
        lines.append(_pad(header, widths))
        last = None
        for budget, cells, note in rows:
            if budget != last:
                lines.append("")
            lines.append(f"{_pad(cells, widths)}  {note}".rstrip())
            last = budget
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        head = "".join(
            f'<th style="text-align: {side}">{escape(name)}</th>'
            for name, _, side in (*self._columns(), ("", 0, _LEFT))
        )
        lines = []
        for row in self._sorted_rows():
            cells, note = self._cells(row)
            cells += [""] * (len(_COLUMNS) - len(cells)) + [note]
            sides = [side for _, _, side in _COLUMNS] + [_LEFT]
            lines.append(
                "".join(
                    f'<td style="text-align: {side}">{escape(cell)}</td>'
                    for cell, side in zip(cells, sides, strict=True)
                )
            )
        body = "".join(f"<tr>{line}</tr>\n" for line in lines)
        return (
            f"<table>\n<caption>{escape(self.title)}</caption>\n"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"
        )

    def _columns(self) -> list[tuple[str, int, str]]:
        metric = "accuracy %" if self.metric == "accuracy" else self.metric
        return [(name.format(metric=metric), width, side) for name, width, side in _COLUMNS]

    def _sorted_rows(self) -> list[Row]:
        """Rows by budget, the highest score and then the cheapest first, without a model last."""

        def order(row: Row) -> tuple[int, float, int]:
            if row["score"] is None:
                return row["budget"], np.inf, 0
            return row["budget"], -row["score"], row["macs"]

        return sorted(self.rows, key=order)

    def _cells(self, row: Row) -> tuple[list[str], str]:
        """Cells of a row, and its note; two cells if there is no model."""
        start = [f"{row['budget']:,}", row["method"]]
        if row["score"] is None:
            return start, f"left out: {row['note']}"
        if self.metric == "accuracy":
            score, error = f"{100 * row['score']:.2f}", f"{100 * row['error']:.2f}"
        else:
            score, error = f"{row['score']:.4f}", f"{row['error']:.4f}"
        numbers = [
            f"{row['macs']:,}",
            score if np.isnan(row["error"]) else f"{score} ± {error}",
            f"{row['microseconds']:.3f}",
            f"{row['fit_seconds']:.1f}",
            f"{row['size']:,}",
        ]
        return start + numbers, row["note"]


def _pad(cells: list[str], widths: list[int]) -> str:
    """Cells below each other."""
    text = ""
    for cell, width, (name, _, side) in zip(cells, widths, _COLUMNS, strict=False):
        gap = "  " if name in ("method", "{metric}") else ""
        text += gap + (cell.rjust(width) if side == _RIGHT else cell.ljust(width))
    return text
