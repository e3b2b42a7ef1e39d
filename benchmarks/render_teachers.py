"""Put the results of benchmarks/teachers.py into docs/teachers.md, between its markers.

python benchmarks/render_teachers.py            # from benchmarks/results/teachers.json
python benchmarks/render_teachers.py --check    # fail if the page does not show what was measured
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import _teachers_tables as tables
from _markers import fill, write_or_check
from _teachers_penalty import PENALTY_TEACHERS
from _teachers_picture import draw

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "teachers.json"
PAGE = ROOT / "docs" / "teachers.md"
PICTURE = ROOT / "docs" / "teachers.svg"

PIECES = {
    "classes": tables.of_classes,
    "numbers": tables.of_numbers,
    "selectors": tables.selectors,
    "leaves": tables.leaves_and_labels,
    "budgets": tables.budgets,
    "cost": tables.cost,
    "datasets": tables.datasets,
}


def versions(content: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in content["versions"].items()) + "."


def filled(page: str, content: dict[str, Any]) -> str:
    """Page with every piece made anew; each stands between its two markers."""
    results = tables.complete(content["results"])
    texts = {name: make(results) for name, make in PIECES.items()}
    texts["penalties"] = tables.penalties(tables.complete(content["penalty"], PENALTY_TEACHERS))
    texts["versions"] = versions(content)
    return fill(page, texts, PAGE.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, compare")
    check = parser.parse_args().check
    text, content = PAGE.read_text(), json.loads(RESULTS.read_text())
    wanted = filled(text, content)
    write_or_check(PAGE, wanted, "render_teachers.py", check=check)
    if not check:
        draw(tables.complete(content["results"]), PICTURE)


if __name__ == "__main__":
    main()
