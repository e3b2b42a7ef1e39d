"""Tables of docs/teachers.md, each a function of the results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from _selection_tables import signed, table
from _teachers_data import DATASETS, NUMBERS, TINY
from _teachers_maps import RANDOM, SELECTORS, SUPERVISED, TEACHERS, UNTRAINED
from _teachers_penalty import LEAVE_ONE_OUT, PENALTY_TEACHERS, WHOLE

Results = dict[str, Any]

LABELS, LEAVES = "labels", "forest, leaves"


def complete(
    results: Results, teachers: tuple[str, ...] = (UNTRAINED, *TEACHERS)
) -> dict[str, Any]:
    """Return the seeds that were measured for all datasets and teachers, all in one order."""
    known = [name for name in (*DATASETS, *TINY) if name in results]
    seeds = set.intersection(
        *({*results[name].get(teacher, {})} for name in known for teacher in teachers)
    )
    return {
        name: {
            teacher: {seed: results[name][teacher][seed] for seed in sorted(seeds, key=int)}
            for teacher in teachers
        }
        for name in known
    }


def classes(results: Results) -> list[str]:
    """Datasets with classes to predict."""
    return [name for name in results if name not in NUMBERS]


def numbers(results: Results) -> list[str]:
    """Datasets with numbers to predict."""
    return [name for name in results if name in NUMBERS]


def values(
    results: Results, names: list[str], teacher: str, selector: str, key: str = "score"
) -> NDArray:
    """Array (datasets, seeds, budgets) of what was measured."""
    cells = [list(results[name][teacher].values()) for name in names]
    return np.array([[cell[selector][key] for cell in seeds] for seeds in cells])


def untrained(results: Results, names: list[str], key: str = "score") -> NDArray:
    """Array (datasets, seeds, budgets) for maps as the default draws them."""
    return values(results, names, UNTRAINED, RANDOM[0], key)


def gain(
    results: Results, names: list[str], teacher: str, selector: str, than: str = "rff"
) -> NDArray:
    """Score minus that of another teacher with the same selector, (datasets, seeds, budgets)."""
    other = values(results, names, than, selector)
    return values(results, names, teacher, selector) - other


def above_untrained(results: Results, names: list[str], teacher: str, selector: str) -> NDArray:
    """Score minus that of untrained maps, (datasets, seeds, budgets)."""
    return values(results, names, teacher, selector) - untrained(results, names)


def mean_and_errors(differences: NDArray) -> tuple[float, float, float]:
    """Mean, its standard error over seeds (datasets given), and over datasets."""
    by_seed, by_dataset = differences.mean(axis=(0, 2)), differences.mean(axis=(1, 2))
    return float(differences.mean()), _error(by_seed), _error(by_dataset)


def _error(samples: NDArray) -> float:
    return float(samples.std(ddof=1) / np.sqrt(len(samples))) if len(samples) > 1 else np.nan


def _cell(differences: NDArray) -> str:
    mean, seeds, datasets = mean_and_errors(differences)
    over_datasets = f" ({datasets:.1f})" if len(differences) > 1 else ""
    return f"{mean:+.2f} ± {seeds:.2f}{over_datasets}"


def _won(differences: NDArray) -> str:
    """In how many pairs of dataset and budget the mean over the seeds is above 0."""
    means = differences.mean(axis=1)
    return f"{(means > 0.0).sum()} of {means.size}"


def _teacher_rows(results: Results, names: list[str]) -> list[list[str]]:
    rows = []
    for teacher in TEACHERS:
        reads = "yes" if teacher in SUPERVISED else "no"
        gains = [gain(results, names, teacher, selector) for selector in SELECTORS]
        cells = ["", "", "", ""]
        if teacher != "rff":
            cells = [*(_cell(each) for each in gains), _won(gains[0])]
        rows.append(
            [teacher, reads, *cells, _cell(above_untrained(results, names, teacher, "greedy"))]
        )
    return rows


_HEADER = ["teacher", "reads y", *(f"{name}: minus rff" for name in SELECTORS)]
_HEADER += ["greedy: above rff in", "greedy: minus untrained"]


def of_classes(results: Results) -> str:
    """Differences to rff on the sets of classes."""
    return table(_HEADER, _teacher_rows(results, classes(results)))


def of_numbers(results: Results) -> str:
    """Differences to rff on the sets of numbers."""
    return table(_HEADER, _teacher_rows(results, numbers(results)))


def selectors(results: Results) -> str:
    """Selectors minus untrained maps, and minus greedy selection, on the sets of classes."""
    names, compared = classes(results), ("rff", LABELS)
    rows = []
    for selector in SELECTORS:
        row = [_cell(above_untrained(results, names, t, selector)) for t in (*compared, LEAVES)]
        for teacher in compared:
            greedy = values(results, names, teacher, "greedy")
            difference = values(results, names, teacher, selector) - greedy
            row.append("" if selector == "greedy" else _cell(difference))
        rows.append([selector, *row])
    control = values(results, names, UNTRAINED, RANDOM[1]) - untrained(results, names)
    rows.append(["random, 2 projections a mask", _cell(control), "", "", "", ""])
    header = ["selector", *(f"{name}: minus untrained" for name in (*compared, LEAVES))]
    return table([*header, *(f"{name}: minus greedy" for name in compared)], rows)


def leaves_and_labels(results: Results) -> str:
    """Compare a forest's leaves with labels and rff."""
    rows = []
    for kind, names in (("classes", classes(results)), ("numbers", numbers(results))):
        for selector in SELECTORS:
            differences = gain(results, names, LEAVES, selector, than=LABELS)
            best = gain(results, names, LEAVES, selector)
            cells = [_cell(differences), _won(differences), _cell(best), _won(best)]
            rows.append([kind, selector, *cells])
    header = ["targets", "selector", "leaves minus labels", "leaves above labels in"]
    return table([*header, "leaves minus rff", "leaves above rff in"], rows)


