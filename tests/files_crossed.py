"""Count the files of cerflearn that a call crosses, and the fits that run inside another fit.

``python tests/files_crossed.py`` prints both for the fits and predictions that matter most.
"""

from __future__ import annotations

import pkgutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import cerflearn

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "cerflearn"


@dataclass(frozen=True)
class Reentry:
    """A ``fit`` of an estimator that ran while the ``fit`` of another one had not ended."""

    inner: str
    outer: str
    file: str


@dataclass
class Crossing:
    """What a call crossed.

    Attributes
    ----------
    files : set of str
        Files, relative to the package, of which a function was called, in any thread.
    reentries : list of Reentry
        In the order of the calls.
    """

    files: set[str] = field(default_factory=set)
    reentries: list[Reentry] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{len(self.files)} files", *(f"  {name}" for name in sorted(self.files))]
        lines.append(f"{len(self.reentries)} fits inside the fit of another estimator")
        counts = {entry: self.reentries.count(entry) for entry in self.reentries}
        for entry, count in counts.items():
            lines.append(f"  {count} x {entry.inner}.fit ({entry.file}) in {entry.outer}.fit")
        return "\n".join(lines)


class _Profiler:
    """Notes calls; one for all threads, so that a fit in a worker is below the one that waits."""

    def __init__(self) -> None:
        self.crossing = Crossing()
        self._ongoing: list[tuple[FrameType, Any]] = []
        self._relative: dict[str, str | None] = {}
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Called by the interpreter at each call and return."""
        if event not in ("call", "return") or not frame.f_code.co_flags & CO_OPTIMIZED:
            return  # bodies of modules and classes are no functions
        name = self._file(frame.f_code.co_filename)
        if name is None:
            return
        with self._lock:
            if event == "call":
                self.crossing.files.add(name)
                self._enter(frame, name)
            else:
                self._ongoing = [entry for entry in self._ongoing if entry[0] is not frame]

    def _file(self, path: str) -> str | None:
        """Path below the package; None for files of others."""
        if path not in self._relative:
            inside = Path(path).is_relative_to(PACKAGE)
            self._relative[path] = Path(path).relative_to(PACKAGE).as_posix() if inside else None
        return self._relative[path]

    def _enter(self, frame: FrameType, name: str) -> None:
        """Note a fit that begins."""
        owner = frame.f_locals.get("self") if frame.f_code.co_name == "fit" else None
        if not hasattr(owner, "get_params"):
            return
        others = [other for _, other in self._ongoing if other is not owner]
        if others:
            inner, outer = type(owner).__name__, type(others[-1]).__name__
            self.crossing.reentries.append(Reentry(inner, outer, name))
        self._ongoing.append((frame, owner))


def import_everything() -> None:
    """Import all modules, so that no call has to."""
    for module in pkgutil.walk_packages(cerflearn.__path__, "cerflearn."):
        import_module(module.name)


def files_crossed(call: Callable[[], Any]) -> Crossing:
    """Run ``call`` under the profiler."""
    import_everything()
    profiler = _Profiler()
    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(profiler)
    sys.setprofile(profiler)
    try:
        call()
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])
    return profiler.crossing


def calls() -> dict[str, Callable[[], Any]]:
    """Calls to look at, by name, on the digits of scikit-learn."""
    from sklearn.datasets import load_digits

    from cerflearn import CERFClassifier, MaskedCERF

    X, y = load_digits(return_X_y=True)
    X, y = X[:500] / 16.0, y[:500]
    sampler = MaskedCERF(random_state=0).fit(X)
    classifier = CERFClassifier(macs=300, random_state=0).fit(X, y)

    def fit_masked(selector: str) -> Any:
        return MaskedCERF(selector=selector, random_state=0).fit(X)

    selectors = ("cvem", "greedy", "random")
    return {
        **{f"MaskedCERF(selector={name!r}).fit": partial(fit_masked, name) for name in selectors},
        "MaskedCERF.transform": lambda: sampler.transform(X),
        "CERFClassifier().fit": lambda: CERFClassifier(random_state=0).fit(X, y),
        "CERFClassifier.predict": lambda: classifier.predict(X),
    }


def main() -> None:
    """Print what each call crosses."""
    for name, call in calls().items():
        print(f"{name}: {files_crossed(call)}\n")


if __name__ == "__main__":
    main()
