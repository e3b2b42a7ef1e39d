"""Learned feature maps whose rows come in mini-batches: ``partial_fit``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length
from sklearn.utils.metaestimators import available_if

from cerflearn._typing import IntArray, MatrixLike
from cerflearn._validation import make_generator
from cerflearn.engine.engines import make_engine, one_thread_blas
from cerflearn.estimators.block_output import mini_batches
from cerflearn.estimators.cerf.candidates import Candidates, embedding_source, keep_places
from cerflearn.estimators.cerf.learned import LearnedFeatureMap
from cerflearn.estimators.cerf.selector_base import UNEXPLAINED, StreamSelector
from cerflearn.estimators.cerf.selectors import SELECTORS, make_selector
from cerflearn.estimators.gamma import resolve_law
from cerflearn.estimators.input import (
    NO_ROWS,
    TrainingData,
    concatenate_rows,
    is_streamed,
    read_data,
)
from cerflearn.estimators.not_stored import NotStored
from cerflearn.estimators.teachers import Teacher, make_teacher, reads_no_target
from cerflearn.features.base import equal_amplitudes, projections_for
from cerflearn.features.blocked import BlockedMap
from cerflearn.learning.normalization import ConstantColumnsError

ROWS_PER_CANDIDATE = 2
"""Rows for each candidate column that a stream begins with: the cross matrix of teacher and
candidates has full rank, and each of its columns is estimated from as many rows as it has entries,
twice over."""


@dataclass(frozen=True, eq=False)
class Waiting:
    """A stream that has not begun: its rows are kept.

    Attributes
    ----------
    data : TrainingData
        Rows seen.
    rng : numpy.random.Generator
        What candidates and teacher will be drawn from; never used itself, only copies of it.
    n_needed : int
        Rows that the stream begins with.
    parameters : dict
        Parameters of the estimator, which must not change.
    """

    data: TrainingData
    rng: np.random.Generator
    n_needed: int
    parameters: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Begun:
    """A stream that has begun.

    Attributes
    ----------
    candidates : Candidates
        With a budget of which nothing is used.
    teacher : Teacher
        Fitted, without rows.
    teacher_width : int
        Columns of the teacher.
    parameters : dict
        Parameters of the estimator, which must not change.
    learned : object
        What the selector has learned.
    order : ndarray of shape (n_projections,), int64
        Chosen projections, in the order of their columns.
    n_samples, n_batches : int
        Rows and mini-batches seen.
    """

    candidates: Candidates
    teacher: Teacher
    teacher_width: int
    parameters: dict[str, Any]
    learned: Any
    order: IntArray
    n_samples: int
    n_batches: int


def _can_stream(estimator: Any) -> bool:
    """Whether the selector learns from mini-batches; ``AttributeError`` with the reason if not."""
    name = type(estimator).__name__
    selector = estimator.selector
    if isinstance(selector, str) and selector in SELECTORS:
        selector = SELECTORS[selector]()
    if not (isinstance(selector, StreamSelector) and selector._can_stream):
        raise AttributeError(
            f"{name} has partial_fit with selector='cvem' (a CVEM with solver='procrustes') and "
            f"selector='shared' only, not with selector={estimator.selector!r}."
        )
    if estimator.weights != "equal":
        raise AttributeError(
            f"{name} has partial_fit with weights='equal' only: weights={estimator.weights!r} "
            "needs all rows at once."
        )
    return True


class StreamedFeatureMap(LearnedFeatureMap):
    """Base of learned maps that can also learn from mini-batches."""

    _stream: Waiting | Begun

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Learn from a mini-batch, with the selectors ``"cvem"`` and ``"shared"``.

        Rows are kept until there are two for each candidate. On these rows gamma, inputs that are
        constant, candidates, teacher and normalisation are fixed for good; they are the first
        mini-batch, and :meth:`transform` works from then on. Each further call takes one stage of
        stochastic EM and chooses features anew; memory does not grow with the rows. A feature that
        stays chosen keeps its column, so that a model of the outputs can be trained by
        ``partial_fit`` too; new features take the columns of those that are dropped. (Of a mask
        or block that is chosen in part, and with ``unit="output"``, columns may move.)

        Parameters cannot be changed after the first rows, but for ``n_jobs``, ``verbose``, and
        ``learning_offset``, ``learning_decay`` and ``cache_bytes`` of the selector. The number of
        outputs stays what it was at first: where masks differ in size, ``macs`` is kept by
        choosing smaller ones last. After ``fit``, which keeps
        no statistics, it starts anew, as ``fit`` does after ``partial_fit``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Two rows or more. Or a source of :mod:`cerflearn.blocks`, the path of an ``.npy`` file
            or a Dask collection: each block or partition is a mini-batch.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
            Needed with ``teacher="labels"``, all of whose classes must be among the first rows;
            teachers that are fitted with y read it until they are fixed.

        Returns
        -------
        self : object
            The estimator; if an error is raised, it stays as it was.
        """
        trial = _copy_of(self)
        trial._check_parameters()
        if is_streamed(X):
            with _unless_it_fails(self.random_state):
                for rows, targets in mini_batches(X, y):
                    trial.partial_fit(rows, targets)
            self.__dict__ = trial.__dict__
            return self
        with one_thread_blas(), _unless_it_fails(self.random_state):
            trial._learn_from(make_selector(trial.selector), X, y)
        self.__dict__ = trial.__dict__
        return self

    def _learn_from(self, selector: StreamSelector, X: MatrixLike, y: Any) -> None:
        """Add rows to those that wait, or learn from them."""
        stream = self.__dict__.get("_stream")
        if isinstance(stream, NotStored):
            raise ValueError(
                "partial_fit cannot go on with a loaded model: model files do not hold its "
                "statistics. Call fit, or partial_fit of a clone, to begin anew."
            )
        if stream is None:
            self._forget()  # fit keeps nothing that could be gone on from
        else:
            self._check_unchanged(stream)
        data = self._read_batch(stream, X, y)
        if isinstance(stream, Begun):
            self._learn_batch(selector, stream, data)
            return
        rng = self._own_generator() if stream is None else stream.rng
        if stream is not None:
            data = concatenate_rows(stream.data, data)
        drawn, used = _copy_of(self), deepcopy(rng)
        drawn.law_, drawn.gamma_ = resolve_law(self.kernel, self.gamma, data.X)
        candidates = drawn._draw_candidates(data.X, used)
        n_needed = ROWS_PER_CANDIDATE * candidates.feature_map.n_outputs
        if data.n_samples >= n_needed:
            self.__dict__ = drawn.__dict__
            self._begin(selector, data, candidates, used)
            return
        if stream is None:
            data = deepcopy(data)  # the caller may fill the same array with the next rows
        self._stream = Waiting(data, rng, n_needed, self._fixed_parameters())

    def _fixed_parameters(self) -> dict[str, Any]:
        """Parameters that a stream cannot change, by name; of estimators their class."""
        parameters = self.get_params(deep=True)
        parameters["selector"] = selector = make_selector(self.selector)
        parameters |= {f"selector__{name}": value for name, value in selector.get_params().items()}
        free = ("n_jobs", "verbose", *(f"selector__{name}" for name in selector._free_in_streams))
        return {
            name: type(value).__name__ if isinstance(value, BaseEstimator) else value
            for name, value in parameters.items()
            if name not in free
        }

    def _check_unchanged(self, stream: Waiting | Begun) -> None:
        """Refuse parameters that were changed since the stream was given its first rows."""
        before, now = stream.parameters, self._fixed_parameters()
        for name in sorted(before.keys() | now.keys()):
            old, new = before.get(name), now.get(name)
            if not _is_same(old, new):
                raise ValueError(
                    f"{name}={new!r} cannot replace {old!r} in a stream: call partial_fit of a "
                    "clone from the first rows on."
                )

    def _own_generator(self) -> np.random.Generator:
        """Return the generator of this stream; one that the user shares is advanced."""
        rng = make_generator(self.random_state)
        if rng is self.random_state:
            return np.random.default_rng(rng.integers(2**32, size=4))
        return rng

    def _read_batch(self, stream: Waiting | Begun | None, X: MatrixLike, y: Any) -> TrainingData:
        """Check X, and y where it is needed."""
        if isinstance(stream, Begun) and not isinstance(self.teacher, str):
            checked = read_data(self, X, reset=False)  # the teacher does not read y any more
            data = TrainingData(checked, X if hasattr(X, "columns") else checked, None)
        else:
            data = self._read(X, y, reset=stream is None)
            if not isinstance(self.teacher, BaseEstimator):
                data = replace(data, frame=data.X)  # never read: not to be kept
            if reads_no_target(self.teacher):
                data = replace(data, y=None)
            elif data.y is not None:
                check_consistent_length(data.X, data.y)
        if data.n_samples < 2:
            raise ValueError(
                "X has one sample (n_samples = 1): partial_fit needs mini-batches of 2 rows or "
                "more. Collect rows first."
            )
        return data

    def _begin(
        self,
        selector: StreamSelector,
        data: TrainingData,
        candidates: Candidates,
        rng: np.random.Generator,
    ) -> None:
        """Make the teacher, and learn from the first mini-batch."""
        self._check_learnable(data)
        drawn = candidates.feature_map
        teacher = make_teacher(self.teacher, data, self.law_, drawn.n_outputs, drawn.paired, rng)
        none = np.zeros(0, dtype=np.int64)
        begun = Begun(candidates, teacher, 0, self._fixed_parameters(), None, none, 0, 0)
        self._learn_batch(selector, begun, data)

    def _learn_batch(self, selector: StreamSelector, stream: Begun, data: TrainingData) -> None:
        """Learn from a mini-batch, and choose features anew."""
        candidates, teacher = stream.candidates, stream.teacher.on(data)
        drawn = candidates.feature_map
        source = embedding_source(data, teacher, drawn, int(selector.cache_bytes))
        width = source.block(0)[0].shape[1]
        if stream.n_batches and width != stream.teacher_width:
            raise ValueError(
                f"The teacher {self.teacher!r} gives {width} columns, and gave "
                f"{stream.teacher_width} for the rows before."
            )
        engine = make_engine(source, self._n_threads(data.n_samples))
        try:
            learned, selection = selector._learn_batch(stream.learned, engine, candidates)
        except ConstantColumnsError as error:
            raise self._constant_error(error) from error
        trial = replace(candidates, budget=deepcopy(candidates.budget))  # choosing uses it up
        ranked = trial.in_order(selection.ranking)
        if stream.n_batches:
            chosen = np.sort(trial.choose_exactly(ranked, len(stream.order)))
        else:
            n_projections = projections_for(candidates.n_outputs, drawn.paired)
            chosen = np.sort(trial.choose(ranked, n_projections))
        order = keep_places(chosen, stream.order, _pieces(candidates))
        n_samples, n_batches = stream.n_samples + data.n_samples, stream.n_batches + 1
        self._store(selector, selection, candidates, order, n_samples * width)
        self.n_iter_ = n_batches
        kept = drawn.select(chosen, len(self.selected_)).reorder(np.searchsorted(chosen, order))
        self.feature_map_ = kept.with_amplitudes(equal_amplitudes(len(order), drawn.paired))
        self._n_features_out = self.feature_map_.n_outputs
        self._stream = replace(
            stream,
            teacher=teacher.on(NO_ROWS),
            teacher_width=width,
            learned=learned,
            order=order,
            n_samples=n_samples,
            n_batches=n_batches,
        )
        if self.verbose:
            of_cvem = selection.errors is None
            name = "lower bound" if of_cvem else UNEXPLAINED
            value = (self.lower_bounds_ if of_cvem else self.errors_)[-1]
            print(f"[{type(self).__name__}] mini-batch {n_batches - 1}: {name} {value:.7g}")

    def _raise_if_rows_wait(self) -> None:
        stream = self.__dict__.get("_stream")
        if not isinstance(stream, Waiting):
            return
        seen = stream.data.n_samples
        raise NotFittedError(
            f"This {type(self).__name__} has seen {seen} rows and begins to learn with "
            f"{stream.n_needed}, {ROWS_PER_CANDIDATE} for each candidate: call partial_fit with "
            f"{stream.n_needed - seen} more rows, ask for fewer candidates, or call fit."
        )

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the output columns.

        Parameters
        ----------
        input_features : object, default=None
            Not used; for scikit-learn's interface.

        Returns
        -------
        ndarray of str
            The class's name in lower case, and the number of the column.
        """
        self._raise_if_rows_wait()
        return super().get_feature_names_out(input_features)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a map; where rows wait, an error says how many are missing."""
        self._raise_if_rows_wait()
        return "feature_map_" in self.__dict__


def _is_same(old: Any, new: Any) -> bool:
    """Whether two values of a parameter are the same object, or equal."""
    if old is new:
        return True
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return bool(np.array_equal(old, new))
    return isinstance(old, str) == isinstance(new, str) and bool(old == new)


@contextmanager
def _unless_it_fails(random_state: Any) -> Iterator[None]:
    """Undo what was drawn from a generator of the user's if an error is raised."""
    saved = deepcopy(random_state)
    try:
        yield
    except BaseException:
        if isinstance(random_state, np.random.Generator):
            random_state.bit_generator.state = saved.bit_generator.state
        elif isinstance(random_state, np.random.RandomState):
            random_state.set_state(saved.get_state())
        raise


def _copy_of(estimator: Any) -> Any:
    """Return an estimator with the same attributes, to be changed in its place."""
    other = object.__new__(type(estimator))
    other.__dict__.update(estimator.__dict__)
    return other


def _pieces(candidates: Candidates) -> IntArray:
    """Projections whose columns must stay side by side, by equal numbers."""
    drawn = candidates.feature_map
    if isinstance(drawn, BlockedMap):
        return drawn.block_of_projection
    return np.arange(drawn.n_projections) if candidates.groups is None else candidates.groups
