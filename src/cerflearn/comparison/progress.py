"""Progress of a comparison: a bar if ``rich`` is installed, otherwise a line for each step."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self


class ProgressDisplay:
    """Show steps of known number on the standard error stream.

    Parameters
    ----------
    n_steps : int
        Steps in all.
    verbose : bool
        False shows nothing.
    """

    def __init__(self, n_steps: int, verbose: bool) -> None:
        self._n_steps, self._verbose = n_steps, verbose
        self._count, self._start = 0, time.monotonic()
        self._bar: Any = _rich_bar() if verbose else None
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=self._n_steps)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.update(self._task, completed=self._n_steps, description="done")
            self._bar.stop()

    def step(self, text: str) -> None:
        """Show what is done next."""
        if self._bar is not None:
            self._bar.update(self._task, completed=self._count, description=text)
        elif self._verbose:
            seconds = time.monotonic() - self._start
            line = f"[{self._count + 1}/{self._n_steps}] {seconds:4.0f} s  {text}"
            print(line, file=sys.stderr, flush=True)
        self._count += 1


def _rich_bar() -> Any:
    """Bar of the optional package rich (``pip install 'cerflearn[progress]'``), or None."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    columns = (
        TextColumn("{task.description:32}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Bar(*columns, console=Console(stderr=True))
