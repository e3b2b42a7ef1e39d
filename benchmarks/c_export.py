"""Exported C: agreement with Python, memory, and time beside our kernel and other exporters.

    python benchmarks/c_export.py run [agreement] [time] [small] [rivals] [--again]
    python benchmarks/c_export.py render [--check]     # docs/c_export.md

Needs CERF_DATA and gcc; writes benchmarks/results/c_export.json, and measures only what is missing.
Sizes of code need arm-none-eabi-gcc. Rivals need an interpreter with m2cgen and emlearn, whose
path is in CERF_RIVALS_PYTHON; what is absent is reported. One thread.

- agreement: test rows, scales of integers from training rows. Sizes on Cortex-M0, -Os.
- small: int8 models whose constants are bounded, with all effort.
- time: one row in C (-O3 -march=native) beside one row of the native kernel, whose call from Python
  is measured with a map of one input and subtracted.
- rivals: the smallest MLP and forest of at least our accuracy less .3 points, or the best; an RBF
  SVM as it comes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_digits

from _c_export_tables import tables
from _markers import fill, write_or_check
from cerflearn import CERFClassifier, CERFRegressor, MaskedFourierFeatures, export_c

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results" / "c_export.json", HERE.parent / "docs" / "c_export.md"
DTYPES, KINDS = ("float32", "int16", "int8"), ("cosine", "relu", "table")
SETS = {  # training rows, budgets
    "digits": (1_200, (500, 5_000)),
    "digits_raw": (4_000, (1_000,)),
    "uci_letter": (6_000, (1_000,)),
    "suite/phoneme": (2_000, (300,)),
    "suite/steel_faults": (1_300, (300,)),
    "suite/concrete": (700, (300,)),
    "suite/house_16h": (2_000, (300,)),
}
EFFORT, MOST_TEST, REPEATS = 0.2, 4_000, 200  # short runs: other processes interrupt long ones
Record = dict[str, Any]

MANY = """
#include "%(header)s"
void all_rows(const float *x, float *s, int *label, long n);
void all_rows(const float *x, float *s, int *label, long n) {
    for (long i = 0; i < n; i++) {
        %(name)s_scores(x + i * %(upper)s_N_INPUTS, s + i * %(upper)s_N_OUTPUTS);
        %(label)s
    }
}
__attribute__((noinline)) static void one(const float *x, float *s) { %(name)s_scores(x, s); }
void timed(const float *x, float *s, long rows, long calls);
void timed(const float *x, float *s, long rows, long calls) {
    for (long i = 0; i < calls; i++) {
        one(x + (i %% rows) * %(upper)s_N_INPUTS, s);
        __asm__ volatile("" : : "r"(s) : "memory");
    }
}
"""


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Training and test rows in a fixed random order."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        with np.load(Path(os.environ["CERF_DATA"]) / f"{name}.npz", allow_pickle=False) as data:
            X, y = data["X"].astype(np.float64), data["y"]
    order = np.random.default_rng(0).permutation(len(X))
    n = SETS[name][0]
    train, test = order[:n], order[n : n + MOST_TEST]
    return X[train], y[train], X[test], y[test]


def fitted(name: str, kind: str, macs: int, **more: Any) -> Any:
    """Predictor of a dataset."""
    X, y, _, _ = load(name)
    model = CERFRegressor if y.dtype.kind == "f" else CERFClassifier
    return model(macs=macs, activation=kind, effort=EFFORT, random_state=0, **more).fit(X, y)


def compiled(folder: Path, header: Path, name: str, decides: bool) -> Any:
    """Library of an exported header."""
    label = (
        f"label[i] = {name}_predict(x + i * {name.upper()}_N_INPUTS);"
        if decides
        else "(void)label;"
    )
    text = MANY % {"header": header.name, "name": name, "upper": name.upper(), "label": label}
    (folder / "many.c").write_text(text)
    library = folder / f"{header.stem}.so"
    command = ["gcc", "-std=gnu99", "-O3", "-march=native", "-shared", "-fPIC", "many.c", "-o"]
    subprocess.run([*command, str(library)], cwd=folder, check=True)
    return ctypes.CDLL(str(library))


def microcontroller(folder: Path, header: str, call: str, flags: tuple[str, ...] = ()) -> Record:
    """Bytes of code and constants, and of the stack, on Cortex-M0."""
    if shutil.which("arm-none-eabi-gcc") is None:
        return {}
    (folder / "alone.c").write_text(f'#include "{header}"\n{call}\n')
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-Os", "-std=gnu99", *flags]
    subprocess.run([*command, "-fstack-usage", "-c", "alone.c"], cwd=folder, check=True)
    line = subprocess.run(
        ["arm-none-eabi-size", "alone.o"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.splitlines()[1]
    text, data, bss = (int(n) for n in line.split()[:3])
    stack = sum(int(u.split("\t")[1]) for u in (folder / "alone.su").read_text().splitlines())
    return {"m0_flash": text + data, "m0_ram": data + bss + stack}


def pointer(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)


def measure_agreement(name: str, kind: str, macs: int) -> Record:
    """Agreement and accuracy on test rows, and memory, for each arithmetic."""
    X, _, X_test, y_test = load(name)
    model = fitted(name, kind, macs)
    decides = isinstance(model, CERFClassifier)
    python = model.predict(X_test)
    found: Record = {"macs": int(model.n_macs_), "score": 100.0 * model.score(X_test, y_test)}
    found["chosen"] = str(model.activation_)
    rows = np.ascontiguousarray(X_test, dtype=np.float32)
    for dtype in DTYPES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            report = export_c(model, folder / "m.h", X=X, dtype=dtype)
            library = compiled(folder, folder / "m.h", "m", decides)
            n_outputs = len(model.head_intercept_)
            scores = np.zeros((len(rows), n_outputs), np.float32)
            labels = np.zeros(len(rows), np.int32)
            library.all_rows(
                pointer(rows), pointer(scores), pointer(labels), ctypes.c_long(len(rows))
            )
            entry: Record = {"flash": report.flash_bytes, "ram": report.ram_bytes}
            entry |= {"near_ties": report.near_ties, "train": report.label_agreement}
            if decides:
                own = model.classes_[labels]
                entry["agreement"] = 100.0 * float(np.mean(own == python))
                entry["score"] = 100.0 * float(np.mean(own == y_test))
                call = "int p(const int16_t *x) { return m_predict_q(x); }"
            else:
                values = scores[:, 0].astype(np.float64)
                residual = np.square(values - y_test).sum()
                entry["score"] = 100.0 * (1.0 - residual / np.square(y_test - y_test.mean()).sum())
                entry["error"] = float(np.sqrt(np.mean(np.square(values - python))) / y_test.std())
                call = "int32_t p(const int16_t *x) { return m_predict_q(x); }"
            if dtype == "float32":
                call = (
                    call.replace("int16_t", "float").replace("_q", "").replace("int32_t", "float")
                )
                entry |= microcontroller(folder, "m.h", call)
            else:
                entry |= microcontroller(folder, "m.h", call, ("-DM_NO_FLOAT",))
        found[dtype] = entry
    return found


def best_time(run: Callable[[], None], calls: int) -> float:
    """Nanoseconds of one call, the least of several repeats."""
    best = np.inf
    for _ in range(REPEATS):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return 1e9 * best / calls


def c_time(library: Any, rows: Any, n_outputs: int) -> float:
    scores, calls = np.zeros(n_outputs, np.float32), 1_000
    arguments = (pointer(rows), pointer(scores), ctypes.c_long(len(rows)), ctypes.c_long(calls))
    return best_time(lambda: library.timed(*arguments), calls)


def native_time(model: Any, rows: Any) -> float:
    """Nanoseconds of a row in the native kernel, with the call from Python."""
    kernel = model.feature_map_.model(rows.dtype)
    coef, intercept = (
        np.ascontiguousarray(a, dtype=np.float32) for a in (model.head_coef_, model.head_intercept_)
    )
    out = np.zeros((1, len(intercept)), np.float32)
    if hasattr(model.feature_map_, "tables"):
        before: tuple[Any, ...] = (out, 1)
    else:
        part = model._linear_part
        more = () if part is None else (part.packed(rows.dtype),)
        before = (coef, intercept, out, 1, *more)
    singles = [rows[i : i + 1] for i in range(min(1_000, len(rows)))]

    def run() -> None:
        for row in singles:
            kernel.scores(row, *before)

    return best_time(run, len(singles))


def call_time() -> float:
    """Nanoseconds of a call of the native core that computes next to nothing."""
    X = np.random.default_rng(0).normal(size=(50, 1)).astype(np.float32)
    kernel = (
        MaskedFourierFeatures(n_components=1, random_state=0).fit(X).feature_map_.model(X.dtype)
    )
    one, out = np.ones((1, 1), np.float32), np.zeros((1, 1), np.float32)
    bias, row = np.zeros(1, np.float32), X[:1]

    def run() -> None:
        for _ in range(1_000):
            kernel.scores(row, one, bias, out, 1)

    return best_time(run, 1_000)


def measure_time(name: str, kind: str, macs: int) -> Record:
    """Time of float C over that of the native one-row kernel."""
    X, _, X_test, _ = load(name)
    model = fitted(name, kind.split()[0], macs, features_per_mask=8 if "shared" in kind else 1)
    rows = np.ascontiguousarray(X_test, dtype=np.float32)[:1_000]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        export_c(model, folder / "t.h", X=X[:100])
        library = compiled(folder, folder / "t.h", "t", True)
        n = len(model.head_intercept_)
        c, native, empty = c_time(library, rows, n), native_time(model, rows), call_time()
    return {"c_ns": c, "native_ns": native, "call_ns": empty, "ratio": c / max(native - empty, 1.0)}


def measure_rivals(name: str, kind: str, macs: int) -> Record:
    """Time and flash of other exporters' C at about the same accuracy."""
    python = os.environ.get("CERF_RIVALS_PYTHON")
    if not python:
        raise SystemExit("set CERF_RIVALS_PYTHON to an interpreter with m2cgen and emlearn")
    X, y, X_test, y_test = load(name)
    model = fitted(name, kind, macs)
    own = 100.0 * model.score(X_test, y_test)
    found: Record = {"score": own, "rivals": []}
    rows = np.ascontiguousarray(X_test, dtype=np.float32)[:500]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for dtype in ("float32", "int8"):
            report = export_c(model, folder / f"{dtype}.h", X=X, dtype=dtype, name="t")
            library = compiled(folder, folder / f"{dtype}.h", "t", True)
            call = "int p(const float *x) { return t_predict(x); }"
            found[dtype] = {"ns": c_time(library, rows, len(model.head_intercept_))}
            found[dtype] |= microcontroller(folder, f"{dtype}.h", call)
            found[dtype] |= {"agreement": report.label_agreement}
        np.savez(folder / "data.npz", X=X, y=y, X_test=X_test, y_test=y_test)
        command = [python, str(HERE.resolve() / "_c_rivals.py"), str(folder), str(own)]
        # emlearn leaves a folder tmp/ where it runs.
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
        for rival in json.loads(done.stdout.splitlines()[-1]):
            source, include = folder / rival.pop("source"), rival.pop("include")
            target = source.with_suffix(".so")
            command = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", f"-I{include}"]
            subprocess.run([*command, str(source), "-o", str(target), "-lm"], check=True)
            rival["ns"] = c_time(ctypes.CDLL(str(target)), rows, 64)
            rival |= microcontroller(folder, source.name, "", (f"-I{include}", "-DNO_TIMING"))
            found["rivals"].append(rival)
    return found


