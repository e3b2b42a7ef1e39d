"""Tables of docs/selection.md, each a function of the results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from _selection_accuracy import DEFAULT, METHODS, PAPER, WIDTH_BUDGET, WIDTHS
from _selection_defaults import CONTROL

Results = dict[str, Any]

HEADS = {"svm": "linear SVM, one against one", "ridge": "ridge"}
SMALL_MAP = 250  # outputs, below which the table of defaults takes another mean
LEARNED = ("greedy", "shared", "cvem")
TRAINED, UNTRAINED = "paper_setting", "untrained masks"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def values(results: Results, part: str, dataset: str, method: str, key: str) -> NDArray:
    """One row for each seed, one column for each budget or width."""
    seeds = results[part][dataset].values()
    return np.array([seed[method][key] for seed in seeds])


def mean_and_error(samples: NDArray) -> tuple[NDArray, NDArray]:
    """Mean over the seeds and its standard error, for each column."""
    return samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(len(samples))


def gain(results: Results, part: str, dataset: str, head: str) -> NDArray:
    """Accuracy of trained minus untrained masks, seed by seed."""
    return values(results, part, dataset, TRAINED, head) - values(
        results, part, dataset, UNTRAINED, head
    )


def signed(mean: float, error: float) -> str:
    return f"{mean:+.1f} ± {error:.1f}"


def _cells(row: NDArray) -> list[str]:
    """Accuracies for each budget, and their mean."""
    return [f"{value:.1f}" for value in row] + [f"**{row.mean():.1f}**"]


def accuracy(results: Results) -> str:
    """Facts and, for each head, a table of each dataset."""
    text = []
    for dataset in results["accuracy"]:
        text += [f"### {dataset}", _facts(results, dataset)]
        text += [_accuracy_table(results, dataset, head) for head in HEADS]
    return "\n\n".join(text)


def _facts(results: Results, dataset: str) -> str:
    """Name splits, chosen settings and sizes, and put a linear model beside."""
    seeds = results["accuracy"][dataset].values()
    first = next(iter(seeds))
    widths, Cs = (
        ", ".join(f"{value:g}" for value in sorted({seed[key] for seed in seeds}))
        for key in ("width", "C")
    )
    dense, masked, default = (
        f"{first[name]['outputs'][0]} to {first[name]['outputs'][-1]}"
        for name in ("dense RFF", UNTRAINED, DEFAULT)
    )
    return (
        f"{len(seeds)} splits. Chosen: gamma {widths} times the median heuristic, C {Cs}. Outputs: "
        f"dense {dense}, masks of density .4 {masked}, default settings {default}. A linear model "
        f"of the inputs themselves has {_linear(results, dataset)}."
    )


def _accuracy_table(results: Results, dataset: str, head: str) -> str:
    """All methods under one head, with the paper's figures below the SVM's."""
    dense = next(iter(results["accuracy"][dataset].values()))["dense RFF"]["macs"]
    rows = [
        [name, *_cells(values(results, "accuracy", dataset, name, head).mean(axis=0))]
        for name in (*METHODS, DEFAULT)
    ]
    if head == "svm" and dataset in PAPER:
        rows += [
            [f"*the paper's {name}*", *_cells(np.array(row))]
            for name, row in PAPER[dataset].items()
        ]
    return table([f"{HEADS[head]}; MACs:", *(f"{macs:,}" for macs in dense), "mean"], rows)


def _linear(results: Results, dataset: str) -> str:
    """Accuracy of both heads without any map."""
    seeds = results["linear"][dataset].values()
    means = {head: np.mean([seed[head] for seed in seeds]) for head in HEADS}
    return " and ".join(f"{mean:.1f} ({head})" for head, mean in means.items())


def gains(results: Results) -> str:
    """Paired gain of ``paper_setting`` over untrained masks at each budget."""
    rows = []
    for dataset in results["accuracy"]:
        for head in HEADS:
            samples = gain(results, "accuracy", dataset, head)
            cells = [signed(*pair) for pair in zip(*mean_and_error(samples), strict=True)]
            whole = signed(*mean_and_error(samples.mean(axis=1)))
            rows.append([dataset, head, *cells, f"**{whole}**"])
    header = ["data", "head", *(f"budget {i + 1}" for i in range(samples.shape[1])), "mean"]
    return table(header, rows)


def widths(results: Results) -> str:
    """Gain, and accuracy of trained masks, against the kernel width."""
    rows = []
    for dataset in results["widths"]:
        for head in HEADS:
            samples = gain(results, "widths", dataset, head)
            cells = [signed(*pair) for pair in zip(*mean_and_error(samples), strict=True)]
            rows.append([dataset, f"gain, {head}", *cells])
        trained = values(results, "widths", dataset, TRAINED, "svm").mean(axis=0)
        rows.append([dataset, "trained, svm", *(f"{value:.1f}" for value in trained)])
    header = [f"{WIDTH_BUDGET} D MACs", "gamma / median:", *(f"{width:g}" for width in WIDTHS)]
    return table(header, rows)


def wide(results: Results) -> str:
    """Means over the budgets at the median heuristic, and kernel errors at both widths."""
    datasets = list(results["wide"])
    rows = []
    for name in METHODS:
        cells = []
        for dataset in datasets:
            cells.append(f"{values(results, 'wide', dataset, name, 'ridge').mean():.1f}")
            for part in ("wide", "accuracy"):
                cells.append(f"{values(results, part, dataset, name, 'kernel error').mean():.3f}")
        rows.append([name, *cells])
    header = ["gamma = median, ridge"]
    for dataset in datasets:
        header += [dataset, "kernel error", "at the chosen width"]
    return table(header, rows)


def mnist(results: Results) -> str:
    """MNIST-60k with 1,024 outputs."""
    part = results["mnist"]
    times = part["milliseconds"]
    rows = []
    for name, milliseconds in times.items():
        ratio = [f"{milliseconds:.1f}", f"{times['RBFSampler'] / milliseconds:.1f}"]
        if name not in part:
            rows.append([name, "", "", "", "", *ratio])
            continue
        seeds = part[name].values()
        score, error = mean_and_error(np.array([seed["accuracy"] for seed in seeds]))
        macs = max(seed["macs"] for seed in seeds)
        dense = next(iter(part["dense"].values()))["macs"]
        learning = min(seed["fit"] for seed in seeds)
        cells = [f"{macs:,}", f"1/{dense / macs:.1f}", f"{score:.2f} ± {error:.2f}"]
        rows.append([name, *cells, f"{learning:.1f}", *ratio])
    header = ["1,024 outputs", "MACs", "of the dense", "accuracy", "fit, s", "transform, ms"]
    return table([*header, "times RBFSampler"], rows)


def seconds(results: Results) -> str:
    """Training time over N and K, and as a ratio to the bare products."""
    part = results["time"]
    rows = []
    for n_candidates, sizes in part["cvem"].items():
        for n_samples, cvem in sizes.items():
            row = [n_candidates, f"{int(n_samples):,}", f"{cvem['seconds']:.1f}"]
            row += [f"{cvem['bare']:.1f}", f"{cvem['ratio']:.2f}"]
            half = sizes.get(str(int(n_samples) // 2))
            row.append("" if half is None else f"{cvem['seconds'] / half['seconds']:.2f}")
            for selector in ("shared", "greedy"):
                row.append(f"{part[selector][n_candidates][n_samples]['seconds']:.1f}")
            rows.append(row)
    header = ["K", "N", "CVEM, s", "bare products, s", "ratio", "over half of N", "shared, s"]
    return table([*header, "greedy, s"], rows)


def solvers(results: Results) -> str:
    """Time of a stage with either solver."""
    rows = []
    for n_candidates, row in results["time"]["admm"].items():
        cells = [f"{row['admm']:.3f}", f"{row['procrustes']:.3f}"]
        cells.append(f"{row['admm'] / row['procrustes']:.1f}")
        rows.append([n_candidates, f"{row['samples']:,}", str(row["stages"]), *cells])
    return table(["K", "N", "stages", "ADMM, s a stage", "Procrustes, s a stage", "ratio"], rows)


def memory(results: Results) -> str:
    """Peak memory of ``fit`` above its input."""
    rows = []
    for n_candidates, sizes in results["time"]["memory"].items():
        for n_samples, caches in sizes.items():
            for cache, row in caches.items():
                name = "2 GiB (default)" if int(cache) else "none"
                size = [n_candidates, f"{int(n_samples):,}"]
                rows.append([*size, name, f"{row['megabytes']:,.0f}"])
    return table(["K", "N", "cache", "peak above the input, MB"], rows)


def _default_cells(seeds: list[dict[str, Any]]) -> tuple[list[str], NDArray]:
    """Cells of one dataset and budget, and mean gains of the selectors over random masks."""
    names = ("random", *LEARNED, CONTROL, "random, equal time")
    base, *scores = (np.array([seed[name]["ridge"] for seed in seeds]) for name in names)
    gains = [score - base for score in scores]
    cells = [str(seeds[0]["random"]["outputs"]), f"{base.mean():.1f}"]
    cells += [signed(*mean_and_error(samples)) for samples in gains]
    for key in ("transform", "fit"):
        times = {
            name: np.median([seed[name][key] for seed in seeds]) for name in ("random", *LEARNED)
        }
        if key == "transform":
            cells.append(f"{times['greedy'] / times['random']:.2f}")
        else:
            cells += [f"{times[name]:.2f}" for name in LEARNED]
    return cells, np.array([samples.mean() for samples in gains])


def defaults(results: Results) -> str:
    """Selectors at the default density: points above random masks, and what they cost."""
    rows, means, outputs = [], [], []
    for dataset, seeds in results["defaults"].items():
        for budget in next(iter(seeds.values())):
            cells, mean = _default_cells([seed[budget] for seed in seeds.values()])
            rows.append([dataset, f"{budget} D", *cells])
            means.append(mean)
            outputs.append(int(cells[0]))
    samples, small = np.array(means), np.array(outputs) < SMALL_MAP
    for name, some in (("mean, small maps", small), ("mean, others", ~small)):
        if some.sum() > 1:
            pairs = zip(*mean_and_error(samples[some]), strict=True)
            whole = [f"**{mean:+.1f} ± {error:.1f}**" for mean, error in pairs]
            rows.append([name, "", "", "", *whole, *([""] * (1 + len(LEARNED)))])
    header = ["data", "MACs", "outputs", "random", *LEARNED, CONTROL, "random, time of greedy"]
    header += ["greedy's time / random's", *(f"fit {name}, s" for name in LEARNED)]
    return table(header, rows)
