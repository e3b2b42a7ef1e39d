r"""Centre and scale both embeddings while learning.

As printed the method prefers nearly constant features: a large mean explains much of an uncentred
teacher and carries no information. So means are subtracted first (``"center"``), and the
learner's columns are brought to unit variance (``"standardize"``), which ranks a feature by its
correlation rather than by its size. The selected map itself stays uncentred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerflearn._typing import BoolArray, Float64Array
from cerflearn.learning.rows import Rows

Normalize: TypeAlias = Literal["standardize", "center"] | None

_LARGEST_VARIANCE = 1e200  # of the teacher: its square must not overflow

# Features in float32 carry errors of 3e-7; a spread of that size is rounding, not information.
_CONSTANT = 1e-6


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and sum of squared deviations of each column over some rows.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    mean, squared_deviation, largest : ndarray of shape (n_columns,)
        Mean, sum of squared deviations from it, largest absolute value.
    """

    n_samples: int
    mean: Float64Array
    squared_deviation: Float64Array
    largest: Float64Array

    @classmethod
    def of_block(cls, block: NDArray[Any], name: str) -> Moments:
        """Moments of the rows of one block; ``ValueError`` if a value is not finite."""
        # In C order, since NumPy adds up columns of other layouts in another order.
        values = np.asarray(block, dtype=np.float64, order="C")
        if values.ndim != 2:
            raise ValueError(f"The {name} has {values.ndim} dimensions, expected 2.")
        if not np.isfinite(values).all():
            raise ValueError(f"The {name} contains NaN or infinity.")
        with np.errstate(over="ignore"):  # refused in Normalizer.from_moments
            mean = values.mean(axis=0)
            squared_deviation = np.square(values - mean).sum(axis=0)
        return cls(
            n_samples=len(values),
            mean=mean,
            squared_deviation=squared_deviation,
            largest=np.abs(values).max(axis=0),
        )

    def merge(self, other: Moments) -> Moments:
        """Moments of the rows of both (Chan, Golub and LeVeque's update)."""
        n_samples = self.n_samples + other.n_samples
        step = other.mean - self.mean
        weight = other.n_samples / n_samples
        between = np.square(step) * (self.n_samples * weight)
        return Moments(
            n_samples=n_samples,
            mean=self.mean + step * weight,
            squared_deviation=self.squared_deviation + other.squared_deviation + between,
            largest=np.maximum(self.largest, other.largest),
        )

    @property
    def variance(self) -> Float64Array:
        """Mean squared deviation, (n_columns,)."""
        return self.squared_deviation / self.n_samples

    @property
    def varies(self) -> BoolArray:
        """False for columns whose standard deviation is rounding error, (n_columns,)."""
        varies: BoolArray = np.sqrt(self.variance) > _CONSTANT * self.largest
        return varies


class ConstantColumnsError(ValueError):
    """No column of an embedding varies.

    Parameters
    ----------
    embedding : {"teacher", "learner"}
        Which one.
    """

    def __init__(self, embedding: str) -> None:
        super().__init__(f"All columns of the {embedding} are constant: nothing to learn from.")
        self.embedding = embedding


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Moments of teacher and learner over the same rows."""

    teacher: Moments
    learner: Moments

    def merge(self, other: PairMoments) -> PairMoments:
        """Moments of the rows of both."""
        return PairMoments(self.teacher.merge(other.teacher), self.learner.merge(other.learner))


def embedding_moments(_: object, teacher: NDArray[Any], learner: NDArray[Any]) -> PairMoments:
    """Block function: moments of teacher (b, n_outputs) and learner (b, n_candidates)."""
    return PairMoments(Moments.of_block(teacher, "teacher"), Moments.of_block(learner, "learner"))


@dataclass(frozen=True, eq=False)
class Normalizer:
    r"""Affine maps of teacher and learner: :math:`(T - m_T) s_T` and :math:`(L - m_L) s_L`.

    Attributes
    ----------
    teacher_mean : ndarray of shape (n_outputs,)
        Subtracted from the teacher.
    teacher_factor : float
        One number for all columns, so that the teacher's inner products keep their proportions.
    learner_mean, learner_factor : ndarray of shape (n_candidates,)
        Subtracted from and multiplied into the learner; the factor is 0 where not usable.
    usable : ndarray of shape (n_candidates,), bool
        False for candidates that are constant.
    """

    teacher_mean: Float64Array
    teacher_factor: float
    learner_mean: Float64Array
    learner_factor: Float64Array
    usable: BoolArray

    @classmethod
    def from_moments(cls, moments: PairMoments, normalize: Normalize) -> Normalizer:
        """Choose the maps; ``ValueError`` for one sample or for constant data.

        Parameters
        ----------
        moments : PairMoments
            Of all rows.
        normalize : {"standardize", "center"} or None
            None, as printed in the paper, changes only columns that are constant: they are set
            to zero, as they carry no information.
        """
        teacher, learner = moments.teacher, moments.learner
        if teacher.n_samples < 2:
            raise ValueError("Learning needs at least 2 samples, got n_samples = 1.")
        if not teacher.variance.sum() < _LARGEST_VARIANCE:
            raise ValueError("The outputs of the teacher vary too much to be summed: scale them.")
        for name, varies in (("teacher", teacher.varies), ("learner", learner.varies)):
            if not varies.any():
                raise ConstantColumnsError(name)
        usable = learner.varies
        factor = usable.astype(np.float64)
        teacher_factor = 1.0
        if normalize == "standardize":
            factor[usable] /= np.sqrt(learner.variance[usable])
            teacher_factor = float(1.0 / np.sqrt(teacher.variance.mean()))
        keep_mean = 0.0 if normalize is None else 1.0
        return cls(
            teacher_mean=teacher.mean * keep_mean,
            teacher_factor=teacher_factor,
            learner_mean=learner.mean * keep_mean,
            learner_factor=factor,
            usable=usable,
        )

    def apply(
        self, teacher: NDArray[Any], learner: NDArray[Any]
    ) -> tuple[Float64Array, Float64Array]:
        """Return new float64 blocks in C order, whatever dtype and order they had.

        The order matters for equal bits: BLAS rounds differently for transposed input.
        """
        teacher = np.subtract(teacher, self.teacher_mean, dtype=np.float64, order="C")
        learner = np.subtract(learner, self.learner_mean, dtype=np.float64, order="C")
        teacher *= self.teacher_factor
        learner *= self.learner_factor
        return teacher, learner


def fit_normalizer(rows: Rows, normalize: Normalize) -> Normalizer:
    """One pass for means and variances, see :meth:`Normalizer.from_moments`."""
    return Normalizer.from_moments(rows.map_reduce(embedding_moments, None), normalize)
