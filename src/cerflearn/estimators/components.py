r"""Principal components of rows that come in blocks: targets that codes and maps are trained on.

Two kinds of targets. Of a teacher :math:`\phi`, the J leading principal components
:math:`P_J^\top (\phi(x) - \bar\phi)`. Or to reconstruct: with orthonormal rows V,

.. math:: |x - \bar x - V^\top c|^2 = |x - \bar x|^2 - |V (x - \bar x)|^2 + |V (x - \bar x) - c|^2,

so the best V has the J leading principal directions of X, and an encoder loses what it is away
from :math:`V (x - \bar x)`. Directions that span the same space do as well: those of the varimax
rotation have few large entries, which few inputs are enough for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cerflearn._typing import Float64Array
from cerflearn.engine.blocks import BLOCK_ROWS, ComputedSource
from cerflearn.engine.engines import make_engine, one_thread_blas
from cerflearn.estimators.teachers import Teacher
from cerflearn.linalg.moments import cross_moments_block
from cerflearn.linalg.principal import principal_axes, principal_axes_of_rows, varimax

RowBlocks = Callable[[int, int], Float64Array]
"""``rows(start, stop)``: rows of a table, in float64."""

TEACHER_COLUMNS = 1024
"""Columns of ``teacher="rff"``, and the most of the other teachers with a name, where components
of the teacher are learned: it is not kept."""


@dataclass(frozen=True, eq=False)
class CodeTargets:
    """What codes are to be.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_codes)
        Of the training rows.
    total_variance : float
        Of all columns that they are made of.
    of_inputs : bool
        Whether these columns are the inputs, which the codes are to reconstruct.
    """

    values: Float64Array
    total_variance: float
    of_inputs: bool = False


def leading_components(
    rows: RowBlocks, n_samples: int, n_codes: int, n_threads: int, *, rotated: bool = False
) -> CodeTargets:
    """Leading principal components of a table, the largest variance first.

    Parameters
    ----------
    rows : callable
        Blocks of rows.
    n_samples : int
        Number of rows, at least two.
    n_codes : int
        Number of components, at most that of the columns.
    n_threads : int
        Threads; the bits of the result do not depend on their number.
    rotated : bool, default=False
        Whether directions are rotated to few large entries.

    Returns
    -------
    CodeTargets
        Of all rows; zeros if nothing varies.
    """
    with one_thread_blas():
        mean, axes, energy = _axes(rows, n_samples, n_codes, n_threads)
        components = varimax(axes) if rotated else axes
        values = _projected(rows, n_samples, mean, components)
    if rotated:
        values = values[:, np.argsort(-np.square(values).sum(axis=0), kind="stable")]
    return CodeTargets(values, energy / (n_samples - 1))


def _axes(
    rows: RowBlocks, n_samples: int, n_codes: int, n_threads: int
) -> tuple[Float64Array, Float64Array, float]:
    """Mean, principal directions (n_codes, n_columns) and sum of squares of centred rows.

    From a matrix of all pairs of columns, in blocks of rows; or of rows, where these are fewer.
    """
    n_columns = rows(0, 1).shape[1]
    if n_samples < n_columns:
        centred = rows(0, n_samples)
        mean = centred.mean(axis=0)
        centred = centred - mean
        energy = _checked(float(np.vdot(centred, centred)))
        return mean, principal_axes_of_rows(centred, n_codes).components, energy

    def compute(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
        return rows(start, stop), np.empty((stop - start, 0))

    engine = make_engine(ComputedSource(compute, n_samples), n_threads)
    moments = engine.map_reduce(cross_moments_block, False)
    energy = _checked(float(np.trace(moments.left_scatter)))
    return moments.left_mean, principal_axes(moments.left_scatter, n_codes).components, energy


def _checked(energy: float) -> float:
    """Refuse a sum of squares that is no number."""
    if not np.isfinite(energy):
        raise ValueError(
            "Columns to be encoded are too large for their variance to be a number: scale X, or "
            "the outputs of the teacher, for example with StandardScaler."
        )
    return energy


def teacher_codes(
    teacher: Any, made: Teacher, n_samples: int, n_codes: int, n_threads: int
) -> CodeTargets:
    """Leading components of a teacher; ``ValueError`` that names it if there are none.

    Parameters
    ----------
    teacher : object
        As it was given.
    made : Teacher
        What it was made to.
    n_samples, n_codes, n_threads : int
        As in :func:`leading_components`.

    Returns
    -------
    CodeTargets
        Of all rows.
    """
    found = leading_components(made.rows, n_samples, n_codes, n_threads)
    if not found.total_variance > 0.0 or not np.ptp(found.values, axis=0).any():
        raise ValueError(
            f"The outputs of teacher={teacher!r} are constant on X: there is nothing to imitate. "
            "Pass another teacher or a larger gamma, or scale X."
        )
    return found


def _projected(
    rows: RowBlocks, n_samples: int, mean: Float64Array, components: Float64Array
) -> Float64Array:
    """Centred rows in the directions of ``components``, (n_samples, n_codes), block by block."""
    values = np.empty((n_samples, len(components)))
    for start in range(0, n_samples, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n_samples)
        values[start:stop] = (rows(start, stop) - mean) @ components.T
    return values
