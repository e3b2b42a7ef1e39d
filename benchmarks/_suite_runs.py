"""Methods of the suite, and what is measured of one on one split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import _suite_data as data
from cerflearn import CERFClassifier
from cerflearn.comparison.methods import METHODS, SAME_AT_EVERY_BUDGET, fit_predictor
from cerflearn.comparison.runs import Run, run_fit
from cerflearn.comparison.trees import fit_trees
from datasets import Split  # noqa: F401  puts experiments on the path
from experiments.store import plain

Record = dict[str, Any]

PREDICTORS: dict[str, dict[str, Any]] = {
    "cerf": {},
    "cerf_cosine": {"activation": "cosine"},
    "cerf_relu": {"activation": "relu"},
    "cerf_table": {"activation": "table"},
}
"""Parameters of CERFClassifier and CERFRegressor that are methods of their own."""

RIVALS = ("linear", "mlp", "pruned_mlp", "rff", "masked", "nystroem", "trees")
BY_BYTES = "trees_bytes"
ALL_METHODS = (*PREDICTORS, *RIVALS, BY_BYTES)


@dataclass(frozen=True)
class Task:
    """Methods to measure one after the other on one split, with their budgets.

    Attributes
    ----------
    name : str
        Of the dataset.
    split : int
        Its number.
    budgets : dict
        Budgets that are missing, by method.
    stored_bytes : dict
        Bytes of the ``cerf`` models that are known, by budget.
    """

    name: str
    split: int
    budgets: dict[str, tuple[int, ...]]
    stored_bytes: dict[int, int] = field(default_factory=dict)


def valid_methods(methods: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Methods that exist in this version, and why the others do not."""
    kept, notes = [], {}
    X = np.random.default_rng(0).normal(size=(12, 2))
    for method in methods:
        try:
            if PREDICTORS.get(method):
                CERFClassifier(macs=8, **PREDICTORS[method]).fit(X, X[:, 0] > 0.0)
        except ValueError as error:
            if "not valid" not in str(error):
                raise
            notes[method] = str(error)
        else:
            kept.append(method)
    return kept, notes


def tasks(
    names: Iterable[str], n_splits: int, methods: Iterable[str], records: list[Record]
) -> Iterator[Task]:
    """List what is missing: all datasets of the first split, then those of the next."""
    there = {key_of(record): record for record in records}
    methods = list(methods)
    groups = [[method] for method in methods if method != BY_BYTES]
    if BY_BYTES in methods:  # needs the models of cerf
        with_cerf = next((group for group in groups if group == ["cerf"]), None)
        if with_cerf is None:
            groups.append([BY_BYTES])
        else:
            with_cerf.append(BY_BYTES)
    names = list(names)
    for number in range(n_splits):
        for name in names:
            for group in groups:
                missing = {m: _missing(there, name, number, m) for m in group}
                missing = {m: budgets for m, budgets in missing.items() if budgets}
                if missing:
                    yield Task(name, number, missing, _stored_bytes(there, name, number))


def _missing(there: dict[Any, Record], name: str, number: int, method: str) -> tuple[int, ...]:
    budgets = data.facts(name).budgets
    return tuple(b for b in budgets if (name, number, b, method) not in there)


def _stored_bytes(there: dict[Any, Record], name: str, number: int) -> dict[int, int]:
    keys = {budget: (name, number, budget, "cerf") for budget in data.facts(name).budgets}
    return {b: there[key]["bytes"] for b, key in keys.items() if there.get(key, {}).get("bytes")}


def key_of(record: Record) -> tuple[str, int, int, str]:
    """Dataset, split, budget and method: one record each."""
    return record["dataset"], record["split"], record["budget"], record["method"]


def measure(task: Task, version: str) -> list[Record]:
    """Measure a task; records that need a ``cerf`` model which is not known are left out."""
    found: list[Record] = []
    stored = dict(task.stored_bytes)
    with threadpool_limits(1):
        split = data.split(task.name, task.split)
        for method, budgets in task.budgets.items():
            shared: Run | None = None
            for budget in budgets:
                if method == BY_BYTES:
                    if budget not in stored:
                        continue
                    run = run_fit(_trees_by_bytes, stored[budget], split, "bytes")
                else:
                    run = shared or run_fit(_fit_of(method), budget, split)
                if method in SAME_AT_EVERY_BUDGET and run.model is not None:
                    shared = run
                found.append(_record(task, method, budget, run, version))
                if method == "cerf" and run.model is not None:
                    stored[budget] = run.model.cost.n_bytes
    return found


def _trees_by_bytes(training: Any, n_bytes: int) -> Any:
    return fit_trees(training, n_bytes, "bytes")


def _fit_of(method: str) -> Callable[[Any, int], Any]:
    if method in PREDICTORS:
        return lambda training, macs: fit_predictor(training, macs, PREDICTORS[method])
    return METHODS[method]


def _record(task: Task, method: str, budget: int, run: Run, version: str) -> Record:
    """Score in points (accuracy or R2, times 100), cost, times, settings."""
    facts = data.facts(task.name)
    record: Record = {
        "dataset": task.name,
        "task": "classification" if facts.n_classes else "regression",
        "split": task.split,
        "budget": budget,
        "linear_macs": facts.linear_macs,
        "method": method,
        "score": None,
    }
    if run.model is not None:
        cost = run.model.cost
        record |= {"score": 100.0 * run.score, "macs": cost.macs, "bytes": cost.n_bytes}
        record |= {"lookups": cost.lookups} if getattr(cost, "lookups", 0) else {}
        record |= {"fit_seconds": run.fit_seconds, "microseconds": run.microseconds}
        record |= {"settings": run.model.settings} if run.model.settings else {}
    record |= {"note": run.note} if run.note else {}
    return plain(record | {"version": version})