def budgets(results: Results) -> str:
    """Greedy selection at each budget, minus untrained maps, on the sets of classes."""
    names = classes(results)
    rows = []
    for teacher in TEACHERS:
        differences = above_untrained(results, names, teacher, "greedy")
        n_budgets = differences.shape[2]
        rows.append([teacher, *(_cell(differences[:, :, [i]]) for i in range(n_budgets))])
    outputs = untrained(results, names, "outputs").mean(axis=(0, 1))
    header = [f"about {outputs[i]:.0f} outputs" for i in range(n_budgets)]
    return table(["greedy; minus untrained", *header], rows)


def penalties(results: Results) -> str:
    """Scores by the penalty that either choice gives; ``results`` are those of the penalties."""
    rows = []
    for name in results:
        scores = {
            (teacher, choice): values(results, [name], teacher, choice)[0]
            for teacher in PENALTY_TEACHERS
            for choice in (LEAVE_ONE_OUT, WHOLE)
        }
        alphas = values(results, [name], LABELS, LEAVE_ONE_OUT, "alpha")[0]
        others = values(results, [name], LABELS, WHOLE, "alpha")[0]
        row = [name, f"{np.median(alphas):.3g}", f"{np.median(others):.3g}"]
        row += [f"{scores[LABELS, choice].mean():.1f}" for choice in (LEAVE_ONE_OUT, WHOLE)]
        for choice in (LEAVE_ONE_OUT, WHOLE):
            differences = scores[LABELS, choice] - scores["rff", choice]
            row.append(signed(differences.mean(), _error(differences)))
        rows.append(row)
    short = {LEAVE_ONE_OUT: "features given", WHOLE: "whole pipeline"}
    header = ["largest budget, greedy", *(f"alpha, {name}" for name in short.values())]
    header += [f"labels, {name}" for name in short.values()]
    return table([*header, *(f"labels minus rff, {name}" for name in short.values())], rows)


def cost(results: Results) -> str:
    """CPU seconds of fit at the largest budget, and kernel error, over all datasets."""
    names = list(results)
    rows = []
    for teacher in TEACHERS:
        cells = [cell for name in names for cell in results[name][teacher].values()]
        own = float(np.median([cell["teacher seconds"] for cell in cells]))
        row = [teacher, "" if own == 0.0 else f"{own:.2f}"]
        for selector in SELECTORS:
            seconds = values(results, names, teacher, selector, "seconds")[:, :, -1]
            row.append(f"{np.median(seconds):.2f}")
        for selector in SELECTORS:
            error = values(results, names, teacher, selector, "kernel error")
            row.append(f"{error.mean():.3f}")
        rows.append(row)
    seconds = untrained(results, names, "seconds")[:, :, -1]
    error = untrained(results, names, "kernel error")
    rows.append([UNTRAINED, "", f"{np.median(seconds):.3f}", "", "", f"{error.mean():.3f}", "", ""])
    header = ["teacher", "its own fit, s", *(f"fit {name}, s" for name in SELECTORS)]
    return table([*header, *(f"kernel error, {name}" for name in SELECTORS)], rows)


def datasets(results: Results) -> str:
    """Every dataset: untrained scores, and differences to rff at every selector and budget."""
    return "\n\n".join(_of_dataset(results, name) for name in results)


def _of_dataset(results: Results, name: str) -> str:
    macs = [
        int(values(results, [name], UNTRAINED, RANDOM[0], "macs")[0, :, i].max())
        for i in range(untrained(results, [name]).shape[2])
    ]
    header = ["minus rff", *(f"{s}, {m:,} MACs" for s in SELECTORS for m in macs)]
    kind = "100 R2" if name in NUMBERS else "accuracy, %"
    scores = untrained(results, [name])[0].mean(axis=0)
    empty = [""] * (len(header) - 1 - len(scores))
    rows = [[f"*untrained ({kind})*", *(f"{score:.1f}" for score in scores), *empty]]
    base = [values(results, [name], "rff", selector)[0].mean(axis=0) for selector in SELECTORS]
    rows.append([f"*rff ({kind})*", *(f"{score:.1f}" for row in base for score in row)])
    for teacher in [*TEACHERS][1:]:
        cells = []
        for selector in SELECTORS:
            for differences in gain(results, [name], teacher, selector)[0].T:
                cells.append(signed(differences.mean(), _error(differences)))
        rows.append([teacher, *cells])
    return f"### {name}\n\n{table(header, rows)}"
