r"""One selector for all samples, from scores of the candidates.

At test time the per-sample selectors give way to one shared one, "determined by the final values
of :math:`q(\pi)`" (section 4): the candidates with the largest mean.
"""

from __future__ import annotations

import numpy as np

from cerflearn._typing import Float64Array, IntArray


def rank_candidates(
    scores: Float64Array, *, units: IntArray | None = None, groups: IntArray | None = None
) -> IntArray:
    """Order all candidates from the first to be kept to the last.

    Groups come by mean score, units within a group by mean score, columns within a unit as they
    stand; equal scores by the lower column. So any number of leading columns are whole groups but
    for the last one, and whole units but for the last one.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        The larger the better.
    units : ndarray of shape (n_candidates,), int64, optional
        Which columns are kept or dropped as one, such as the cosine and sine of a projection:
        equal numbers from 0. By default each column is its own unit.
    groups : ndarray of shape (n_candidates,), int64, optional
        Which columns share a mask: equal numbers from 0, no unit in two groups. By default each
        unit is its own group.

    Returns
    -------
    ndarray of shape (n_candidates,), int64
        Columns, best first.

    Examples
    --------
    >>> scores = np.array([0.1, 0.3, 0.9, 0.5])
    >>> rank_candidates(scores)
    array([2, 3, 1, 0])
    >>> rank_candidates(scores, units=np.array([0, 1, 1, 0]))
    array([1, 2, 0, 3])
    """
    columns = np.arange(len(scores))
    units = columns if units is None else units
    groups = units if groups is None else groups
    keys: list[Float64Array | IntArray] = [columns]
    for labels in (units, groups):
        keys += [labels, _first_column(labels), -_mean_by_label(scores, labels)]
    return np.lexsort(keys).astype(np.int64)


def check_n_components(n_components: int, n_candidates: int) -> None:
    """Raise ``ValueError`` unless so many columns can be chosen."""
    if not 1 <= n_components <= n_candidates:
        raise ValueError(
            f"n_components={n_components!r} must be between 1 and {n_candidates}, "
            "the number of candidates."
        )


def _mean_by_label(scores: Float64Array, labels: IntArray) -> Float64Array:
    """Mean score of each column's label, (n_candidates,)."""
    sums = np.bincount(labels, weights=scores)
    means: Float64Array = sums[labels] / np.bincount(labels)[labels]
    return means


def _first_column(labels: IntArray) -> IntArray:
    """First column that has each column's label, (n_candidates,)."""
    first = np.full(labels.max() + 1, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    return first[labels]
