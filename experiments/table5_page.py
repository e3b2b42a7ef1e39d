"""Page of Table 5: errors by group size beside the paper's, spread, MACs and time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import paper
from experiments.markdown import bullets, table
from experiments.pictures import COLOURS, new_figure, save
from experiments.verdicts import mean

LIMIT = 11.0  # per cent: the widest row of the paper's table has 10.9
PICTURE = "table5.svg"
LEARNED = {"cerf": "CERF", "cerf bbp": "CERF, Beta-Bernoulli"}
"""Maps whose errors are compared with the paper's, by the words of the tables."""

Results = dict[str, Any]
Config = dict[str, Any]


def values(results: Results, data: str, method: str, group_size: int, key: str) -> NDArray:
    """Array (n_seeds, n_budgets) of a key."""
    runs = results["errors"][data][method][str(group_size)]
    return np.array([runs[seed][key] for seed in sorted(runs, key=int)], dtype=float)


def errors(results: Results, data: str, method: str, config: Config) -> NDArray:
    """Mean errors (n_budgets, n_group_sizes), 1,000 times the share of the variance."""
    sizes = config["group_sizes"]
    found = [values(results, data, method, size, "error").mean(axis=0) for size in sizes]
    return 1e3 * np.array(found).T


def spread(rows: Any) -> NDArray:
    """Return the largest less the smallest error of each row, in per cent of the smallest."""
    array = np.asarray(rows, dtype=float)
    return 100.0 * (array.max(axis=1) - array.min(axis=1)) / array.min(axis=1)


def printed(data: str, config: Config) -> dict[str, Any]:
    """Return the rows of the paper's block of a dataset that were run."""
    entry = config["datasets"][data]
    block = paper.numbers("table5")[entry.get("paper", data)]
    return {key: block[key][: len(entry["dense"])] for key in ("macs", "errors")}


def summary(results: Results, config: Config) -> list[str]:
    """Return the spread over group sizes beside the paper's, and rows that are wider."""
    rows = []
    names = [name for name in LEARNED if name in config["grouped"]]
    for data in config["datasets"]:
        theirs = spread(printed(data, config)["errors"])
        ours = [errors(results, data, name, config) for name in names]
        shown = [found[:, side] for found in ours for side in (0, -1)]
        shown.append(errors(results, data, "default", config)[:, 0])
        means = [f"{values.mean():.0f}" for values in shown]
        widest = [f"{spread(found).max():.1f} %" for found in ours]
        rows.append([data, *means, *widest, f"{theirs.max():.1f} %"])
    least, most = config["group_sizes"][0], config["group_sizes"][-1]
    header = ["data", *(f"{LEARNED[n]}, groups of {g}" for n in names for g in (least, most))]
    header += [f"our default, groups of {least}"]
    header += [*(f"largest spread of {LEARNED[name]}" for name in names), "paper's"]
    text = (
        "Reconstruction error, 1,000 times its share of the variance, averaged over the MAC "
        "counts; spread is the largest less the smallest error over group sizes, in per cent of "
        "the smallest."
    )
    lines = [_spread_line(results, config, name) for name in names]
    return [text + "\n\n" + table(header, rows), bullets(lines)]


def _spread_line(results: Results, config: Config, method: str) -> str:
    """Count the rows of a method whose errors depend on the group size no more than the paper's."""
    wide, total = [], 0
    for data in config["datasets"]:
        spreads = spread(errors(results, data, method, config))
        total += len(spreads)
        wide += [
            f"{data} at {label} ({value:.1f} %)"
            for label, value in zip(printed(data, config)["macs"], spreads, strict=True)
            if value > LIMIT
        ]
    more = f"; wider: {', '.join(wide)}." if wide else "."
    opening = "The" if method == "cerf" else "With Beta-Bernoulli masks the"
    return (
        f"{opening} spread over group sizes is at most {LIMIT:.0f} % of the error, as in the "
        f"paper, in {total - len(wide)} of {total} rows" + more
    )


