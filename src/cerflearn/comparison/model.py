"""What a method returns: a fitted model, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cerflearn.comparison.training_set import Predict
from cerflearn.features.cost import Cost


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model within a budget.

    Attributes
    ----------
    predict : callable
        Class numbers or standardised targets of scaled float32 rows.
    cost : Cost
        Of one row, head included.
    size : int
        Features, hidden units or inputs that the head reads.
    note : str
        Why the model is smaller than the budget allows; empty if it is not.
    settings : dict
        What was chosen on training rows, where a method tells it.
    """

    predict: Predict
    cost: Cost
    size: int
    note: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


class BudgetTooSmallError(Exception):
    """The smallest model of a method costs more than the budget.

    Parameters
    ----------
    what : str
        The smallest model.
    amount : int
        What it costs.
    unit : str, default="MACs"
        Of the amount.
    """

    def __init__(self, what: str, amount: int, unit: str = "MACs") -> None:
        super().__init__(f"{what} costs {amount:,} {unit}")
