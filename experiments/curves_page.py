"""Pages of Figures 1 to 3: the order of the curves, the picture, errors and times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments import paper
from experiments.curves import ENOUGH
from experiments.curves_picture import draw, trained_beside
from experiments.markdown import bullets, table
from experiments.methods import MAPS
from experiments.reconstruction import N_CODES
from experiments.verdicts import Mean, count, is_above, mean, paired

Results = dict[str, Any]
Config = dict[str, Any]
Steps = tuple[tuple[str, str], ...]

STEPS: Steps = (("untrained", "rff"), ("cerf", "untrained"), ("cerf", "rff"))
"""Pairs (lower, higher) of curves that are compared in every figure."""
PROCESS_STEPS: Steps = (
    ("untrained bbp", "rff"),
    ("cerf bbp", "untrained bbp"),
    ("cerf bbp", "rff"),
)
"""The same with masks of a Beta-Bernoulli process."""
WORDS = {
    "cerf": "trained CERF",
    "untrained": "untrained CERF",
    "rff": "RFF",
    "cerf bbp": "trained CERF, Beta-Bernoulli",
    "untrained bbp": "untrained CERF, Beta-Bernoulli",
}
LINEAR = "linear"


def seeds_of(results: Results, data: str) -> list[str]:
    """Seeds of a dataset that are there."""
    return sorted(results.get(data, {}), key=int)


def values(results: Results, data: str, size: int, method: str, name: str) -> list[float]:
    """One value a seed of a method at one K."""
    if method == LINEAR:
        found = [results[data][seed]["width"][LINEAR] for seed in seeds_of(results, data)]
    else:
        found = [results[data][seed][str(size)][method] for seed in seeds_of(results, data)]
    return [record[name] for record in found]


def gain(results: Results, data: str, size: int, lower: str, higher: str) -> Mean:
    """Paired difference of the errors of two methods."""
    errors = [values(results, data, size, method, "error") for method in (higher, lower)]
    return paired(*errors)


def point_verdict(difference: Mean) -> str:
    """Tell whether the order of two curves is the paper's at a point, within a standard error."""
    return "reproduced" if is_above(difference, errors=1.0) else "worse"


def section(name: str, results: Results, config: Config, folder: Path) -> str:
    """Return everything in the order in which it is read."""
    beside, task = trained_beside(name, results, config)
    completes = task == "completion"
    draw(results, config, folder / f"{name}.svg", beside, predicts_inputs=completes)
    printed = paper.numbers(name)
    parts = [
        f"The paper ({printed['source']}): {printed['claim']}." + _substitute(config),
        _protocol(results, config),
        _order(results, config),
        bullets(exceptions(results, config)) or "No exception.",
        f"![{_caption(config)}]({name}.svg)",
        _level_lines(beside, completes=completes),
        _errors(results, config),
        _enough(results, config),
        _also(results, config),
        "## Size and time at the largest K",
        _times(results, config),
    ]
    return "\n\n".join(part for part in parts if part)


def _level_lines(trained: Results, *, completes: bool) -> str:
    if not trained:
        return ""
    linear = "linear PCA and linear regression" if completes else "linear PCA"
    return (
        "Level lines are of methods whose MACs do not depend on K and stand in the labels: "
        f"{linear} and [networks trained within a budget](figures_trained.md), all of whose "
        "operations count; ± standard error over their seeds."
    )


def summary(name: str, results: Results, config: Config) -> list[str]:
    """Return mean errors, and how often the order of the curves is the paper's."""
    shown = [tuple(step) for step in paper.numbers(name)["steps"]]
    lines = []
    for lower, higher in STEPS:
        found = [point_verdict(g) for g in _gains(results, config, lower, higher)]
        note = "" if (lower, higher) in shown else " (not shown in the paper)"
        lines.append(
            f"{WORDS[lower]} below {WORDS[higher]} in {count(found)['reproduced']} of {len(found)} "
            f"points{note}"
        )
    ours = _gains(results, config, "default", "cerf")
    below = sum(is_above(difference) for difference in ours)
    linear = _gains(results, config, LINEAR, "default")
    under = sum(is_above(difference) for difference in linear)
    order = "; ".join(lines) + ", each within a standard error of the paired difference."
    return [
        f"The paper: {paper.numbers(name)['claim']}." + _substitute(config),
        _means(results, config),
        bullets(
            [
                order[0].upper() + order[1:],
                f"Our default is below trained CERF in {below} of {len(ours)} points; linear PCA, "
                f"{N_CODES} D MACs, is below our default in {under}.",
            ]
        ),
    ]


