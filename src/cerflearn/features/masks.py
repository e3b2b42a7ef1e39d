r"""Masks: which inputs a projection reads (Prop. 3, Eq. 35).

A mask law draws subsets of *groups*: aligned runs of ``group_size`` consecutive inputs. Inputs
that never vary on the training data are never read: they add only a constant to each phase.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from cerflearn._typing import BoolArray, Float64Array, IntArray

_Ids: TypeAlias = NDArray[np.int32]

_DRAWN_AT_ONCE = 2**20  # random numbers held at once


@dataclass(frozen=True, eq=False)
class MaskSet:
    """Subsets of inputs, compressed: mask m reads ``inputs[pointers[m]:pointers[m + 1]]``.

    Attributes
    ----------
    pointers : ndarray of shape (n_masks + 1,), int64
        Where each mask starts in ``inputs``.
    inputs : ndarray of shape (pointers[-1],), int32
        Input ids, ascending within each mask.

    Examples
    --------
    >>> masks = MaskSet(np.array([0, 2, 3]), np.array([0, 2, 1], dtype=np.int32))
    >>> masks.counts
    array([2, 1])
    >>> masks.to_dense(3).astype(int)
    array([[1, 0],
           [0, 1],
           [1, 0]])
    """

    pointers: IntArray
    inputs: _Ids

    @property
    def n_masks(self) -> int:
        """Number of masks."""
        return len(self.pointers) - 1

    @property
    def counts(self) -> IntArray:
        """Active inputs of each mask, (n_masks,)."""
        return np.diff(self.pointers)

    def to_dense(self, n_features: int) -> BoolArray:
        """Masks as columns, (n_features, n_masks)."""
        dense = np.zeros((n_features, self.n_masks), dtype=np.bool_)
        dense[self.inputs, np.repeat(np.arange(self.n_masks), self.counts)] = True
        return dense

    def select(self, index: Any) -> MaskSet:
        """Masks ``index`` (integers, booleans or a slice), in that order."""
        chosen = np.arange(self.n_masks)[index]
        pointers = _pointers(self.counts[chosen])
        shift = np.repeat(self.pointers[chosen] - pointers[:-1], np.diff(pointers))
        return MaskSet(pointers, self.inputs[np.arange(pointers[-1]) + shift])


def draw_fixed_masks(
    n_masks: int,
    usable_inputs: BoolArray,
    density: float,
    group_size: int,
    rng: Generator,
    minimum_inputs: int = 4,
) -> MaskSet:
    """Masks with equally many groups each: ``round(density * ceil(n_features / group_size))``.

    Parameters
    ----------
    n_masks : int
        Number of masks.
    usable_inputs : ndarray of shape (n_features,), bool
        Inputs that vary on the training data; the others are in no mask.
    density : float
        Share of all inputs a mask reads, 0 < density <= 1.
    group_size : {1, 2, 4, 8, 16}
        Consecutive inputs chosen together; the last group may be short.
    rng : numpy.random.Generator
        Source of randomness.
    minimum_inputs : int, default=4
        Each mask has groups enough to read this many inputs, or all usable ones if they are fewer.

    Notes
    -----
    Masks are cut one after another from a permutation of the groups, until fewer are left than a
    mask needs. Each mask alone is a uniform draw without replacement; those of one permutation
    are disjoint, so that inputs are read about equally often.
    """
    groups = _usable_groups(usable_inputs, density, group_size)
    sizes = np.sort((groups >= 0).sum(axis=1))
    # The smallest groups together: enough groups for the minimum whichever are drawn.
    least = 1 + int(np.searchsorted(np.cumsum(sizes), min(sizes.sum(), minimum_inputs)))
    wanted = round(density * math.ceil(len(usable_inputs) / group_size))
    n_chosen = min(max(wanted, least), len(groups))

    masks_each = len(groups) // n_chosen
    chosen = np.empty((math.ceil(n_masks / masks_each), masks_each, n_chosen), dtype=np.int32)
    n_rows = max(1, _DRAWN_AT_ONCE // len(groups))
    identity = np.arange(len(groups), dtype=np.int32)
    for start in range(0, len(chosen), n_rows):
        block = chosen[start : start + n_rows]
        shuffled = rng.permuted(np.tile(identity, (len(block), 1)), axis=1)
        block[:] = shuffled[:, : masks_each * n_chosen].reshape(block.shape)
    rows = np.sort(chosen.reshape(-1, n_chosen)[:n_masks], axis=1)
    return _expand(rows.ravel(), np.full(n_masks, n_chosen), groups)


def draw_beta_bernoulli_masks(
    n_masks: int, usable_inputs: BoolArray, density: float, group_size: int, rng: Generator
) -> MaskSet:
    r"""Masks of a Beta-Bernoulli process (Eqs. 3-4).

    :math:`\pi_d \sim Beta(g / D', 1)`, :math:`z_{dm} \sim Bernoulli(\pi_d)`, for the D' usable
    groups d, with one :math:`\pi` for all masks m.

    Parameters
    ----------
    n_masks, usable_inputs, group_size, rng
        As in :func:`draw_fixed_masks`.
    density : float
        Expected share of all groups that a mask reads, as in :func:`draw_fixed_masks`. The
        concentration g follows from :math:`E[\pi_d] = g / (g + D')`, the share of the usable
        groups; where that is 1 or more, the limit of a large g, masks read all usable inputs.

    Notes
    -----
    Redrawing empty masks gives the law of a mask that is not empty, which is drawn directly: its
    first group d has probability proportional to :math:`\pi_d \prod_{c < d} (1 - \pi_c)`, the
    groups behind it are independent. So there is no loop, however small :math:`\pi` is. Where
    empty masks are likely (few groups, low density) the density is above the one asked.
    """
    groups = _usable_groups(usable_inputs, density, group_size)
    n_groups = len(groups)
    density *= math.ceil(len(usable_inputs) / group_size) / n_groups
    if density >= 1.0:
        return _expand(np.tile(np.arange(n_groups), n_masks), np.full(n_masks, n_groups), groups)

    # Logarithms, as Beta(a, 1) = U^(1/a) underflows for a small a; never 0, for the log of 1 - pi.
    exponential = np.maximum(rng.standard_exponential(n_groups), np.finfo(np.float64).tiny)
    log_proba = -exponential * (1.0 - density) / density
    log_absent = np.log(-np.expm1(log_proba))
    first = _draw_categories(log_proba + np.cumsum(log_absent) - log_absent, n_masks, rng)

    chosen, counts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    n_rows = max(1, _DRAWN_AT_ONCE // n_groups)
    for start in range(0, n_masks, n_rows):
        leader = first[start : start + n_rows, None]
        active = rng.random((len(leader), n_groups)) < np.exp(log_proba)
        active &= np.arange(n_groups) > leader
        np.put_along_axis(active, leader, True, axis=1)
        chosen.append(np.nonzero(active)[1])
        counts.append(active.sum(axis=1))
    return _expand(np.concatenate(chosen), np.concatenate(counts), groups)


def mask_scale(n_inputs: int, active: ArrayLike, stability_index: float) -> Float64Array:
    r"""Scale :math:`\rho = (D / active)^{1 / index}` of masked frequencies (Eq. 35).

    It gives a masked projection the size that the dense one has on average.

    Parameters
    ----------
    n_inputs : int
        D: the number of *usable* inputs. Inputs constant in training shift a dense phase but do
        not spread it, so they do not count.
    active : array_like of int
        Active inputs, such as :attr:`MaskSet.counts`; the result has its shape.
    stability_index : float
        Of the law of the frequencies, see :class:`cerflearn.spectral.SpectralLaw`.

    Examples
    --------
    >>> mask_scale(64, [16, 64], 2.0)
    array([2., 1.])
    """
    counts = np.asarray(active, dtype=np.float64)
    return np.power(n_inputs / counts, 1.0 / stability_index)


def automatic_density(n_features: int, n_projections: int | None = None) -> float:
    r"""Mask density ``"auto"``: :math:`\min(1, \max(4 / D, .05 (784 / D)^{1/3}, 1 / K))`.

    Parameters
    ----------
    n_features : int
        D, the number of inputs.
    n_projections : int, optional
        K; the masks together are then large enough to read every input once, however few they are.

    Notes
    -----
    At equal MACs .05 did best for hundreds of inputs (D = 784). The cube root carries this to
    other D as a compromise: 7 inputs a mask for D = 64, 118 for 4,096. It falls as D or K grows.

    Examples
    --------
    >>> [round(automatic_density(D), 3) for D in (4, 16, 64, 784)]
    [1.0, 0.25, 0.115, 0.05]
    """
    root: float = (784.0 / n_features) ** (1.0 / 3.0)
    coverage = 1.0 / n_projections if n_projections else 0.0
    return min(1.0, max(4.0 / n_features, 0.05 * root, coverage))


def _usable_groups(usable_inputs: BoolArray, density: float, group_size: int) -> _Ids:
    """Ids of the usable inputs of each usable group, (n_groups, group_size), -1 for no input."""
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density={density!r} must be in (0, 1]; .05 suits hundreds of inputs.")
    if group_size not in (1, 2, 4, 8, 16):
        raise ValueError(f"group_size={group_size!r} must be 1, 2, 4, 8 or 16.")
    if not np.any(usable_inputs):
        raise ValueError("No input is usable: all are constant; give data that vary.")
    n_features = len(usable_inputs)
    ids = np.full((math.ceil(n_features / group_size), group_size), -1, dtype=np.int32)
    ids.ravel()[:n_features] = np.where(usable_inputs, np.arange(n_features), -1)
    return ids[(ids >= 0).any(axis=1)]


def _draw_categories(log_weight: Float64Array, size: int, rng: Generator) -> IntArray:
    """Draw indices (size,) with probability proportional to exp(log_weight)."""
    cumulative = np.cumsum(np.exp(log_weight - log_weight.max()))
    drawn: IntArray = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return np.minimum(drawn, len(log_weight) - 1)  # rounding may reach the end


def _expand(chosen: NDArray[np.integer[Any]], counts: IntArray, groups: _Ids) -> MaskSet:
    """Masks of ``counts`` groups each, from their flat group numbers, ascending in each mask."""
    inputs = groups[chosen]
    used = inputs >= 0
    pointers = _pointers(used.sum(axis=1))[_pointers(counts)]
    return MaskSet(pointers, inputs[used])


def _pointers(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
