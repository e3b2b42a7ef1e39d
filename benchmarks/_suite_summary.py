"""Summary of the suite: where ``cerf`` is worse than other methods, by records alone.

A point is a dataset at a budget. A method is worse than another at a point if the mean difference
of their scores over splits is below minus the greater of two standard errors and half a point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Record = dict[str, Any]

LEAST_DIFFERENCE = 0.5
"""Points of score below which no difference counts."""

OURS = "cerf"
OTHERS = ("mlp", "pruned_mlp", "rff", "masked", "nystroem")
ACTIVATIONS = ("cerf_cosine", "cerf_relu", "cerf_table")


@dataclass(frozen=True)
class Point:
    """A dataset at a budget, and scores by method and split."""

    dataset: str
    budget: int
    linear_macs: int
    scores: dict[str, dict[int, float]]

    def mean(self, method: str) -> float:
        """Mean score of a method over its splits."""
        return float(np.mean(list(self.scores[method].values())))


@dataclass(frozen=True)
class Comparison:
    """One method beside another, or the best of several, at a point."""

    point: Point
    rival: str
    difference: float  # mean over the splits of both
    error: float  # standard error of it; NaN for one split

    @property
    def is_worse(self) -> bool:
        """Whether the difference is below two standard errors and half a point."""
        spread = 0.0 if np.isnan(self.error) else 2.0 * self.error
        return self.difference < -max(spread, LEAST_DIFFERENCE)


def points_of(records: Iterable[Record]) -> list[Point]:
    """Points by dataset and budget, with the scores of all models that were fitted."""
    found: dict[tuple[str, int], Point] = {}
    for record in records:
        place = record["dataset"], record["budget"]
        point = found.setdefault(place, Point(*place, record["linear_macs"], {}))
        if record["score"] is not None:
            point.scores.setdefault(record["method"], {})[record["split"]] = record["score"]
    return [found[place] for place in sorted(found)]


def compare(
    points: Iterable[Point],
    ours: str,
    rivals: Sequence[str],
    where: Callable[[Point], bool] = lambda _: True,
) -> list[Comparison]:
    """Compare at each point with the rival that has the best mean over the splits of both."""
    table = []
    for point in filter(where, points):
        found = [_difference(point, ours, rival) for rival in rivals]
        known = [comparison for comparison in found if comparison is not None]
        if known:
            table.append(min(known, key=lambda comparison: comparison.difference))
    return table


def _difference(point: Point, ours: str, rival: str) -> Comparison | None:
    left, right = point.scores.get(ours, {}), point.scores.get(rival, {})
    values = [left[split] - right[split] for split in sorted({*left} & {*right})]
    if not values:
        return None
    return Comparison(point, rival, *mean_and_error(values))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN for one value."""
    several = len(values) > 1
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if several else float("nan")
    return float(np.mean(values)), error


def pays_for_linear(point: Point) -> bool:
    """Whether the budget is that of a linear model or more."""
    return point.budget >= point.linear_macs


QUESTIONS: dict[str, Callable[[list[Point]], list[Comparison]]] = {
    "worse than linear, at its budget or more": lambda points: compare(
        points, OURS, ("linear",), pays_for_linear
    ),
    "worse than the best of " + ", ".join(OTHERS): lambda points: compare(points, OURS, OTHERS),
    "worse than trees of equal operations": lambda points: compare(points, OURS, ("trees",)),
    "worse than trees of equal bytes": lambda points: compare(points, OURS, ("trees_bytes",)),
    "worse than its best single activation": lambda points: compare(points, OURS, ACTIVATIONS),
}
"""What is counted over points; each has the comparisons it counts."""


def share_worse(table: Sequence[Comparison]) -> str:
    """Points that are worse, of how many, in per cent."""
    if not table:
        return "-"
    n_worse = sum(comparison.is_worse for comparison in table)
    return f"{n_worse} of {len(table)} ({100.0 * n_worse / len(table):.1f} %)"


def mean_difference(table: Sequence[Comparison]) -> str:
    """Mean difference ± standard error over points, and the median."""
    if not table:
        return "-"
    values = [comparison.difference for comparison in table]
    mean, error = mean_and_error(values)
    spread = "" if np.isnan(error) else f" ± {error:.2f}"
    return f"{mean:+.2f}{spread} (median {np.median(values):+.2f}, {len(values)} points)"


def headline(points: list[Point], constructed: Sequence[str]) -> list[str]:
    """Table of the questions, for all datasets and for those that were measured."""
    measured = [point for point in points if point.dataset not in constructed]
    columns = (points, measured)
    lines = ["| `cerf` is | all sets | without constructed sets |", "|---|---|---|"]
    for question, ask in QUESTIONS.items():
        lines.append(_row([question, *(share_worse(ask(part)) for part in columns)]))
    for rival in ("pruned_mlp", "linear", "trees", "trees_bytes"):
        cells = [mean_difference(compare(part, OURS, (rival,))) for part in columns]
        lines.append(_row([f"`cerf` - `{rival}`, mean", *cells]))
    return lines


def dataset_table(points: list[Point], methods: Sequence[str]) -> list[str]:
    """Mean scores at each point, the best in bold, and what ``cerf`` is worse than."""
    lines = [
        _row(["data", "MACs", "splits", *methods, "`cerf` worse than"]),
        _row(["---"] * (len(methods) + 4)),
    ]
    worse: dict[tuple[str, int], list[str]] = {}
    for comparison in (c for ask in QUESTIONS.values() for c in ask(points) if c.is_worse):
        place = comparison.point.dataset, comparison.point.budget
        text = f"{comparison.rival} {comparison.difference:+.1f}"
        worse.setdefault(place, []).append(text)
    for point in points:
        means = {method: point.mean(method) for method in methods if method in point.scores}
        best = max(means.values(), default=0.0)
        cells = [_cell(means.get(method), best) for method in methods]
        n_splits = max((len(splits) for splits in point.scores.values()), default=0)
        below = ", ".join(worse.get((point.dataset, point.budget), []))
        lines.append(_row([point.dataset, f"{point.budget:,}", str(n_splits), *cells, below]))
    return lines


def _cell(mean: float | None, best: float) -> str:
    if mean is None:
        return "-"
    return f"**{mean:.1f}**" if mean == best else f"{mean:.1f}"


def fit_times(records: list[Record], methods: Sequence[str]) -> list[str]:
    """Median seconds of a fit, microseconds of a row, and models that there are."""
    lines = ["| method | models | median fit s | median us/row |", "|---|---|---|---|"]
    for method in methods:
        found = [r for r in records if r["method"] == method and r["score"] is not None]
        seconds = np.median([r["fit_seconds"] for r in found])
        microseconds = np.median([r["microseconds"] for r in found])
        lines.append(f"| {method} | {len(found):,} | {seconds:.2f} | {microseconds:.3f} |")
    return lines


def summary(records: list[Record], constructed: Sequence[str]) -> list[str]:
    """Lines of Markdown: headline, times, scores at each point."""
    points = points_of(records)
    fitted = {record["method"] for record in records if record["score"] is not None}
    order = ("cerf", *ACTIVATIONS, "linear", *OTHERS, "trees", "trees_bytes")
    methods = [method for method in order if method in fitted]
    if not methods:
        return ["nothing measured"]
    return [
        f"{len({p.dataset for p in points})} datasets, {len(points)} points, "
        f"{len(records):,} records. Scores are accuracy in per cent, or 100 R2.",
        "",
        *headline(points, constructed),
        "",
        *fit_times(records, methods),
        "",
        *dataset_table(points, methods),
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
