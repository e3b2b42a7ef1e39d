"""Record the digests of all configurations, or compare with what was recorded.

From the root of the repository::

    OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests python -m digests.record --compare
    OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests python -m digests.record

``--only TEXT`` takes the configurations whose name contains the text; without ``--compare`` the
others keep their recorded digests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from digests.configurations import CONFIGURATIONS, EQUAL, Digests, compute, differences
from digests.environment import environment

RECORDED = Path(__file__).with_name("recorded.json")


def load() -> dict[str, Any]:
    """Recorded environment and digests."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def other_environment(recorded: dict[str, Any]) -> str:
    """Why digests cannot be compared here; empty if they can."""
    here, there = environment(), recorded["environment"]
    changes = [f"{key}: {there.get(key)} there, {here[key]} here" for key in here]
    return "; ".join(c for key, c in zip(here, changes, strict=True) if there.get(key) != here[key])


def compute_all(names: list[str]) -> dict[str, Digests]:
    """Digests of configurations; prints the seconds of each."""
    found = {}
    for name in names:
        start = time.perf_counter()
        found[name] = compute(name)
        print(f"{time.perf_counter() - start:7.2f} s  {name}", flush=True)
    return found


def unequal(digests: dict[str, Digests]) -> list[str]:
    """Configurations that do not equal the one they must equal."""
    pairs = [(name, other) for name, other in EQUAL.items() if name in digests and other in digests]
    return [f"{name} differs from {other}" for name, other in pairs
            if digests[name] != digests[other]]  # fmt: skip


def compare(found: dict[str, Digests], names: list[str]) -> int:
    """Print which digests differ from the recorded ones; 1 if any does."""
    recorded = load()
    reason = other_environment(recorded)
    if reason:
        print(f"Recorded in another environment, nothing compared. {reason}")
        return 0
    known = recorded["digests"]
    lines = [f"{name}: not recorded" for name in names if name not in known]
    lines += [
        f"{name}: recorded, but no longer there" for name in known if name not in CONFIGURATIONS
    ]
    for name in names:
        lines += [f"{name}: {word}" for word in differences(found[name], known.get(name, {}))]
    lines += unequal(found)
    n_arrays = sum(map(len, found.values()))
    print("\n".join([*lines, f"{len(names)} configurations, {n_arrays} arrays compared: "
                     f"{len(lines)} differences"]))  # fmt: skip
    return 1 if lines else 0


def write(found: dict[str, Digests]) -> int:
    """Store digests with the environment; refuse those whose bits depend on threads or cache."""
    kept: dict[str, Digests] = {}
    if len(found) < len(CONFIGURATIONS):
        recorded = load()
        reason = other_environment(recorded)
        if reason:
            print(f"Recorded in another environment, record all. {reason}")
            return 1
        kept = recorded["digests"]
    merged = {name: found.get(name, kept.get(name)) for name in CONFIGURATIONS}
    digests = {name: value for name, value in merged.items() if value is not None}
    if unequal(digests):
        print("\n".join(unequal(digests)))
        return 1
    stored = {"environment": environment(), "digests": digests}
    RECORDED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    n_arrays = sum(map(len, digests.values()))
    print(f"{len(digests)} configurations, {n_arrays} arrays recorded in {RECORDED.name}")
    return 0


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description="Digests of fitted arrays and outputs.")
    parser.add_argument("--compare", action="store_true", help="compare instead of recording")
    parser.add_argument("--only", default="", help="text in the name of the configurations")
    options = parser.parse_args()
    names = [name for name in CONFIGURATIONS if options.only in name]
    found = compute_all(names)
    return compare(found, names) if options.compare else write(found)


if __name__ == "__main__":
    sys.exit(main())
