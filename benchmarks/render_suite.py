"""Fill docs/predictors.md and docs/suite.md from the results of suite.py, rows.py, continuity.py.

python benchmarks/render_suite.py            # from the files of these in benchmarks/results
python benchmarks/render_suite.py --check    # fail if the pages do not show what was measured
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import _suite_data as data
import continuity
import rows
from _markers import fill, write_or_check
from _suite_summary import ACTIVATIONS, OTHERS, dataset_table, fit_times, headline, points_of

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "suite.json"
PAGE, POINTS = ROOT / "docs" / "predictors.md", ROOT / "docs" / "suite.md"
ORDER = ("cerf", *ACTIVATIONS, "linear", *OTHERS, "trees", "trees_bytes")


def pieces() -> tuple[dict[str, str], dict[str, str]]:
    """Texts between the markers of both pages."""
    records = json.loads(RESULTS.read_text())
    points = points_of(records)
    fitted = {record["method"] for record in records if record["score"] is not None}
    methods = [method for method in ORDER if method in fitted]
    splits = [len(point.scores.get("cerf", {})) for point in points]
    fewest, most = min(splits), max(splits)
    span = f"{most}" if fewest == most else f"{fewest} to {most}"
    n_sets = len({point.dataset for point in points})
    counted = f"{len(points)} points on {n_sets} sets; `cerf` has {span} splits of a point."
    sections = [[counted], headline(points, data.CONSTRUCTED), fit_times(records, methods)]
    suite = "\n\n".join("\n".join(lines) for lines in sections)
    by_rows = "\n".join(rows.table(json.loads(rows.RESULTS.read_text())))
    changes = "\n".join(continuity.table(json.loads(continuity.RESULTS.read_text())))
    texts = {"suite": suite, "rows": by_rows, "small changes": changes}
    return texts, {"points": "\n".join(dataset_table(points, methods))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    for path, texts in zip((PAGE, POINTS), pieces(), strict=True):
        wanted = fill(path.read_text(), texts, path.name)
        write_or_check(path, wanted, "render_suite.py", check=check)


if __name__ == "__main__":
    main()
