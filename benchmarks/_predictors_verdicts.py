"""What the measured pieces say: figures beside the goals, and which were reached."""

from __future__ import annotations

from typing import Any

import numpy as np

import _predictors_data as data

LARGE_GOALS = {"20000": 97.0, "100000": 98.2}
SHARE_OF_POINTS = 0.8


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error; NaN for one value."""
    several = len(values) > 1
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if several else float("nan")
    return float(np.mean(values)), error


def verdict(reached: bool) -> str:
    return "reached" if reached else "not reached"


def goals(found: dict[str, Any]) -> list[str]:
    """Accuracy at total MACs: reached if the mean and one standard error reach the goal."""
    wanted = {name: table for name, (_, table) in (data.GOALS | data.TINY_GOALS).items()}
    lines = []
    for name, budgets in found.items():
        for macs, seeds in budgets.items():
            mean, error = mean_and_error([piece["accuracy"] for piece in seeds.values()])
            goal = wanted[name][int(macs)]
            text = f"{name}, {int(macs):,} MACs: {mean:.2f} ± {error:.2f} % ({len(seeds)} seeds)"
            if goal is not None:
                reached = mean + (0.0 if np.isnan(error) else error) >= goal
                text += f", goal {goal:g}: {verdict(reached)}"
            lines.append(text)
    return lines


def chosen_look(rates: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Learning rate and number of epochs that are best on held-out rows."""
    looks = [(rate, look) for rate, piece in rates.items() for look in piece["looks"]]
    return max(looks, key=lambda pair: pair[1]["held out"])


def large(found: dict[str, Any]) -> list[str]:
    lines = []
    for macs, piece in found.get("cerf", {}).items():
        text = f"MNIST-60k, {int(macs):,} MACs: {piece['accuracy']:.2f} %"
        goal = LARGE_GOALS.get(macs)
        if goal is not None:
            text += f", goal {goal:g}: {verdict(piece['accuracy'] >= goal)}"
        rates = found.get("mlp", {}).get(macs)
        if rates:
            rate, look = chosen_look(rates)
            above = piece["accuracy"] > look["accuracy"]
            text += (
                f"; dense MLP of equal MACs {look['accuracy']:.2f} % (rate {rate}, "
                f"{look['epochs']} epochs): {'above' if above else 'not above'} it"
            )
        lines.append(text)
    if "time" in found:
        piece = found["time"]
        ratio = piece["seconds"] / piece["mlp seconds"]
        lines.append(
            f"training {piece['seconds']:.0f} s, MLPClassifier with {piece['hidden']} hidden units "
            f"{piece['mlp seconds']:.0f} s: {ratio:.2f} times, goal at most 2: "
            f"{verdict(ratio <= 2.0)}"
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


def frontiers(found: dict[str, Any]) -> list[str]:
    """Points where cerf is within one standard error of the best rival, or above it."""
    lines, good = [], []
    for (name, budget), scores in points(found).items():
        if "cerf" not in scores or len(scores) < 2:
            continue
        rival = max((m for m in scores if m != "cerf"), key=lambda m: np.mean(scores[m]))
        difference = np.array(scores["cerf"]) - np.array(scores[rival])
        mean, error = mean_and_error([100.0 * value for value in difference])
        good.append(mean + (0.0 if np.isnan(error) else error) >= 0.0)
        lines.append(
            f"{name}, {budget:,} MACs: cerf {100 * np.mean(scores['cerf']):.2f} %, best rival "
            f"{rival} {100 * np.mean(scores[rival]):.2f} %, paired difference {mean:+.2f} ± "
            f"{error:.2f}: {'within one standard error or above' if good[-1] else 'below'}"
        )
    return _with_share(lines, good)


def regressions(found: dict[str, Any]) -> list[str]:
    """Points where cerf explains more than linear, RFF-ridge and MLP."""
    lines, good = [], []
    for (name, budget), scores in points(found).items():
        rivals = [m for m in ("linear", "rff", "mlp") if m in scores]
        if "cerf" not in scores or not rivals:
            continue
        ours = float(np.mean(scores["cerf"]))
        best = max(rivals, key=lambda m: np.mean(scores[m]))
        good.append(ours > np.mean(scores[best]))
        others = ", ".join(f"{m} {np.mean(scores[m]):.4f}" for m in scores if m != "cerf")
        lines.append(
            f"{name}, {budget:,} MACs: R2 of cerf {ours:.4f}; {others}: "
            f"{'lowest' if good[-1] else 'not the lowest'} error beside {', '.join(rivals)}"
        )
    return _with_share(lines, good)


def _with_share(lines: list[str], good: list[bool]) -> list[str]:
    if good:
        share = float(np.mean(good))
        lines.append(
            f"{sum(good)} of {len(good)} points, {100 * share:.0f} %, goal "
            f"{100 * SHARE_OF_POINTS:.0f}: {verdict(share >= SHARE_OF_POINTS)}"
        )
    return lines


def speed(found: dict[str, Any]) -> list[str]:
    lines = []
    for name, most in (("fit 4,000 x 784", 40.0), ("fit 200 x 10", 0.5)):
        if name in found:
            seconds = found[name]["seconds"]
            lines.append(
                f"{name}: {seconds:.2f} s, goal at most {most:g}: {verdict(seconds <= most)}"
            )
    if "predict" in found:
        ours, rival = found["predict"]["cerf"], found["predict"]["RBFSampler"]
        times = rival["milliseconds"] / ours["milliseconds"]
        reached = times >= 8.0 and ours["accuracy"] > rival["accuracy"]
        lines.append(
            f"10,000 rows: {ours['milliseconds']:.2f} ms ({ours['accuracy']:.2f} %), RBFSampler + "
            f"ridge {rival['milliseconds']:.2f} ms ({rival['accuracy']:.2f} %): {times:.1f} times, "
            f"goal 8 and higher accuracy: {verdict(reached)}"
        )
    return lines


VERDICTS = {
    "goals": goals,
    "mnist60k": large,
    "frontier": frontiers,
    "regression": regressions,
    "speed": speed,
}


def verdicts(results: dict[str, Any]) -> dict[str, list[str]]:
    """Lines for each part that was measured."""
    return {part: make(results[part]) for part, make in VERDICTS.items() if results.get(part)}
