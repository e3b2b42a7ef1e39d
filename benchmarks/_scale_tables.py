"""Tables of docs/large_data.md from what benchmarks/scale.py has measured."""

from __future__ import annotations

import math
from typing import Any

from _scale_model import (
    BLOCK_ROWS,
    TASK_BLOCKS,
    Costs,
    bound_by_merging,
    by_task,
    curve,
    simulate,
)

SIMULATED_ROWS = 100_000_000
NETWORK, LATENCY = 1.25e9, 5e-4
"""Bytes a second (10 Gbit/s) and seconds of a message of the cluster that is simulated."""

QUIET_LOAD = 3.2
"""Most processes that ran or waited for a wall time to be shown: those of a fit, which are two
workers and the client, and hardly any other."""

ENGINES = ("serial", "threads", "dask 1", "dask 2")
NAMES = ("one thread", "two threads", "Dask, 1 process", "Dask, 2 processes")
Record = dict[str, Any]


def table(head: list[str], rows: list[list[str]]) -> str:
    """Lines of Markdown, all columns but the first to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def growth(results: Record) -> str:
    """Time and memory by rows and engine; the exponent of the cost."""
    found = results["growth"]
    sizes = sorted({int(name.split(",")[0]) for name in found})
    times, memories = [], []
    for n_rows in sizes:
        records = [found.get(f"{n_rows}, {engine}") for engine in ENGINES]
        if len({record["digest"] for record in records if record}) != 1:
            raise SystemExit("engines differ in the fitted arrays")
        times.append([f"{n_rows:,}", *map(_time, records)])
        memories.append([f"{n_rows:,}", *("" if r is None else _memory(r) for r in records)])
    head = ["seconds (CPU time) with rows", *NAMES]
    text = table(head, times) + "\n\n" + table(["memory with rows", *NAMES], memories)
    told = [f"{value:.2f}" for engine in ENGINES if (value := _exponent(found, engine))]
    if told:
        text += (
            "\n\nFrom 100,000 rows on the CPU time grows as rows to the power of "
            f"{', '.join(told)}, in the order of the columns."
        )
    return text


def _time(record: Record | None) -> str:
    """CPU time; before it the wall time, if the machine had little else to do."""
    if record is None:
        return ""
    wall = f"{record['seconds']:.1f} " if record["load"] <= QUIET_LOAD else ""
    return f"{wall}({record['cpu_seconds']:.1f})"


def _memory(record: Record) -> str:
    """Memory of the client, and of a worker if there are some."""
    worker = record["worker_memory"]
    return f"{record['memory']:.0f} MB" + (f" + {worker:.0f} MB each" if worker else "")


def _exponent(found: Record, engine: str) -> float | None:
    """Slope of log time over log rows, from 100,000 rows on."""
    named = {int(name.split(",")[0]): r for name, r in found.items() if name.endswith(engine)}
    sizes = sorted(n for n in named if n >= 100_000)
    if len(sizes) < 2:
        return None
    first, last = sizes[0], sizes[-1]
    ratio = named[last]["cpu_seconds"] / named[first]["cpu_seconds"]
    return math.log(ratio) / math.log(last / first)


def cores(results: Record, n_rows: int = 500_000, K: int = 512) -> str:
    """Engines beside each other, and beside the simulation."""
    found, rows = results["cores"], []
    serial = found["serial"]
    for engine, name in zip(ENGINES, NAMES, strict=True):
        record = found[engine]
        simulated = ""
        if engine.startswith("dask"):
            costs = costs_of(results["costs"][str(K)], local=True)
            simulated = f"{simulate(costs, n_rows, int(engine[-1])):.1f} s"
        rows.append(
            [
                name,
                f"{record['seconds']:.1f} s",
                f"{serial['seconds'] / record['seconds']:.2f}",
                f"{record['cpu_seconds']:.1f} s",
                f"{record['stage']:.1f} s",
                simulated,
                _memory(record),
            ]
        )
    head = ["", "fit", "times as quick", "CPU time", "a stage", "simulated", "memory"]
    intro = (
        f"{n_rows:,} rows and {K:,} candidates, each fit the best of "
        f"{len(serial['all_seconds'])}, in turn:\n\n"
    )
    return intro + table(head, rows) + "\n\n" + _overhead(found, n_rows)


def _overhead(found: Record, n_rows: int) -> str:
    """Say what a stage takes beyond that of one thread, shared among the processes."""
    told = []
    n_tasks = math.ceil(n_rows / BLOCK_ROWS / 16)
    for n_processes in (1, 2):
        alone = found["serial"]["stage"] / n_processes
        beyond = found[f"dask {n_processes}"]["stage"] - alone
        told.append(
            f"{beyond:.2f} s ({100 * beyond / alone:.0f} %, {1e3 * beyond / n_tasks:.0f} ms for "
            f"each of {n_tasks} tasks) with {n_processes} process" + "es" * (n_processes > 1)
        )
    return f"Overhead of Dask in a stage, beyond the share of one thread's time: {', '.join(told)}."


def memory(results: Record) -> str:
    """Memory and time of fits of many rows, by where the rows are."""
    found, rows = results["memory"], []
    names = list(dict.fromkeys(key.split(", ")[0] for key in found))
    for name in names:
        records = [found.get(f"{name}, {form}") for form in ("array", "npy", "parquet")]
        if len({record["digest"] for record in records if record}) != 1:
            raise SystemExit(f"{name}: fits of the same rows differ")
        base = records[0]
        rows.append([f"`{name}`", *(_beside(record, base) for record in records)])
    head = ["fit", "array in memory", "`from_npy`", "`from_parquet`, row groups of 100,000"]
    intro = (
        "By `make bench-scale`, 5,000,000 x 64 in float32, `MaskedCERF()` and `CERFClassifier("
        "macs=300, effort=.01)` of three classes, once each on one thread: peak of anonymous "
        "memory, seconds of `fit` (CPU time), and how many times those of the array:\n\n"
    )
    return intro + table(head, rows)


def _beside(record: Record | None, base: Record | None) -> str:
    """Memory, CPU time, and how many times that of the array in memory."""
    if record is None:
        return ""
    text = f"{record['memory']:,.0f} MB, {_time(record)} s"
    if base is None or base is record:
        return text
    quiet = max(record["load"], base["load"]) <= QUIET_LOAD
    clock = "seconds" if quiet else "cpu_seconds"
    return f"{text}, {record[clock] / base[clock]:.2f} times"


def costs_of(record: Record, *, local: bool) -> Costs:
    """Costs on this machine, or of the cluster that is simulated."""
    measured = record["n_bytes"] / max(record["sent"] - record["empty"], 1e-6)
    # A task that fetches nothing takes one way to the worker and one back.
    return Costs(
        block=record["block"],
        add=record["add"],
        alone=record["alone"],
        dispatch=record["dispatch"],
        latency=record["empty"] / 2 if local else LATENCY,
        bytes_per_second=measured if local else NETWORK,
        n_bytes=record["n_bytes"],
    )


def costs(results: Record) -> str:
    """Costs of a block, a merge, a message and a task."""
    rows = []
    for K, record in results["costs"].items():
        rows.append(
            [
                f"{int(K):,}",
                f"{1e3 * record['block']:.1f} ms",
                f"{1e3 * record['add']:.2f} ms",
                f"{record['n_bytes'] / 1e6:.2f} MB",
                f"{1e3 * record['alone']:.0f} ms",
                f"{1e3 * record['dispatch']:.2f} ms",
            ]
        )
    head = ["candidates", "block of 1,024 rows", "adding two sums", "sums", "M-step"]
    return table([*head, "task in the scheduler"], rows)


def simulated(results: Record) -> str:
    """Seconds of a stage by workers, where merging bounds, and the best size of a task."""
    every = {int(K): costs_of(record, local=False) for K, record in results["costs"].items()}
    curves = {K: curve(costs, SIMULATED_ROWS) for K, costs in every.items()}
    head, rows = ["workers", *(f"{K:,} candidates" for K in every)], []
    for place, first in enumerate(next(iter(curves.values()))):
        cells = [_point(of_K[place]) for of_K in curves.values()]
        rows.append([f"{first['workers']:,}", *cells])
    text = table(head, rows)
    return text + "\n\n" + _where_merging_bounds(every)


def _where_merging_bounds(every: dict[int, Costs]) -> str:
    """Say from how many workers on merging takes half of a stage, with the tree and without."""
    told, flat = [], []
    n_tasks = math.ceil(SIMULATED_ROWS / BLOCK_ROWS / 16)
    for K, costs in every.items():
        bound = bound_by_merging(costs, SIMULATED_ROWS)
        told.append(f"{bound:,} workers for {K:,}" if bound else f"more than 4,096 for {K:,}")
        # One receiver gets and adds the sums of all tasks, one after the other.
        gathered = n_tasks * (costs.transfer + costs.add)
        flat.append(f"{max(1, round(n_tasks * 16 * costs.block / gathered)):,} for {K:,}")
    return (
        "Seconds of a stage; how many times as quick as one worker; the share of merging and "
        "sending sums in it. They take half of a stage from this many workers on, by candidates: "
        f"{', '.join(told)}. Without the tree, with the sums of all tasks sent to one process, "
        f"that would be from {', '.join(flat)} workers on."
    )


def _point(point: Record) -> str:
    """One cell of the curve."""
    return f"{_short(point['seconds'])} s, {point['speed_up']:.0f}x, {100 * point['merging']:.0f} %"


def _short(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def tasks(results: Record) -> str:
    """Seconds of a stage by rows of a task."""
    rows = []
    for K, record in results["costs"].items():
        for n_workers in (10, 100, 1_000):
            found = by_task(costs_of(record, local=False), SIMULATED_ROWS, n_workers)
            best = min(found.values())
            cells = [_short(s) if s > best else f"**{_short(s)}**" for s in found.values()]
            rows.append([f"{int(K):,}, {n_workers:,}", *cells])
    head = ["candidates, workers", *(f"{n * BLOCK_ROWS:,} rows" for n in TASK_BLOCKS)]
    return table(head, rows)


def texts(results: Record) -> dict[str, str]:
    """Pieces of the page by their markers; those that are not measured are empty."""
    made = {
        "growth of fits": ("growth", growth),
        "engines": ("cores", cores),
        "costs of a stage": ("costs", costs),
        "fits of many rows": ("memory", memory),
        "many workers": ("costs", simulated),
        "rows of a task": ("costs", tasks),
    }
    return {name: make(results) if results.get(part) else "" for name, (part, make) in made.items()}
