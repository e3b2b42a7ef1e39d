"""Learned feature maps whose rows come in mini-batches: ``partial_fit``."""

from __future__ import annotations

import sys
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length
from sklearn.utils.metaestimators import available_if

from cerflearn._typing import FloatArray, IntArray, MatrixLike
from cerflearn._validation import make_generator
from cerflearn.engine.blas import one_thread_blas
from cerflearn.engine.engines import make_engine
from cerflearn.estimators.cerf.candidates import UNEXPLAINED, Candidates, Selector
from cerflearn.estimators.cerf.learned import LearnedFeatureMap, embedding_source
from cerflearn.estimators.cerf.selectors import SELECTORS, make_selector
from cerflearn.estimators.gamma import resolve_law
from cerflearn.estimators.input import TrainingData, read_data
from cerflearn.estimators.teachers import Teacher, make_teacher
from cerflearn.features.base import equal_amplitudes, projections_for
from cerflearn.features.blocked import BlockedMap
from cerflearn.learning.normalization import ConstantColumnsError
from cerflearn.spectral import SpectralLaw

ROWS_PER_CANDIDATE = 2
"""Rows for each candidate column that a stream begins with: the cross matrix of teacher and
candidates has full rank, and each of its columns is estimated from as many rows as it has entries,
twice over."""

