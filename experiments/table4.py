"""Table 4: classification error on two medical datasets, CERF against other kernel learners."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments import table4_page, tuned
from experiments.datasets import N_FOLDS, split_of
from experiments.methods import microseconds
from experiments.pieces import Piece

TITLE = "Table 4: two medical datasets, 768 features"
SETTINGS = ("n_components", "inner_folds", "widths", "C", "C_svm", "classifier_macs", "rivals")


def pieces(config: dict[str, Any]) -> Iterator[Piece]:
    """Each method on the five folds of each repetition."""
    settings = {name: config[name] for name in SETTINGS if name in config}
    if config.get("full_grid"):
        settings |= config["grid"]
    for data in config["datasets"]:
        for method in config["methods"]:
            for repeat in range(config["repeats_of"].get(method, config["repeats"])):
                arguments = {"data": data, "method": method, "repeat": repeat, "config": settings}
                needs: tuple[str, ...] = ()
                if method in tuned.LEARNED:
                    needs = (data, tuned.LEARNED[method][0], str(repeat))
                yield Piece((data, method, str(repeat)), measure, arguments, needs)


def measure(
    *,
    data: str,
    method: str,
    repeat: int,
    config: dict[str, Any],
    given: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Errors (%) of a method on five folds, what it costs, and the settings it chose."""
    record: dict[str, Any] = {"errors": [], "macs": [], "fit_seconds": [], "settings": []}
    for fold in range(N_FOLDS):
        seed = N_FOLDS * repeat + fold
        split = split_of(data, seed)
        scaler = StandardScaler().fit(split.X_train)
        X, X_test = scaler.transform(split.X_train), scaler.transform(split.X_test)
        begin = time.perf_counter()
        if given is None:
            model = tuned.METHODS[method](X, split.y_train, seed, config)
        else:
            setting = given["settings"][fold]
            model = tuned.fit_learned(method, X, split.y_train, seed, config, setting)
        record["fit_seconds"].append(time.perf_counter() - begin)
        record["errors"].append(100.0 * np.mean(model.predict(X_test) != split.y_test))
        record["macs"].append(tuned.macs_of(model))
        record["settings"].append(tuned.setting_of(model))
        if fold == 0:
            record["microseconds"] = microseconds(model.predict, X_test)
    return record


def section(results: dict[str, Any], config: dict[str, Any], folder: Path) -> str:
    """Return the tables of both datasets and the picture."""
    return table4_page.section(results, config, folder)


def summary(results: dict[str, Any], config: dict[str, Any]) -> list[str]:
    """Return how CERF stands to the paper's figure and to the best rival."""
    return table4_page.summary(results, config)
