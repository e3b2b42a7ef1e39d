"""Write docs/predictors_ten.md from the results of benchmarks/predictors.py.

python benchmarks/render_predictors.py            # from benchmarks/results/predictors.json
python benchmarks/render_predictors.py --check    # fail if the page does not show what was measured
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from _predictors_summary import (
    Comparison,
    comparisons,
    counts,
    large,
    mean_and_error,
    points,
    speed,
    with_error,
)

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "predictors.json"
PAGE = ROOT / "docs" / "predictors_ten.md"

OPENING = """# Predictors on the datasets of the paper

Measured with the trainer before the present one (cosines and relu features only, no tables, no
linear part); [predictors.md](predictors.md) has the present one.

`CERFClassifier(macs=...)` and `CERFRegressor(macs=...)` have a budget of MACs for features and
scores together and choose everything else by cross-validation on the training rows. This page
compares them at equal MACs with linear models, perceptrons (dense, and pruned in the same way),
random features, and our own maps with ridge regression. ± is a standard error over splits.
Everything is made by `make bench-predictors` from
[benchmarks/results/predictors.json](../benchmarks/results/predictors.json):
"""

ACCURACY = """Test accuracy of `CERFClassifier`. Beside it the accuracy of CERF in the paper
("Learning Random Fourier Features by Hybrid Constrained Optimization"), at the MACs of its features
alone: its head is not counted, ours is. The 70 principal components of Letter are not counted, as
in the paper; with its 128 pixels everything is."""

FRONTIER = """Test accuracy in per cent. Budgets are a quarter, half and all of a linear model's
MACs (at least 64). The best of a row is **bold**; a dash means that the smallest model of the
method costs more than the budget. `cerf` is the predictor with its defaults, `refined` the same
with random masks; `masked`, `cvem` and `blocked` are our maps with ridge regression.
`pruned_mlp` is pruned like `cerf` and trained for as many steps; a weaker penalty after pruning,
which `cerf` may choose, did not help it on Letter, HOG and satimage, so it does not try one."""

RELU_FEATURES = """`cerf` tries relu features too where the network is small for its rows (HOG,
satimage, Letter at 455 and 910 MACs): few relu features fit many rows better than few cosines.
`pruned_mlp` is still better at the smallest of them. With cosines alone
(`activation="cosine"`; an earlier run, with three splits on Letter and five on HOG and satimage)
`cerf` was below `pruned_mlp` at all budgets of HOG, at Letter's 455 and 910 and at satimage's 54
MACs, which would leave 21 of 30 points where it is not below by more than a standard error. Results
of the smallest networks depend on the random draw: another seed of the same split changes them by
half a point."""

TIMES = """Microseconds a row at the largest budget, float32, one thread. Times are rough: other
programs ran at the same time."""

REGRESSION = """Share of the variance explained (R2) on test rows."""

READING = """The penalties, the order in which settings are tried and the way they are compared
were chosen by looking at these datasets, least at Olivetti and ORL. Within a dataset the comparison
between methods is fair, as every method tunes itself on training rows, but the defaults of `cerf`
were developed on these data."""

PAPER = {
    "MNIST-500": (8_000, 60.0),
    "RAW": (4_000, 67.1),
    "HOG": (640, 74.8),
    "Letter": (700, 51.5),
}
"""MACs of the features and accuracy of CERF in the paper."""


def accuracy_table(found: dict[str, Any]) -> list[str]:
    """Accuracy at each budget, beside the paper's at its own."""
    lines = ["| data | MACs | accuracy, % | seeds | paper: MACs | paper: accuracy, % |"]
    lines.append("|" + "---|" * 6)
    for name, budgets in found.items():
        macs, theirs = (f"{value:,}" for value in PAPER[name]) if name in PAPER else ("", "")
        for budget, seeds in budgets.items():
            shown = with_error(*mean_and_error([s["accuracy"] for s in seeds.values()]), 2)
            cells = (name, f"{int(budget):,}", shown, str(len(seeds)), macs, theirs)
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def comparison_table(table: list[Comparison], digits: int) -> list[str]:
    """Compare ``cerf`` with the best other method at each point."""
    lines = ["| data | MACs | cerf | best other | its score | difference |", "|" + "---|" * 6]
    for c in table:
        difference = with_error(c.difference, c.error, digits, signed=True)
        scores = f"{c.ours:.{digits}f} | {c.rival} | {c.theirs:.{digits}f}"
        lines.append(f"| {c.data} | {c.budget:,} | {scores} | {difference} |")
    return lines


