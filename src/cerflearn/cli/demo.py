"""``cerf demo``: accuracy against MACs and time on scikit-learn's digits, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cerflearn.comparison.table import Frontier

BUDGETS = (250, 500, 1_000, 2_000)  # MACs of one row, features and scores
METHODS = ("linear", "mlp", "rff", "masked", "cerf")

LEGEND = """\
linear   ridge or logistic regression on the pixels     mlp     dense perceptron, ReLU
rff      random Fourier features, ridge regression      masked  likewise, few inputs a feature
cerf     CERFClassifier: masks and features learned"""


def compare(n_seeds: int, *, verbose: bool = False) -> Frontier:
    """Run every method with every budget on the digits that come with scikit-learn.

    Parameters
    ----------
    n_seeds : int
        Splits and draws to average over.
    verbose : bool, default=False
        Tell what is done.
    """
    from sklearn.datasets import load_digits

    from cerflearn import frontier

    X, y = load_digits(return_X_y=True)
    return frontier(X, y, BUDGETS, METHODS, test_size=0.4, n_seeds=n_seeds, verbose=verbose)


def _verdict(found: Frontier) -> str:
    """Our cheapest model that is as accurate as random features with the dearest budget."""
    rows = {(row["method"], row["budget"]): row for row in found.fitted}
    rival = rows["rff", BUDGETS[-1]]
    equal = [
        row
        for (method, _), row in rows.items()
        if method == "cerf" and row["score"] >= rival["score"]
    ]
    if not equal:
        return "CERFClassifier does not reach the accuracy of random Fourier features here."
    ours = min(equal, key=lambda row: row["macs"])
    return (
        f"CERFClassifier with {ours['macs']:,} MACs is at least as accurate as random Fourier "
        f"features with {rival['macs']:,} ({100 * ours['score']:.1f} and "
        f"{100 * rival['score']:.1f} %): {rival['macs'] / ours['macs']:.1f} times fewer."
    )


@click.command(name="demo")
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="Splits and draws to average over.",
)
@click.option(
    "--picture",
    default="cerf-demo.png",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where to write the picture.",
)
def command(seeds: int, picture: Path) -> None:
    r"""Compare five methods on scikit-learn's digits at equal MACs: table and picture.

    Every model costs at most a budget of multiply-accumulates a row, features and scores
    together, and has its settings chosen on training rows.

    \b
    Examples:
      cerf demo
      cerf demo --seeds 5 --picture digits.png
    """
    from cerflearn.cli._picture import write_picture

    found = compare(seeds, verbose=True)
    click.echo(f"\nscikit-learn's digits: {found}\n\n{LEGEND}\n\n{_verdict(found)}")
    click.echo(write_picture(found, picture, "scikit-learn's digits, test accuracy"))
