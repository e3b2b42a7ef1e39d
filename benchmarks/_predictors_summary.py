"""Figures of the measured pieces: ours, the rivals', difference and standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN for one value."""
    several = len(values) > 1
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if several else float("nan")
    return float(np.mean(values)), error


def with_error(mean: float, error: float, digits: int, *, signed: bool = False) -> str:
    """Mean ± standard error; the error of a single value is unknown."""
    text = f"{mean:{'+' if signed else ''}.{digits}f}"
    return text if np.isnan(error) else f"{text} ± {error:.{digits}f}"


def accuracies(found: dict[str, Any]) -> list[str]:
    """Accuracy at total MACs."""
    lines = []
    for name, budgets in found.items():
        for macs, seeds in budgets.items():
            mean, error = mean_and_error([piece["accuracy"] for piece in seeds.values()])
            shown = with_error(mean, error, 2)
            lines.append(f"{name}, {int(macs):,} MACs: {shown} % ({len(seeds)} seeds)")
    return lines


def chosen_look(rates: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Learning rate and number of epochs that are best on held-out rows."""
    looks = [(rate, look) for rate, piece in rates.items() for look in piece["looks"]]
    return max(looks, key=lambda pair: pair[1]["held out"])


def large(found: dict[str, Any]) -> list[str]:
    """All rows of MNIST, beside a dense network of equal MACs where there is one."""
    lines = []
    for macs, piece in found.get("cerf", {}).items():
        text = f"MNIST-60k, {int(macs):,} MACs: {piece['accuracy']:.2f} %"
        rates = found.get("mlp", {}).get(macs)
        if rates:
            rate, look = chosen_look(rates)
            text += (
                f"; dense MLP of equal MACs {look['accuracy']:.2f} % (rate {rate}, "
                f"{look['epochs']} epochs), difference {piece['accuracy'] - look['accuracy']:+.2f}"
            )
        lines.append(text)
    if "time" in found:
        piece = found["time"]
        ratio = piece["seconds"] / piece["mlp seconds"]
        lines.append(
            f"training {piece['seconds']:.0f} s, MLPClassifier with {piece['hidden']} hidden units "
            f"{piece['mlp seconds']:.0f} s: {ratio:.2f} times"
        )
    return lines


Points = dict[tuple[str, int], dict[str, list[float]]]


def points(found: dict[str, Any]) -> Points:
    """Scores of the seeds that all methods have, by dataset and budget and then by method."""
    table: Points = {}
    for name, seeds in found.items():
        n_methods = max(len(methods) for methods in seeds.values())
        complete = [methods for methods in seeds.values() if len(methods) == n_methods]
        for methods in complete:
            for method, rows in methods.items():
                for row in rows:
                    if row["score"] is not None:
                        scores = table.setdefault((name, row["budget"]), {})
                        scores.setdefault(method, []).append(row["score"])
    order = {name: index for index, name in enumerate(found)}
    return dict(sorted(table.items(), key=lambda item: (order[item[0][0]], item[0][1])))


@dataclass(frozen=True)
class Comparison:
    """``cerf`` and the best other method at one budget of a dataset."""

    data: str
    budget: int
    ours: float
    rival: str
    theirs: float
    difference: float
    error: float  # standard error of the paired difference

    @property
    def is_above(self) -> bool:
        """Tell whether ours is at least the other's."""
        return self.difference >= 0.0

    @property
    def is_below(self) -> bool:
        """Tell whether ours is below by more than a standard error."""
        return self.difference < 0.0 if np.isnan(self.error) else self.difference < -self.error

    @property
    def place(self) -> str:
        """Dataset and budget."""
        return f"{self.data} at {self.budget:,} MACs"


def comparisons(found: dict[str, Any], scale: float) -> list[Comparison]:
    """Compare ``cerf`` with the best of the others at each point; scores are times ``scale``."""
    table = []
    for (name, budget), scores in points(found).items():
        if "cerf" not in scores or len(scores) < 2:
            continue
        rival = max((m for m in scores if m != "cerf"), key=lambda m: np.mean(scores[m]))
        ours, theirs = (np.array(scores[m]) for m in ("cerf", rival))
        difference, error = mean_and_error(list(scale * (ours - theirs)))
        means = scale * float(ours.mean()), rival, scale * float(theirs.mean())
        # Equal means must not differ by rounding: their sign is counted.
        table.append(Comparison(name, budget, *means, round(difference, 9) + 0.0, error))
    return table


def counts(table: list[Comparison], digits: int) -> str:
    """Return how often ``cerf`` is above the best other method, with every point that is lost."""
    below = [c for c in table if c.is_below]
    above = sum(c.is_above for c in table)
    lost = "; ".join(
        f"{c.place} ({with_error(c.difference, c.error, digits, signed=True)})" for c in below
    )
    return (
        f"`cerf` is at or above the best other method at {above} of {len(table)} points, below it "
        f"by at most one standard error at {len(table) - above - len(below)}, and below it by more "
        f"at {len(below)}" + (f": {lost}." if lost else ".")
    )


def lines_of(table: list[Comparison], digits: int) -> list[str]:
    """Return a line for each point, and the counts."""
    lines = [
        f"{c.data}, {c.budget:,} MACs: cerf {c.ours:.{digits}f}, best other {c.rival} "
        f"{c.theirs:.{digits}f}, difference "
        f"{with_error(c.difference, c.error, digits, signed=True)}"
        for c in table
    ]
    return [*lines, counts(table, digits)] if lines else []


def speed(found: dict[str, Any]) -> list[str]:
    """Time of fits and of predictions, beside RBFSampler with ridge regression."""
    lines = [
        f"{name}: {found[name]['seconds']:.2f} s"
        for name in ("fit 4,000 x 784", "fit 200 x 10")
        if name in found
    ]
    if "predict" in found:
        ours, rival = found["predict"]["cerf"], found["predict"]["RBFSampler"]
        times = rival["milliseconds"] / ours["milliseconds"]
        lines.append(
            f"10,000 rows: {ours['milliseconds']:.2f} ms ({ours['accuracy']:.2f} %), RBFSampler + "
            f"ridge {rival['milliseconds']:.2f} ms ({rival['accuracy']:.2f} %): {times:.1f} times "
            "faster"
        )
    return lines


PARTS = {
    "accuracy": accuracies,
    "mnist60k": large,
    "frontier": lambda found: lines_of(comparisons(found, 100.0), 2),
    "regression": lambda found: lines_of(comparisons(found, 1.0), 4),
    "speed": speed,
}


def summary(results: dict[str, Any]) -> dict[str, list[str]]:
    """Lines for each part that was measured."""
    return {part: make(results[part]) for part, make in PARTS.items() if results.get(part)}
