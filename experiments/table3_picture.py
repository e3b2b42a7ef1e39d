"""Accuracy of Table 3 against MACs or time, one panel a dataset."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from experiments.pictures import COLOURS, new_figure, save
from experiments.table3_results import Config, Results, cells, column, maps_of, seeds_of

COLUMNS = 3
LABELS = {"macs": "MACs of the features", "microseconds": "microseconds a row"}


def draw(results: Results, config: Config, path: Path, *, against: str) -> None:
    """Write the picture: a line for each map with the SVM head, and the paper's two."""
    datasets = list(config["datasets"])
    columns = min(COLUMNS, len(datasets) + 1)
    figure, axes = new_figure(math.ceil((len(datasets) + 1) / columns), columns)
    panels = axes.ravel()
    for axis, dataset in zip(panels, datasets, strict=False):
        _draw_dataset(axis, results, config, dataset, against)
    for axis in panels[len(datasets) :]:
        axis.axis("off")
    handles, labels = panels[0].get_legend_handles_labels()
    panels[len(datasets)].legend(handles, labels, loc="center", fontsize=8)
    save(figure, path)


def _draw_dataset(axis: Any, results: Results, config: Config, dataset: str, against: str) -> None:
    for method in maps_of(dataset, config):
        if method == "linear":
            level = column(results, dataset, method, "svc").mean()
            axis.axhline(level, color=COLOURS[method], linestyle=":", label="linear SVM on inputs")
            continue
        cost = np.median(column(results, dataset, method, against), axis=0)
        scores = column(results, dataset, method, "svc")
        n_seeds = len(seeds_of(results, dataset, method))
        error = scores.std(axis=0, ddof=1) / math.sqrt(n_seeds) if n_seeds > 1 else None
        order = np.argsort(cost)
        style = {"color": COLOURS[method], "label": method, "marker": "o", "markersize": 3}
        error = None if error is None else error[order]
        axis.errorbar(cost[order], scores.mean(axis=0)[order], yerr=error, **style)
    if against == "macs":
        _draw_paper(axis, results, config, dataset)
        _draw_classifier(axis, results, dataset)
    axis.set_title(dataset, fontsize=9)
    axis.set_xlabel(LABELS[against], fontsize=8)
    axis.set_ylabel("accuracy, %", fontsize=8)
    axis.tick_params(labelsize=7)
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.grid(alpha=0.3)


def _draw_paper(axis: Any, results: Results, config: Config, dataset: str) -> None:
    budgets = column(results, dataset, "rff", "budget")[0]
    judged = [cell for cell in cells(dataset, config) if cell.judged]
    macs = [budgets[cell.index] for cell in judged]
    for name, key in (("paper's CERF", "paper_cerf"), ("paper's RFF", "paper_rff")):
        values = [getattr(cell, key) for cell in judged]
        axis.plot(macs, values, "--", color=COLOURS[name], label=name, linewidth=2.5, zorder=0)


def _draw_classifier(axis: Any, results: Results, dataset: str) -> None:
    """Add CERFClassifier, whose MACs are all it needs."""
    if not seeds_of(results, dataset, "classifier", "predictors"):
        return
    scores = column(results, dataset, "classifier", "accuracy", "predictors").mean(axis=0)
    macs = column(results, dataset, "classifier", "macs", "predictors").mean(axis=0)
    style = {"color": COLOURS["classifier"], "label": "CERFClassifier, all MACs"}
    axis.plot(macs, scores, "s-", markersize=4, **style)
