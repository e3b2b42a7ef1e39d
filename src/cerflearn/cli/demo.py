"""``cerf demo``: accuracy against MACs and time on scikit-learn's digits, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from cerflearn.cli._help import examples

if TYPE_CHECKING:
    from cerflearn.comparison.table import Frontier

DEMO_BUDGETS = (250, 500, 1_000, 2_000)  # MACs of one row, features and scores
DEMO_METHODS = ("linear", "mlp", "rff", "masked", "cerf")

LEGEND = """\
linear   ridge or logistic regression on the pixels     mlp     dense perceptron, ReLU
rff      random Fourier features, ridge regression      masked  likewise, few inputs a feature
cerf     CERFClassifier: masks and features learned"""


def compare_methods(n_seeds: int, *, verbose: bool = False) -> Frontier:
    """Run every method with every budget on the digits that come with scikit-learn.

    Parameters
    ----------
    n_seeds : int
        Splits and draws to average over.
    verbose : bool, default=False
        Show progress on the standard error stream.
    """
    from sklearn.datasets import load_digits

    from cerflearn import frontier

    X, y = load_digits(return_X_y=True)
    return frontier(
        X, y, DEMO_BUDGETS, DEMO_METHODS, test_size=0.4, n_seeds=n_seeds, verbose=verbose
    )


def _summary(found: Frontier) -> str:
    """Name the cheapest CERFClassifier as accurate as random features with the largest budget."""
    random = [
        row for row in found.fitted if row["method"] == "rff" and row["budget"] == DEMO_BUDGETS[-1]
    ]
    if not random:
        return "There is no model of random Fourier features to compare with."
    baseline = random[0]
    equal = [
        row for row in found.fitted if row["method"] == "cerf" and row["score"] >= baseline["score"]
    ]
    if not equal:
        return "CERFClassifier does not reach the accuracy of random Fourier features here."
    ours = min(equal, key=lambda row: row["macs"])
    return (
        f"CERFClassifier with {ours['macs']:,} MACs is at least as accurate as random Fourier "
        f"features with {baseline['macs']:,} ({100 * ours['score']:.1f} and "
        f"{100 * baseline['score']:.1f} %): {baseline['macs'] / ours['macs']:.1f} times fewer."
    )


@click.command(
    name="demo",
    epilog=examples("cerf demo", "cerf demo --seeds 5 --picture digits.png"),
)
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="Random splits to average over.",
)
@click.option(
    "--picture",
    default="cerf-demo.png",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where to write the picture (.png, .pdf, .svg).",
)
@click.pass_context
def command(ctx: click.Context, seeds: int, picture: Path) -> None:
    """Compare five methods on scikit-learn's digits at equal MACs: table and picture.

    Every model costs at most a budget of multiply-accumulates a row, features and scores
    together, and has its settings chosen on training rows.
    """
    from cerflearn.cli._picture import check_picture, has_matplotlib, write_picture

    asked = ctx.get_parameter_source("picture") is not ParameterSource.DEFAULT
    drawn = asked or has_matplotlib()
    if drawn:
        check_picture(picture)
    found = compare_methods(seeds, verbose=True)
    click.echo(f"\nscikit-learn's digits: {found}\n\n{LEGEND}\n\n{_summary(found)}")
    if drawn:
        write_picture(found, picture, "scikit-learn's digits, test accuracy")
    else:
        click.echo("No picture: matplotlib is missing (pip install 'cerflearn[report]').")
