"""Budgets that buy nothing, and maps too large to be drawn: the errors that say so."""

from __future__ import annotations

MOST_VALUES = 2**28
"""Stored numbers of the largest map that is drawn: 2 GiB in float64."""


def budget_error(macs: int, n_features: int, least: int, what: str, remedy: str) -> ValueError:
    """Make the error for a budget below the price of one projection or block.

    Examples
    --------
    >>> budget_error(3, 8, 8, "a dense projection", "or use MaskedFourierFeatures")
    ... # doctest: +NORMALIZE_WHITESPACE
    ValueError('macs=3 is not valid: a dense projection of 8 features costs 8 MACs. Pass macs=8 or
    more, or use MaskedFourierFeatures.')
    """
    return ValueError(
        f"macs={macs} is not valid: {what} of {n_features} features costs {least} MACs. "
        f"Pass macs={least} or more, {remedy}."
    )


def check_map_size(n_values: float, asked: str) -> None:
    """Refuse a map of more than :data:`MOST_VALUES` stored numbers, before memory runs out.

    Parameters
    ----------
    n_values : float
        Numbers that the map would store, about.
    asked : str
        What was asked for, such as ``"macs=1000000000000"``.
    """
    if n_values > MOST_VALUES:
        raise ValueError(
            f"{asked} cannot be drawn: the map would store about {n_values:.2g} numbers, and at "
            f"most {MOST_VALUES:,} are possible. Ask for less."
        )
