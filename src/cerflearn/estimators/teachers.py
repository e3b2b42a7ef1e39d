r"""Teachers: the embedding that the selected features are to imitate (section 2, Eqs. 5-7).

A teacher yields its rows :math:`\phi(x_n)` in float64 for any range of training rows, the same
bits at every call; nothing of the size n_samples x n_outputs is stored, but for labels.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.decomposition import KernelPCA
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import get_tags

from cerflearn._typing import Float64Array
from cerflearn._validation import invalid
from cerflearn.estimators.input import TrainingData, refuse_streamed, to_dense
from cerflearn.estimators.targets import kind_of_target, one_hot
from cerflearn.features.base import FeatureMap
from cerflearn.features.dense import draw_dense_map
from cerflearn.linalg.row_slices import evenly_spaced_rows
from cerflearn.spectral import SpectralLaw

TeacherLike: TypeAlias = (
    Literal["rff", "nystroem", "kernel_pca", "labels"] | SpectralLaw | BaseEstimator
)
"""What ``teacher`` of a map may be."""

TEACHERS = ("rff", "nystroem", "kernel_pca", "labels")
"""Teachers with a name."""

BASIS_ROWS = 1000
"""Most training rows, evenly spread, that ``"nystroem"`` and ``"kernel_pca"`` are built from."""

_LEAST_ENERGY = 1e-200  # of targets, and one over the largest: products of sums stay finite
_OUTPUT_METHODS = ("transform", "decision_function", "predict_proba")


class Teacher(Protocol):
    """Something that yields rows."""

    def rows(self, start: int, stop: int) -> Float64Array:
        """Return rows ``[start, stop)``, shape (stop - start, n_outputs)."""

    def on(self, data: TrainingData) -> Teacher:
        """Return the same teacher, fitted as it is, for other rows."""


class MapTeacher:
    """Features of a map, such as dense random Fourier features (Eq. 1)."""

    def __init__(self, data: TrainingData, feature_map: FeatureMap) -> None:
        self._data = data
        self._map = feature_map

    def rows(self, start: int, stop: int) -> Float64Array:
        """Return rows ``[start, stop)``."""
        return self._map.transform_batch(self._data.dense(start, stop))

    def on(self, data: TrainingData) -> Teacher:
        """Return the teacher of other rows."""
        return MapTeacher(data, self._map)


class KernelTeacher:
    """Nystroem features or kernel principal components of an exact kernel.

    Parameters
    ----------
    data : TrainingData
        The rows.
    law : SpectralLaw
        With a kernel in closed form.
    transformer : Nystroem or KernelPCA
        Not fitted, for precomputed kernels.
    n_rows : int
        Training rows that the kernel is taken with, evenly spread.
    """

    def __init__(self, data: TrainingData, law: SpectralLaw, transformer: Any, n_rows: int) -> None:
        self._data = data
        self._law = law
        self._basis = to_dense(data.X[evenly_spaced_rows(data.n_samples, n_rows)])
        self._transformer = transformer.fit(law.kernel(self._basis))

    def rows(self, start: int, stop: int) -> Float64Array:
        """Return rows ``[start, stop)``."""
        kernel = self._law.kernel(self._data.dense(start, stop), self._basis)
        return np.asarray(self._transformer.transform(kernel), dtype=np.float64)

    def on(self, data: TrainingData) -> Teacher:
        """Return the teacher of other rows."""
        other = copy(self)
        other._data = data
        return other


class LabelTeacher:
    """Encoded labels."""

    def __init__(self, data: TrainingData, encoding: LabelEncoding) -> None:
        self._encoding = encoding
        self._values = np.empty((0, 0)) if data.y is None else encoding.encode(data.y)

    def rows(self, start: int, stop: int) -> Float64Array:
        """Return rows ``[start, stop)``."""
        return self._values[start:stop]

    def on(self, data: TrainingData) -> Teacher:
        """Return the teacher of other rows; ``ValueError`` for classes that are new."""
        return LabelTeacher(data, self._encoding)


class EstimatorTeacher:
    """Output of a fitted estimator: of its first method among ``transform``,
    ``decision_function``, ``predict_proba`` and, for regressors, ``predict``.
    """  # noqa: D205

    def __init__(self, data: TrainingData, estimator: Any) -> None:
        self._data = data
        self._estimator = estimator
        self._method = _method_of(estimator)

    def rows(self, start: int, stop: int) -> Float64Array:
        """Return rows ``[start, stop)``; ``ValueError`` if they do not match or are not finite."""
        output = getattr(self._estimator, self._method)(self._data.slice(start, stop))
        output = output.toarray() if issparse(output) else output
        if np.iscomplexobj(output):
            raise ValueError(
                f"The teacher {self._estimator!r} gives complex numbers: its {self._method} must "
                "be real."
            )
        values = np.asarray(output, dtype=np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != stop - start or values.shape[1] == 0:
            raise ValueError(
                f"The teacher {self._estimator!r} gives an output of shape {values.shape} for "
                f"{stop - start} rows of X: its {self._method} must give one row for each, and "
                "at least one column."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"The teacher {self._estimator!r} gives NaN or infinity in rows {start} to "
                f"{stop - 1}: its {self._method} must be finite."
            )
        return values

    def on(self, data: TrainingData) -> Teacher:
        """Return the teacher of other rows."""
        return EstimatorTeacher(data, self._estimator)


def is_teacher(teacher: Any) -> bool:
    """Whether it is a name, a law, or an estimator with a usable output."""
    if isinstance(teacher, SpectralLaw) or (isinstance(teacher, str) and teacher in TEACHERS):
        return True
    usable = not isinstance(teacher, str | type) and hasattr(teacher, "fit")
    return usable and _method_of(teacher) != ""


def check_teacher(teacher: Any) -> None:
    """Refuse what is no teacher."""
    if not is_teacher(teacher):
        names = ", ".join(repr(name) for name in TEACHERS)
        raise invalid(
            "teacher",
            teacher,
            f"{names}, a law of cerflearn.spectral, or an estimator (not a class) with transform, "
            "decision_function or predict_proba, or a regressor",
        )


def reads_target(teacher: Any) -> bool:
    """Whether ``fit`` needs y: for ``"labels"``, and for estimators whose tags say so."""
    if isinstance(teacher, str):
        return teacher == "labels"
    if isinstance(teacher, FrozenEstimator | type) or not hasattr(teacher, "__sklearn_tags__"):
        return False
    return bool(get_tags(teacher).target_tags.required)


def reads_no_target(teacher: Any) -> bool:
    """Whether a teacher never sees y; estimators are given it."""
    return isinstance(teacher, SpectralLaw) or (isinstance(teacher, str) and teacher != "labels")


def make_teacher(
    teacher: Any,
    data: TrainingData,
    law: SpectralLaw,
    n_columns: int,
    paired: bool,
    rng: np.random.Generator,
) -> Teacher:
    r"""Build the teacher that the parameter ``teacher`` names.

    Parameters
    ----------
    teacher : {"rff", "nystroem", "kernel_pca", "labels"}, SpectralLaw or estimator
        ``"rff"``: dense features of ``law``; a law: dense features of it. ``"nystroem"``,
        ``"kernel_pca"``: of the exact kernel of ``law``, on at most 1,000 evenly spread rows.
        ``"labels"``: see :func:`encode_labels`. An estimator is cloned, its missing random
        states are drawn, and it is fitted on X and y.
    data : TrainingData
        The rows.
    law : SpectralLaw
        Of the learner's kernel.
    n_columns : int
        Columns of ``"rff"``, and the most that kernel teachers have: the number of candidates.
    paired : bool
        Whether random features are pairs of cosine and sine.
    rng : numpy.random.Generator
        Source of randomness.
    """
    if isinstance(teacher, SpectralLaw) or teacher == "rff":
        law = teacher if isinstance(teacher, SpectralLaw) else law
        width = data.X.shape[1]
        return MapTeacher(data, draw_dense_map(width, n_columns, law, rng, paired=paired))
    if isinstance(teacher, str) and teacher == "labels":
        return LabelTeacher(data, LabelEncoding(data.y))
    if isinstance(teacher, str):
        return _kernel_teacher(teacher, data, law, n_columns)
    if not isinstance(teacher, FrozenEstimator):
        remedy = "fit it on a part, and pass it in a FrozenEstimator"
        refuse_streamed(data.X, f"Fitting teacher={teacher!r}", remedy)
    elif (width := getattr(teacher, "n_features_in_", data.X.shape[1])) != data.X.shape[1]:
        raise ValueError(
            f"The teacher {teacher!r} was fitted on {width} features, but X has "
            f"{data.X.shape[1]}: pass X with the columns that it was fitted on."
        )
    return EstimatorTeacher(data, seeded(clone(teacher), rng).fit(data.frame, data.y))


def encode_labels(y: Any) -> Float64Array:
    """One-hot classes, or centred targets, (n_samples, n_outputs).

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Checked. Classes where scikit-learn's ``type_of_target`` says so (text and whole numbers);
        other numbers are targets of a regression; a table of 0 and 1 is taken as it is.

    Examples
    --------
    >>> encode_labels(np.array(["no", "yes", "no"]))
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    >>> encode_labels(np.array([0.5, 2.5]))
    array([[-1.],
           [ 1.]])
    """
    return LabelEncoding(y).encode(y)


class LabelEncoding:
    """How ``teacher="labels"`` turns y into numbers, fixed on some rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Checked, see :func:`encode_labels`.
    """

    def __init__(self, y: Any) -> None:
        columns = _columns(y)
        kind = kind_of_target(columns[:, 0] if np.ndim(y) == 1 else columns, raise_unknown=True)
        self._n_columns = columns.shape[1]
        self._classes: list[dict[Any, int]] | None = None
        self._mean = np.zeros(self._n_columns)
        if kind in ("binary", "multiclass", "multiclass-multioutput"):
            labels = [np.unique(column).tolist() for column in columns.T]
            self._classes = [{label: code for code, label in enumerate(own)} for own in labels]
            if max(map(len, labels)) == 1:
                raise ValueError(
                    "y has one class only: teacher='labels' needs two or more to learn from."
                )
            return
        targets: Float64Array = columns.astype(np.float64)
        if not (targets.max(axis=0) > targets.min(axis=0)).any():
            raise ValueError("y is constant: teacher='labels' has nothing to learn from.")
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            self._mean = targets.mean(axis=0)
            energy = float(np.square(targets - self._mean).sum())
        if not _LEAST_ENERGY < energy < 1.0 / _LEAST_ENERGY:
            much = "too little" if energy < 1.0 else "too much"
            raise ValueError(f"y varies {much} for teacher='labels' to be learned from: scale y.")

    def encode(self, y: Any) -> Float64Array:
        """Encode rows of y, (n_samples, n_outputs); ``ValueError`` for a class that is new."""
        columns = _columns(y)
        if columns.shape[1] != self._n_columns:
            raise ValueError(f"y has {columns.shape[1]} columns, and {self._n_columns} before.")
        if self._classes is None:
            targets: Float64Array = columns.astype(np.float64) - self._mean
            return targets
        encoded = []
        for column, codes in zip(columns.T, self._classes, strict=True):
            new = sorted({label for label in column.tolist() if label not in codes}, key=repr)
            if new:
                raise ValueError(
                    f"y has the class {new[0]!r}, which the rows that teacher='labels' began with "
                    f"do not have ({', '.join(map(repr, codes))}): begin with rows of all classes."
                )
            numbers = np.array([codes[label] for label in column.tolist()], dtype=np.int64)
            encoded.append(one_hot(numbers, len(codes)))
        return np.concatenate(encoded, axis=1)


def _columns(y: Any) -> Any:
    """Return y as an array of two dimensions."""
    y = y.toarray() if issparse(y) else np.asarray(y)
    return y[:, None] if y.ndim == 1 else y


def _kernel_teacher(name: str, data: TrainingData, law: SpectralLaw, n_columns: int) -> Teacher:
    if not law.has_kernel:
        raise invalid("teacher", name, f"'rff' for {law!r}, whose kernel has no closed form")
    n_rows = min(data.n_samples, BASIS_ROWS)
    n_components = min(n_columns, n_rows)
    if name == "nystroem":
        # All rows of the given kernel are used; the seed orders the columns only.
        nystroem = Nystroem(kernel="precomputed", n_components=n_components, random_state=0)
        return KernelTeacher(data, law, nystroem, n_components)
    pca = KernelPCA(kernel="precomputed", n_components=n_components, eigen_solver="dense")
    return KernelTeacher(data, law, pca, n_rows)


def _method_of(estimator: Any) -> str:
    """Name of the method whose output is the teacher; empty if there is none."""
    for name in _OUTPUT_METHODS:
        if hasattr(estimator, name):
            return name
    return "predict" if hasattr(estimator, "predict") and is_regressor(estimator) else ""


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Give random states that are None a seed, so that the same seed gives the same teacher."""
    if not hasattr(estimator, "get_params"):
        return estimator
    parameters = estimator.get_params(deep=True)
    missing = sorted(
        name
        for name, value in parameters.items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    seeds = {name: int(rng.integers(2**31)) for name in missing}
    return estimator.set_params(**seeds) if seeds else estimator