def measure_small(name: str, kind: str, macs: int) -> Record:
    """Accuracy and memory of int8 models for small microcontrollers, with all effort."""
    X, y, X_test, y_test = load(name)
    bound: Record = {"max_bytes": LEAST_FLASH[macs], "storage": "int8"}
    model = CERFClassifier(macs=macs, activation=kind, random_state=0, **bound).fit(X, y)
    found: Record = {"macs": int(model.n_macs_), "score": 100.0 * model.score(X_test, y_test)}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        report = export_c(model, folder / "m.h", X=X, dtype="int8")
        library = compiled(folder, folder / "m.h", "m", True)
        rows = np.ascontiguousarray(X_test, dtype=np.float32)
        scores = np.zeros((len(rows), len(model.head_intercept_)), np.float32)
        labels = np.zeros(len(rows), np.int32)
        library.all_rows(pointer(rows), pointer(scores), pointer(labels), ctypes.c_long(len(rows)))
        call = "int p(const int16_t *x) { return m_predict_q(x); }"
        found |= microcontroller(folder, "m.h", call, ("-DM_NO_FLOAT",))
    found["int8_score"] = 100.0 * float(np.mean(model.classes_[labels] == y_test))
    found["agreement"] = 100.0 * float(np.mean(model.classes_[labels] == model.predict(X_test)))
    return found | {"flash": report.flash_bytes, "chosen": str(model.activation_)}