def process_line(results: Results, config: Config) -> str:
    """Return the order of the curves with masks of a Beta-Bernoulli process."""
    counts = []
    for lower, higher in PROCESS_STEPS:
        found = [point_verdict(g) for g in _gains(results, config, lower, higher)]
        counts.append(f"{count(found)['reproduced']} of {len(found)}")
    loss = [-g.value for g in _gains(results, config, "cerf bbp", "cerf")]
    below = sum(value < 0.0 for value in loss)
    other = [point_verdict(g) for g in _gains(results, config, "cerf bbp", "untrained")]
    return (
        f"With Beta-Bernoulli masks untrained CERF is below RFF in {counts[0]} "
        f"points, trained CERF below untrained CERF in {counts[1]}, trained CERF below RFF in "
        f"{counts[2]}, each within a standard error. The error of trained CERF with them minus "
        f"that with masks of equal size is {np.mean(loss):+.3f} on average, below zero in {below} "
        f"of {len(loss)} points; it is below untrained masks of equal size in "
        f"{count(other)['reproduced']}."
    )


def short_section(results: Results, config: Config) -> list[str]:
    """Return protocol, errors and exceptions of a figure whose masks are of both laws."""
    rows = []
    for data in config["datasets"]:
        for size in config["sizes"]:
            found = [mean(values(results, data, size, m, "error")) for m in config["methods"]]
            macs = [
                mean(values(results, data, size, m, "macs")).value for m in ("cerf", "cerf bbp")
            ]
            costs = [f"{value:,.0f}" for value in macs]
            rows.append([data, str(size), *costs, *(_three(cell) for cell in found)])
    header = ["data", "K", "MACs of cerf", "of cerf bbp", *config["methods"]]
    exception = exceptions(results, config, (*STEPS, *PROCESS_STEPS))
    parts = [_protocol(results, config), table(header, rows)]
    return [*parts, bullets(exception) or "No exception to the order of the curves."]


def mean_rows(results: Results, config: Config) -> list[list[str]]:
    """Normalised errors of each dataset, averaged over K, of all methods."""
    rows = []
    for data in config["datasets"]:
        cells = []
        for method in config["methods"]:
            errors = [values(results, data, k, method, "error") for k in config["sizes"]]
            cells.append(_three(mean(np.mean(errors, axis=0))))
        rows.append([data, *cells])
    return rows


def _means(results: Results, config: Config) -> str:
    """Normalised errors averaged over K."""
    methods = ("rff", "untrained", "cerf", "default", LINEAR)
    rows = mean_rows(results, config | {"methods": methods})
    names = [WORDS.get(m, m) for m in methods[:3]]
    header = ["normalised error, mean over K", *names, "our default", "linear PCA"]
    return table(header, rows)


def exceptions(results: Results, config: Config, steps: Steps = STEPS) -> list[str]:
    """Name the points at which a curve is above the one that it should be below."""
    found = []
    for lower, higher in steps:
        for data in config["datasets"]:
            for size in config["sizes"]:
                difference = gain(results, data, size, lower, higher)
                if point_verdict(difference) == "worse":
                    shown = f"{-difference.value:.3f} ± {difference.error:.3f}"
                    found.append(
                        f"{data}, K = {size}: {WORDS[lower]} above {WORDS[higher]} by {shown}"
                    )
    return found


def _gains(results: Results, config: Config, lower: str, higher: str) -> list[Mean]:
    return [
        gain(results, data, size, lower, higher)
        for data in config["datasets"]
        for size in config["sizes"]
    ]


def _substitute(config: Config) -> str:
    if not any(data.startswith("substitute") for data in config["datasets"]):
        return ""
    return (
        " The NUS-WIDE features could not be obtained: these are **our substitute**, descriptors "
        "of the same kinds and sizes of CIFAR-10 images. They show nothing about NUS-WIDE itself."
    )


def _caption(config: Config) -> str:
    return f"Errors over K, at the MACs of K cosines with masks of density {config['mask_density']}"


def _protocol(results: Results, config: Config) -> str:
    rows = []
    for data in config["datasets"]:
        chosen = [results[data][seed]["width"] for seed in seeds_of(results, data)]
        widths = ", ".join(f"{width:g}" for width in sorted({c["width"] for c in chosen}))
        n_train, n_test = chosen[0]["rows"]
        scaled = "standardised" if data in config["standardised"] else "as they are"
        rows.append(
            [
                data,
                str(chosen[0]["inputs"]),
                f"{n_train:,} / {n_test:,}",
                str(len(chosen)),
                scaled,
                widths,
            ]
        )
    header = ["data", "inputs", "rows: training / test", "seeds", "inputs are", "widths chosen"]
    text = (
        f"Features, their {N_CODES} principal components, ridge regression; squared errors on "
        "test rows, divided by those of the training mean. K is the number of outputs, chosen by "
        f"CVEM from 2.5 K candidates with masks of density {config['mask_density']}; all methods "
        "have at most the MACs of K such cosines, and the kernel of the width (times one over the "
        "median squared distance) that is best for RFF by 5-fold cross-validation on the training "
        "rows."
    )
    return text + "\n\n" + table(header, rows)


