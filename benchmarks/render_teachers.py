"""Put the results of benchmarks/teachers.py into docs/teachers.md, between its markers.

python benchmarks/render_teachers.py            # from benchmarks/results/teachers.json
python benchmarks/render_teachers.py --check    # fail if the page does not show what was measured
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import _teachers_tables as tables
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
    for name, text in texts.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        page, count = re.subn(
            pattern, lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page, flags=re.S
        )
        if count != 1:
            sys.exit(f"{PAGE.name} must have the markers of {name!r} once, not {count} times")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, compare")
    check = parser.parse_args().check
    text, content = PAGE.read_text(), json.loads(RESULTS.read_text())
    wanted = filled(text, content)
    if check and text != wanted:
        sys.exit(f"{PAGE.name} does not show {RESULTS.name}: run benchmarks/render_teachers.py")
    if not check:
        PAGE.write_text(wanted)
        draw(tables.complete(content["results"]), PICTURE)


if __name__ == "__main__":
    main()
