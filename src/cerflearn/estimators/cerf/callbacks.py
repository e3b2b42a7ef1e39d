"""Reports of the stages of a fit: printed lines, and scikit-learn's callbacks where it has them.

scikit-learn has callbacks from version 1.9 (``sklearn.callback``, ``set_callbacks``). Below that
estimators have no ``set_callbacks``, and the stand-ins here do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    CallbackSupport: Any
    with_callbacks: Any
else:
    try:
        from sklearn.callback import CallbackSupportMixin as CallbackSupport
        from sklearn.callback import with_callbacks
    except ImportError:

        class CallbackSupport:
            """Stands for the mixin of scikit-learn 1.9."""

            def _init_callback_context(self, **_: Any) -> NoContext:
                return NoContext()

        def with_callbacks(method: Any) -> Any:
            """Stand for the decorator of scikit-learn 1.9."""
            return method


class NoContext:
    """A task without callbacks."""

    def subcontext(self, **_: Any) -> Self:
        """Return a part of the task."""
        return self

    def call_on_fit_task_begin(self, **_: Any) -> None:
        """Do nothing."""

    def call_on_fit_task_end(self, **_: Any) -> bool:
        """Return that there is no reason to stop."""
        return False


class NoReports:
    """Reports of stages that nothing is done with: of fits that are only compared."""

    def stage(self, index: int, name: str, value: float) -> bool:  # noqa: ARG002
        """Return that there is no reason to stop."""
        return False


class StageReports:
    """Reports the stages of one ``fit``.

    For callbacks the fit is a task with one subtask for each stage. A stage is reported when it
    is over, so the next one begins at once; the last to begin never runs and ends empty.

    Parameters
    ----------
    estimator : estimator
        With ``_init_callback_context`` and ``verbose``.
    X, y : object
        As ``fit`` was given them.
    max_stages : int
        Most stages; 0 if nothing is learned.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, max_stages: int) -> None:
        self._estimator = estimator
        self._task = {"estimator": estimator, "X": X, "y": y}
        max_subtasks = max_stages + 1 if max_stages else 0
        self._fit = estimator._init_callback_context(max_subtasks=max_subtasks)
        self._fit.call_on_fit_task_begin(**self._task)
        self._stage = self._begin() if max_stages else NoContext()

    def _begin(self) -> Any:
        stage = self._fit.subcontext(task_name="stage")
        stage.call_on_fit_task_begin(**self._task)
        return stage

    def stage(self, index: int, name: str, value: float) -> bool:
        """Report the end of a stage and a number; return whether a callback requests a stop."""
        if self._estimator.verbose:
            print(f"[{type(self._estimator).__name__}] stage {index}: {name} {value:.7g}")
        stop = bool(self._stage.call_on_fit_task_end(**self._task))
        self._stage = self._begin()
        return stop

    def close(self) -> None:
        """Report the end of the fit."""
        self._stage.call_on_fit_task_end(estimator=self._estimator)
        self._fit.call_on_fit_task_end(**self._task)
