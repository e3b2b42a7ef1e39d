"""Our numbers beside the paper's: means, standard errors, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

VERDICTS = ("reproduced", "better", "worse", "not compared")


@dataclass(frozen=True)
class Mean:
    """Mean of a few values and its standard error (NaN for one value)."""

    value: float
    error: float
    count: int

    def __str__(self) -> str:
        return (
            f"{self.value:.1f}"
            if math.isnan(self.error)
            else f"{self.value:.1f} ± {self.error:.1f}"
        )


def mean(values: ArrayLike) -> Mean:
    """Mean with its standard error, s / sqrt(n) with n - 1 degrees of freedom."""
    array = np.asarray(values, dtype=float)
    error = array.std(ddof=1) / math.sqrt(len(array)) if len(array) > 1 else math.nan
    return Mean(float(array.mean()), float(error), len(array))


def paired(ours: ArrayLike, other: ArrayLike) -> Mean:
    """Mean of ``ours - other`` over the same seeds, and its standard error."""
    return mean(np.asarray(ours, dtype=float) - np.asarray(other, dtype=float))


def is_above(difference: Mean, *, errors: float = 0.0) -> bool:
    """Tell whether a difference is above zero, or above minus ``errors`` standard errors."""
    allowance = 0.0 if math.isnan(difference.error) else errors * difference.error
    return difference.value > -allowance


def verdict(
    ours: float,
    error: float,
    paper: float | None,
    *,
    better: str = "higher",
    tolerance: float,
    reason: str = "",
) -> str:
    """Compare our mean with a number of the paper.

    Parameters
    ----------
    ours, error : float
        Mean and its standard error (NaN if there is one seed).
    paper : float or None
        None, or any number together with ``reason``: "not compared".
    better : {"higher", "lower"}
        Which direction is good.
    tolerance : float
        Difference that counts as the same, in the unit of the numbers. One standard error, if it
        is larger, does too.
    reason : str, default=""
        Why the cell cannot be compared, if it cannot.

    Returns
    -------
    verdict : str
        "reproduced", "better", "worse", or "not compared: reason".
    """
    if better not in ("higher", "lower"):
        raise ValueError(f"better is {better!r}: it must be 'higher' or 'lower'.")
    if reason or paper is None:
        return f"not compared: {reason or 'the paper prints no number'}"
    gain = ours - paper if better == "higher" else paper - ours
    allowance = tolerance if math.isnan(error) else max(tolerance, error)
    if abs(gain) <= allowance:
        return "reproduced"
    return "better" if gain > 0 else "worse"


def count(verdicts: Sequence[str]) -> dict[str, int]:
    """Return how often each verdict was given."""
    return {name: sum(text.split(":")[0] == name for text in verdicts) for name in VERDICTS}
