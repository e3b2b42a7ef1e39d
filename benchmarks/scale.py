"""Time and memory of fits as rows grow, by engine; a stage on up to 1,000 workers, simulated.

    python benchmarks/scale.py run [--again] [--parts growth,cores,costs,memory]
    python benchmarks/scale.py render [--check]     # docs/large_data.md

Makes its data (in the folder of TMPDIR, 2.5 GB) and writes benchmarks/results/scale.json, in which
it measures what is missing. Each fit runs in a process of its own, from a file of NumPy's that is
in the cache of the disk.

- growth: ``MaskedCERF`` with "cvem" of 64 candidates, three stages, from 10^4 to 10^6.5 rows of 64
  inputs; one thread, two threads, Dask clusters of one and two processes on this machine.
- cores: the same of 500,000 rows and 512 candidates, in turn, so that all meet the same conditions.
- costs: CPU time of a block of rows, of merging, of the M-step and of a task in the scheduler; time
  of a message between two processes. The simulation (``_scale_model.py``) is made of them.
- memory: ``MaskedCERF`` and ``CERFClassifier`` of 5,000,000 rows in memory, from a file of NumPy's
  and from parquet, each once: peak of anonymous memory, time beside that of the array.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from _markers import fill, write_or_check
from _scale_memory import ESTIMATORS, FORMS, fit_form, write_forms
from _scale_tables import texts
from _scale_watch import MemoryWatch, StageClock
from cerflearn import CVEM, MaskedCERF
from datasets import read  # noqa: F401  puts experiments on the path
from experiments.provenance import made_by
from experiments.store import plain, write_json

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results" / "scale.json", HERE.parent / "docs" / "large_data.md"
N_INPUTS, CHUNK, GAMMA = 64, 16_384, 0.01
ENGINES = {"serial": 0, "threads": 0, "dask 1": 1, "dask 2": 2}  # processes of a cluster
SIZES: dict[str, dict[str, Any]] = {
    "full": {
        "growth": {"rows": (10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278), "K": 64},
        "cores": {"rows": (500_000,), "K": 512, "repeats": 2, "stages": 2},
        "costs": {"K": (64, 512, 1_024), "rows": 8_192, "messages": 20},
        "memory": {"rows": 5_000_000},
    },
    "tiny": {
        "growth": {"rows": (2_000,), "K": 8},
        "cores": {"rows": (2_000,), "K": 8, "repeats": 1, "stages": 2},
        "costs": {"K": (8,), "rows": 2_048, "messages": 2},
        "memory": {"rows": 1_500},
    },
}
Record = dict[str, Any]


def write_rows(path: Path, n_rows: int) -> None:
    """Write rows of ten hidden numbers each, with noise; the first rows are the same in all."""
    mixing = np.random.default_rng(0).normal(size=(10, N_INPUTS)).astype(np.float32)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, N_INPUTS))
    for start in range(0, n_rows, CHUNK):
        rng = np.random.default_rng([1, start])
        hidden = rng.normal(size=(CHUNK, 10)).astype(np.float32)
        noise = 0.3 * rng.normal(size=(CHUNK, N_INPUTS)).astype(np.float32)
        rows[start : start + CHUNK] = (hidden @ mixing + noise)[: n_rows - start]
    rows.flush()


@contextmanager
def cluster(n_processes: int, in_process: bool = False) -> Iterator[Any]:
    """Client of workers on this machine, one thread each; None for no processes."""
    if not n_processes:
        yield None
        return
    import dask
    from distributed import Client, LocalCluster

    settings = {"n_workers": n_processes, "threads_per_worker": 1, "processes": not in_process}
    with (
        dask.config.set({"logging.distributed": "critical"}),
        LocalCluster(dashboard_address=":0", silence_logs=60, **settings) as local,
        Client(local) as client,
    ):
        yield client


def fit(
    path: str, engine: str, K: int, in_process: bool, max_stages: int = 3, **selector: Any
) -> Record:
    """Fit rows of a file: seconds of all and of each stage, memory of client and workers."""
    chosen = CVEM(max_stages=max_stages, n_closing_stages=0, tol=0.0, **selector)
    model = MaskedCERF(
        n_components=K // 4, n_candidates=K, selector=chosen, gamma=GAMMA, random_state=0, verbose=1
    )
    model.set_params(n_jobs=2 if engine == "threads" else 1)
    clock = StageClock()
    with cluster(ENGINES[engine], in_process) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workers = client.run(os.getpid).values() if client else ()
        watched = {pid: f"worker {i}" for i, pid in enumerate(workers)} | {os.getpid(): "client"}
        with MemoryWatch(watched) as memory, redirect_stdout(clock):  # type: ignore[type-var]
            start, used = time.perf_counter(), cpu_seconds(client)
            model.fit(path, **({"engine": "dask"} if client else {}))
            seconds, used = time.perf_counter() - start, cpu_seconds(client) - used
    wall, cpu = clock.seconds()
    of_workers = [value for name, value in memory.most.items() if name != "client"]
    return {
        "seconds": seconds,
        "cpu_seconds": used,
        "stages": wall,
        "cpu_stages": cpu,
        "memory": memory.most["client"],
        "worker_memory": max(of_workers, default=0.0),
        "digest": digest(model),
    }


def cpu_seconds(client: Any) -> float:
    """CPU time of this process and of the workers so far."""
    workers = client.run(time.process_time).values() if client else ()
    return time.process_time() + sum(workers)


def digest(model: MaskedCERF) -> str:
    """Digest of the fitted arrays."""
    arrays = (model.frequencies_, model.offsets_, model.selected_, model.rotation_)
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(content).hexdigest()[:16]


def apart(task: Record, tiny: bool) -> Record:
    """Fit in a process of its own; in this one if it is small."""
    if tiny:
        return run_task(task, in_process=True)
    command = [sys.executable, __file__, "fit", "--task", json.dumps(task)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    record: Record = json.loads(done.stdout.splitlines()[-1])
    return record


def run_task(task: Record, in_process: bool) -> Record:
    """Fit in this process."""
    return fit_form(**task) if "form" in task else fit(**task, in_process=in_process)


def best_of(records: list[Record]) -> Record:
    """Return the quickest fit, its stages the quickest of all."""
    best = min(records, key=lambda record: record["seconds"])
    stages = [min(record["stages"]) for record in records]
    every = [record["seconds"] for record in records]
    if len({record["digest"] for record in records}) != 1:
        raise SystemExit("fits of the same rows differ")
    names = ("seconds", "cpu_seconds", "memory", "worker_memory", "digest")
    kept = {name: best[name] for name in names}
    return kept | {"stage": min(stages), "all_seconds": every, "load": os.getloadavg()[0]}


def measure_growth(setting: Record, folder: Path, tiny: bool, keep: Callable[..., None]) -> None:
    """One fit for each number of rows and engine."""
    for n_rows in setting["rows"]:
        path = folder / f"{n_rows}.npy"
        for engine in ENGINES:
            name = f"{n_rows}, {engine}"
            if keep("growth", name):
                continue
            if not path.exists():
                write_rows(path, n_rows)
            task = {"path": str(path), "engine": engine, "K": setting["K"]}
            n_repeats = 1 if tiny or n_rows > 400_000 else 2
            keep("growth", name, best_of([apart(task, tiny) for _ in range(n_repeats)]))
        path.unlink(missing_ok=True)


def measure_cores(setting: Record, folder: Path, tiny: bool, keep: Callable[..., None]) -> None:
    """Engines in turn, several times."""
    n_rows = setting["rows"][0]
    if all(keep("cores", engine) for engine in ENGINES):
        return
    path = folder / "cores.npy"
    write_rows(path, n_rows)
    found: dict[str, list[Record]] = {engine: [] for engine in ENGINES}
    for _ in range(setting["repeats"]):
        for engine, records in found.items():
            task = {"path": str(path), "engine": engine, "K": setting["K"]}
            records.append(apart(task | {"max_stages": setting["stages"]}, tiny))
            keep("cores", engine, best_of(records))
    path.unlink()


def measure_costs(setting: Record, folder: Path, tiny: bool, keep: Callable[..., None]) -> None:
    """Costs of the parts of a stage, by the number of candidates."""
    paths = [folder / "few.npy", folder / "more.npy"]
    for K in setting["K"]:
        if keep("costs", str(K)):
            continue
        for factor, path in zip((1, 2), paths, strict=True):
            write_rows(path, factor * setting["rows"])
        tasks = [
            {"path": str(path), "engine": "serial", "K": K, "cache_bytes": 0} for path in paths
        ]
        few, more = (min(apart(task, tiny)["cpu_stages"]) for task in tasks)
        sums = np.random.default_rng(0).normal(size=(K, K))
        record = {
            "block": (more - few) / (setting["rows"] / 1024),
            "add": quickest(lambda sums=sums: sums + sums),
            "alone": quickest(lambda sums=sums: np.linalg.svd(sums), 3),
            "n_bytes": len(pickle.dumps(sums, protocol=5)),
        }
        keep("costs", str(K), record | messages(sums, setting["messages"], tiny))


def quickest(function: Callable[[], object], repeats: int = 20) -> float:
    """CPU seconds of a call."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def messages(sums: Any, repeats: int, in_process: bool) -> Record:
    """CPU time of a task in scheduler and client; time of an array from one worker to another."""
    with cluster(2, in_process) as client:
        first, second = client.scheduler_info()["workers"]
        sent, empty = [], []
        for array, found in ((sums, sent), (np.zeros(1), empty)):
            for _ in range(repeats):
                held = client.submit(np.copy, array, workers=[first], pure=False)
                held.result()
                start = time.perf_counter()
                client.submit(np.shape, held, workers=[second], pure=False).result()
                found.append(time.perf_counter() - start)
        n_tasks = 50 * repeats
        dispatch = []
        for _ in range(3):
            start = time.process_time()  # the scheduler runs in this process
            client.gather(client.map(abs, range(n_tasks), pure=False))
            dispatch.append((time.process_time() - start) / n_tasks)
    return {"sent": min(sent), "empty": min(empty), "dispatch": min(dispatch)}


