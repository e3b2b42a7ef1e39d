"""Table 3's results as arrays, and its cells beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import paper
from experiments.verdicts import Mean, mean, paired, verdict

TOLERANCE = 2.0  # points within which a cell is reproduced
HEADS = {"svc": "linear SVM, one against one", "ridge": "ridge"}
MISLABELLED = "row probably mislabelled"

Results = dict[str, Any]
Config = dict[str, Any]


def seeds_of(results: Results, dataset: str, method: str, kind: str = "maps") -> list[str]:
    """Seeds that were run, in order."""
    return sorted(results.get(kind, {}).get(dataset, {}).get(method, {}), key=int)


def column(
    results: Results, dataset: str, method: str, key: str, kind: str = "maps"
) -> NDArray[np.float64]:
    """Values (n_seeds, n_budgets) of a key; a missing value is NaN."""
    runs = results[kind][dataset][method]
    seeds = seeds_of(results, dataset, method, kind)
    return np.array([runs[seed][key] for seed in seeds], dtype=float)


@dataclass(frozen=True)
class Cell:
    """One MAC count of a dataset."""

    dataset: str
    index: int
    label: str  # MACs as the paper prints them
    judged: bool
    paper_cerf: float
    paper_rff: float

    @property
    def name(self) -> str:
        """Name in lists of exceptions."""
        return f"{self.dataset} at {self.label}"

    def values(self, results: Results, method: str, head: str = "svc") -> NDArray[np.float64]:
        """Accuracy (%) of each seed; the inputs themselves are the same in each cell."""
        values = column(results, self.dataset, method, head)
        return values[:, min(self.index, values.shape[1] - 1)]

    def mean(self, results: Results, method: str, head: str = "svc") -> Mean:
        """Mean over seeds with its standard error."""
        return mean(self.values(results, method, head))

    def gain(self, results: Results, method: str, other: str, head: str = "svc") -> Mean:
        """Paired difference of two maps."""
        return paired(self.values(results, method, head), self.values(results, other, head))

    def verdict(self, results: Results, method: str, printed: float) -> str:
        """Return ours against the paper's number."""
        found = self.mean(results, method)
        reason = "" if self.judged else MISLABELLED
        return verdict(found.value, found.error, printed, tolerance=TOLERANCE, reason=reason)


def cells(dataset: str, config: Config) -> list[Cell]:
    """All MAC counts of a dataset that were run; the paper's last rows of faces are not judged."""
    entry = config["datasets"][dataset]
    printed = paper.numbers("table3")[entry.get("paper", dataset)]
    n_judged = len(printed["macs"]) - printed.get("mislabelled_rows", 0)
    return [
        Cell(dataset, i, label, i < n_judged, printed["CERF"][i], printed["RFF"][i])
        for i, label in enumerate(printed["macs"][: len(entry["dense"])])
    ]


def judged_cells(config: Config, reading: str = "") -> list[Cell]:
    """Cells that count: of the table as it is printed, or of another reading of it."""
    return [
        cell
        for dataset, entry in config["datasets"].items()
        if entry.get("reading", "") == reading
        for cell in cells(dataset, config)
        if cell.judged
    ]


def over_cells(
    results: Results, some: list[Cell], method: str, head: str = "svc"
) -> NDArray[np.float64]:
    """Accuracy (%) of each seed, averaged over cells."""
    return np.mean([cell.values(results, method, head) for cell in some], axis=0)


def maps_of(dataset: str, config: Config) -> list[str]:
    """Return the maps that are run on a dataset: all, or fewer on other readings."""
    return config["datasets"][dataset].get("maps", config["maps"])


@dataclass(frozen=True)
class Total:
    """One budget of total MACs, at which whole predictors are compared."""

    dataset: str
    index: int
    budget: int
    cell: Cell | None  # of the table, if its features alone cost as much

    @property
    def name(self) -> str:
        """Name in lists of exceptions."""
        return f"{self.dataset} at {self.budget:,}"

    def values(self, results: Results, method: str) -> NDArray[np.float64]:
        """Accuracy (%) of each seed, NaN without a model within the budget."""
        return column(results, self.dataset, method, "accuracy", "predictors")[:, self.index]


def totals(results: Results, config: Config) -> Iterator[Total]:
    """All budgets of all datasets."""
    for dataset, entry in config["datasets"].items():
        n_inputs = results["choice"][dataset]["0"]["n_inputs"]
        known = {
            n * n_inputs: c for n, c in zip(entry["dense"], cells(dataset, config), strict=True)
        }
        for index, budget in enumerate(entry["totals"]):
            yield Total(dataset, index, budget, known.get(budget))