def frontier_table(found: dict[str, Any], scale: float, digits: int) -> list[str]:
    """One row for each dataset and budget, one column for each method."""
    table = points(found)
    methods = _methods(found)
    lines = [
        "| data | MACs | " + " | ".join(methods) + " |",
        "|" + "---|" * (len(methods) + 2),
    ]
    for (name, budget), scores in table.items():
        best = max(scores, key=lambda m: float(np.mean(scores[m])))
        cells = [_cell(scores.get(m), scale, digits, bold=m == best) for m in methods]
        lines.append(f"| {name} | {budget:,} | " + " | ".join(cells) + " |")
    return lines


def _cell(values: list[float] | None, scale: float, digits: int, *, bold: bool) -> str:
    if not values:
        return "-"
    text = with_error(*mean_and_error([scale * value for value in values]), digits)
    return f"**{text}**" if bold else text


def time_table(found: dict[str, Any]) -> list[str]:
    """Microseconds a row at the largest budget: the least of the splits."""
    lines = ["| data | " + " | ".join(methods := _methods(found)) + " |"]
    lines.append("|" + "---|" * (len(methods) + 1))
    for name, seeds in found.items():
        best: dict[str, float] = {}
        for rows_of in seeds.values():
            for method, rows in rows_of.items():
                if rows and rows[-1]["microseconds"] is not None:
                    best[method] = min(best.get(method, np.inf), rows[-1]["microseconds"])
        cells = [f"{best[m]:.2f}" if m in best else "-" for m in methods]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _methods(found: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(m for seeds in found.values() for of in seeds.values() for m in of))


def splits_of(found: dict[str, Any]) -> str:
    """Return how many splits of each dataset have all methods: the others do not count."""
    counts = []
    for name, seeds in found.items():
        sizes = [len(methods) for methods in seeds.values()]
        counts.append(f"{name}: {sizes.count(max(sizes))}")
    return f"Splits: {'; '.join(counts)}."


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _accuracy(found: dict[str, Any]) -> list[str]:
    return [ACCURACY, "\n".join(accuracy_table(found))]


def _frontier(found: dict[str, Any]) -> list[str]:
    table = comparisons(found, 100.0)
    blocks = [counts(table, 2), FRONTIER, splits_of(found)]
    blocks += ["\n".join(frontier_table(found, 100.0, 1))]
    blocks += ["The best other method at each point, and the paired difference:"]
    blocks += ["\n".join(comparison_table(table, 2)), RELU_FEATURES]
    return [*blocks, TIMES, "\n".join(time_table(found))]


def _regression(found: dict[str, Any]) -> list[str]:
    table = comparisons(found, 1.0)
    blocks = [REGRESSION, counts(table, 4), splits_of(found)]
    blocks += ["\n".join(frontier_table(found, 1.0, 3))]
    return [*blocks, "\n".join(comparison_table(table, 4))]


SECTIONS: dict[str, tuple[str, Callable[[dict[str, Any]], list[str]]]] = {
    "accuracy": ("Accuracy at total MACs", _accuracy),
    "mnist60k": ("All of MNIST", lambda found: [_bullets(large(found))]),
    "frontier": ("Ten datasets at equal MACs", _frontier),
    "regression": ("Regression", _regression),
    "speed": ("Time of fits and predictions", lambda found: [_bullets(speed(found))]),
}


def page(results: dict[str, Any]) -> str:
    """Whole page."""
    made = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    blocks = [OPENING + made + ".", READING]
    for part, (title, blocks_of) in SECTIONS.items():
        if part in results:
            blocks += [f"## {title}", *blocks_of(results[part])]
    return "\n\n".join(blocks) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    text = page(json.loads(RESULTS.read_text()))
    if arguments.check:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit(f"{PAGE} does not show {RESULTS}: run benchmarks/render_predictors.py")
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
