"""Accuracy against cost on a CSV file of one's own.

    python examples/frontier_csv.py [folder]                  # an example
    python examples/frontier_csv.py data.csv target [folder]  # one's own

The file has a header, and numbers in all columns but the target. Writes frontier.png into the
folder. The command line does the same: cerf frontier data.csv --target label --macs 50,100,200
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_breast_cancer

from cerflearn import frontier

METHODS = ["linear", "mlp", "pruned_mlp", "rff", "masked", "cerf"]


def write_tumours(path: Path) -> None:
    """569 tumours, malignant or benign, with 30 measurements of each."""
    tumours = load_breast_cancer(as_frame=True)
    table = tumours.data.assign(diagnosis=tumours.target_names[tumours.target])
    table.to_csv(path, index=False)


def compare(path: Path, target: str, folder: Path) -> None:
    table = pd.read_csv(path)
    X, y = table.drop(columns=target), table[target]
    n_scores = 1 if y.nunique() == 2 else y.nunique()
    linear_macs = X.shape[1] * n_scores if y.nunique() < len(y) / 5 else X.shape[1]
    budgets = [max(20, linear_macs // 2), 2 * max(20, linear_macs)]
    found = frontier(X, y, budgets, METHODS)
    print(found)
    best = found.best(budgets[-1])
    print(f"\nbest: {best['method']} with {best['macs']} MACs, {found.metric} {best['score']:.3f}")
    picture = folder / "frontier.png"
    found.plot(picture)
    print(f"wrote {picture}")


def main(arguments: list[str]) -> None:
    if arguments and arguments[0].endswith(".csv"):
        path, target, *rest = arguments
        compare(Path(path), target, Path(rest[0] if rest else "."))
        return
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "tumours.csv"
        write_tumours(path)
        compare(path, "diagnosis", Path(arguments[0] if arguments else "."))


if __name__ == "__main__":
    main(sys.argv[1:])