_NO_ROWS = TrainingData(None, None, None)


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
    """

    data: TrainingData
    rng: np.random.Generator
    n_needed: int


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
        Parameters of the estimator that must not change.
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
    if not (isinstance(selector, Selector) and selector._streams):
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

        Parameters cannot be changed after the stream has begun, but for ``n_jobs``, ``verbose``,
        and ``learning_offset`` and ``learning_decay`` of the selector. After ``fit``, which keeps
        no statistics, it starts anew, as ``fit`` does after ``partial_fit``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Two rows or more.
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
        with one_thread_blas():
            trial._learn_from(make_selector(trial.selector), X, y)
        self.__dict__ = trial.__dict__
        return self

    def _learn_from(self, selector: Selector, X: MatrixLike, y: Any) -> None:
        """Add rows to those that wait, or learn from them."""
        stream = self.__dict__.get("_stream")
        if stream is None:
            self._forget()  # fit keeps nothing that could be gone on from
        data = self._read_batch(stream, X, y)
        if isinstance(stream, Begun):
            self._check_unchanged(stream)
            self._learn_batch(selector, stream, data)
            return
        rng = self._own_generator() if stream is None else stream.rng
        # Copied: the caller may fill the same array with the next rows.
        data = deepcopy(data) if stream is None else concatenate(stream.data, data)
        n_needed = ROWS_PER_CANDIDATE * _copy_of(self)._draw(data, rng).feature_map.n_outputs
        if data.n_samples < n_needed:
            self._stream = Waiting(data, rng, n_needed)
        else:
            self._begin(selector, data, deepcopy(rng))

    def _fixed_parameters(self) -> dict[str, Any]:
        """Parameters that a stream cannot change; of the selector its class."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        for name in ("n_jobs", "verbose"):
            del parameters[name]
        return parameters | {"selector": type(make_selector(self.selector)).__name__}

    def _check_unchanged(self, stream: Begun) -> None:
        """Refuse parameters that were changed since the stream began."""
        for name, value in self._fixed_parameters().items():
            old = stream.parameters[name]
            if value is not old and not (type(value) is type(old) and value == old):
                raise ValueError(
                    f"{name}={value!r} cannot replace {old!r} in a stream that has begun: call "
                    "partial_fit of a clone from the first rows on."
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
            if _reads_no_target(self.teacher):
                data = replace(data, y=None)  # never read: not to be kept
            elif data.y is not None:
                check_consistent_length(data.X, data.y)
        if data.n_samples < 2:
            raise ValueError(
                "X has one sample (n_samples = 1): partial_fit needs mini-batches of 2 rows or "
                "more. Collect rows first."
            )
        return data

    def _draw(self, data: TrainingData, rng: np.random.Generator) -> Candidates:
        """Resolve gamma and draw candidates for some rows, from a copy of the generator."""
        self.law_, self.gamma_ = resolve_law(self.kernel, self.gamma, data.X)
        return self._draw_candidates(data.X, deepcopy(rng))

    def _begin(self, selector: Selector, data: TrainingData, rng: np.random.Generator) -> None:
        """Fix everything that does not change any more, and learn from the first mini-batch."""
        self._check_learnable(data)
        self.law_, self.gamma_ = resolve_law(self.kernel, self.gamma, data.X)
        candidates = self._draw_candidates(data.X, rng)
        drawn = candidates.feature_map
        teacher = make_teacher(self.teacher, data, self.law_, drawn.n_outputs, drawn.paired, rng)
        none = np.zeros(0, dtype=np.int64)
        begun = Begun(candidates, teacher, 0, self._fixed_parameters(), None, none, 0, 0)
        self._learn_batch(selector, begun, data)

    def _learn_batch(self, selector: Selector, stream: Begun, data: TrainingData) -> None:
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
        n_projections = projections_for(candidates.n_outputs, drawn.paired)
        chosen = np.sort(trial.choose(trial.in_order(selection.ranking), n_projections))
        order = keep_places(chosen, stream.order, _pieces(candidates))
        n_samples, n_batches = stream.n_samples + data.n_samples, stream.n_batches + 1
        self._store(selector, selection, candidates, order, n_samples * width)
        self.n_iter_ = n_batches
        kept = drawn.select(chosen, len(self.selected_)).reorder(np.searchsorted(chosen, order))
        self.feature_map_ = kept.with_amplitudes(equal_amplitudes(len(order), drawn.paired))
        self._n_features_out = self.feature_map_.n_outputs
        self._stream = replace(
            stream,
            teacher=teacher.on(_NO_ROWS),
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

    def _transform_checked(self, X: MatrixLike) -> FloatArray:
        stream = self.__dict__.get("_stream")
        if isinstance(stream, Waiting):
            self._raise_waiting(stream)
        return super()._transform_checked(X)

    def _raise_waiting(self, stream: Waiting) -> NoReturn:
        seen = stream.data.n_samples
        raise NotFittedError(
            f"This {type(self).__name__} has seen {seen} rows and begins to learn with "
            f"{stream.n_needed}, {ROWS_PER_CANDIDATE} for each candidate: call partial_fit with "
            f"{stream.n_needed - seen} more rows, ask for fewer candidates, or call fit."
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a map; rows that wait do not make one."""
        return "feature_map_" in self.__dict__


def _reads_no_target(teacher: Any) -> bool:
    """Whether a teacher never sees y; estimators are given it."""
    return isinstance(teacher, SpectralLaw) or (isinstance(teacher, str) and teacher != "labels")


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


def keep_places(chosen: IntArray, before: IntArray, pieces: IntArray) -> IntArray:
    """Order chosen projections so that whole pieces that stay chosen keep their place.

    Whole pieces come first, in places of equal width; the place of one that is dropped goes to a
    new one. Pieces of which only a part is chosen follow.

    Parameters
    ----------
    chosen : ndarray of shape (n_chosen,), int64
        Projections.
    before : ndarray of shape (n_before,), int64
        Projections chosen before, in their order.
    pieces : ndarray of shape (n_projections,), int64
        Equal numbers for projections that stay side by side.

    Returns
    -------
    ndarray of shape (n_chosen,), int64
        The chosen projections, ordered.

    Examples
    --------
    >>> keep_places(np.array([0, 2, 3]), np.array([1, 2, 0]), np.arange(4))
    array([3, 2, 0])
    """
    width = int(np.bincount(pieces).max())
    members = {piece: chosen[pieces[chosen] == piece] for piece in np.unique(pieces[chosen])}
    whole = [piece for piece in members if len(members[piece]) == width]
    places: list[Any] = [None] * len(whole)
    for place in range(len(before) // width):
        run = pieces[before[place * width : (place + 1) * width]]
        if place < len(whole) and (run == run[0]).all() and run[0] in whole:
            places[place] = run[0]
    rest = [piece for piece in whole if piece not in places]
    places = [rest.pop(0) if piece is None else piece for piece in places]
    places += [piece for piece in members if len(members[piece]) < width]
    return np.concatenate([np.sort(members[piece]) for piece in places]).astype(np.int64)


def concatenate(first: TrainingData, second: TrainingData) -> TrainingData:
    """Rows of both, the first ones first."""
    X = _stack(first.X, second.X)
    frames = (first.frame, second.frame)
    frame = X
    if all(hasattr(frame, "columns") for frame in frames) and type(frames[0]) is type(frames[1]):
        frame = sys.modules[type(frames[0]).__module__.split(".")[0]].concat(list(frames))
    if first.y is None or second.y is None:
        return TrainingData(X, frame, None)
    kinds = [np.asarray(y).dtype.kind in "OSU" for y in (first.y, second.y) if not issparse(y)]
    if len(set(kinds)) > 1:
        raise ValueError("y has text in some mini-batches and numbers in others: pass one kind.")
    return TrainingData(X, frame, _stack(first.y, second.y))


def _stack(first: Any, second: Any) -> Any:
    """Rows of two arrays or sparse matrices; dense unless both are sparse."""
    if issparse(first) and issparse(second):
        return vstack([first, second], format="csr")
    parts = [part.toarray() if issparse(part) else np.asarray(part) for part in (first, second)]
    if parts[0].shape[1:] != parts[1].shape[1:]:
        shapes = f"{parts[1].shape[1:]}, and {parts[0].shape[1:]} before"
        raise ValueError(f"A row of y has the shape {shapes}.")
    return np.concatenate(parts)
