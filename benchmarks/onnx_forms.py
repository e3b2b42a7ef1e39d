"""Two forms of masked features in ONNX Runtime: one product with all frequencies, or one a mask.

    python benchmarks/onnx_forms.py run [--quick]
    python benchmarks/onnx_forms.py show

Writes benchmarks/results/onnx_forms.json, and prints the table of docs/onnx.md. One thread,
float32, 512 projections with cosine and sine; least of several runs, in microseconds. The core
of cerflearn runs the same map beside it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from cerflearn import MaskedFourierFeatures, cost, export_onnx

RESULTS = Path(__file__).parent / "results" / "onnx_forms.json"
WIDTHS = (64, 784)
DENSITIES = (0.05, 0.1, 0.25, 0.5)
PER_MASK = (16, 64, 128, 256, 512)
N_OUTPUTS = 1024
N_ROWS = 1000
FORMS = ("dense", "shared")


def microseconds(run: Callable[[], Any], repeats: int) -> float:
    """Time of a call, the least of several."""
    run()
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return round(1e6 * best, 1)


def session(model: Any, X: Any, form: str, folder: str) -> Callable[[Any], Any]:
    """Run an exported map on one thread."""
    path = f"{folder}/{form}.onnx"
    export_onnx(model, path, X=X, form=form)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    opened = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda rows: opened.run(None, {"X": rows})


def measure(width: int, density: float, per_mask: int, repeats: int) -> dict[str, Any]:
    """Measure one map in both forms and in the native core."""
    X = np.random.default_rng(0).normal(size=(N_ROWS, width)).astype(np.float32)
    model = MaskedFourierFeatures(
        n_components=N_OUTPUTS, mask_density=density, features_per_mask=per_mask, random_state=0
    ).fit(X)
    record: dict[str, Any] = {"inputs": width, "density": density, "per_mask": per_mask}
    record["macs"] = cost(model).macs
    with tempfile.TemporaryDirectory() as folder:
        runs = {form: session(model, X, form, folder) for form in FORMS}
    runs["native"] = model.transform
    for name, run in runs.items():
        batch = microseconds(lambda run=run: run(X), repeats)
        row = microseconds(lambda run=run: run(X[:1]), 20 * repeats)
        record[name] = {"batch": batch, "row": row}
    return record


def run(quick: bool) -> None:
    """Measure all maps."""
    grid = [(w, d, m) for w in WIDTHS for d in DENSITIES for m in PER_MASK]
    records = [measure(*chosen, repeats=3 if quick else 15) for chosen in grid]
    found = {
        "onnxruntime": onnxruntime.__version__,
        "rows": N_ROWS,
        "outputs": N_OUTPUTS,
        "records": records,
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def show() -> None:
    """Print the table of docs/onnx.md."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    print(
        "| inputs | density | features a mask | dense, batch | shared, batch | native, batch "
        "| dense, row | shared, row | native, row |"
    )
    print("|" + "---:|" * 9)
    for record in found["records"]:
        times = [record[name]["batch"] / found["rows"] for name in (*FORMS, "native")]
        times += [record[name]["row"] for name in (*FORMS, "native")]
        cells = [record["inputs"], record["density"], record["per_mask"]]
        print("| " + " | ".join([*map(str, cells), *(f"{t:.2f}" for t in times)]) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.quick)
    show()


if __name__ == "__main__":
    main()