def _order(results: Results, config: Config) -> str:
    rows = []
    for data in config["datasets"]:
        cells = []
        for lower, higher in STEPS:
            gains = [gain(results, data, size, lower, higher) for size in config["sizes"]]
            held = count([point_verdict(g) for g in gains])["reproduced"]
            clear = sum(is_above(g, errors=-1.0) for g in gains)
            size = mean([g.value for g in gains]).value
            cells.append(f"{held} of {len(gains)}, {clear} clear; {size:+.3f}")
        rows.append([data, *cells])
    header = ["data", *(f"{WORDS[lower]} below {WORDS[higher]}" for lower, higher in STEPS)]
    text = (
        "Points of K at which one curve is below the other: the mean of the paired differences "
        'over the seeds is above minus its standard error; "clear": above plus its standard error; '
        "then the mean difference."
    )
    return text + "\n\n" + table(header, rows)


def _errors(results: Results, config: Config) -> str:
    methods = [*config["methods"], LINEAR]
    rows = []
    for data in config["datasets"]:
        for size in config["sizes"]:
            cells = [mean(values(results, data, size, m, "error")) for m in methods]
            macs = max(values(results, data, size, "cerf", "macs"))
            rows.append([data, str(size), f"{macs:,}", *(_three(cell) for cell in cells)])
    names = [*config["methods"], f"linear PCA, {N_CODES} x D MACs"]
    meaning = [_meaning(name, config) for name in config["methods"]]
    text = "Normalised errors, ± standard error over the seeds. Methods:\n\n" + bullets(meaning)
    return text + "\n\n" + table(["data", "K", "MACs", *names], rows)


def _meaning(name: str, config: Config) -> str:
    """Say what a method is; figures have a mask density of their own, and one kernel for all."""
    text = f"{name}: {MAPS[name]}".replace("density .4", f"density {config['mask_density']:g}")
    return text + ", the kernel as for the others" if name == "default" else text


def _three(found: Mean) -> str:
    """Three decimals; the error of a single seed is unknown."""
    shown = f"{found.value:.3f}"
    return shown if found.count == 1 else f"{shown} ± {found.error:.3f}"


def _enough(results: Results, config: Config) -> str:
    """Dense features that are as many as the codes, where equal MACs allow fewer."""
    rows = []
    for data in config["datasets"]:
        first = results[data][seeds_of(results, data)[0]]
        for size in config["sizes"]:
            if ENOUGH not in first[str(size)]:
                continue
            record = first[str(size)]
            ratio = record[ENOUGH]["macs"] / record["cerf"]["macs"]
            errors = [
                _three(mean(values(results, data, size, m, "error")))
                for m in ("rff", ENOUGH, "untrained", "cerf")
            ]
            rows.append([data, str(size), str(record["rff"]["outputs"]), *errors, f"{ratio:.1f}"])
    if not rows:
        return ""
    header = [
        "data",
        "K",
        "features of RFF",
        "RFF",
        ENOUGH,
        "untrained",
        "cerf",
        "its MACs / cerf's",
    ]
    text = (
        f"At these K the MACs allow fewer than {N_CODES} dense features, so that RFF has as many "
        f"codes as features; beside it RFF with {N_CODES} features at more MACs."
    )
    return text + "\n\n" + table(header, rows)


def _also(results: Results, config: Config) -> str:
    """Show the same data with inputs standardised one by one, beside the count."""
    rows = []
    for data in config.get("also", []):
        for size in config["also_sizes"]:
            errors = [
                _three(mean(values(results, data, size, m, "error")))
                for m in ("rff", "untrained", "cerf", "default")
            ]
            gains = [gain(results, data, size, lower, higher) for lower, higher in STEPS]
            rows.append([data, str(size), *errors, *(point_verdict(g) for g in gains)])
    if not rows:
        return ""
    steps = [f"{WORDS[lower]} below {WORDS[higher]}" for lower, higher in STEPS]
    header = ["data", "K", "rff", "untrained", "cerf", "default", *steps]
    text = (
        "Histograms with each input standardised were tried first and are not counted above. Bins "
        "that are rarely filled then have large values, which few codes cannot reproduce and which "
        "dominate the error."
    )
    return text + "\n\n" + table(header, rows)


def _times(results: Results, config: Config) -> str:
    size = max(config["sizes"])
    rows = []
    for data in config["datasets"]:
        for method in config["methods"]:
            found = {
                name: mean(values(results, data, size, method, name)).value
                for name in ("outputs", "macs", "microseconds", "seconds")
            }
            rows.append(
                [
                    data,
                    method,
                    f"{found['outputs']:.0f}",
                    f"{found['macs']:,.0f}",
                    f"{found['microseconds']:.2f}",
                    f"{found['seconds']:.2f}",
                ]
            )
    header = ["data", "method", "outputs", "MACs", "microseconds a row", "seconds to fit and test"]
    text = f"K = {size}, means over the seeds; a row in float32 through the map, one thread."
    return text + "\n\n" + table(header, rows)
