"""What a method hands back: a fitted model, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from cerflearn.comparison.data import Predict
from cerflearn.features.cost import Cost


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model within a budget.

    Attributes
    ----------
    predict : callable
        Classes or standardised targets of scaled float32 rows.
    cost : Cost
        Of one row, head included.
    size : int
        Features, hidden units or inputs that the head reads.
    """

    predict: Predict
    cost: Cost
    size: int


class TooDearError(Exception):
    """The smallest model of a method costs more than the budget.

    Parameters
    ----------
    what : str
        The smallest model.
    macs : int
        What it costs.
    reason : str
        Instead of both.
    """

    def __init__(self, what: str = "", macs: int = 0, *, reason: str = "") -> None:
        super().__init__(reason or f"{what} costs {macs:,} MACs")
