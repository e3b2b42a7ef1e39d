"""Put the results of benchmarks/selection.py into docs/selection.md, between its markers.

python benchmarks/render_selection.py            # from benchmarks/results/selection.json
python benchmarks/render_selection.py --check    # fail if the page does not show what was measured
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import _selection_tables as tables
from _selection_accuracy import DEFAULT, PAPER

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "selection.json"
PAGE = ROOT / "docs" / "selection.md"

MOST_RATIO = 3.0
MOST_MEGABYTES = {str(2**31): 3 * 1024**3 / 1e6, "0": 600.0}
LEAST_SAVING, MOST_LOSS, LEAST_SPEED = 38.0, 0.5, 12.0
LEAST_LEAD = 14.0  # points of the default settings above the paper's CERF
Verdict = tuple[str, str, bool]
"""What was asked, what was measured, whether it is reached."""


def gain_verdicts(results: dict[str, Any]) -> list[Verdict]:
    """Trained minus untrained, at each point and on average."""
    found = []
    for dataset in results["accuracy"]:
        for head in tables.HEADS:
            samples = tables.gain(results, "accuracy", dataset, head)
            mean, error = tables.mean_and_error(samples)
            worst = int(np.argmin(mean + error))
            asked = f"{dataset}, {head}: trained minus untrained above minus one standard error "
            measured = (
                f"least at budget {worst + 1}, {tables.signed(mean[worst], error[worst])}; "
                f"mean {tables.signed(*tables.mean_and_error(samples.mean(axis=1)))}"
            )
            reached = bool((mean > -error).all() and mean.mean() > 0.0)
            found.append((asked + "at every budget, positive on average", measured, reached))
    return found


def paper_verdicts(results: dict[str, Any]) -> list[Verdict]:
    """Our figures beside the paper's."""
    found = []
    for dataset in ("MNIST-500", "RAW"):
        paper = np.array(PAPER[dataset]["CERF"])
        ours = tables.values(results, "accuracy", dataset, tables.TRAINED, "svm").mean(axis=0)
        least = float((ours - paper).min())
        asked = f"{dataset}, svm: `paper_setting` at most 1 point below the paper's CERF anywhere"
        found.append((asked, f"least {least:+.1f}", least >= -1.0))
    for dataset in ("MNIST-500", "RAW"):
        paper = np.array(PAPER[dataset]["CERF"])
        ours = tables.values(results, "accuracy", dataset, DEFAULT, "ridge").mean(axis=0)
        lead = float((ours - paper).mean())
        asked = f"{dataset}, ridge: default settings {LEAST_LEAD:g} points above the paper's CERF"
        found.append((f"{asked} on average", f"{lead:+.1f}", lead >= LEAST_LEAD))
    return found


def mnist_verdicts(results: dict[str, Any]) -> list[Verdict]:
    """Default masks against the dense map."""
    part = results["mnist"]
    score, macs = (
        {
            name: float(np.mean([seed[key] for seed in part[name].values()]))
            for name in ("dense", "masked, default")
        }
        for key in ("accuracy", "macs")
    )
    saving = macs["dense"] / macs["masked, default"]
    loss = score["dense"] - score["masked, default"]
    times = part["milliseconds"]
    speed = times["RBFSampler"] / times["masked, default"]
    return [
        (
            f"MNIST-60k: within {MOST_LOSS} point of the dense map at 1/{LEAST_SAVING:g} of its "
            "MACs",
            f"{-loss:+.2f} points at 1/{saving:.1f}",
            loss <= MOST_LOSS and saving >= LEAST_SAVING,
        ),
        (
            f"`transform` {LEAST_SPEED:g} times faster than RBFSampler in float32",
            f"{speed:.1f} times",
            speed >= LEAST_SPEED,
        ),
    ]


def time_verdicts(results: dict[str, Any]) -> list[Verdict]:
    """Training time and memory at the largest size."""
    part = results["time"]
    n_candidates = max(part["cvem"], key=int)
    sizes = part["cvem"][n_candidates]
    n_samples = max(sizes, key=int)
    largest = sizes[n_samples]
    growth = largest["seconds"] / sizes[str(int(n_samples) // 2)]["seconds"]
    size = f"N = {int(n_samples):,}, K = {int(n_candidates):,}"
    found = [
        (
            f"{size}, 20 stages: at most {MOST_RATIO:g} times the bare products",
            f"{largest['ratio']:.2f} times",
            largest["ratio"] <= MOST_RATIO,
        ),
        ("cost linear in N", f"{growth:.2f} times for twice the rows", growth <= 2.1),
    ]
    for cache, limit in MOST_MEGABYTES.items():
        peak = part["memory"][n_candidates][n_samples][cache]["megabytes"]
        name = "with the cache" if int(cache) else "without"
        asked = f"{size}: peak memory above the input {name} below {limit:,.0f} MB"
        found.append((asked, f"{peak:,.0f} MB", peak < limit))
    return found


def verdicts(results: dict[str, Any]) -> str:
    found = [
        *gain_verdicts(results),
        *paper_verdicts(results),
        *mnist_verdicts(results),
        *time_verdicts(results),
    ]
    rows = [[asked, measured, "yes" if ok else "**no**"] for asked, measured, ok in found]
    return tables.table(["goal", "measured", "reached"], rows)


def versions(results: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + "."


PIECES = {
    "verdicts": verdicts,
    "versions": versions,
    "accuracy": tables.accuracy,
    "gains": tables.gains,
    "widths": tables.widths,
    "wide": tables.wide,
    "mnist": tables.mnist,
    "seconds": tables.seconds,
    "solvers": tables.solvers,
    "memory": tables.memory,
    "defaults": tables.defaults,
}


def filled(page: str, results: dict[str, Any]) -> str:
    """Page with every piece made anew; each stands between its two markers."""
    for name, make in PIECES.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        text = make(results)
        page, count = re.subn(
            pattern, lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page, flags=re.S
        )
        if count != 1:
            sys.exit(f"{PAGE.name} must have the markers of {name!r} once, not {count} times")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, compare")
    check = parser.parse_args().check
    text = PAGE.read_text()
    wanted = filled(text, json.loads(RESULTS.read_text()))
    if check and text != wanted:
        sys.exit(f"{PAGE.name} does not show {RESULTS.name}: run benchmarks/render_selection.py")
    if not check:
        PAGE.write_text(wanted)


if __name__ == "__main__":
    main()
