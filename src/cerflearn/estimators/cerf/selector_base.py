"""What a selector is, what it is given and what it finds."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from cerflearn._typing import Float64Array, IntArray, StateStore
from cerflearn._validation import (
    Constraint,
    NoEffect,
    Number,
    Passes,
    Whole,
    check_effects,
    check_parameters,
    invalid,
)
from cerflearn.estimators.cerf.candidates import Candidates
from cerflearn.learning.rows import Rows

Report = Callable[[int, str, float], bool]
"""Called with the number of a stage, the name of a value and the value; returns True to stop."""


UNEXPLAINED = "unexplained share of the teacher"
"""What selectors that regress the teacher report."""


def _check_normalize(name: str, value: Any) -> None:
    known = value is None or (isinstance(value, str) and value in ("standardize", "center"))
    if not known:
        raise invalid(name, value, "'standardize', 'center' or None")


COMMON_CONSTRAINTS: dict[str, Constraint] = {
    "normalize": Passes(_check_normalize),
    "cache_bytes": Whole("a number of bytes, 0 for no cache", at_least=0),
}
"""What the parameters that all selectors have must be."""

STREAM_CONSTRAINTS: dict[str, Constraint] = {
    "learning_offset": Number("a number that is not negative", at_least=0.0),
    "learning_decay": Number("a number above 0.5 and at most 1", above=0.5, at_most=1.0),
}
"""What the parameters of selectors that learn from mini-batches must be."""

MOST_STAGES = 10_000
"""Largest number of stages of a selector."""


@dataclass(frozen=True, eq=False)
class Selection:
    """What a selector found.

    Attributes
    ----------
    ranking : ndarray of shape (n_candidates,), int64
        Candidate columns, best first.
    feature_proba : ndarray of shape (n_candidates,), optional
        E[pi]; None for selectors that decide for all samples at once.
    rotation : ndarray of shape (n_outputs, n_candidates), optional
        W of CVEM.
    scale : float, optional
        c; the greedy selector has none.
    lower_bounds : ndarray of shape (n_iter,), optional
        Of CVEM.
    errors : ndarray of shape (n_iter,), optional
        Share of the teacher's energy that is left unexplained, of the other selectors.
    converged : bool
        False if CVEM ran out of stages.
    stopped : bool
        Whether a callback ended it.
    """

    ranking: IntArray
    feature_proba: Float64Array | None = None
    rotation: Float64Array | None = None
    scale: float | None = None
    lower_bounds: Float64Array | None = None
    errors: Float64Array | None = None
    converged: bool = True
    stopped: bool = False


class Selector(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of selectors: parameters that clone, print and can be searched over."""

    _constraints: ClassVar[dict[str, Constraint]]
    _without_effect: ClassVar[tuple[NoEffect, ...]] = ()

    cache_bytes: int

    def _check_parameters(self) -> None:
        """Refuse parameters that are not valid, or have no effect."""
        check_parameters(self, self._constraints)
        check_effects(self, self._without_effect)

    @property
    @abstractmethod
    def _n_reports(self) -> int:
        """Most stages that are reported."""

    @abstractmethod
    def _select(
        self,
        rows: Rows,
        candidates: Candidates,
        report: Report,
        store: StateStore | None = None,
    ) -> Selection:
        """Rank the candidates, given teacher and learner in blocks; report each stage.

        A store keeps states on the way, and is gone on from where it has some.
        """


class StreamSelector(Selector):
    """Base of selectors that learn from mini-batches, too."""

    # Parameters that may change between mini-batches.
    _free_in_streams: ClassVar[tuple[str, ...]] = (
        "learning_offset",
        "learning_decay",
        "cache_bytes",
    )

    @property
    def _can_stream(self) -> bool:
        """Whether it does with its parameters."""
        return True

    @abstractmethod
    def _learn_batch(
        self, learned: Any, rows: Rows, candidates: Candidates
    ) -> tuple[Any, Selection]:
        """Learn from a mini-batch; ``learned`` is what the last call returned, None at first."""
