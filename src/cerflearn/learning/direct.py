r"""Eq. 5 as it stands: features whose inner products are nearest to a Gram matrix.

.. math:: \min_{|S| = K'} \sum_{i \ne j} \Big(\mathcal K_{ij}
          - c^2 \sum_{k \in S} \varphi_{ik} \varphi_{jk}\Big)^2
          = const - 2 c^2\, b^\top z + c^4 z^\top A z, \qquad z_k = [k \in S],

with :math:`b_k = \varphi_k^\top \mathcal K \varphi_k` and
:math:`A_{kl} = (\varphi_k^\top \varphi_l)^2`, the inner product of two Gram matrices of one feature
each; both without the pairs of a row with itself, as Eq. 5 is about two independent rows. The N x N
matrix is read once, then a step needs :math:`K^2` operations. There is no teacher, no rotation and
no likelihood: this is what the detour of Eqs. 6-9 is measured against (docs/theory.md, section 4),
for few rows only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, Float64Array, IntArray
from cerflearn.learning.ranking import check_n_components

MOST_ROWS = 5000
"""Most rows of a Gram matrix: 200 MB in float64."""

# An exchange has to lower the error by more than this share of the terms that it is made of: an
# exchange and its reverse could otherwise both seem to gain.
_LEAST_FALL = 1e-12

_ASYMMETRY = 1e-8  # of a Gram matrix, as a share of its largest value: rounding


@dataclass(frozen=True, eq=False)
class DirectResult:
    """What was chosen, and how near to the Gram matrix it is.

    Attributes
    ----------
    selected : ndarray of shape (n_components,), int64
        Columns, ascending.
    errors : ndarray of shape (n_exchanges + 1,)
        Sum of squared differences over all pairs of different rows, before the first exchange and
        after each one; never rises.
    """

    selected: IntArray
    errors: Float64Array


def fit_direct(
    gram: NDArray[Any],
    learner: NDArray[Any],
    n_components: int,
    *,
    weight: float | None = None,
    units: IntArray | None = None,
    start: IntArray | None = None,
) -> DirectResult:
    r"""Choose ``n_components`` columns for the Gram matrix itself (Eq. 5).

    Forward selection, each step with the unit that leaves the smallest error, all weights at
    their final value from the first step on; then the exchange of a chosen unit for another that
    lowers the error most, as long as there is one. This is done once with each unit as the first,
    and the best end is kept: the best of all choices that differ from it by one exchange, not
    always the best of all.

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        :math:`\mathcal K`: the exact kernel of the rows, or a teacher's :math:`T T^\top`. At most
        ``MOST_ROWS`` rows.
    learner : array-like of shape (n_samples, n_candidates)
        :math:`\varphi`, of the same rows, not normalised.
    n_components : int
        K'.
    weight : float, optional
        :math:`c^2`, the common weight of all chosen columns. None: 2 / K', which is that of
        cosines, and of pairs of cosine and sine.
    units : ndarray of shape (n_candidates,), int64, optional
        Columns to choose together: equal numbers from 0, as many columns in each unit.
    start : ndarray of shape (n_components,), int64, optional
        Columns to begin the exchange with, whole units. None: forward selection from each unit.

    Returns
    -------
    DirectResult
        Columns, and the errors on the way.

    Raises
    ------
    ValueError
        If there are too many rows, shapes disagree, or units cannot be chosen whole.

    Examples
    --------
    >>> learner = np.random.default_rng(0).normal(size=(50, 6))
    >>> gram = 0.5 * learner[:, [1, 2, 4]] @ learner[:, [1, 2, 4]].T
    >>> result = fit_direct(gram, learner, 3, weight=0.5)
    >>> result.selected, bool(result.errors[-1] < 1e-9)
    (array([1, 2, 4]), True)
    """
    gram, learner = _checked(gram, learner)
    n_candidates = learner.shape[1]
    if int(n_components) != n_components:
        raise ValueError(f"n_components={n_components!r} must be an integer.")
    check_n_components(n_components, n_candidates)
    labels = _labels(units, n_candidates)
    count = _n_units(labels, n_components)
    if weight is None:
        weight = 2.0 / n_components
    if not 0.0 < weight < np.inf:
        raise ValueError(f"weight={weight!r} is not valid: it must be a positive number.")
    fit = _gram_fit(gram, learner, float(weight), labels)
    if start is None:
        starts = (_forward(fit, count, first) for first in range(len(fit.linear)))
    else:
        starts = (_units_of(columns, labels, count) for columns in (start,))
    chosen, errors = min((_exchanged(fit, begin) for begin in starts), key=_last_error)
    return DirectResult(np.flatnonzero(chosen[labels]).astype(np.int64), np.array(errors))


@dataclass(frozen=True, eq=False)
class _GramFit:
    """Error of a choice of units, z: constant - 2 linear'z + z' quadratic z."""

    quadratic: Float64Array
    linear: Float64Array
    constant: float

    def error(self, chosen: BoolArray) -> float:
        """Sum of squared differences, for units (n_units,); not below 0 by rounding."""
        square = self.quadratic[np.ix_(chosen, chosen)].sum()
        return max(float(self.constant - 2.0 * self.linear[chosen].sum() + square), 0.0)


def _checked(gram: NDArray[Any], learner: NDArray[Any]) -> tuple[Float64Array, Float64Array]:
    """Gram matrix without its diagonal (n, n) and learner (n, K), float64."""
    learner = np.asarray(learner, dtype=np.float64)
    if learner.ndim != 2 or len(learner) < 2 or not learner.shape[1]:
        raise ValueError(
            f"learner of shape {learner.shape} must be (n_samples, n_candidates), with two rows or "
            "more: Eq. 5 is about pairs of rows."
        )
    n_samples = len(learner)
    if n_samples > MOST_ROWS:
        raise ValueError(
            f"{n_samples} rows have {n_samples**2:.2g} pairs: the direct fit of Eq. 5 takes at "
            f"most {MOST_ROWS} rows. Pass fewer, or use fit_cvem, fit_shared or fit_greedy."
        )
    if np.shape(gram) != (n_samples, n_samples):
        raise ValueError(
            f"gram of shape {np.shape(gram)} must be ({n_samples}, {n_samples}): a row and a "
            "column for each row of learner."
        )
    gram = np.array(gram, dtype=np.float64)
    for name, values in (("gram", gram), ("learner", learner)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} contains NaN or infinity.")
    if np.abs(gram - gram.T).max() > _ASYMMETRY * np.abs(gram).max():
        raise ValueError("gram must be symmetric, as matrices of inner products are.")
    np.fill_diagonal(gram, 0.0)
    return gram, learner


def _labels(units: Any, n_candidates: int) -> IntArray:
    """Return the unit of each column, (n_candidates,)."""
    if units is None:
        return np.arange(n_candidates)
    labels = _integers("units", units)
    if labels.shape != (n_candidates,):
        raise ValueError(f"units of shape {labels.shape} must be ({n_candidates},): one a column.")
    if labels.min() < 0:
        raise ValueError("units must be numbered from 0 and have as many columns each.")
    return labels


def _integers(name: str, values: Any) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, in one dimension.")
    return array.astype(np.int64)


def _n_units(labels: IntArray, n_components: int) -> int:
    """Units to choose."""
    sizes = np.bincount(labels)
    if sizes.min() != sizes.max():
        raise ValueError("units must be numbered from 0 and have as many columns each.")
    count, rest = divmod(n_components, int(sizes[0]))
    if rest:
        raise ValueError(
            f"n_components={n_components} must be a multiple of {sizes[0]}, the columns of a unit."
        )
    return count


def _units_of(columns: IntArray, labels: IntArray, count: int) -> BoolArray:
    """Which units columns make up, (n_units,)."""
    columns = _integers("start", columns)
    if len(columns) and not 0 <= columns.min() <= columns.max() < len(labels):
        raise ValueError(f"start must have columns from 0 to {len(labels) - 1}.")
    taken = np.bincount(labels[np.unique(columns)], minlength=int(labels.max()) + 1)
    chosen: BoolArray = taken == len(labels) // len(taken)
    if chosen.sum() != count or (taken[~chosen] > 0).any():
        raise ValueError("start must have n_components different columns, in whole units.")
    return chosen


def _gram_fit(
    gram: Float64Array, learner: Float64Array, weight: float, labels: IntArray
) -> _GramFit:
    """Sum over all pairs of different rows, and over the columns of a unit."""
    unit = np.eye(int(labels.max()) + 1)[labels]
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        squares = np.square(learner)
        quadratic = np.square(learner.T @ learner) - squares.T @ squares
        linear = np.einsum("ik,ik->k", gram @ learner, learner)
        quadratic = weight**2 * (unit.T @ quadratic @ unit)
        constant = float(np.square(gram).sum())
        largest = np.abs(quadratic).sum() + np.abs(linear).sum() + constant
    if not np.isfinite(largest):
        raise ValueError("gram or learner is too large: products of its values are not finite.")
    return _GramFit(quadratic, weight * (linear @ unit), constant)


def _forward(fit: _GramFit, count: int, first: int) -> BoolArray:
    """Units added one by one, after the first each the one that leaves the smallest error."""
    own = np.diag(fit.quadratic) - 2.0 * fit.linear
    with_chosen = fit.quadratic[first].copy()
    chosen = np.zeros(len(own), dtype=bool)
    chosen[first] = True
    for _ in range(count - 1):
        change = np.where(chosen, np.inf, own + 2.0 * with_chosen)
        best = int(change.argmin())
        chosen[best] = True
        with_chosen += fit.quadratic[best]
    return chosen


def _exchanged(fit: _GramFit, chosen: BoolArray) -> tuple[BoolArray, list[float]]:
    """Choice that no exchange makes better, and the errors on the way to it."""
    errors = [fit.error(chosen)]
    while (exchange := _best_exchange(fit, chosen)) is not None:
        chosen[list(exchange)] = False, True
        errors.append(fit.error(chosen))
    return chosen, errors


def _last_error(end: tuple[BoolArray, list[float]]) -> float:
    return end[1][-1]


def _best_exchange(fit: _GramFit, chosen: BoolArray) -> tuple[int, int] | None:
    """Find the units to leave and to enter that lower the error most; None if no exchange does.

    With e the difference of their unit vectors, the error changes by
    2 e'(quadratic z - linear) + e' quadratic e.
    """
    leaving, entering = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    if not len(entering):
        return None
    own = np.diag(fit.quadratic)
    slope = 2.0 * (fit.quadratic[:, chosen].sum(axis=1) - fit.linear)
    enter, leave = (slope + own)[entering], (slope - own)[leaving]
    change = enter - leave[:, None] - 2.0 * fit.quadratic[np.ix_(leaving, entering)]
    place = np.unravel_index(int(change.argmin()), change.shape)
    scale = fit.constant + fit.quadratic.max() * len(leaving) ** 2
    if not change[place] < -_LEAST_FALL * scale:
        return None
    return int(leaving[place[0]]), int(entering[place[1]])
