"""Put the measured speed into docs/speed.md and cpp/README.md, between their markers.

python benchmarks/render.py            # from transform.json and tables.json in benchmarks/results
python benchmarks/render.py --check    # fail if a page does not show what was measured
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import tables as tables_benchmark
from _markers import fill, write_or_check

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "transform.json"


def find(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any] | None:
    return next((r for r in rows if all(r[k] == v for k, v in wanted.items())), None)


def ratio_text(row: dict[str, Any]) -> str:
    """Speed as a multiple of RBFSampler's, and of xGPR's where it was measured."""
    text = f"{row['ratio_to_rbfsampler']:.1f}"
    return text + (f"; {row['ratio_to_xgpr']:.1f} xGPR's" if "ratio_to_xgpr" in row else "")


def summary(results: dict[str, Any]) -> str:
    """For users: the maps in both types, one thread."""
    lines = [
        "| map | D | outputs | MACs | float32: ns/output | times | float64: ns/output | times |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = results["batch"]
    for row in rows:
        if row["dtype"] == "float64":
            continue
        where = {k: row[k] for k in ("case", "n_features", "n_outputs")}
        double = find(rows, dtype="float64", **where)
        macs = f"{row['macs']:,}" if "macs" in row else ""
        lines.append(
            f"| {row['case']} | {row['n_features']} | {row['n_outputs']} | {macs} "
            f"| {row['ns_per_output']:.2f} | {ratio_text(row)} "
            f"| {double['ns_per_output']:.2f} | {ratio_text(double)} |"
        )
    lines += [
        "",
        "| one row through `transform`, D=784, 1,024 outputs | us | times |",
        "|---|---|---|",
    ]
    for row in results["one_row"]:
        lines.append(f"| {row['case']} | {row['microseconds']:.1f} | {ratio_text(row)} |")
    gains = results["two_threads_over_one"]
    lines += ["", f"Two threads: {min(gains.values()):.2f} to {max(gains.values()):.2f} times one."]
    return "\n".join(lines)


def details(results: dict[str, Any]) -> str:
    """For developers: share of the measured multiply-add peak, and two threads."""
    facts = results["environment"]
    gains = results["two_threads_over_one"]
    lines = [
        f"{facts['cpu']}, level {facts['level']}, {facts['compiler']}; measured multiply-add peak "
        f"of one thread: {facts['peak_float32']:.0f} GFLOP/s in float32, "
        f"{facts['peak_float64']:.0f} in float64.",
        "",
        "| map | D | outputs | float32: of peak | float64: of peak | two threads over one |",
        "|---|---|---|---|---|---|",
    ]
    rows = [r for r in results["batch"] if "macs" in r]
    for row in rows:
        if row["dtype"] == "float64":
            continue
        where = {k: row[k] for k in ("case", "n_features", "n_outputs")}
        shares = [
            f"{100 * r['share_of_peak']:.0f} %" if "share_of_peak" in r else ""
            for r in (row, find(rows, dtype="float64", **where))
        ]
        gain = gains[f"{row['case']}, D={row['n_features']}"]
        lines.append(
            f"| {row['case']} | {row['n_features']} | {row['n_outputs']} "
            f"| {shares[0]} | {shares[1]} | {gain:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, compare")
    check = parser.parse_args().check
    results = json.loads(RESULTS.read_text())
    tables = tables_benchmark.table(json.loads(tables_benchmark.RESULTS.read_text()))
    for page, texts in (
        ("docs/speed.md", {"speed table": summary(results), "tables": tables}),
        ("cpp/README.md", {"speed table": details(results)}),
    ):
        path = ROOT / page
        wanted = fill(path.read_text(), texts, page)
        write_or_check(path, wanted, "render.py", check=check)


if __name__ == "__main__":
    main()
