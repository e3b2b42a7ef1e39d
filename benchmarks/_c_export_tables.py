"""Tables of docs/c_export.md from the records of c_export.py."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
DTYPES = ("float32", "int16", "int8")


def tables(records: list[Record]) -> dict[str, str]:
    """Markdown of each piece of the page, by its marker."""
    parts = {part: [r for r in records if r["part"] == part] for part in
             ("agreement", "small", "time", "rivals")}  # fmt: skip
    return {
        "agreement": _agreement([r for r in parts["agreement"] if "agreement" in r["int8"]]),
        "values": _values([r for r in parts["agreement"] if "error" in r["int8"]]),
        "extremes": _extremes(parts["agreement"]),
        "small": _small(parts["small"]),
        "time": _time(parts["time"]),
        "rivals": _rivals(parts["rivals"]),
    }


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _agreement(records: list[Record]) -> str:
    head = ["data", "features", "MACs", "Python, %"]
    for dtype in DTYPES:
        head += [f"{dtype}: equal labels, %", "accuracy", "constants / M0 flash, bytes"]
    rows = []
    for r in records:
        row = [r["dataset"], r["kind"], f"{r['macs']:,}", f"{r['score']:.2f}"]
        for dtype in DTYPES:
            own = r[dtype]
            flash = (
                f"{own['flash']:,} / {own['m0_flash']:,}"
                if "m0_flash" in own
                else f"{own['flash']:,}"
            )
            row += [f"{own['agreement']:.2f}", f"{own['score'] - r['score']:+.2f}", flash]
        rows.append(row)
    return _table(head, rows)


def _values(records: list[Record]) -> str:
    head = ["data", "features", "MACs", "Python, 100 R²"]
    for dtype in DTYPES:
        head += [f"{dtype}: error / deviation", "100 R²", "constants, bytes"]
    rows = []
    for r in records:
        row = [r["dataset"], r["kind"], f"{r['macs']:,}", f"{r['score']:.2f}"]
        for dtype in DTYPES:
            own = r[dtype]
            row += [f"{own['error']:.1e}", f"{own['score'] - r['score']:+.2f}", f"{own['flash']:,}"]
        rows.append(row)
    return _table(head, rows)


def _extremes(records: list[Record]) -> str:
    """Least agreement and largest loss of accuracy of each arithmetic, in words."""
    lines = []
    for dtype in ("float32", "int16", "int8"):
        labels = [(r[dtype]["agreement"], r) for r in records if r[dtype].get("agreement")]
        changes = [(r[dtype]["score"] - r["score"], r) for r in records]
        (least, of), (lost, by) = (
            min(found, key=lambda pair: pair[0]) for found in (labels, changes)
        )
        lines.append(
            f"- {dtype}: least share of equal labels {least:.2f} % "
            f"({of['dataset']}, {of['kind']}), "
            f"largest loss of accuracy or R2 {-lost:.2f} points ({by['dataset']}, {by['kind']})."
        )
    return "\n".join(lines)


def _small(records: list[Record]) -> str:
    head = ["limit", "`activation`", "MACs", "accuracy, %", "int8, %", "flash", "RAM"]
    rows = [
        [f"{4 if r['budget'] == 500 else 12} kB", f"{r['kind']}" if r["kind"] == r["chosen"] else
         f"{r['kind']} ({r['chosen']})", f"{r['macs']:,}", f"{r['score']:.2f}",
         f"{r['int8_score']:.2f}", f"{r.get('m0_flash', 0):,}", f"{r.get('m0_ram', 0)}"]
        for r in records
    ]  # fmt: skip
    return _table(head, rows)


def _time(records: list[Record]) -> str:
    head = ["data", "features", "budget", "C, ns", "native and call, ns", "call, ns", "ratio"]
    rows = [
        [r["dataset"], r["kind"], f"{r['budget']:,}", f"{r['c_ns']:.0f}", f"{r['native_ns']:.0f}",
         f"{r['call_ns']:.0f}", f"{r['ratio']:.2f}"]
        for r in records
    ]  # fmt: skip
    return _table(head, rows)


def _rivals(records: list[Record]) -> str:
    head = ["data", "model", "accuracy, %", "row, ns", "times ours", "M0 flash, bytes"]
    rows = []
    for r in records:
        ours = r["float32"]["ns"]
        for dtype in ("float32", "int8"):
            own = r[dtype]
            name = f"cerflearn, {r['kind']}, {r['budget']:,} MACs, {dtype}"
            rows.append([r["dataset"], name, f"{r['score']:.2f}", f"{own['ns']:.0f}",
                         f"{own['ns'] / ours:.2f}", f"{own.get('m0_flash', 0):,}"])  # fmt: skip
        for rival in r["rivals"]:
            what = {"svm": "support vectors", "mlp": "hidden units", "forest": "trees"}[
                rival["name"]
            ]
            name = f"{rival['version']}, {rival['size']} {what}"
            rows.append([r["dataset"], name, f"{rival['score']:.2f}", f"{rival['ns']:.0f}",
                         f"{rival['ns'] / ours:.1f}", f"{rival.get('m0_flash', 0):,}"])  # fmt: skip
    return _table(head, rows)