LEAST_FLASH = {500: 3_400, 5_000: 11_000}
"""Bytes of constants that leave room for code in 4 and 12 kB, by budget."""

PARTS: dict[str, tuple[Callable[[str, str, int], Record], list[tuple[str, str, int]]]] = {
    "agreement": (
        measure_agreement,
        [(name, kind, macs) for name in SETS for macs in SETS[name][1] for kind in KINDS],
    ),
    "time": (
        measure_time,
        [("digits", kind, macs) for kind in (*KINDS, "cosine shared") for macs in (500, 5_000)]
        + [("uci_letter", kind, 1_000) for kind in KINDS],
    ),
    "small": (
        measure_small,
        [("digits", kind, macs) for macs in LEAST_FLASH for kind in ("auto", *KINDS)],
    ),
    "rivals": (
        measure_rivals,
        [("digits", "cosine", 500), ("digits", "cosine", 5_000)],
    ),
}


def plan(parts: list[str]) -> Iterator[tuple[str, str, str, int]]:
    """Everything to measure."""
    for part in parts:
        for job in PARTS[part][1]:
            yield part, *job


def run(arguments: argparse.Namespace) -> None:
    """Measure what is missing, record by record."""
    records: list[Record] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    parts = arguments.parts or list(PARTS)
    if arguments.again:
        records = [record for record in records if record["part"] not in parts]
    keys = ("part", "dataset", "kind", "budget")
    there = {tuple(record[key] for key in keys) for record in records}
    for job in plan(parts):
        if job in there:
            continue
        begin = time.perf_counter()
        found = PARTS[job[0]][0](*job[1:])
        seconds = time.perf_counter() - begin
        records.append(dict(zip(keys, job, strict=True)) | found | {"seconds": seconds})
        RESULTS.write_text(json.dumps(records, indent=1) + "\n")
        print(json.dumps(records[-1])[:400], flush=True)


def main() -> None:
    """Run, or fill the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("run", "render"))
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)} (all of them)")
    parser.add_argument("--again", action="store_true", help="forget earlier results of the parts")
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    if arguments.command == "run":
        run(arguments)
        return
    pieces = tables(json.loads(RESULTS.read_text()))
    wanted = fill(PAGE.read_text(), pieces, PAGE.name)
    write_or_check(PAGE, wanted, "c_export.py render", check=arguments.check)


if __name__ == "__main__":
    main()
