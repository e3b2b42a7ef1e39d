"""Results in a JSON file, written whole after each piece."""

from __future__ import annotations

import json
import math
import os
import platform
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import cerflearn

ROOT = Path(__file__).resolve().parents[1]
SIZES = ("tiny", "quick", "full")
DIGITS = 6  # that are kept of each number
OTHERS = "other sources"
REMEDY = "Measure everything again with --again, or keep what is there with --keep."


class OtherResultsError(ValueError):
    """Results were made with another configuration or by another version of the code."""


def path_of(name: str, size: str, folder: Path | None = None) -> Path:
    """File of an experiment: in ``folder``, or where git has it, the full size only."""
    usual = "experiments/results" if size == "full" else f"build/experiments/{size}"
    return (folder or ROOT / usual) / f"{name}.json"


class Store:
    """Results of one experiment.

    Parameters
    ----------
    path : Path
        JSON file: ``versions``, ``config``, ``results`` nested by key, ``seconds`` of each piece,
        ``wall_seconds`` of all runs together.
    config : dict, default=None
        Configuration of the run, which must be that of the results in the file; None to read only.
    made_by : dict, default=None
        What ``provenance`` says of the run, added to ``versions``; its ``sources`` must be those of
        the results in the file.
    keep : bool, default=False
        Go on though configuration or sources differ. ``versions`` then names all sources.
    """

    def __init__(
        self,
        path: Path,
        config: dict[str, Any] | None = None,
        made_by: dict[str, str] | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self.path = path
        self.made_by = made_by or {}
        empty: dict[str, Any] = {"results": {}, "seconds": {}, "wall_seconds": 0.0}
        self.content = json.loads(path.read_text()) if path.exists() else empty
        if config is not None:
            config = plain(config)
            if self.results and not keep:
                self._compare(config)
                self._compare_sources()
            self.content["config"] = config

    @property
    def results(self) -> dict[str, Any]:
        """Nested by the parts of the keys."""
        return self.content["results"]

    @property
    def config(self) -> dict[str, Any]:
        """Configuration that the results were made with."""
        return self.content["config"]

    def get(self, key: tuple[str, ...]) -> Any:
        """Piece, or None if it is not there."""
        return look_up(self.results, key)

    def put(self, key: tuple[str, ...], piece: dict[str, Any], seconds: float) -> None:
        """Keep a piece and how long it took."""
        self.content["versions"] = self._versions()
        node = self.results
        for part in key[:-1]:
            node = node.setdefault(part, {})
        node[key[-1]] = plain(piece)
        self.content["seconds"]["/".join(key)] = round(seconds, 2)
        self.write()

    def add_wall_seconds(self, seconds: float) -> None:
        """Add the duration of a run."""
        total = self.content["wall_seconds"] + seconds
        self.content["wall_seconds"] = round(total, 1)
        self.write()

    def write(self) -> None:
        """Replace the file at once: a stop in between leaves the old one."""
        order = ("versions", "config", "wall_seconds", "seconds", "results")
        write_json(self.path, {k: self.content[k] for k in order if k in self.content})

    def _compare(self, config: dict[str, Any]) -> None:
        before = self.content.get("config", config)
        names = sorted(k for k in {*before, *config} if before.get(k) != config.get(k))
        if names:
            raise OtherResultsError(
                f"{self.path} was made with another configuration: {', '.join(names)} differ. "
                + REMEDY
            )

    def _compare_sources(self) -> None:
        before = self.content.get("versions", {})
        if self.made_by and before.get("sources") != self.made_by["sources"]:
            there, here = (
                f"sources {v.get('sources', 'not named')}, commit {v.get('commit', 'not named')}"
                for v in (before, self.made_by)
            )
            raise OtherResultsError(
                f"{self.path} was made by another version of the code ({there}; here {here}). "
                + REMEDY
            )

    def _versions(self) -> dict[str, str]:
        """Versions of this run, and the sources of pieces that it found."""
        found = versions() | self.made_by
        before = self.content.get("versions", {})
        others = [name for name in before.get(OTHERS, "").split(", ") if name]
        if self.results and before.get("sources") != found.get("sources"):
            others.append(before.get("sources", "not named"))
        return found | ({OTHERS: ", ".join(dict.fromkeys(others))} if others else {})


def look_up(tree: dict[str, Any], key: tuple[str, ...]) -> Any:
    """Return what is at a key of nested results, or None."""
    node: Any = tree
    for part in key:
        node = node.get(part)
        if node is None:
            return None
    return node


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace a file at once, its lists of numbers on one line each: short, and readable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1)
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)
    fresh = path.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(text + "\n")
    fresh.replace(path)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: keys are text, numbers have ``DIGITS`` digits."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, float | np.floating):
        # JSON has no infinity: what is not a number is missing.
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value


def versions() -> dict[str, str]:
    """Return what the results depend on."""
    return {
        "cerflearn": cerflearn.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