def measure_memory(setting: Record, folder: Path, tiny: bool, keep: Callable[..., None]) -> None:
    """Fits of many rows in three forms."""
    wanted = {f"{name}, {form}": (name, form) for name in ESTIMATORS for form in FORMS}
    if all(keep("memory", key) for key in wanted):
        return
    path = folder / "rows.npy"
    write_rows(path, setting["rows"])
    write_forms(path, folder)
    for key, (name, form) in wanted.items():
        if not keep("memory", key):
            task = {"path": str(path), "folder": str(folder), "form": form, "estimator": name}
            keep("memory", key, apart(task, tiny))


PARTS = {
    "growth": measure_growth,
    "cores": measure_cores,
    "costs": measure_costs,
    "memory": measure_memory,
}


def run(arguments: argparse.Namespace) -> None:
    """Measure what is missing, record by record."""
    size, output = "tiny" if arguments.tiny else "full", arguments.output
    results: Record = {}
    if output.exists() and not arguments.again:
        results = json.loads(output.read_text())
    results["versions"] = made_by("benchmarks/scale.py", "benchmarks/_scale_model.py")

    def keep(part: str, name: str, record: Record | None = None) -> bool:
        """Write a record; without one, tell whether there is one."""
        of_part = results.setdefault(part, {})
        if record is not None:
            of_part[name] = record
            write_json(output, plain(results))
            print(f"{part}, {name}: {json.dumps(plain(record))}", flush=True)
        return name in of_part

    with tempfile.TemporaryDirectory() as folder:
        for part in arguments.parts.split(","):
            PARTS[part](SIZES[size][part], Path(folder), arguments.tiny, keep)


def render(arguments: argparse.Namespace) -> None:
    """Fill the page from the results, or check it."""
    page = PAGE.read_text()
    wanted = fill(page, texts(json.loads(arguments.output.read_text())), PAGE.name)
    write_or_check(PAGE, wanted, "scale.py render", check=arguments.check)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "render", "fit"))
    parser.add_argument("--tiny", action="store_true", help="small data, a smoke test")
    parser.add_argument("--again", action="store_true", help="measure everything anew")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--check", action="store_true", help="compare the page, do not write it")
    parser.add_argument("--task", help=argparse.SUPPRESS)  # of a process of its own
    arguments = parser.parse_args()
    if arguments.command == "fit":
        print(json.dumps(plain(run_task(json.loads(arguments.task), in_process=False))))
    else:
        {"run": run, "render": render}[arguments.command](arguments)


if __name__ == "__main__":
    main()