def section(results: Results, config: Config, folder: Path) -> str:
    """Return everything in the order in which it is read."""
    _draw(results, config, folder / PICTURE)
    text = (
        "Autoencoder of section 4.2: features, 15 principal components, ridge regression to the "
        f"inputs; five folds, {config['seeds']} seeds, mean ± standard error. Errors are 1,000 "
        "times the squared error on test rows over that of the training mean; the paper's scale is "
        "not defined, so that errors are not compared, only how much they depend on the group "
        "size: largest less smallest of a row, in per cent of the smallest. The paper's widest "
        f"row has {LIMIT:.0f} %. Masks of whole groups cannot always have the density asked for: "
        "MACs are as realised."
    )
    parts = [text, f"![Error against group size]({PICTURE})"]
    for data in config["datasets"]:
        parts += [f"## {data}", _width(results, data)]
        for name in LEARNED:
            if name in config["grouped"]:
                parts += [f"{LEARNED[name]}:", _groups(results, data, config, name)]
        parts += [_others(results, data, config), _costs(results, data, config)]
    return "\n\n".join(parts)


def _width(results: Results, data: str) -> str:
    chosen = results["choice"][data]
    each = ", ".join(f"{chosen[s]['width']:g}" for s in sorted(chosen, key=int))
    return (
        f"Width chosen for RFF, by seed, in units of one over the median squared distance: {each}."
    )


def _groups(results: Results, data: str, config: Config, method: str) -> str:
    """Errors of a map for each group size, with its spread and the paper's."""
    block = printed(data, config)
    ours, theirs = errors(results, data, method, config), spread(block["errors"])
    sizes = config["group_sizes"]
    header = [
        "MACs",
        *(f"groups of {size}" for size in sizes),
        "spread",
        "paper's",
        "against the paper",
    ]
    rows = []
    for i, label in enumerate(block["macs"]):
        cells = [
            str(mean(1e3 * values(results, data, method, size, "error")[:, i])) for size in sizes
        ]
        width = spread(ours)[i]
        verdict = "worse" if width > LIMIT else "better" if width < theirs[i] else "reproduced"
        rows.append([label, *cells, f"{width:.1f} %", f"{theirs[i]:.1f} %", verdict])
    return table(header, rows)


def _others(results: Results, data: str, config: Config) -> str:
    """Return what the paper leaves out, at its MACs."""
    groups = [f"default, groups of {size}" for size in config["group_sizes"]]
    ours = errors(results, data, "default", config)
    others = [name for name in config["others"] if name in results["errors"][data]]
    rows = []
    for i, label in enumerate(printed(data, config)["macs"]):
        cells = [f"{value:.0f}" for value in ours[i]]
        for name in others:
            found = values(results, data, name, 1, "error").mean(axis=0)
            cells.append(f"{1e3 * found[min(i, len(found) - 1)]:.0f}")
        rows.append([label, *cells])
    return table(["MACs", *groups, *("PCA" if n == "linear" else n for n in others)], rows)


def _costs(results: Results, data: str, config: Config) -> str:
    """MACs as realised and time, at the largest MAC count."""
    rows = []
    for method in config["grouped"]:
        for size in config["group_sizes"]:
            macs, batch, alone = (
                values(results, data, method, size, key)[:, -1]
                for key in ("macs", "microseconds", "microseconds_alone")
            )
            times = [f"{batch.min():.2f}", f"{alone.min():.1f}"]
            rows.append([method, str(size), f"{macs.mean():,.0f}", *times])
    header = ["map", "group size", "MACs", "microseconds a row, 2,000 rows", "one row alone"]
    return table(header, rows)


def _draw(results: Results, config: Config, path: Path) -> None:
    datasets = list(config["datasets"])
    figure, axes = new_figure(1, len(datasets))
    for axis, data in zip(axes[0], datasets, strict=True):
        sizes = config["group_sizes"]
        for method in config["grouped"]:
            rows = errors(results, data, method, config)
            for i, label in ((0, "fewest MACs"), (len(rows) - 1, "most MACs")):
                style: dict[str, Any] = {"color": COLOURS[method], "linestyle": "-" if i else "--"}
                style |= {"marker": "o", "markersize": 3}
                axis.plot(sizes, rows[i], label=f"{method}, {label}", **style)
        axis.set_xscale("log", base=2)
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.set_ylim(bottom=0.0)
        axis.set_title(data, fontsize=9)
        axis.set_xlabel("group size", fontsize=8)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("error, 1/1,000 of the variance", fontsize=8)
    axes[0][0].legend(fontsize=7)
    save(figure, path)
