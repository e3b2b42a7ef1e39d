"""How large a model may be for the rows it is fitted on, whatever the budget."""

from __future__ import annotations

_FEATURES_PER_ROW, _ALWAYS_ALLOWED = 8, 1_000
_MAX_FEATURES = 8_192  # ridge regression takes their cube in time
_MAX_ENTRIES = 2**28  # of the matrix of rows and features: 2 GiB in float64


def max_hidden_units(n_samples: int) -> int:
    """Hidden units that are trained on so many rows, at most.

    Eight for each row interpolate the rows many times over, and 1,000 are always allowed.

    Examples
    --------
    >>> max_hidden_units(60), max_hidden_units(500), max_hidden_units(100_000)
    (1000, 4000, 8192)
    """
    return min(max(_ALWAYS_ALLOWED, _FEATURES_PER_ROW * n_samples), _MAX_FEATURES)


def max_features(n_samples: int) -> int:
    """Features that a ridge regression is fitted on, at most; their matrix must fit in memory.

    Examples
    --------
    >>> max_features(60), max_features(500), max_features(1_000_000)
    (1000, 4000, 268)
    """
    return min(max_hidden_units(n_samples), max(1, _MAX_ENTRIES // n_samples))


def limit_note(size: int, what: str, n_samples: int) -> str:
    """Say in the row of a model why it is smaller than its budget allows.

    Examples
    --------
    >>> limit_note(1000, "features", 60)
    'limited to 1,000 features for 60 training rows'
    """
    return f"limited to {size:,} {what} for {n_samples:,} training rows"
