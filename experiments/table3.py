"""Table 3: classification accuracy at equal MACs, CERF against RFF, on six datasets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments import table3_page, table3_summary
from experiments.classification import choose, measure, measure_predictor
from experiments.pieces import Piece
from experiments.table3_results import maps_of

TITLE = "Table 3: classification at equal MACs"


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """For each dataset and seed: the settings, then each map at those, then whole predictors."""
    wide = bool(config.get("full_grid"))
    for name, dataset in config["datasets"].items():
        split = dataset["split"]
        for seed in range(config["seeds"]):
            # The rows of a split that is given do not depend on the seed; a wide grid is slow.
            once = dataset.get("given") or dataset.get("choose_once")
            chosen = ("choice", name, "0" if once else str(seed))
            if chosen[-1] == str(seed):
                grid = config["grid"] if wide else config | dataset
                arguments = {key: grid[key] for key in ("widths", "C")}
                arguments |= {key: config[key] for key in ("give_up",) if key in config}
                arguments["n_dense"] = dataset["dense"][dataset["choose_at"]]
                yield Piece(chosen, choose, {"split": split, "seed": seed, **arguments})
            for method in maps_of(name, config):
                arguments = {"method": method, "dense": dataset["dense"]}
                arguments |= {"split": split, "seed": seed}
                yield Piece(("maps", name, method, str(seed)), measure, arguments, needs=chosen)
    for name, dataset in config["datasets"].items():
        for seed in range(config["predictor_seeds"] if dataset["totals"] else 0):
            for method in config["predictors"]:
                arguments = {"method": method, "budgets": dataset["totals"]}
                arguments |= {"split": dataset["split"], "seed": seed}
                key = ("predictors", name, method, str(seed))
                yield Piece(key, measure_predictor, arguments)


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the tables of each dataset and the picture of all."""
    return table3_page.section(results, config, folder)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return what the whole table says."""
    return table3_summary.summary(results, config)
