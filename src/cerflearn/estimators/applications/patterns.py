"""What is missing, and which known values a training copy hides."""

from __future__ import annotations

from typing import Any

import numpy as np

from cerflearn._typing import BoolArray
from cerflearn._validation import check_number, invalid

DEFAULT_SHARE = 0.2
"""Share of the values that is hidden at random if training data are complete, as in the paper."""


def is_nan(value: Any) -> bool:
    """Whether a mark of missing values is NaN."""
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def check_missing_values(name: str, value: Any) -> None:
    """Refuse a mark of missing values that is no number."""
    if not is_nan(value):
        check_number(name, value, "a number or np.nan")


def has_one_pattern(patterns: Any) -> bool:
    """Whether ``patterns`` is an array of a single pattern."""
    try:
        shape = np.shape(patterns)
    except ValueError:  # rows of different lengths, which check_patterns refuses
        return False
    return len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)


def check_one_pattern(patterns: Any, macs: int) -> None:
    """Refuse anything but a single pattern where a budget is given."""
    if not has_one_pattern(patterns):
        raise ValueError(
            f"macs={macs} needs patterns= of one pattern, an array of n_features values that is "
            "True where inputs are missing: a network within a budget completes one pattern. Leave "
            "macs out to complete any."
        )


def check_patterns(patterns: Any, n_features: int) -> float | BoolArray | None:
    """Return ``patterns`` as None, a share, or an array (n_patterns, n_features) of bool."""
    if patterns is None:
        return None
    must_be = (
        "None, a number above 0 and below 1, or an array of True and False of shape "
        f"({n_features},) or (n_patterns, {n_features})"
    )
    try:
        table = np.atleast_2d(np.asarray(patterns))
    except ValueError as error:  # rows of different lengths
        raise invalid("patterns", patterns, must_be) from error
    if np.ndim(patterns) == 0:
        share = check_number("patterns", patterns, must_be, above=0.0, at_most=1.0)
        if share == 1.0:
            raise invalid("patterns", patterns, must_be)
        return share
    if table.size and table.dtype != np.bool_:
        raise ValueError(f"patterns of {table.dtype} are not valid: pass {must_be}.")
    if table.ndim != 2 or table.shape[1] != n_features:
        raise ValueError(f"patterns of shape {np.shape(patterns)} are not valid: pass {must_be}.")
    if not table.any(axis=1).all():
        raise ValueError("patterns has a row without True: a pattern misses at least one column.")
    return table


def check_covered(missing: BoolArray, covered: BoolArray | None, macs: int | None) -> None:
    """Refuse rows that miss columns (n_features,) which are in no pattern; None: all are."""
    if covered is None or not (missing & ~covered).any():
        return
    column = int(np.flatnonzero((missing & ~covered).any(axis=0))[0])
    remedy = "add one, or pass patterns=None."
    if macs is not None:
        remedy = f"with macs={macs} there is one pattern; leave macs out to complete any."
    raise ValueError(
        f"Column {column} of X has missing values, but is in no pattern of patterns=: {remedy}"
    )


def hide_values(
    missing: BoolArray,
    patterns: float | BoolArray | None,
    n_copies: int,
    rng: np.random.Generator,
) -> BoolArray:
    """Known values to hide, (n_copies or n_copies + 1, n_samples, n_features).

    Parameters
    ----------
    missing : ndarray of shape (n_samples, n_features), bool
        What is not known.
    patterns : None, float or ndarray of shape (n_patterns, n_features), bool
        None: patterns of the rows that miss something; columns that no row misses are hidden at
        random in one more copy. A number: that share at random.
    n_copies : int
        Number of copies.
    rng : numpy.random.Generator
        Source of randomness.
    """
    n_samples, n_features = missing.shape
    never: BoolArray = np.zeros(n_features, dtype=np.bool_)
    if patterns is None:
        donors = missing[missing.any(axis=1)]
        patterns = donors if len(donors) else DEFAULT_SHARE
        never = np.logical_and(~missing.any(axis=0), len(donors) > 0)
    if isinstance(patterns, float):
        return (rng.random((n_copies, n_samples, n_features)) < patterns) & ~missing
    n_copies += int(never.any())
    hidden = patterns[rng.integers(len(patterns), size=(n_copies, n_samples))]
    if never.any():
        hidden[-1] |= never & (rng.random((n_samples, n_features)) < DEFAULT_SHARE)
    return hidden & ~missing
