"""What a comparison found: rows, a table to read, a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cerflearn._validation import check_integer

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Frontier:
    """Accuracy against cost for several methods, the result of :func:`cerflearn.frontier`.

    Attributes
    ----------
    rows : list of dict
        One for each method and budget, with the keys ``method``; ``budget``; ``macs``, counted
        (the highest of the seeds); ``score``, the mean over seeds, and ``error``, its standard
        error (NaN for one seed); ``scores``, of each seed; ``microseconds`` per row, the least of
        the seeds; ``fit_seconds``, the mean, settings and width chosen in them; ``size``,
        features or hidden units; ``n_bytes``; and ``note``, why there is no model: then the
        numbers are None.
    metric : {"accuracy", "R2"}
        What ``score`` is: share of right labels, or of explained variance, the mean over targets.
    title : str
        Data and seeds, in one line.
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
        """
        check_integer("macs", macs, "a positive integer")
        paid = [row for row in self.fitted if row["macs"] <= macs]
        if not paid:
            cheapest = min((row["macs"] for row in self.fitted), default=None)
            known = "no model was fitted" if cheapest is None else f"the cheapest costs {cheapest}"
            raise ValueError(f"macs={macs} pays for no model: {known}.")
        return max(paid, key=lambda row: (row["score"], -row["macs"]))

    def to_pandas(self) -> Any:
        """Rows as a pandas DataFrame; needs pandas (``pip install 'cerflearn[data]'``)."""
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
        from cerflearn.comparison.picture import draw

        return draw(self, path, ax, against)

    def __str__(self) -> str:
        """Table by budget, the best first, and what was left out."""
        lines = [self.title] if self.title else []
        lines.append(_HEADER.format(self.metric + (" %" if self.metric == "accuracy" else "")))
        for budget in sorted({row["budget"] for row in self.rows}):
            here = [row for row in self.rows if row["budget"] == budget]
            fitted = [row for row in here if row["score"] is not None]
            lines.append("")
            for row in sorted(fitted, key=lambda row: -row["score"]):
                lines.append(self._line(row))
            for row in here:
                if row["score"] is None:
                    name = f"{budget:>9,}  {row['method']:<12}"
                    lines.append(f"{name}{'':>9}  left out: {row['note']}")
        return "\n".join(lines)

    def _line(self, row: Row) -> str:
        if self.metric == "accuracy":
            score, error = f"{100 * row['score']:.2f}", f"{100 * row['error']:.2f}"
        else:
            score, error = f"{row['score']:.4f}", f"{row['error']:.4f}"
        spread = "" if np.isnan(row["error"]) else f" ± {error}"
        return (
            f"{row['budget']:>9,}  {row['method']:<12}{row['macs']:>9,}  {score + spread:>16}"
            f"{row['microseconds']:>9.2f}{row['fit_seconds']:>8.1f}{row['size']:>8,}"
        )


_HEADER = f"{'budget':>9}  {'method':<12}{'MACs':>9}  {{:>16}}{'us/row':>9}{'fit s':>8}{'size':>8}"
